//! What a ledger returns, and what it keeps on disk.
#![allow(clippy::unwrap_used)]

use std::fs;

use chat::document::Document;
use chat::prompt::{Attachment, Content};
use chat::server_tools::ExactBlock;
use chat::text::Text;
use serde_json::json;

use super::*;

fn place(name: &str) -> Hash {
    Hash::of(name.as_bytes())
}

fn file(text: &str) -> Found {
    Found {
        value: Value::File(Attachment {
            name: "@./f.txt".to_owned(),
            language: String::new(),
            content: Content::Text(text.to_owned()),
        }),
        file: None,
        is_secret: false,
    }
}

fn inline(text: &str) -> Found {
    Found {
        value: Value::Text(text.to_owned()),
        ..file("")
    }
}

fn tool(name: &str) -> ToolDefinition {
    ToolDefinition {
        name: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({"type": "object", "properties": {"z": {}, "a": {}}}),
        strict: true,
        keywords: Vec::new(),
    }
}

/// A state folder, and a chat file beside it.
struct World(tempfile::TempDir);

impl World {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn chat(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn state(&self) -> PathBuf {
        self.0.path().join("state")
    }

    /// The ledger of a chat, as another session opens it.
    fn ledger(&self, chat: &str) -> Ledger {
        let mut ledger = Ledger::default();
        ledger.follow(&self.state(), Some(&self.chat(chat)));
        ledger
    }

    /// Records references of a chat that was sent.
    fn sends(&self, chat: &str, found: Vec<(Hash, Found)>) -> Ledger {
        let mut ledger = self.ledger(chat);
        ledger.sent(Sending {
            found,
            ..Sending::default()
        });
        ledger.write();
        ledger
    }

    /// All files of all ledgers.
    fn files(&self) -> Vec<PathBuf> {
        let mut folders = vec![self.state().join(store::FOLDER)];
        let mut files = Vec::new();
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                if entry.file_type().unwrap().is_dir() {
                    folders.push(entry.path())
                } else {
                    files.push(entry.path())
                }
            }
        }
        files
    }
}

#[test]
fn another_session_finds_what_was_sent_at_each_place() {
    let world = World::new();
    let picture = Found {
        value: Value::File(Attachment {
            name: "@./p.png".to_owned(),
            language: String::new(),
            content: Content::Image {
                mime: "image/png".to_owned(),
                base64: "iVBO".to_owned(),
            },
        }),
        ..file("")
    };
    let sent = [("a", file("n=0\n")), ("b", inline("42")), ("c", picture)];
    let found = sent.iter().map(|(name, it)| (place(name), it.clone()));
    world.sends("a.chat", found.collect());

    let ledger = world.ledger("a.chat");
    for (name, found) in sent {
        assert_eq!(ledger.value(place(name)), Some(Ok(found.value)), "{name}");
    }
    assert_eq!(ledger.value(place("d")), None);
    assert_eq!(ledger.reference(place("c")).unwrap().bytes, 3);
}

#[test]
fn a_ledger_belongs_to_one_chat() {
    let world = World::new();
    world.sends("a.chat", vec![(place("a"), file("one"))]);
    assert_eq!(world.ledger("b.chat").value(place("a")), None);
}

#[test]
fn a_chat_that_gets_a_name_takes_along_what_was_sent() {
    let world = World::new();
    let mut ledger = Ledger::default();
    ledger.follow(&world.state(), None);
    ledger.sent(Sending {
        found: vec![(place("a"), file("one"))],
        tools: Some(vec![tool("read")]),
        ..Sending::default()
    });
    ledger.write();
    for name in ["a.chat", "renamed.chat"] {
        ledger.follow(&world.state(), Some(&world.chat(name)));
        let mut there = world.ledger(name);
        assert_eq!(there.value(place("a")), Some(Ok(file("one").value)));
        assert_eq!(there.tools().as_deref(), Some(&[tool("read")][..]));
    }
}

#[test]
fn a_copy_of_a_chat_has_what_was_sent_and_goes_on_alone() {
    let world = World::new();
    let mut ledger = world.sends("a.chat", vec![(place("a"), file("one"))]);
    ledger.copy_to(&world.state(), &world.chat("fork.chat"));
    ledger.forget();
    assert_eq!(world.ledger("a.chat").value(place("a")), None);
    let copied = world.ledger("fork.chat").value(place("a"));
    assert_eq!(copied, Some(Ok(file("one").value)));
}

