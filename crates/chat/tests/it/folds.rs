//! Folds and the texts of closed folds.

use std::time::Duration;

use chat::cycle::Cycle;
use chat::document::Document;
use chat::folds::{FoldKind, FoldText, fold_text, part, part_at, part_count};
use chat::marks::marks;
use chat::outcome::{CallRun, UndoCoverage};
use chat::spans::spans;
use chat::text::Text;
use proptest::prelude::*;

/// Formats each fold as `FIRST-LAST kind: label text`, with lines from one; indented inside
/// a message, and with `!` if it must show.
fn folds(text: &str) -> String {
    let text = Text::from(text);
    let document = Document::parse(&text);
    let mut found = String::new();
    for fold in (0..part_count(&document)).flat_map(|at| part(&document, at, &[]).folds) {
        let FoldText { label, text, .. } = fold_text(&document, &fold, &crate::Tools, |_, _| None);
        let indent = if fold.kind.is_inner() { "  " } else { "" };
        let sign = if fold.must_show { "!" } else { "" };
        let (first, last) = (fold.lines.start + 1, fold.lines.end);
        let name = fold.kind.name();
        found.push_str(&format!(
            "{indent}{first}-{last}{sign} {name}: {label} {text}\n"
        ));
    }
    found
}

#[track_caller]
fn check(text: &str, expected: &str) {
    assert_eq!(folds(text), expected, "{text}");
}

