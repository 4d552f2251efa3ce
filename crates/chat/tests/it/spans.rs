//! Highlights by line, and marks beside calls without a result.

use chat::cycle::Cycle;
use chat::document::Document;
use chat::marks::marks;
use chat::spans::spans;
use chat::text::Text;

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
