//! Placed results are preserved byte for byte, are in call order, and change nothing around
//! them.

use chat::document::{Block, Document};
use chat::prompt::{self, Part};
use chat::text::Text;
use chat::write;
use proptest::prelude::*;

use super::{chat_with_calls, config, foreign, soup};
use crate::dump;

fn apply(text: &Text, edits: Vec<write::TextEdit>) -> Text {
    let sorted = edits
        .windows(2)
        .all(|pair| pair[0].lines.end <= pair[1].lines.start);
    assert!(sorted, "the edits overlap or are not sorted: {edits:?}");
    let mut text = text.clone();
    for edit in edits.into_iter().rev() {
        text.splice(edit.lines, &edit.replacement);
    }
    text
}

/// Returns the document after closing the fences that the host closes before it writes.
fn repaired(text: &str) -> Option<Text> {
    let text = Text::from(text);
    let text = apply(&text, write::close_fences(&Document::parse(&text)));
    let complete = Document::parse(&text).open_fences.is_empty();
    complete.then_some(text)
}

/// Returns what is sent, without results.
fn sent_without_results(text: &Text) -> Vec<Part> {
    let sent = prompt::build(&Document::parse(text), &[]);
    let parts = sent.messages.into_iter().flat_map(|it| it.parts);
    parts
        .filter(|part| !matches!(part, Part::ToolResult { .. }))
        .collect()
}

/// Formats every non-blank block that is not a result.
fn other_blocks(text: &Text) -> Vec<String> {
    let document = Document::parse(text);
    let dump = dump::document(&document);
    dump.lines()
        .filter(|line| line.starts_with("  ") && !line.starts_with("  result "))
        .map(str::to_owned)
        .collect()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_result_is_preserved_and_changes_nothing_else(
        text in prop_oneof![soup(), chat_with_calls()],
        payload in prop_oneof![foreign(), any::<String>(), Just("`".repeat(10_000))],
        is_error: bool,
    ) {
        let Some(text) = repaired(&text) else { return Ok(()) };
        let document = Document::parse(&text);
        for turn in document.turns() {
            for (index, call) in turn.calls.iter().enumerate().filter(|(_, call)| !call.duplicate) {
                let id = &call.tool_use.id;
                let block = write::tool_result(id.as_str(), &payload, is_error);
                let after = apply(&text, write::place(&document, &turn, &[(index, block)]));
                let changed = Document::parse(&after);
                let found = changed.turn(turn.assistant);
                let result = found.as_ref().and_then(|turn| turn.calls[index].result);
                let content = result.map(|it| changed.lossy(it.body.clone()));
                prop_assert_eq!(content.as_deref(), Some(payload.as_str()));
                prop_assert_eq!(other_blocks(&after), other_blocks(&text));
                prop_assert_eq!(sent_without_results(&after), sent_without_results(&text));
                prop_assert!(changed.open_fences.is_empty());
            }
        }
    }

    #[test]
    fn all_results_of_a_turn_are_in_call_order(text in chat_with_calls(), payload in foreign()) {
        let Some(text) = repaired(&text) else { return Ok(()) };
        let document = Document::parse(&text);
        let turn = document.turn(1).expect("the generated turn");
        let answers: Vec<_> = ["a", "b"]
            .map(|id| write::tool_result(id, &format!("{payload}{id}"), false))
            .into_iter()
            .enumerate()
            .collect();
        let after = apply(&text, write::place(&document, &turn, &answers));
        let changed = Document::parse(&after);
        let contents: Vec<_> = changed.turn(1).expect("the same turn").calls.iter()
            .map(|call| changed.lossy(call.result.expect("a result").body.clone()).into_owned())
            .collect();
        prop_assert_eq!(contents, [format!("{payload}a"), format!("{payload}b")]);
        prop_assert_eq!(other_blocks(&after), other_blocks(&text));
        prop_assert_eq!(sent_without_results(&after), sent_without_results(&text));
        // Without earlier results, their order in the file is that of the calls.
        if turn.calls.iter().all(|call| call.result.is_none()) {
            let ids: Vec<_> = changed.blocks_of(&changed.messages[2]).iter().filter_map(|block| match block {
                Block::ToolResult(result) => Some(result.tool_use_id.as_str()),
                _ => None,
            }).collect();
            prop_assert_eq!(ids, ["a", "b"]);
        }
    }

    #[test]
    fn closing_fences_adds_no_structure(text in soup()) {
        let text = Text::from(text.as_str());
        let document = Document::parse(&text);
        let after = apply(&text, write::close_fences(&document));
        let changed = Document::parse(&after);
        prop_assert_eq!(dump::roles(&changed), dump::roles(&document));
        let structure = |document: &Document<'_>| -> Vec<String> {
            dump::document(document).lines().filter(|line| !line.starts_with("  text ") && !line.starts_with("prelude ")).map(str::to_owned).collect()
        };
        prop_assert_eq!(structure(&changed), structure(&document));
        let is_blocked = document.frontmatter.is_some() || document.open_fences.iter().any(|fence| fence.below_header);
        prop_assert!(is_blocked || changed.open_fences.is_empty());
    }
}