#[test]
fn a_call_without_a_result_has_a_fold_if_its_arguments_are_shown_elsewhere() {
    let text = Text::from(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`t_1`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n\
         @You:\n**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```\n",
    );
    let document = Document::parse(&text);
    let of_call = |shown: &[usize]| {
        let folds = part(&document, 2, shown).folds.into_iter();
        let inner = folds.filter(|it| it.kind == FoldKind::ToolUse);
        inner.map(|it| (it.lines, it.must_show)).collect::<Vec<_>>()
    };
    assert_eq!(of_call(&[]), []);
    assert_eq!(of_call(&[5]), []);
    assert_eq!(of_call(&[6]), [(4..9, false)]);
    // The whole message is not closed.
    assert!(part(&document, 2, &[6]).folds[0].must_show);
}

#[test]
fn a_turn_with_all_kinds_of_blocks() {
    check(
        r#"```lua
flemma.opt.model = "big"
```

@You:
What is in f.txt,
and why?

@Assistant:
<thinking>
I should look.

Then tell.
</thinking>

I'll look.

**Tool Use:** `read` (`t_1`)

```json
{"label":"reading","path":"f.txt"}
```

@You:
**Tool Result:** `t_1`

```
one
two
```

@Assistant:
It holds two lines.

@You:
"#,
        r#"1-3 frontmatter: frontmatter (lua) flemma.opt.model = "big"
5-8 message: @You: What is in f.txt, and why?
9-23 message: @Assistant: I'll look. | read: f.txt  # reading
  10-14 thinking: thinking I should look. Then tell.
  18-22 tool_use: → read f.txt  # reading
24-31 message: @You: ✓ read
  25-30 tool_result: ✓ read f.txt  # reading
32-34 message: @Assistant: It holds two lines.
"#,
    );
}

#[test]
fn the_last_message_has_no_fold() {
    check("@You:\nGo.\n", "");
    check(
        "@You:\nGo.\n\n@Assistant:\n<thinking>\nHm.\n</thinking>",
        "1-3 message: @You: Go.\n",
    );
    check(
        "@You:\nGo.\n\n@Assistant:\n<thinking>\nHm.\n</thinking>\n",
        "1-3 message: @You: Go.\n  5-7 thinking: thinking Hm.\n",
    );
}

#[test]
fn single_line_thinking_has_no_fold_and_nested_thinking_ends_with_the_outer() {
    check(
        "@Assistant:\n<thinking p:signature=\"s\"/>\n<thinking redacted>\nabc\n</thinking>\nText.\n",
        "  3-5 thinking: thinking (redacted) \n",
    );
    check(
        "@Assistant:\n<thinking>\na\n<thinking>\nb\n</thinking>\nText.\n</thinking>\nMore.\n\n@You:\nb\n",
        "1-10 message: @Assistant: Text. </thinking> More.\n  2-6 thinking: thinking a <thinking> b\n",
    );
    check(
        "@Assistant:\n<thinking>\na\n\n@You:\nb\n",
        "1-4 message: @Assistant: <thinking> a\n",
    );
}

#[test]
fn an_edit_says_how_many_lines_it_changed_unless_it_failed() {
    let chat = |result: &str| {
        format!(
            "@Assistant:\n**Tool Use:** `edit` (`t`)\n\n```json\n{{\"path\":\"f\",\"oldText\":\"a\",\
             \"newText\":\"b\\nc\"}}\n```\n\n@You:\n**Tool Result:** `t`{result}\n\n```\nIt.\n```\n\n@You:\n"
        )
    };
    let done = folds(&chat(""));
    assert!(done.contains("tool_use: → edit +2 −1 f\n"), "{done}");
    assert!(done.contains("tool_result: ✓ edit · +2 −1 f\n"), "{done}");
    let failed = folds(&chat(" (error)"));
    assert!(failed.contains("tool_use: → edit f\n"), "{failed}");
    assert!(!failed.contains('−'), "{failed}");
}

const CALL: &str =
    "@Assistant:\n**Tool Use:** `bash` (`t`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n@You:\n";

#[test]
fn a_pending_call_has_no_fold_and_its_message_must_show() {
    let placeholder = "**Tool Result:** `t`\n\n```flemma:tool status=pending\n```\n\n";
    let message = "@Assistant: bash: {\"command\":\"ls\"}";
    let message = message.replace("{\"command\":\"ls\"}", "$ ls");
    check(
        &format!("{CALL}{placeholder}"),
        &format!("1-7! message: {message}\n"),
    );
    check(
        &format!("{CALL}{placeholder}@Assistant:\nText.\n"),
        &format!("1-7! message: {message}\n8-13! message: @You: ● bash\n"),
    );
}

#[test]
fn of_two_calls_only_the_answered_one_has_a_fold() {
    check(
        "@Assistant:\nBoth:\n\n**Tool Use:** `read` (`a`)\n\n```json\n{\"label\":\"l\",\"path\":\"f\"}\n```\n\n\
         **Tool Use:** `bash` (`b`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n@You:\n\
         **Tool Result:** `a`\n\n```\none\n```\n\n\
         **Tool Result:** `b`\n\n```flemma:tool status=pending\n```\n",
        "1-15! message: @Assistant: Both: | read: f  # l | bash: $ ls\n  4-8 tool_use: → read f  # l\n  \
         17-21 tool_result: ✓ read f  # l\n",
    );
}

#[test]
fn an_error_and_a_cut_off_answer_must_show() {
    check(
        &format!(
            "{CALL}**Tool Result:** `t` (error)\n\n```\nno\n```\n\n@Assistant:\nHm.\n<!-- flemma:aborted: cut -->\n\n@You:\n"
        ),
        "1-7 message: @Assistant: bash: $ ls\n  2-6 tool_use: → bash $ ls\n\
         8-14! message: @You: ✗ bash\n  9-13! tool_result: ✗ bash no\n\
         15-18! message: @Assistant: Hm.\n",
    );
}

#[test]
fn the_fold_of_a_result_has_the_outcome() {
    let chat =
        |result: &str| format!("{CALL}**Tool Result:** `t`\n\n```\n{result}\n```\n\n@You:\n");
    let said = |result: &str, run: Option<CallRun>| {
        let text = Text::from(chat(result).as_str());
        let document = Document::parse(&text);
        let folds = part(&document, 2, &[]).folds;
        let fold = folds
            .iter()
            .find(|it| it.kind == FoldKind::ToolResult)
            .cloned();
        let fold = fold.expect("the result has a fold");
        let said = fold_text(&document, &fold, &crate::Tools, |_, _| run.clone());
        (
            format!("{} {}", said.label, said.text),
            said.group,
            fold.must_show,
        )
    };
    let ran = |failed| {
        let took = Duration::from_millis(430);
        Some(CallRun {
            failed,
            took,
            changed: None,
            undo: UndoCoverage::default(),
        })
    };
    let fine = ("✓ bash · 430ms $ ls".to_owned(), "FlemmaToolSuccess", false);
    assert_eq!(said("out", ran(false)), fine);
    let failed = (
        "✗ bash · exit 3 · 430ms $ ls".to_owned(),
        "FlemmaToolError",
        true,
    );
    assert_eq!(said("out\n\nCommand exited with code 3", ran(true)), failed);
    check(
        &chat("out\n\nCommand exited with code 3"),
        "1-7 message: @Assistant: bash: $ ls\n  2-6 tool_use: → bash $ ls\n\
         8-16! message: @You: ✗ bash · exit 3\n  9-15! tool_result: ✗ bash · exit 3 $ ls\n",
    );
}

#[test]
fn a_fold_text_has_the_highlight_of_its_kind() {
    let chat = "```lua\n```\n@System:\nS\n@You:\nU\n@Assistant:\n<thinking>\nT\n</thinking>\n\
        **Tool Use:** `bash` (`t`)\n\n```json\n{}\n```\n@You:\n**Tool Result:** `t`\n\n```\n```\n\
        **Tool Result:** `x`\n\n```\n```\n**Tool Result:** `y` (error)\n\n```\nE\n```\n@You:\n";
    let text = Text::from(chat);
    let document = Document::parse(&text);
    let folds = (0..part_count(&document)).flat_map(|at| part(&document, at, &[]).folds);
    let found: Vec<(String, &str)> = folds
        .map(|fold| fold_text(&document, &fold, &crate::Tools, |_, _| None))
        .map(|it| (it.label.into_owned(), it.group))
        .collect();
    let expected = [
        ("frontmatter (lua)", "FlemmaFrontmatter"),
        ("@System:", "FlemmaSystem"),
        ("@You:", "FlemmaUser"),
        ("@Assistant:", "FlemmaAssistant"),
        ("thinking", "FlemmaThinking"),
        ("→ bash", "FlemmaToolUse"),
        ("@You:", "FlemmaUser"),
        ("✓ bash", "FlemmaToolSuccess"),
        // Results without a call.
        ("✓ result", "FlemmaToolResult"),
        ("✗ result", "FlemmaToolError"),
    ];
    assert_eq!(
        found,
        expected.map(|(label, group)| (label.to_owned(), group))
    );
}

#[test]
fn a_message_names_the_first_calls_and_results_and_counts_the_others() {
    let call = |id: usize| format!("**Tool Use:** `t{id}` (`{id}`)\n\n```json\n{{}}\n```\n");
    let result = |id: usize| format!("**Tool Result:** `{id}` (error)\n\n```\n```\n");
    let said = |count: usize| {
        let calls: String = (1..=count).map(call).collect();
        let results: String = (1..=count).map(result).collect();
        let text = format!("@Assistant:\n{calls}@You:\n{results}@You:\n");
        let text = Text::from(text.as_str());
        let document = Document::parse(&text);
        [1, 2].map(|at| {
            fold_text(
                &document,
                &part(&document, at, &[]).folds[0],
                &crate::Tools,
                |_, _| None,
            )
            .text
        })
    };
    assert_eq!(said(2), ["t1 | t2", "✗ t1 | ✗ t2"]);
    assert_eq!(
        said(6),
        [
            "t1 | t2 | +4 more",
            "✗ t1 | ✗ t2 | ✗ t3 | ✗ t4 | +2 more, 2 failed"
        ]
    );
}

#[test]
fn unreadable_frontmatter_must_show_and_needs_a_line_below() {
    check(
        "```toml\na\n```\n",
        "1-3! frontmatter: frontmatter (toml) a\n",
    );
    check("```lua\na\n```", "");
}

#[test]
fn there_is_no_part_after_the_last_message() {
    let text = Text::from("@You:\nHi.\n\n@Assistant:\nHi.");
    let document = Document::parse(&text);
    assert_eq!(part_count(&document), 3);
    let behind = part(&document, 3, &[]);
    assert_eq!((behind.lines, behind.folds), (5..5, Vec::new()));
}

#[test]
fn a_block_on_the_marker_line_has_no_fold_of_its_own() {
    check(
        "@Assistant: Hello\nyou.\n\n@You: **Tool Result:** `t`\n\n```\nout\n```\n\n@You:\n",
        "1-3 message: @Assistant: Hello you.\n4-9 message: @You: ✓ result\n",
    );
}

#[test]
fn a_fold_text_is_one_line_without_hidden_characters() {
    let long = "word ".repeat(500);
    for (said, shown) in [
        (
            "a\u{202e}b\u{1b}[31m %{system('id')}",
            "a<202e>b<1b>[31m %{system('id')}",
        ),
        (long.as_str(), ""),
    ] {
        let text = format!("@You:\n{said}\n\n@You:\n");
        let text = Text::from(text.as_str());
        let document = Document::parse(&text);
        let found = fold_text(
            &document,
            &part(&document, 1, &[]).folds[0],
            &crate::Tools,
            |_, _| None,
        );
        assert!(found.text.chars().count() <= 120, "{found:?}");
        assert!(!found.text.contains(char::is_control), "{found:?}");
        assert!(shown.is_empty() || found.text.contains(shown), "{found:?}");
    }
}

#[test]
fn a_call_with_unreadable_arguments_shows_its_name() {
    check(
        "@Assistant:\n**Tool Use:** `bash` (`t`)\n\n```json\n{no\n```\n\n@You:\n**Tool Result:** `t` (error)\n\n```\nx\n```\n\n",
        "1-7 message: @Assistant: bash\n  2-6 tool_use: → bash \n  9-13! tool_result: ✗ bash x\n",
    );
}

proptest! {
    #[test]
    fn folds_are_inside_their_part_and_do_not_overlap(
        pieces in prop::collection::vec(prop::sample::select(vec![
            "@You:\n", "@Assistant:\n", "@You: inline\n", "text\n", "\n", "<thinking>\n", "</thinking>\n",
            "**Tool Use:** `t` (`i`)\n\n```json\n{}\n```\n", "**Tool Result:** `i`\n\n```\nx\n```\n",
            "```\n", "```lua\n", "<thinking redacted>\n", "<!-- flemma:aborted: x -->\n",
        ]), 0..24),
    ) {
        let text = Text::from(pieces.concat().as_str());
        let document = Document::parse(&text);
        let mut from = 0;
        for at in 0..part_count(&document) {
            let part = part(&document, at, &[]);
            prop_assert_eq!(part.lines.start, from);
            from = part.lines.end;
            prop_assert!(part.lines.is_empty() || part_at(&document, part.lines.start) == at);
            let mut free = part.lines.start;
            for fold in &part.folds {
                prop_assert!(fold.lines.len() > 1 && fold.lines.end < text.line_count());
                prop_assert!(fold.lines.start >= free && fold.lines.end <= part.lines.end);
                free = if fold.kind.is_inner() { fold.lines.end } else { fold.lines.start + 1 };
                fold_text(&document, fold, &crate::Tools, |_, _| None);
            }
        }
        prop_assert_eq!(from, text.line_count());
    }
}

// Highlights by line, and marks beside calls without a result.

const CHAT: &str = "@You:
q

@Assistant:
<thinking>
hm
</thinking>

**Tool Use:** `bash` (`t1`)

```json
{}
```

**Tool Use:** `bash` (`t2`)

```json
{}
```

@You:
**Tool Result:** `t1`

```
out
```

**Tool Result:** `t2`

```flemma:tool status=pending
```";

/// Formats each span as `LINE GROUP`.
fn groups(lines: std::ops::Range<usize>) -> Vec<String> {
    let text = Text::from(CHAT);
    let document = Document::parse(&text);
    let found = spans(&document, lines);
    found
        .iter()
        .map(|it| format!("{} {}", it.line, it.group))
        .collect()
}

#[test]
fn every_header_of_a_message_is_highlighted() {
    let all = groups(0..100);
    for expected in [
        "8 FlemmaToolUse",
        "10 FlemmaFence",
        "12 FlemmaFence",
        "14 FlemmaToolUse",
        "21 FlemmaToolResult",
        "27 FlemmaToolResult",
        "29 FlemmaStatusPending",
        "30 FlemmaFence",
    ] {
        assert!(all.contains(&expected.to_owned()), "{expected} in {all:?}");
    }
    let of = |group: &str| all.iter().filter(|it| it.ends_with(group)).count();
    assert_eq!((of("ToolUse"), of("ToolResult"), of("Thinking")), (2, 2, 3));
}

#[test]
fn only_requested_lines_have_spans() {
    assert_eq!(groups(14..15), ["14 FlemmaToolUse"]);
    assert_eq!(groups(5..6), ["5 FlemmaThinking"]);
    assert_eq!(groups(1..2), [""; 0]);
}

#[test]
fn every_placeholder_has_a_preview() {
    for status in ["pending", "approved", "rejected", "denied"] {
        for (body, shown) in [("", true), ("mine\n", false)] {
            let text = format!(
                "@Assistant:\n**Tool Use:** `calculator` (`t`)\n\n```json\n{{\"expression\":\"1\"}}\n```\n\n\
                 @You:\n**Tool Result:** `t`\n\n```flemma:tool status={status}\n{body}```"
            );
            let text = Text::from(text.as_str());
            let found = marks(
                &Document::parse(&text),
                &Cycle::default(),
                &crate::Tools,
                80,
            );
            let preview = found[0].preview.as_deref();
            let expected = shown.then_some("calculator: 1");
            assert_eq!(preview, expected, "{status} {body:?}");
            assert_eq!(found[0].pending, status == "pending");
            let lines = [
                found[0].call_line,
                found[0].header_line,
                found[0].fence_line,
            ];
            assert_eq!(lines, [1, 8, 10]);
        }
    }
}

#[test]
fn a_server_tool_that_failed_looks_like_a_result_that_failed() {
    let used = |error: bool| {
        let end = if error { " (error)" } else { "" };
        format!("@Assistant:\n**Server Tool:** `web_search` (`a`){end}\n\n```\nneovim\n```\n")
    };
    for (error, label, group, class) in [
        (false, "✓ web_search", "FlemmaToolResult", "\"result\""),
        (
            true,
            "✗ web_search",
            "FlemmaToolError",
            "\"result error\" open",
        ),
    ] {
        let text = Text::from(used(error).as_str());
        let document = Document::parse(&text);
        let mut folds = (0..part_count(&document)).flat_map(|at| part(&document, at, &[]).folds);
        let fold = folds.find(|it| it.kind.is_inner()).unwrap();
        let said = fold_text(&document, &fold, &crate::Tools, |_, _| None);
        assert_eq!((said.label.as_ref(), said.group), (label, group));
        assert_eq!(fold.must_show, error);
        assert_eq!(spans(&document, 1..2)[0].group, group);
        let page = chat::html::page(&document, &crate::Tools).join("\n");
        assert!(page.contains(&format!("<details class={class}>")), "{page}");
    }
}
