//! References to buffers and the like: what is sent, and which rules of files apply.

use chat::references::{ContextSource, DiffScope};

use super::*;

impl World {
    /// The texts of some references.
    pub(super) fn contexts(&self) -> Contexts {
        let buffer = |path: &str, is_modified: bool| {
            Ok(ContextText {
                text: "in the buffer\n".to_owned(),
                language: "rust".to_owned(),
                file: Some(BufferFile {
                    path: self.path(path),
                    is_modified,
                }),
            })
        };
        let named = |name: &str| ContextSource::Buffer(name.to_owned());
        Contexts::from([
            (
                ContextSource::Diff(DiffScope::All),
                Ok(ContextText {
                    text: "+x\n".to_owned(),
                    language: "diff".to_owned(),
                    file: None,
                }),
            ),
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
