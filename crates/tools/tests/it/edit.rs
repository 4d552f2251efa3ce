//! The `edit` tool: an edit applies at exactly one place or not at all.

use std::fs;
use std::sync::Arc;

use chat::tool::ToolOutcome;
use serde::Deserialize;
use serde_json::{Value, json};
use tools::Registry;

use crate::fixture::{OneBuffer, TestFolder};

fn input(old: &str, new: &str) -> Value {
    json!({ "label": "test", "path": "a", "oldText": old, "newText": new })
}

#[tokio::test]
async fn one_piece_is_replaced_and_the_rest_keeps_its_bytes() {
    let place = TestFolder::new().with("a", "\u{feff}one\r\ntwo\r\nthree");

    let content = place.done("edit", input("one\ntwo\n", "1\n2\n")).await;

    assert_eq!(content, "Applied the edit to a at line 1.");
    assert_eq!(place.text("a"), "\u{feff}1\r\n2\r\nthree");
}

#[tokio::test]
async fn an_edit_that_does_not_apply_says_why_and_changes_nothing() {
    let place = TestFolder::new().with("a", "x = 1\ny = 2\nx = 1\n");

    for (old, new, reason) in [
        ("x = 1", "x = 3", "oldText is in 2 places of a: lines 1, 3."),
        ("y = 3", "y = 4", "The nearest text there is:\n\n2: y = 2"),
        ("y = 2", "y = 2", "oldText and newText are the same"),
        ("", "y", "oldText is empty"),
    ] {
        let problem = place.failed("edit", input(old, new)).await;
        assert!(problem.contains(reason), "{problem}");
    }

    assert_eq!(place.text("a"), "x = 1\ny = 2\nx = 1\n");
}

#[tokio::test]
async fn characters_that_only_look_the_same_are_named() {
    let place = TestFolder::new().with("a", "# Prices\n\nThe box costs 12\u{a0}€ in Lyon.\n");
    let problem = place.failed("edit", input("costs 12 €", "x")).await;
    assert_eq!(
        problem,
        "oldText is not in a, but line 3 looks the same and has other characters:\n\n\
         line 3, column 17: the file has U+00A0 (no-break space), yours has U+0020 (space)\n\n\
         Nothing was changed. Use the characters of the file; in JSON, \\u00a0 is U+00A0."
    );
}

#[cfg(unix)]
#[tokio::test]
async fn a_broken_hard_link_is_told() {
    let place = TestFolder::new().with("a", "one\ntwo\n");
    fs::hard_link(place.path("a"), place.path("b")).unwrap();
    let told = "The file had another name (a hard link), which still leads to the old content";
    let content = place.done("edit", input("one", "1")).await;
    assert!(content.contains(told), "{content}");
    assert_eq!(place.text("b"), "one\ntwo\n");
    let content = place.done("edit", input("two", "2")).await;
    assert!(!content.contains("hard link"), "{content}");
    for (tool, arguments) in [
        (
            "write",
            json!({ "label": "t", "path": "a", "content": "3\n" }),
        ),
        (
            "apply_patch",
            json!({ "label": "t", "input": "*** Begin Patch\n*** Update File: a\n-3\n+4\n*** End Patch" }),
        ),
    ] {
        fs::remove_file(place.path("b")).unwrap();
        fs::hard_link(place.path("a"), place.path("b")).unwrap();
        let content = place.done(tool, arguments).await;
        assert!(content.contains(told), "{tool}: {content}");
    }
}

#[tokio::test]
async fn binary_files_are_not_edited() {
    let place = TestFolder::new();
    let problem = place.failed("edit", input("a", "b")).await;
    assert!(problem.ends_with("does not exist."), "{problem}");

    let place = TestFolder::new().with("a", b"caf\xe9\0");
    let problem = place.failed("edit", input("caf", "tea")).await;
    assert!(problem.contains("is a binary file"), "{problem}");
}

