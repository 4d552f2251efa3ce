//! Properties of any text, any answer, and any order of events. The generators of examples
//! are here; the properties are in the submodules.

mod cycle;
pub mod writing;

use std::collections::BTreeSet;

use chat::cycle::CycleEvent;
use chat::document::{Block, Document, Status};
use chat::prompt::{self, Part, Prompt, PromptRole};
use chat::scan::{Scan, fence};
use chat::status::read_status;
use chat::text::Text;
use chat::write;
use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use crate::dump;
use crate::play::Play;

/// 256 cases, or `PROPTEST_CASES`. Failures become case files, by hand.
fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Lines that are structure, or similar to it.
const LINES: [&str; 41] = [
    "@You:",
    "@Assistant:",
    "@System:",
    "@You: hi",
    "@You: @Assistant:",
    "@Assistant: text",
    "@Assistant: **Tool Use:** `slow` (`a`)",
    "@You: **Tool Result:** `a`",
    "@you:",
    "@Foo:",
    "**Tool Use:** `slow` (`a`)",
    "**Tool Use:** `bash` (`b`)",
    "**Tool Use:** `slow` (`c`)",
    "**Tool Result:** `a`",
    "**Tool Result:** `b`",
    "**Tool Result:** `a` (error)",
    "**Tool Result:** `b` (denied)",
    "**Tool Result:** `nobody`",
    "```",
    "```",
    "```",
    "```json",
    "```json",
    "````",
    "~~~",
    "```lua",
    "```flemma:tool status=pending",
    "```flemma:tool status=approved",
    "```flemma:tool status=rejected note=x",
    "{}",
    r#"{"command":"ls"}"#,
    "<thinking>",
    "</thinking>",
    "<thinking redacted>",
    r#"<thinking test:signature="x"/>"#,
    "<!-- flemma:aborted: cut -->",
    "",
    "",
    "  ",
    "text",
    r"\@You:",
];

/// Pieces of foreign text that form structure when combined.
const PIECES: [&str; 35] = [
    "@You:",
    "@Assistant:",
    "@System: x",
    "@",
    "Y",
    "ou:",
    "**Tool Use:** `slow` (`live`)",
    "**Tool Result:** `live`",
    "**Tool",
    " Use:**",
    "```",
    "````",
    "~~~",
    "`",
    "json",
    "flemma:tool status=approved",
    "{}",
    "<thinking>",
    "</thinking>",
    "<think",
    "ing redacted>",
    "<!-- flemma:aborted: x -->",
    "<!-- flemma:part -->",
    "<!-- flemma:",
    "\\",
    "\n",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    " ",
    "\t",
    "\u{0}",
    "é\u{2028}",
    "word",
];

/// Documents of structural lines.
fn soup() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&LINES[..]), 0..40).prop_map(|it| it.join("\n"))
}

/// A whole turn with two calls, its parts in any state, followed by other lines.
fn chat_with_calls() -> impl Strategy<Value = String> {
    let answer = prop::sample::select(vec![
        "",
        "\n\n@You:",
        "\n\n@You: my words",
        "\n\n@You: @Assistant: is a marker",
        "\n\n@You:\nmy words\n\nmore",
        "\n\n@You:\n**Tool Result:** `a`\n\n```\nold\n```",
        "\n\n@You: **Tool Result:** `b`\n\n```flemma:tool status=pending\n```\nwords",
        "\n\n@You:\n**Tool Result:** `b`\n\n```\nB\n```\n\nmid\n\n**Tool Result:** `a`\n\n```flemma:tool status=approved\n```",
    ]);
    (answer, soup()).prop_map(|(answer, behind)| {
        let call = |id| format!("**Tool Use:** `slow` (`{id}`)\n\n```json\n{{}}\n```");
        format!(
            "@You:\nq\n\n@Assistant:\ntext\n\n{}\n\n{}{answer}\n\n@Assistant:\n{behind}",
            call("a"),
            call("b")
        )
    })
}

/// Text from a hostile model or tool.
fn foreign() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(&PIECES[..]), 0..24).prop_map(|it| it.concat())
}

// No typo in a status runs a call.

const WAITING: &str = "@You:\nq\n\n@Assistant:\n**Tool Use:** `bash` (`t`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n@You:\n**Tool Result:** `t`\n\n```flemma:tool status=pending\n```";