#[test]
fn results_stay_shortened_also_under_another_name_until_they_are_sent_whole() {
    let world = World::new();
    let result = "a line of output\n".repeat(400);
    let text = Text::from("@You:\nGo.\n");
    let document = Document::parse(&text);
    // Nothing was sent so far, and the chat has no file.
    let mut ledger = Ledger::default();
    let id = ToolUseId::new("t_1");
    ledger.shorten(&document, 0, 0, [(&id, result.as_str())].into_iter());
    ledger.follow(&world.state(), Some(&world.chat("a.chat")));
    for name in ["a.chat", "b.chat"] {
        let short = world.ledger(name).shortened(&id, &result).unwrap();
        assert!(short.len() < 500, "{short}");
        assert_eq!(
            world.ledger(name).shortened(&id, "a line of output\n"),
            None
        );
        // The same result of another call is whole.
        let again = ToolUseId::new("t_2");
        assert_eq!(world.ledger(name).shortened(&again, &result), None);
        assert!(world.ledger(name).text().is_none());
        world
            .ledger(name)
            .copy_to(&world.state(), &world.chat("b.chat"));
    }
    world.ledger("a.chat").send_whole(&document, 0, 0);
    assert_eq!(world.ledger("a.chat").shortened(&id, &result), None);
    assert!(world.ledger("b.chat").shortened(&id, &result).is_some());
}

#[test]
fn a_file_of_a_result_belongs_to_one_line_of_one_call() {
    let world = World::new();
    let picture = Attachment {
        name: "a.png".to_owned(),
        language: String::new(),
        content: Content::Image {
            mime: "image/png".to_owned(),
            base64: "aGk=".to_owned(),
        },
    };
    let (call, line) = (ToolUseId::new("t_1"), "[image a.png, 2 B, blake3 00]");
    let mut ledger = world.ledger("a.chat");
    let file = ResultFile {
        line: line.to_owned(),
        file: picture.clone(),
    };
    ledger.keep_files(&call, vec![file]);
    ledger.copy_to(&world.state(), &world.chat("b.chat"));
    // What is read anew are references.
    ledger.forget();
    for chat in ["a.chat", "b.chat"] {
        let ledger = world.ledger(chat);
        let found = |id: &str, line: &str| ledger.result_file(&ToolUseId::new(id), line);
        assert_eq!(found("t_1", line), Ok(picture.clone()), "{chat}");
        assert_eq!(found("t_2", line), Err(Unattached::Unknown), "{chat}");
        assert_eq!(found("t_1", "[image]"), Err(Unattached::Unknown), "{chat}");
        let tokens = ledger.result_tokens(&call, line);
        assert_eq!(tokens, context::IMAGE_TOKENS + context::tokens(line.len()));
    }
    let is_content = |it: &&PathBuf| fs::read(it).is_ok_and(|it| it == b"aGk=");
    for content in world.files().iter().filter(is_content) {
        fs::remove_file(content).unwrap();
    }
    let ledger = world.ledger("a.chat");
    assert_eq!(ledger.result_file(&call, line), Err(Unattached::Lost));
    let other = world.ledger("c.chat");
    assert_eq!(other.result_file(&call, line), Err(Unattached::Unknown));
}

#[test]
fn what_another_program_sent_is_found() {
    let world = World::new();
    let mut here = world.sends("a.chat", vec![(place("a"), file("one"))]);
    world.sends("a.chat", vec![(place("b"), file("two"))]);
    here.follow(&world.state(), Some(&world.chat("a.chat")));
    assert_eq!(here.value(place("a")), Some(Ok(file("one").value)));
    assert_eq!(here.value(place("b")), Some(Ok(file("two").value)));
}

#[test]
fn a_secret_is_not_kept() {
    let world = World::new();
    let secret = Found {
        is_secret: true,
        ..file("s3cret")
    };
    let ledger = world.sends(
        "a.chat",
        vec![(place("a"), secret), (place("b"), file("x"))],
    );
    assert_eq!(ledger.value(place("a")), None);
    for file in world.files() {
        let content = fs::read(&file).unwrap();
        let has = content.windows(6).any(|it| it == b"s3cret");
        assert!(!has, "{}", file.display());
    }
}

