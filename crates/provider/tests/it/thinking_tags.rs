//! Thinking that a model marks with tags in its text, on its own and around calls that are
//! written as text.

use chat::tool::ToolDefinition;
use proptest::prelude::*;
use provider::{Decoder, Protocol, StreamEvent, TextCalls};
use serde_json::json;

const CALL: &str =
    "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>";

/// Decodes an answer whose text arrives in these pieces, as `native`, or with calls in its
/// text.
fn decode<'a>(pieces: impl IntoIterator<Item = &'a str>, is_native: bool) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new(Protocol::ChatCompletions);
    let tool = ToolDefinition {
        name: "bash".to_owned(),
        description: String::new(),
        input_schema: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
        strict: false,
        keywords: Vec::new(),
    };
    let mut calls = TextCalls::new(vec![tool]);
    let deltas = pieces
        .into_iter()
        .map(|piece| json!({"choices": [{"delta": {"content": piece}}]}));
    let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
    let mut events = Vec::new();
    for event in deltas.chain([end]) {
        events.extend(decoder.push(format!("data: {event}\n\n").as_bytes()));
    }
    events.extend(decoder.finish());
    if is_native {
        events
    } else {
        calls.read(events)
    }
}

/// Formats an answer: text as it is, thinking in parentheses, calls in brackets.
fn show(events: Vec<StreamEvent>) -> String {
    let mut shown = String::new();
    let mut block = 0;
    for event in events {
        match event {
            StreamEvent::Text(text) => shown.push_str(&text),
            StreamEvent::TextWasThinking => {
                let text = shown.split_off(block);
                shown.push_str(&format!("({})", text.trim()));
                block = shown.len();
            }
            StreamEvent::Thinking(text) => {
                if !shown[block..].starts_with('(') {
                    block = shown.len();
                    shown.push('(');
                }
                shown.push_str(&text);
            }
            StreamEvent::ThinkingEnd { .. } => {
                shown.push(')');
                block = shown.len();
            }
            StreamEvent::ToolUse(call) => {
                shown.push_str(&format!("[{} {}]", call.name, call.input));
                block = shown.len();
            }
            StreamEvent::Stop(_) => {}
            StreamEvent::ToolUseStart { .. } | StreamEvent::Usage(_) => {}
            other => panic!("{other:?}"),
        }
    }
    shown
}

/// Checks an answer that arrives whole, split at every character, and letter by letter.
#[track_caller]
fn check_as(is_native: bool, answer: &str, expected: &str) {
    assert_eq!(show(decode([answer], is_native)), expected, "{answer:?}");
    for (at, _) in answer.char_indices() {
        let split = decode([&answer[..at], &answer[at..]], is_native);
        assert_eq!(show(split), expected, "{answer:?} cut at {at}");
    }
    let letters: Vec<String> = answer.chars().map(String::from).collect();
    let single = decode(letters.iter().map(String::as_str), is_native);
    assert_eq!(show(single), expected, "{answer:?} letter by letter");
}

/// Checks an answer that has the same parts whether or not its text may contain calls.
#[track_caller]
fn check(answer: &str, expected: &str) {
    check_as(true, answer, expected);
    check_as(false, answer, expected);
}

#[test]
fn every_spelling_is_thinking() {
    for (open, close) in [
        ("<think>", "</think>"),
        ("<Think>", "</THINK>"),
        ("<thinking>", "</thinking>"),
        ("<thought>", "</thought>"),
        ("<reasoning>", "</reasoning>"),
        ("<seed:think>", "</seed:think>"),
        ("[THINK]", "[/THINK]"),
        ("◁think▷", "◁/think▷"),
        ("<|START_THINKING|>", "<|END_THINKING|>"),
        ("<|begin_of_thought|>", "<|end_of_thought|>"),
        ("<|channel|>analysis<|message|>", "<|end|>"),
    ] {
        check(&format!("{open}\nTwo.\n{close}\n\n4."), "(Two.)4.");
        check(&format!("\n {open}a{close}b"), "\n (a)b");
        check(
            &format!("{open}\n{CALL}\n{close}\n4."),
            &format!("({CALL})4."),
        );
        check(&format!("{open}\n{CALL}\n"), &format!("({CALL})"));
        check(
            &format!("a {open}\n{CALL}\n{close}4."),
            &format!("a ({CALL})4."),
        );
        check(&format!("Two.\n{close}\n\n4."), "(Two.)4.");
    }
    check(
        "<|channel|>analysis<|message|>Two.<|end|><|start|>assistant<|channel|>final<|message|>4.<|return|>",
        "(Two.)4.",
    );
}