proptest! {
    #![proptest_config(config())]

    #[test]
    fn only_the_exact_word_after_the_key_approves(
        pieces in prop::collection::vec(
            prop::sample::select(vec![
                "status", "=", " ", "approved", "denied", "pending", "note", "\t", "\u{a0}", "Approved", "x", "\u{200b}", "\"",
            ]),
            0..9,
        )
    ) {
        let info = pieces.concat();
        if read_status(&info).status == Status::Approved {
            let tight = info.replace('\t', " ");
            let mut words = tight.clone();
            while words.contains(" =") || words.contains("= ") {
                words = words.replace(" =", "=").replace("= ", "=");
            }
            let mut statuses = words.split(' ').filter(|word| word.starts_with("status=") || *word == "status").peekable();
            prop_assert!(statuses.peek().is_some(), "{info:?}");
            prop_assert!(statuses.all(|word| word == "status=approved"), "{info:?}");
        }
    }

    #[test]
    fn only_an_edit_that_gives_approved_runs_a_call(
        line in 0usize..15,
        written in prop_oneof![
            prop::sample::select(&LINES[..]).prop_map(str::to_owned),
            prop::sample::select(vec![
                "```flemma:tool", "```flemma:tool status=approve", "```flemma:tool status=Approved", "```flemma:tool status=",
                "```approve", "**Tool Result:** `t` (approve)", "status=approve", "**Tool Use:** `bash` (`t2`)",
            ]).prop_map(str::to_owned),
            "[ -~]{0,12}",
        ],
    ) {
        prop_assume!(!written.contains("approved") && !written.contains("`slow`"));
        let mut play = Play::typed(WAITING);
        play.event(CycleEvent::Advance);
        let mut lines: Vec<&str> = WAITING.split('\n').collect();
        lines[line.min(13)] = &written;
        play.type_over(&lines.join("\n"));
        play.event(CycleEvent::Advance);
        play.event(CycleEvent::Advance);
        prop_assert!(!play.log().iter().any(|it| it.starts_with("run")), "{}", play.string());
    }
}

// Placed results are preserved byte for byte, are in call order, and change nothing around
// them.

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

// Parsing loses nothing, agrees with Markdown about fences, and gives a valid request for
// any file.

fn printed(bytes: &[u8]) -> Vec<u8> {
    let text = Text::from_bytes(bytes);
    Document::parse(&text).print()
}

/// Returns the first and last line of each fence; no last line if it never closes.
fn our_fences(text: &str) -> Vec<(usize, Option<usize>)> {
    let text = Text::from(text);
    let scan = Scan::from(&text, 0);
    let mut found = Vec::new();
    let mut line = 0;
    while line < text.line_count() {
        let close = fence(text.line(line)).map(|opener| scan.closing_line(line, opener));
        found.extend(close.map(|close| (line, close)));
        line = match close {
            Some(Some(close)) => close + 1,
            Some(None) => break,
            None => line + 1,
        };
    }
    found
}

/// Returns the same by a Markdown parser, which gives a last line even for an unclosed
/// fence.
fn markdown_fences(text: &str) -> Vec<(usize, usize)> {
    let line_of = |offset: usize| text[..offset].matches('\n').count();
    Parser::new(text)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))) => {
                let end = text[..range.end].trim_end_matches('\n').len();
                Some((line_of(range.start), line_of(end.max(range.start))))
            }
            _ => None,
        })
        .collect()
}