#[tokio::test]
async fn text_keeps_its_encoding_and_unencodable_characters_are_refused() {
    let place = TestFolder::new().with("a", b"caf\xe9\n");
    place.done("edit", input("caf\u{e9}", "th\u{e9}")).await;
    assert_eq!(fs::read(place.path("a")).unwrap(), b"th\xe9\n");
    let problem = place.failed("edit", input("th", "\u{20ac}")).await;
    assert!(
        problem.contains("is stored as Latin-1, which cannot hold \u{20ac}"),
        "{problem}"
    );
    assert_eq!(fs::read(place.path("a")).unwrap(), b"th\xe9\n");
    let place = TestFolder::new().with("a", b"\xff\xfea\0\r\0\n\0");
    place.done("edit", input("a", "b")).await;
    assert_eq!(fs::read(place.path("a")).unwrap(), b"\xff\xfeb\0\r\0\n\0");
}

#[tokio::test]
async fn parallel_edits_of_one_file_lose_nothing() {
    let lines: String = (0..20).map(|n| format!("<{n}>\n")).collect();
    let place = TestFolder::new().with("a", lines);

    let calls = (0..20).map(|n| place.done("edit", input(&format!("<{n}>"), &format!("({n})"))));
    futures::future::join_all(calls).await;

    let expected: String = (0..20).map(|n| format!("({n})\n")).collect();
    assert_eq!(place.text("a"), expected);
}

#[tokio::test]
async fn an_open_file_is_edited_in_the_editor_and_unsaved_text_stays_unsaved() {
    let mut place = TestFolder::new().with("a", "on disk\n");
    let buffer = OneBuffer::open(&place.path("a"), "in the editor\n", true);
    place.ctx.files.buffers = buffer.clone();

    let content = place.done("edit", input("in the", "in an")).await;

    assert!(content.contains("not on disk yet"), "{content}");
    assert_eq!(buffer.shown(), "in an editor\n");
    assert_eq!(place.text("a"), "on disk\n");
}

#[tokio::test]
async fn several_replacements_are_made_together_or_not_at_all() {
    let place = TestFolder::new().with("a", "one\ntwo\nthree\n");
    let edits = |edits: &[(&str, &str)]| {
        let edits = edits
            .iter()
            .map(|(old, new)| json!({"oldText": old, "newText": new}));
        let edits: Vec<Value> = edits.collect();
        json!({"label": "", "path": "a", "oldText": null, "newText": null, "edits": edits})
    };

    let missing = edits(&[("one", "1"), ("four", "4")]);
    let missing = place.failed("edit", missing).await;
    assert!(
        missing.starts_with("edits[1].oldText is not in a"),
        "{missing}"
    );
    let overlap = edits(&[("one\ntwo", "x"), ("two", "y")]);
    let overlap = place.failed("edit", overlap).await;
    let reason = "edits[1].oldText overlaps edits[0].oldText";
    assert!(overlap.starts_with(reason), "{overlap}");
    assert_eq!(place.text("a"), "one\ntwo\nthree\n");

    let both = edits(&[("three", "3"), ("one", "1")]);
    let content = place.done("edit", both).await;
    assert_eq!(content, "Applied 2 edits to a at lines 3, 1.");
    assert_eq!(place.text("a"), "1\ntwo\n3\n");
}

#[tokio::test]
async fn arguments_that_contradict_each_other_change_nothing() {
    let place = TestFolder::new().with("a", "one\n");
    let one = json!({"oldText": "one", "newText": "1"});
    let call = |old: Value, new: Value, edits: Value| json!({"label": "", "path": "a", "oldText": old, "newText": new, "edits": edits});
    for (input, problem) in [
        (
            call(json!("one"), json!("1"), json!([one])),
            "Both edits and oldText",
        ),
        (
            call(json!(null), json!(null), json!([])),
            "Neither oldText and newText nor edits",
        ),
        (
            call(json!("one"), json!(null), json!(null)),
            "One of oldText and newText is missing",
        ),
    ] {
        let refused = place.failed("edit", input).await;
        assert!(refused.starts_with(problem), "{refused}");
    }
    assert_eq!(place.text("a"), "one\n");
    // Some models fill arguments that they do not use.
    let filled = call(json!(""), json!(""), json!([one]));
    place.done("edit", filled).await;
    assert_eq!(place.text("a"), "1\n");
}

