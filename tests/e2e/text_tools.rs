//! Models without native tool calls: the tools are described in the prompt, and calls are
//! read from the answer and reviewed like any other.

use harness::{Answer, Editor, Provider, Setup};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

const XML: &str = "Let me see.\n\n```xml\n<tools>\n<tool name=\"read\"><label>x</label><path>f.txt</path></tool>\n\
                   <tool name=\"bash\"><label>x</label><command>echo hi</command></tool>\n</tools>\n```\n";

fn described_in_text(provider: &Provider) -> Setup {
    let options = json!({"model": "old", "models": {"old": {"tools": false}}});
    with_options(provider, options).with("f.txt", "a\n")
}

fn start(provider: &Provider, text: &str) -> Editor {
    let editor = described_in_text(provider)
        .file("question.chat", text)
        .start();
    watch(&editor);
    editor
}

fn content(body: &Json, message: usize) -> &str {
    body["messages"][message]["content"]
        .as_str()
        .unwrap_or_default()
}

#[test]
fn calls_in_text_are_reviewed_and_run_like_any_other() {
    let provider = Provider::chat_completions([Answer::says(XML), Answer::says("Well.")]);
    let editor = start(&provider, QUESTION);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["call_1", "call_2"]), ["ran", "waits"]);
    let text = editor.text();
    assert!(text.contains("**Tool Use:** `read` (`call_1`)"), "{text}");
    assert!(!text.contains("```xml"), "{text}");

    let first = &provider.requests()[0].body;
    assert_eq!(first.get("tools"), None);
    assert!(content(first, 0).contains("\"name\":\"bash\""), "{first}");

    editor.command("call search('status=pending')");
    editor.keys("<M-CR>");
    editor.wait_text("@Assistant:\nWell.");
    let second = &provider.requests()[1].body;
    let results = content(second, 3);
    assert!(
        results.contains("\"output\":\"a\"") && results.contains("\"output\":\"hi\""),
        "{second}"
    );
}

#[test]
fn a_model_that_can_call_tools_may_write_about_calls() {
    let provider = Provider::chat_completions([Answer::says(XML)]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_end(&editor, "@You:\n\n");
    assert!(editor.text().contains("```xml\n<tools>"));
    assert!(!editor.text().contains("**Tool Use:**"));
}

#[test]
fn text_of_the_user_or_a_file_is_no_call() {
    let call =
        "<tool_call>\n{\"name\": \"read\", \"arguments\": {\"path\": \"f.txt\"}}\n</tool_call>\n";
    let provider = Provider::chat_completions([Answer::says("Well.")]);
    let text = format!("@You:\n{call}\n@Assistant:\n{call}\n@You:\n{call}{XML}");
    let editor = start(&provider, &text);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    expect_requests(&editor, 1);
    assert!(!editor.text().contains("**Tool Use:**"));
}

#[test]
fn an_unreadable_call_is_reported_to_the_model_once() {
    let broken = "<tool_call>\n{\"name\": \"read\", \"arguments\": oops}\n</tool_call>";
    let provider = Provider::chat_completions([broken, broken, "Well."]);
    let editor = start(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_message(&editor, "an unreadable call for the second time");
    expect_requests(&editor, 2);
    let body = &provider.requests()[1].body;
    assert_eq!(content(body, 2), broken);
    assert!(
        content(body, 3).contains("The call could not be read"),
        "{body}"
    );
    let text = editor.text();
    assert!(
        text.contains("**Tool Result:** `call_1` (error)\n\n```\nThe call could not be read"),
        "{text}"
    );
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
}

#[test]
fn the_command_line_says_once_that_a_model_calls_in_text() {
    let call = "```xml\n<tools>\n<tool name=\"calculator\"><expression>7*8</expression></tool>\n</tools>\n```\n";
    let provider = Provider::anthropic([Answer::says(call), Answer::says("56.")]);
    let shell = Shell::new(&provider);
    shell.configure("model = \"old\"\n[models.old]\ntools = false\n");
    shell.write("question.chat", QUESTION);
    let ran = shell.run(&["send", "question.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(provider.requests().len(), 2, "{ran:?}");
    assert_eq!(
        ran.err.matches("old can't call tools by itself").count(),
        1,
        "{ran:?}"
    );
}