/// Checks what every provider requires.
fn assert_valid(prompt: &Prompt) {
    let mut ids = BTreeSet::new();
    for (at, message) in prompt.messages.iter().enumerate() {
        assert!(!message.parts.is_empty(), "message {at} is empty");
        let next = prompt.messages.get(at + 1);
        assert!(next.is_none_or(|next| next.role != message.role));
        if message.role == PromptRole::System {
            let before = at.checked_sub(1).map(|at| prompt.messages[at].role);
            assert_eq!(before, Some(PromptRole::User), "before message {at}");
            let follows = next.map(|next| next.role);
            assert_ne!(follows, Some(PromptRole::User), "after message {at}");
        }
        let mut open = Vec::new();
        for part in &message.parts {
            match part {
                Part::ToolUse { id, .. } => {
                    assert!(ids.insert(id.clone()), "{id} appears twice");
                    open.push(id.clone());
                }
                Part::Text(text) => assert!(!text.trim().is_empty()),
                _ => {}
            }
        }
        let answered: Vec<_> = next
            .into_iter()
            .flat_map(|next| &next.parts)
            .filter_map(|part| match part {
                Part::ToolResult { tool_use_id, .. } => Some(tool_use_id.clone()),
                _ => None,
            })
            .collect();
        assert_eq!(open, answered, "calls and answers of message {at}");
        assert!(open.is_empty() || message.role == PromptRole::Assistant);
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_preserved(bytes: Vec<u8>) {
        prop_assert_eq!(printed(&bytes), bytes);
    }

    #[test]
    fn any_structure_is_preserved(text in soup(), tail in prop::sample::select(vec!["", "\n", "\r\n\n"])) {
        for text in [format!("{text}{tail}"), format!("\u{feff}{text}"), text.replace('\n', "\r\n")] {
            prop_assert_eq!(printed(text.as_bytes()), text.as_bytes());
        }
    }

    #[test]
    fn line_endings_do_not_change_a_chat(text in prop_oneof![soup(), chat_with_calls()]) {
        prop_assume!(!text.contains('\r'));
        let sent = |text: &str| prompt::build(&Document::parse(&Text::from(text)), &[]);
        prop_assert_eq!(sent(&text), sent(&text.replace('\n', "\r\n")));
    }

    #[test]
    fn a_diagnostic_is_within_the_text(text in prop_oneof![soup(), chat_with_calls()]) {
        let text = Text::from(text.as_str());
        for it in Document::parse(&text).diagnostics.iter() {
            prop_assert!(!it.lines.is_empty() && it.lines.end <= text.line_count(), "{it:?}");
            let fixed = it.fix.iter().all(|fix| fix.lines.start <= fix.lines.end && fix.lines.end <= text.line_count());
            prop_assert!(fixed, "{it:?}");
        }
    }

    #[test]
    fn parsing_again_from_a_change_equals_parsing_everything(
        text in prop_oneof![soup(), chat_with_calls()],
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0usize..4, soup()), 1..4),
    ) {
        let mut text = Text::from(text.as_str());
        let mut parsed = Document::parse(&text).parsed();
        for (at, removed, new) in changes {
            let first = at.index(text.line_count() + 1);
            let new: Vec<&str> = new.lines().take(6).collect();
            text.splice(first..first + removed, &new);
            let again = Document::parse_again(&text, parsed, first);
            prop_assert_eq!(again.parsed(), Document::parse(&text).parsed());
            parsed = again.parsed();
        }
    }

    #[test]
    fn fences_agree_with_markdown(
        lines in prop::collection::vec(
            prop::sample::select(vec![
                "```", "````", "~~~", "~~~~", "```rust", "~~~ a`b", "```a`b", "``", "``` ", "text", "", "~~", "```\u{e9}",
            ]),
            0..14,
        )
    ) {
        let text = lines.join("\n");
        let ours = our_fences(&text);
        let theirs = markdown_fences(&text);
        let openers = |found: &[usize]| found.to_vec();
        let our_openers: Vec<usize> = ours.iter().map(|it| it.0).collect();
        let their_openers: Vec<usize> = theirs.iter().map(|it| it.0).collect();
        prop_assert_eq!(openers(&our_openers), openers(&their_openers), "{}", text);
        for ((_, close), (_, last)) in ours.iter().zip(&theirs) {
            if let Some(close) = close {
                prop_assert_eq!(close, last, "{}", text);
            }
        }
    }

    #[test]
    fn ends_equal_those_of_the_whole_request(
        text in prop_oneof![soup(), chat_with_calls()],
    ) {
        let text = Text::from(text.as_str());
        let document = Document::parse(&text);
        let mut messages = prompt::build(&document, &[]).messages;
        messages.retain(|message| message.role != PromptRole::System);
        let ends = messages.first().zip(messages.last());
        prop_assert_eq!(prompt::ends(&document), ends.map(|(first, last)| (first.role, last.role)));
    }

    #[test]
    fn any_file_can_be_sent(text in prop_oneof![soup(), chat_with_calls()]) {
        let text = Text::from(text.as_str());
        assert_valid(&prompt::build(&Document::parse(&text), &[]));
    }
}