#[tokio::test]
async fn a_proposal_is_what_the_call_does() {
    let place = TestFolder::new().with("a", "one  \ntwo\n");
    let input = input("one\ntwo", "1\ntwo");
    let tool = Registry::builtin().get("edit").unwrap();

    let proposal = tool.propose(&input, &place.ctx).await.unwrap().unwrap();

    let file = &proposal.files[0];
    assert_eq!(file.before.as_deref(), Some("one  \ntwo\n"));
    assert_eq!(file.after.as_deref(), Some("1\ntwo\n"));
    assert_eq!(file.path, place.path("a").canonicalize().unwrap());
    assert_eq!(place.text("a"), "one  \ntwo\n");
    let content = place.done("edit", input).await;
    assert!(content.ends_with(&file.remarks[0]), "{content}");
    assert_eq!(Some(place.text("a")), file.after);
}

#[tokio::test]
async fn what_the_user_made_of_a_proposal_is_stored_unless_the_file_changed() {
    let mut place = TestFolder::new().with("a", "one\ntwo\n");
    let input = input("one\n", "1\n");
    let tool = Registry::builtin().get("edit").unwrap();
    let mut proposal = tool.propose(&input, &place.ctx).await.unwrap().unwrap();
    proposal.files[0].after = Some("eins\ntwo\n".to_owned());
    place.ctx.files.reviewed = Some(Arc::new(proposal));
    place.ctx.files.review_account = Some("It is in German.".to_owned());

    let content = place.done("edit", input.clone()).await;
    assert_eq!(
        content,
        "Applied the edit to a as the user changed it.\nIt is in German."
    );
    assert_eq!(place.text("a"), "eins\ntwo\n");

    fs::write(place.path("a"), "one\nother\n").unwrap();
    let refused = place.failed("edit", input).await;
    let reason = "is not as it was when the user reviewed";
    assert!(refused.contains(reason), "{refused}");
    assert_eq!(place.text("a"), "one\nother\n");
}

/// A case of the corpus.
#[derive(Deserialize)]
struct Case {
    kind: String,
    name: String,
    /// The file on disk.
    file: String,
    old: String,
    new: String,
    /// The text afterwards; `None` if the edit must be refused.
    expect: Option<String>,
    /// The unsaved text in the editor, if the file is open.
    buffer: Option<String>,
}

/// Every case of the corpus ends as expected, or is refused although it is clear. A wrong place
/// is worse than a refusal, so none is allowed.
#[tokio::test]
async fn no_edit_of_the_corpus_is_made_in_a_wrong_place_and_most_clear_ones_are_made() {
    let (mut clear, mut refused) = (0, Vec::new());
    for line in include_str!("edits.jsonl").lines() {
        let case: Case = serde_json::from_str(line).unwrap();
        let mut place = TestFolder::new().with("a", &case.file);
        let open = |text: &String| OneBuffer::open(&place.path("a"), text, true);
        let buffer = case.buffer.as_ref().map(open);
        if let Some(buffer) = &buffer {
            place.ctx.files.buffers = buffer.clone();
        }
        let outcome = place.call("edit", input(&case.old, &case.new)).await;
        let now = buffer.map_or_else(|| place.text("a"), |it| it.shown());
        let was = case.buffer.unwrap_or(case.file);
        let name = format!("{}: {}: {outcome:?}", case.kind, case.name);
        clear += usize::from(case.expect.is_some());
        match (outcome, case.expect) {
            (ToolOutcome::Done { .. }, Some(expected)) => assert_eq!(now, expected, "{name}"),
            (ToolOutcome::Done { .. }, None) => panic!("made although it is unclear: {name}"),
            (_, expected) => {
                assert_eq!(now, was, "{name}");
                refused.extend(expected.map(|_| name));
            }
        }
    }
    assert!(clear >= 200, "{clear}");
    let count = refused.len();
    assert!(count * 20 <= clear, "{count} of {clear}: {refused:#?}");
}
