//! What references become, and which are refused.
//!
//! Also which rules of files apply to buffers and the like, what a file is, and how large it may
//! be.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use chat::references::{ContextSource, DiffScope, pieces};
use tools::{Fingerprint, Secrets};

use super::*;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0";

/// A project with a chat in a folder of it, beside other things of its owner.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        let world = Self(tempfile::tempdir().unwrap());
        world.file("p/chats/plan.md", b"plan\n");
        world.file("p/src/a b.rs", b"fn a() {}\n");
        world.file("p/logo.png", PNG);
        world.file("p/paper.pdf", b"%PDF-1.7\n");
        world.file("p/blob", b"a\0b");
        world.file("secret.txt", b"secret\n");
        world.file("p-evil/x.txt", b"x\n");
        world
    }

    fn path(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn file(&self, path: &str, bytes: &[u8]) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn folders(&self) -> Folders {
        Folders {
            chat: self.path("p/chats"),
            project: self.path("p"),
            home: Some(self.path("")),
            secrets: Arc::new(Secrets::of_this_user(&[self.path("p/revealed.env")])),
        }
    }

    fn resolve_where(&self, text: &str, agreed: &Agreed) -> Result<Vec<Part>, Vec<Trouble>> {
        let mut evaluate = |code: &str| match code {
            "name" => Ok(Expansion::Text("Ada".to_owned())),
            "nothing" => Ok(Expansion::Text(String::new())),
            _ => match code.split_once(' ') {
                Some((name @ ("include" | "attach"), path)) => Ok(Expansion::Include(Include {
                    path: path.to_owned(),
                    binary: name == "attach",
                    mime: None,
                })),
                _ => Err(format!("\"{code}\" is not defined.")),
            },
        };
        let (pieces, folders) = (pieces(text, 0), self.folders());
        let sources = Sources {
            folders: &folders,
            agreed,
            contexts: &self.contexts(),
        };
        let resolved = resolve(&pieces, &BTreeMap::new(), &sources, &mut evaluate);
        resolved.map(|it| it.parts)
    }

    /// What is sent, in words.
    fn sent(&self, text: &str) -> String {
        let parts = self.resolve_where(text, &Agreed::default()).unwrap();
        let words = parts.into_iter().map(|part| match part {
            Part::Text(text) => format!("{text:?}"),
            Part::File(file) => match file.content {
                Content::Text(text) => format!("{}={text:?}", file.name),
                Content::Image { mime, base64 } => format!("{}={mime} {base64}", file.name),
                Content::Pdf { base64 } => format!("{}=pdf {base64}", file.name),
            },
            other => panic!("{other:?} is not a part of a user's words"),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    fn refusal(&self, text: &str) -> Refusal {
        let troubles = self.resolve_where(text, &Agreed::default()).unwrap_err();
        match troubles.into_iter().next().map(|it| it.what) {
            Some(What::File(refusal)) => refusal,
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn files_and_values_replace_their_references() {
    let world = World::new();
    for (text, expected) in [
        ("Hello {{ name }}.", "\"Hello Ada.\""),
        ("{{ nothing }}", ""),
        ("See @./plan.md.", "\"See \" @./plan.md=\"plan\\n\" \".\""),
        ("@../src/a%20b.rs", "@../src/a%20b.rs=\"fn a() {}\\n\""),
        ("@../logo.png", "@../logo.png=image/png iVBORw0KGgoAAA=="),
        ("@../paper.pdf", "@../paper.pdf=pdf JVBERi0xLjcK"),
        (
            "@./plan.md;type=text/markdown",
            "@./plan.md;type=text/markdown=\"plan\\n\"",
        ),
        (
            "@../blob;type=image/webp",
            "@../blob;type=image/webp=image/webp YQBi",
        ),
        ("{{ include ./plan.md }}!", "\"plan\\n!\""),
        ("{{ attach ./plan.md }}!", "./plan.md=\"plan\\n\" \"!\""),
    ] {
        assert_eq!(world.sent(text), expected, "{text}");
    }
}

#[test]
fn what_cannot_be_sent_says_why() {
    let world = World::new();
    symlink(world.path("secret.txt"), world.path("p/chats/link")).unwrap();
    let outside = |path: &str| Refusal::Outside(world.path(path), Objection::Unasked);
    for (text, expected) in [
        ("@./missing.txt", Refusal::Missing),
        ("@./plan.md/x", Refusal::Missing),
        ("@../src", Refusal::NotAFile),
        ("@../blob", Refusal::Unsupported("binary".to_owned())),
        (
            "@./plan.md;type=video/mp4",
            Refusal::Unsupported("video/mp4".to_owned()),
        ),
        ("@../../secret.txt", outside("secret.txt")),
        ("@~/secret.txt", outside("secret.txt")),
        ("@./link", outside("secret.txt")),
        ("@../../p-evil/x.txt", outside("p-evil/x.txt")),
        ("{{ include ../../secret.txt }}", outside("secret.txt")),
    ] {
        assert_eq!(world.refusal(text), expected, "{text}");
    }
}

#[test]
fn a_file_outside_goes_along_as_it_was_agreed_to_and_as_nothing_else() {
    let world = World::new();
    let secret = world.path("secret.txt");
    let send = |agreed: &Agreed| {
        let sent = world.resolve_where("@~/secret.txt", agreed);
        sent.map_err(|it| it[0].message.clone())
    };
    let mut agreed = Agreed::default();
    agreed.add(secret.clone(), Some(Fingerprint::of(b"secret\n")));
    assert_eq!(send(&agreed).unwrap().len(), 1);
    world.file("secret.txt", b"another\n");
    let found = send(&agreed).unwrap_err();
    assert!(
        found.contains("has changed since you allowed it"),
        "{found}"
    );
    // As an earlier version remembered it.
    agreed.add(secret, None);
    let found = send(&agreed).unwrap_err();
    assert!(
        found.contains("once allowed its name, not its content"),
        "{found}"
    );
}

#[test]
fn a_secret_of_the_project_goes_along_once_it_was_agreed_to() {
    let world = World::new();
    world.file("p/chats/.env", b"TOKEN=1\n");
    world.file("p/revealed.env", b"TOKEN=2\n");
    symlink(".env", world.path("p/chats/notes")).unwrap();
    let env = world.path("p/chats/.env");
    for text in [
        "@./.env",
        "@./x/../.env",
        "@./notes",
        "{{ include ./notes }}",
        "@../chats/.env;type=text/plain",
    ] {
        let refusal = world.refusal(text);
        let is_refused =
            matches!(&refusal, Refusal::Secret(path, _, Objection::Unasked) if *path == env);
        assert!(is_refused, "{text}: {refusal:?}");
        let found = refusal.to_string();
        assert!(
            found.contains(":Flemma allow-file") && found.contains("sandbox.reveal = {"),
            "{found}"
        );
    }
    assert_eq!(
        world.sent("@../revealed.env"),
        "@../revealed.env=\"TOKEN=2\\n\""
    );
    let mut agreed = Agreed::default();
    agreed.add(env, Some(Fingerprint::of(b"TOKEN=1\n")));
    assert!(world.resolve_where("@./notes", &agreed).is_ok());
    world.file("p/chats/.env", b"TOKEN=3\n");
    let found = world.resolve_where("@./.env", &agreed).unwrap_err();
    assert!(
        found[0]
            .message
            .contains("has changed since you allowed it"),
        "{found:?}"
    );
}

#[test]
fn every_problem_has_its_line() {
    let world = World::new();
    let troubles = world
        .resolve_where("{{ nmae }}\n@./x and\n@./y", &Agreed::default())
        .unwrap_err();
    let found: Vec<(usize, String)> = troubles
        .into_iter()
        .map(|it| (it.line, it.message))
        .collect();
    let expected = [
        (0, "{{ nmae }}: \"nmae\" is not defined."),
        (1, "@./x does not exist."),
        (2, "@./y does not exist."),
    ];
    assert_eq!(found, expected.map(|(line, it)| (line, it.to_owned())));
}

#[test]
fn what_was_agreed_to_here_goes_before_what_was_agreed_to_elsewhere() {
    let agreed = |entries: &[(&str, &str)]| {
        let mut agreed = Agreed::default();
        for (path, text) in entries {
            let holds = Fingerprint::of(text.as_bytes());
            agreed.add(PathBuf::from(path), Some(holds));
        }
        agreed
    };
    let here = agreed(&[("/a", "new")]);
    let mut both = here.or(agreed(&[("/a", "old"), ("/b", "b")]));
    assert_eq!(both, agreed(&[("/a", "new"), ("/b", "b")]));
    both.clear();
    assert_eq!(both, Agreed::default());
}

#[test]
fn a_chat_in_the_root_folder_makes_no_file_of_the_machine_part_of_it() {
    let world = World::new();
    let folders = Folders {
        chat: PathBuf::from("/"),
        project: PathBuf::from("/"),
        ..world.folders()
    };
    let mut evaluate = |_: &str| Err(String::new());
    let pieces = pieces("@~/secret.txt", 0);
    let sources = Sources {
        folders: &folders,
        agreed: &Agreed::default(),
        contexts: &Contexts::new(),
    };
    let troubles = resolve(&pieces, &BTreeMap::new(), &sources, &mut evaluate).unwrap_err();
    let outside = Refusal::Outside(world.path("secret.txt"), Objection::Unasked);
    assert_eq!(troubles[0].what, What::File(outside));
}

impl World {
    /// The texts of some references.
    fn contexts(&self) -> Contexts {
        let buffer = |path: &str, is_modified: bool| {
            Ok(ContextContent::Text(ContextText {
                text: "in the buffer\n".to_owned(),
                language: "rust".to_owned(),
                file: Some(BufferFile {
                    path: self.path(path),
                    is_modified,
                }),
            }))
        };
        let resource = |uri: &str, bytes: &[u8], mime: &str| {
            let source = ContextSource::Resource {
                server: "docs".to_owned(),
                uri: uri.to_owned(),
            };
            let resource = Resource {
                bytes: bytes.to_vec(),
                mime: mime.to_owned(),
            };
            (source, Ok(ContextContent::Resource(resource)))
        };
        let named = |name: &str| ContextSource::Buffer(name.to_owned());
        Contexts::from([
            (
                ContextSource::Diff(DiffScope::All),
                Ok(ContextContent::Text(ContextText {
                    text: "+x\n".to_owned(),
                    language: "diff".to_owned(),
                    file: None,
                })),
            ),
            resource("note://text", b"@You:\n", "image/png"),
            resource("note://picture", PNG, "text/plain"),
            resource("note://sound", b"\xff\0", "audio/wav"),
            resource("note://no-text", b"\xff\0", "text/plain"),
            resource("note://binary", b"\xff\0", ""),
            (ContextSource::Quickfix, Err("is broken.".to_owned())),
            (named("saved"), buffer("p/src/a b.rs", false)),
            (named("unsaved"), buffer("p/src/a b.rs", true)),
            (named("new"), buffer("p/not-there.rs", true)),
            (named("outside"), buffer("secret.txt", false)),
            (named("outside-unsaved"), buffer("secret.txt", true)),
            (named("secret"), buffer("p/.env", false)),
            (named("secret-unsaved"), buffer("p/.env", true)),
        ])
    }
}

#[test]
fn a_context_is_sent_like_a_file() {
    let world = World::new();
    for (text, expected) in [
        ("See @diff.", "\"See \" @diff=\"+x\\n\" \".\""),
        ("@buffer:saved", "@buffer:saved=\"in the buffer\\n\""),
        (
            "@buffer:unsaved",
            "@buffer:unsaved (not saved)=\"in the buffer\\n\"",
        ),
        (
            "@buffer:new",
            "@buffer:new (not saved)=\"in the buffer\\n\"",
        ),
    ] {
        assert_eq!(world.sent(text), expected, "{text}");
    }
}

#[test]
fn a_resource_is_sent_like_a_file() {
    let world = World::new();
    for (text, expected) in [
        (
            "See @docs:note://text.",
            "\"See \" @docs:note://text=\"@You:\\n\" \".\"",
        ),
        (
            "@docs:note://picture",
            "@docs:note://picture=image/png iVBORw0KGgoAAA==",
        ),
    ] {
        assert_eq!(world.sent(text), expected, "{text}");
    }
    for (text, kind) in [
        (
            "@docs:note://sound",
            "binary (audio/wav according to its server)",
        ),
        (
            "@docs:note://no-text",
            "binary (text/plain according to its server)",
        ),
        ("@docs:note://binary", "binary"),
    ] {
        assert_eq!(world.refusal(text), Refusal::Unsupported(kind.to_owned()));
    }
}

#[test]
fn the_rules_of_files_apply_to_buffers() {
    let world = World::new();
    world.file("p/.env", b"KEY=1\n");
    let outside = world.path("secret.txt");
    assert_eq!(
        world.refusal("@buffer:outside"),
        Refusal::Outside(outside.clone(), Objection::Unasked)
    );
    assert!(matches!(
        world.refusal("@buffer:secret"),
        Refusal::Secret(..)
    ));
    for (text, path) in [
        ("@buffer:outside-unsaved", outside.clone()),
        ("@buffer:secret-unsaved", world.path("p/.env")),
    ] {
        assert_eq!(world.refusal(text), Refusal::Unsaved(path), "{text}");
    }
    // What the user agreed to is the content of the file, so that is what is sent.
    let mut agreed = Agreed::default();
    agreed.add(outside, Some(Fingerprint::of(b"secret\n")));
    let parts = world.resolve_where("@buffer:outside", &agreed).unwrap();
    let Part::File(file) = &parts[0] else {
        panic!("{parts:?}");
    };
    assert_eq!(file.content, Content::Text("secret\n".to_owned()));
}

#[test]
fn a_context_without_a_text_is_reported_at_its_line() {
    let world = World::new();
    let agreed = Agreed::default();
    let troubles = world
        .resolve_where("one\n@quickfix and @diagnostics", &agreed)
        .unwrap_err();
    let reported: Vec<(usize, &str)> = troubles
        .iter()
        .map(|it| (it.line, it.message.as_str()))
        .collect();
    assert_eq!(
        reported,
        [
            (1, "@quickfix is broken."),
            (1, "@diagnostics is not available here."),
        ]
    );
}

#[test]
fn the_first_bytes_of_a_file_say_what_it_is() {
    let world = World::new();
    for (bytes, expected) in [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\0", "image/jpeg"),
        (b"GIF87a\0", "image/gif"),
        (b"GIF89a\0", "image/gif"),
        (b"RIFF\x01\x02\x03\x04WEBP\0", "image/webp"),
        (b"%PDF-1.4\0", "pdf"),
    ] {
        world.file("p/chats/file", bytes);
        let sent = world.sent("@./file");
        assert!(sent.starts_with(&format!("@./file={expected} ")), "{sent}");
    }
    let binary = Refusal::Unsupported("binary".to_owned());
    for bytes in [&b"GIF88a\0"[..], b"RIFF\x01\x02\x03\x04WAVE\0", b"\xff\xfe"] {
        world.file("p/chats/file", bytes);
        assert_eq!(world.refusal("@./file"), binary, "{bytes:?}");
    }
}

#[test]
fn a_type_that_is_named_wins_and_a_picture_that_is_text_is_sent_as_text() {
    let world = World::new();
    world.file("p/chats/a.svg", b"<svg/>");
    let svg = "@./a.svg;type=image/svg+xml";
    assert_eq!(world.sent(svg), format!("{svg}=\"<svg/>\""));
    let pdf = "@./a.svg;type=APPLICATION/PDF";
    assert_eq!(world.sent(pdf), format!("{pdf}=pdf PHN2Zy8+"));
    for kind in ["audio/wav", "font/woff"] {
        let text = format!("@./a.svg;type={kind}");
        assert_eq!(world.refusal(&text), Refusal::Unsupported(kind.to_owned()));
    }
}

#[test]
fn a_pipe_is_refused_and_not_waited_for() {
    let world = World::new();
    let pipe = world.path("p/chats/pipe");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(world.refusal("@./pipe"), Refusal::NotAFile);
}

#[test]
fn the_files_of_a_message_are_bounded_together() {
    let world = World::new();
    let file = fs::File::create(world.path("p/chats/big")).unwrap();
    file.set_len(11 * 1024 * 1024).unwrap();
    let twice = "@./big;type=image/png @./big;type=image/png";
    assert_eq!(world.refusal(twice), Refusal::TooLarge);
    let most = 20 * 1024 * 1024;
    file.set_len(most).unwrap();
    assert!(world.sent("@./big;type=image/png").len() > 20_000_000);
    file.set_len(most + 1).unwrap();
    assert_eq!(world.refusal("@./big;type=image/png"), Refusal::TooLarge);
}

#[test]
fn an_error_of_the_system_is_a_refusal() {
    use std::io::{Error, ErrorKind};
    let unreadable = |reason: &str| Refusal::Unreadable(reason.to_owned());
    for (kind, expected) in [
        (ErrorKind::NotFound, Refusal::Missing),
        (ErrorKind::NotADirectory, Refusal::Missing),
        (ErrorKind::PermissionDenied, unreadable("permission denied")),
        (ErrorKind::TimedOut, unreadable("timed out")),
    ] {
        assert_eq!(Refusal::from(Error::from(kind)), expected);
    }
}
