//! Properties of any text, any answer, and any order of events. The generators of examples
//! are here; the properties are in the submodules.

mod cycle;
mod placing;
mod policy;
mod reading;
mod statuses;
mod writing;

use proptest::prelude::*;

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