#[test]
#[cfg(unix)]
fn only_the_user_can_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new();
    world.sends("a.chat", vec![(place("a"), file("one"))]);
    let files = world.files();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let mode = fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{}", file.display());
    }
}

#[test]
fn a_content_that_is_damaged_swapped_or_gone_is_reported() {
    let world = World::new();
    let change: [fn(&PathBuf, &PathBuf); 4] = [
        |a, _| fs::write(a, "other").unwrap(),
        |a, _| fs::write(a, "").unwrap(),
        |a, b| assert!(fs::copy(b, a).is_ok()),
        |a, _| fs::remove_file(a).unwrap(),
    ];
    for (at, change) in change.into_iter().enumerate() {
        let chat = format!("{at}.chat");
        let [one, two] = [format!("one {at}"), format!("two {at}")];
        let found = vec![(place("a"), file(&one)), (place("b"), file(&two))];
        world.sends(&chat, found);
        let holds = |text: &str| {
            let mut files = world.files().into_iter();
            files
                .find(|it| fs::read(it).unwrap() == text.as_bytes())
                .unwrap()
        };
        change(&holds(&one), &holds(&two));
        let ledger = world.ledger(&chat);
        assert_eq!(ledger.value(place("a")), Some(Err(Damaged)), "{at}");
        assert_eq!(ledger.value(place("b")), Some(Ok(file(&two).value)), "{at}");
    }
}