#[test]
fn empty_thinking_leaves_nothing() {
    check("<think>\n\n</think>\n\n4.", "4.");
    check("</think>\n4.", "4.");
    check("<think>", "");
}

#[test]
fn thinking_may_be_nested_and_repeated() {
    check(
        "<think>\na\n<think>\nb\n</think>\nc\n</think>\nd",
        "(a\n\nb\n\nc)d",
    );
    check("<think>a <think> b</think>c", "(a <think> b)c");
    check("<think>a</think>b\n<think>c</think>d", "(a)b\n(c)d");
    check("<think>a</think>b</think>c", "(a)(b)c");
}

#[test]
fn tags_in_code_are_text() {
    for answer in [
        "Use `<think>` and `</think>`.",
        "Use ``<think>``: `` ` </think>``.",
        "```\n<think>\nhm\n</think>\n```\n\nThat is all.",
        "~~~xml\n<think>\n~~~\n",
        "````\n```\n</think>\n````\nDone.",
        "The <think> tag begins it.",
        "a < b, a <thin",
        "[THINKING] x [T",
        "<thinker>",
    ] {
        check(answer, answer);
    }
}

#[test]
fn a_call_in_the_text_before_a_closing_tag_is_thinking() {
    check_as(
        false,
        &format!("Hm.\n{CALL}\n</think>\n4."),
        &format!("(Hm.\n{CALL})4."),
    );
    check_as(
        false,
        &format!("Hm.\n{CALL}\n</think>\n{CALL}"),
        &format!("(Hm.\n{CALL})[bash {{\"command\": \"ls\"}}]"),
    );
}

#[test]
fn a_call_after_thinking_is_a_call() {
    let call = "[bash {\"command\": \"ls\"}]";
    check_as(
        false,
        &format!("<think>a</think>\n{CALL}"),
        &format!("(a){call}"),
    );
    check_as(
        false,
        &format!("<think>a</think>{CALL}\n"),
        &format!("(a){call}\n"),
    );
    check_as(
        false,
        &format!("Use `<think>`.\n{CALL}\n"),
        &format!("Use `<think>`.\n{call}\n"),
    );
    // The tag may be a mention, but the call may as well be part of thinking.
    for line in [
        "The <think> tag.",
        "`a` and <think> b",
        "` <think> b",
        "``a ` b`` and [THINK] c",
        "`a` `b <thought> c",
    ] {
        let doubtful = format!("{line}\n{CALL}\n");
        check_as(false, &doubtful, &doubtful);
    }
}

#[test]
fn tags_in_the_arguments_of_a_call_belong_to_it() {
    let call = "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"echo '<think>a</think> </tool_call>'\"}}</tool_call>";
    check_as(true, call, call);
    check_as(
        false,
        call,
        "[bash {\"command\": \"echo '<think>a</think> </tool_call>'\"}]",
    );
}

proptest! {
    #[test]
    fn no_call_survives_inside_thinking_and_no_word_is_lost(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "<think>", "</think>", "a", " ", "\n", "`", "```\n", "<tool_call>", CALL, "[THINK]", "</thinking>", "<",
            ]),
            0..12,
        ),
        cut in any::<prop::sample::Index>(),
    ) {
        let inner = parts.concat();
        let whole = decode([inner.as_str()], false);
        let ends = inner.char_indices().map(|(at, _)| at).collect::<Vec<_>>();
        if !ends.is_empty() {
            let at = ends[cut.index(ends.len())];
            let split = decode([&inner[..at], &inner[at..]], false);
            prop_assert_eq!(show(split), show(whole));
        }
        // Whatever the thinking contains, as long as it does not end it.
        if !inner.contains("</think>") {
            let events = decode([format!("<think>\n{inner}").as_str()], false);
            prop_assert!(!events.iter().any(|it| matches!(it, StreamEvent::ToolUse(_))));
            let events = decode([format!("{inner}\n\n</think>").as_str()], false);
            let is_open = inner.contains('`') || inner.contains("<tool_call>") || inner.contains('<') || inner.contains('[');
            let calls = events.iter().filter(|it| matches!(it, StreamEvent::ToolUse(_)));
            prop_assert!(is_open || calls.count() == 0, "{:?}", events);
        }
        let letters = show(decode([inner.as_str()], true)).matches('a').count();
        prop_assert_eq!(letters, inner.matches('a').count());
    }
}
