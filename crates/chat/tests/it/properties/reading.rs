//! Parsing loses nothing, agrees with Markdown about fences, and gives a valid request for
//! any file.

use std::collections::BTreeSet;

use chat::document::Document;
use chat::prompt::{self, Part, Prompt, PromptRole};
use chat::scan::{Scan, fence};
use chat::text::Text;
use proptest::prelude::*;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};

use super::{chat_with_calls, config, soup};

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