#[test]
fn a_torn_journal_loses_only_the_torn_line() {
    let world = World::new();
    world.sends("a.chat", vec![(place("a"), file("one"))]);
    let mut files = world.files().into_iter();
    let journal = files.find(|it| it.ends_with("journal.jsonl")).unwrap();
    let whole = fs::read_to_string(&journal).unwrap();
    fs::write(&journal, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
    world.sends("a.chat", vec![(place("b"), file("two"))]);

    let ledger = world.ledger("a.chat");
    assert_eq!(ledger.value(place("a")), Some(Ok(file("one").value)));
    assert_eq!(ledger.value(place("b")), Some(Ok(file("two").value)));
}

#[test]
fn a_state_folder_that_cannot_be_written_is_replaced_by_memory() {
    let world = World::new();
    fs::write(world.state(), "a file").unwrap();
    let mut ledger = world.sends("a.chat", vec![(place("a"), file("one"))]);
    ledger.follow(&world.state(), Some(&world.chat("a.chat")));
    assert_eq!(ledger.value(place("a")), Some(Ok(file("one").value)));
}

#[test]
fn a_long_journal_is_shortened_and_its_unused_contents_are_removed() {
    let world = World::new();
    let mut ledger = world.ledger("a.chat");
    for at in 0..2000 {
        ledger.sent(Sending {
            found: vec![(place("a"), file(&at.to_string()))],
            ..Sending::default()
        });
        ledger.write();
    }
    assert!(world.files().len() < 1500, "{}", world.files().len());
    let last = world.ledger("a.chat").value(place("a"));
    assert_eq!(last, Some(Ok(file("1999").value)));
}

#[test]
fn tools_keep_their_order_of_fields_and_those_added_later_their_place() {
    let world = World::new();
    let mut ledger = world.ledger("a.chat");
    ledger.sent(Sending {
        tools: Some(vec![tool("read"), tool("bash")]),
        added: Some((place("below"), vec![tool("grep")])),
        ..Sending::default()
    });
    ledger.write();
    let mut ledger = world.ledger("a.chat");
    let tools = ledger.tools().unwrap();
    assert_eq!(*tools, [tool("read"), tool("bash")]);
    // Equal values may have another order, but the request is compared byte by byte.
    assert_eq!(
        tools[0].input_schema.to_string(),
        tool("read").input_schema.to_string()
    );
    assert_eq!(
        ledger.added(place("below")).as_deref(),
        Some(&[tool("grep")][..])
    );
    assert_eq!(ledger.added(place("elsewhere")), None);
}

const CHAT: &str = "```lua\nx = 1\n```\n\n@You:\nCompare @./a with @./a and @./b.\n\n@Assistant:\nYes.\n\n\
                    @You:\nAnd @./a?\n";

/// The places of all references of a chat.
fn places(text: &str) -> Vec<Hash> {
    let text = Text::from(text);
    let document = Document::parse(&text);
    let mut places = Places::new(&document, Vec::new());
    let messages = chat::references::in_document(&document);
    let pieces = messages.values().flatten();
    pieces
        .filter_map(|it| Some(places.reference(it.line()?, it.written())))
        .collect()
}

#[test]
fn a_place_changes_with_the_text_above_it_and_with_nothing_else() {
    let before = places(CHAT);
    assert_eq!(before.len(), 4);
    assert_eq!(before.iter().collect::<HashSet<_>>().len(), 4);
    // Below, in the frontmatter, and blank lines.
    for (old, new) in [
        ("?\n", "?\n\n@Assistant:\nNo.\n"),
        ("x = 1", "x = 1\ny = 2"),
        ("x = 1", ""),
        ("\n\n@Assistant", "\n\n\n\n@Assistant"),
    ] {
        assert_eq!(places(&CHAT.replace(old, new)), before, "{new:?}");
    }
    let edited = places(&CHAT.replace("Yes.", "No."));
    assert_eq!(edited[..3], before[..3]);
    assert_ne!(edited[3], before[3]);
    let edited = places(&CHAT.replace("@./b.", "@./c."));
    assert_eq!(edited[..2], before[..2]);
    assert!(edited[2] != before[2] && edited[3] != before[3]);
}

/// The first line of `now` that differs from `sent`, and the share below it in percent.
fn edited(sent: &str, now: &str) -> Option<(usize, u32)> {
    let (sent, now) = (Text::from(sent), Text::from(now));
    let sent = SentText::of(&Document::parse(&sent), 0);
    let sent = SentText::decoded(&sent.encoded()).unwrap();
    let edited = sent.edited(&Document::parse(&now), 0)?;
    Some((edited.line, (edited.share * 100.0) as u32))
}

#[test]
fn the_first_line_that_changed_is_found() {
    let chat = "@You:\none\ntwo\n\n@Assistant:\nthree\nfour\n\n@You:\nfive\n";
    for (old, new, expected) in [
        ("two", "2", Some((2, 80))),
        ("four", "", Some((8, 32))),
        ("one\n", "one\nmore\n", Some((2, 80))),
        ("five", "5", Some((9, 10))),
        // More or less at the end, blank lines, and the frontmatter.
        ("five\n", "five\n\n@Assistant:\nsix\n", None),
        ("@You:\nfive\n", "", None),
        ("\n\n", "\n\n\n", None),
    ] {
        assert_eq!(edited(chat, &chat.replace(old, new)), expected, "{new:?}");
    }
    let framed = format!("```lua\nx = 1\n```\n\n{chat}");
    assert_eq!(edited(chat, &framed), None);
    assert_eq!(edited(&framed, chat), None);
}

#[test]
fn what_changes_above_a_summary_changes_nothing_below_it() {
    let world = World::new();
    let mut ledger = world.ledger("a.chat");
    let above = "@You:\nA.\n\n@Assistant:\nB.\n\n";
    let below = "@You:\nSee @./f.\n";
    let text = Text::from(&*format!("{above}{below}"));
    let document = Document::parse(&text);
    let place = ledger
        .places(&document)
        .above(document.messages[0].lines.end);
    ledger.sent(Sending {
        added: Some((place, vec![tool("grep")])),
        ..Sending::default()
    });
    let end = |document: &Document<'_>| document.text().line_count();
    let before = ledger.places(&document).above(end(&document));
    let summary = Summary::new(&document, 0..2, "S".to_owned(), "now".to_owned());
    ledger.note_summary(&document, &summary, None);

    let mut ledger = world.ledger("a.chat");
    let comment = summary.comment();
    for above in [above, "@You:\nNot A.\n\n@Assistant:\nB.\n\n", ""] {
        let text = format!("{above}@You:\n{comment}\n\nS\n\n{below}");
        let text = Text::from(&*text);
        let document = Document::parse(&text);
        assert_eq!(ledger.places(&document).above(end(&document)), before);
        let at = ledger.summary(&document, &HashSet::new());
        assert_eq!(ledger.added_above(&document, at), [tool("grep")]);
    }
    // Without the summary, everything is as it was.
    assert_eq!(ledger.places(&document).above(end(&document)), before);
}

#[test]
fn a_summary_is_signed_while_its_text_and_what_it_was_written_with_are_the_same() {
    let world = World::new();
    let mut ledger = world.ledger("a.chat");
    let (above, below) = ("@You:\nA.\n\n@Assistant:\nB.\n\n", "@You:\nC.\n");
    let text = Text::from(&*format!("{above}{below}"));
    let document = Document::parse(&text);
    let summary = Summary::new(&document, 0..2, "S".to_owned(), "now".to_owned());
    let signed = SignedSummary {
        content: "S\n".to_owned(),
        signature: "c2ln".to_owned(),
    };
    let written = WrittenSummary {
        summary: signed.clone(),
        basis: place("basis"),
        is_above_signed: false,
    };
    ledger.note_summary(&document, &summary, Some(written));

    let ledger = world.ledger("a.chat");
    let comment = summary.comment();
    for (text, basis, expected) in [
        ("S", "basis", true),
        ("S.", "basis", false),
        ("S", "another basis", false),
    ] {
        let text = format!("{above}@You:\n{comment}\n\n{text}\n\n{below}");
        let text = Text::from(&*text);
        let document = Document::parse(&text);
        let found = ledger.signed(&document, 2, || place(basis));
        assert_eq!(found, expected.then(|| signed.clone()));
    }
}

/// An answer in the form of a provider.
fn exact(provider: &str) -> ExactAnswer {
    ExactAnswer {
        provider: provider.to_owned(),
        blocks: vec![ExactBlock::Json(r#"{"found":1}"#.to_owned())],
    }
}

#[test]
fn an_exact_answer_is_for_its_provider_only_and_goes_with_its_ledger() {
    let world = World::new();
    let text = Text::from("@You:\nGo.\n\n@Assistant:\nDone.\n");
    let document = Document::parse(&text);
    let answer = &document.messages[1];
    let mut ledger = world.ledger("a.chat");
    ledger.keep_exact(answer_hash(&document, answer), &exact("anthropic"));
    let of = |ledger: &Ledger, provider: &str| ledger.exact(&document, answer, provider);
    assert_eq!(of(&ledger, "anthropic"), Some(exact("anthropic")));
    ledger.write();

    let ledger = world.ledger("a.chat");
    assert_eq!(of(&ledger, "anthropic"), Some(exact("anthropic")));
    assert!(!ledger.has_exact(&document, answer, "openai"));
    assert_eq!(of(&ledger, "openai"), None);
    // Its size and its age count, and it is removed with the rest.
    let blocks = |path: &PathBuf| fs::read(path).unwrap().windows(5).any(|it| it == b"found");
    let files = world.files();
    assert_eq!(files.iter().filter(|it| blocks(it)).count(), 1, "{files:?}");
    fs::remove_dir_all(world.state().join(store::FOLDER)).unwrap();
    assert_eq!(of(&world.ledger("a.chat"), "anthropic"), None);
}

#[test]
fn an_answer_has_the_same_hash_in_pieces_and_without_blanks_at_the_ends_of_lines() {
    let chat = "@Assistant:\n\nOne  \ntwo\t\n\n\nthree.\n";
    let text = Text::from(chat);
    let document = Document::parse(&text);
    let whole = answer_hash(&document, &document.messages[0]);
    let of = |text: &str, length: usize| {
        let mut hasher = AnswerHasher::default();
        let pieces = text.as_bytes().chunks(length);
        pieces.for_each(|it| hasher.update(it));
        hasher.finish()
    };
    for length in 1..chat.len() {
        assert_eq!(of(chat, length), whole, "{length}");
    }
    assert_eq!(of("@Assistant:\n\nOne\ntwo\n\n\nthree.", 5), whole);
    for other in [
        "One\ntwo\n\nthree.",
        "One\n\ntwo\n\n\nthree.",
        "One two\n\n\nthree.",
    ] {
        assert_ne!(of(&format!("@Assistant:\n\n{other}"), 5), whole, "{other}");
    }
}
