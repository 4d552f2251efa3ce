//! Answers, calls, and decisions: what Ctrl-] and Alt-Enter do to a chat.

use harness::{Answer, Provider};
use serde_json::json;

use crate::stage::*;

/// Calls of `read` for `f.txt`, and of `bash` with `touch ran`.
fn read_and_bash() -> Answer {
    Answer::says("I'll look.")
        .tool_use("t_r", "read", file("f.txt"))
        .tool_use("t_b", "bash", command("touch ran; echo out"))
}

fn one_command() -> Answer {
    Answer::new().tool_use("t_b", "bash", command("touch ran; echo out"))
}

const PENDING: &str = "**Tool Result:** `t_b`\n\n```flemma:tool status=pending\n```";

/// A chat in which one `bash` call waits.
#[track_caller]
fn bash_waits(provider: &Provider, options: serde_json::Value) -> harness::Editor {
    let editor = ask_with(provider, options);
    editor.keys("<C-]>");
    wait_result(&editor, "t_b", PENDING);
    wait_cursor(&editor, "**Tool Result:** `t_b`");
    editor
}

fn ran(editor: &harness::Editor) -> bool {
    editor.dir().join("ran").exists()
}

#[test]
fn an_answer_is_written_below_the_question_and_a_prompt_below_that() {
    let provider = Provider::anthropic([Answer::new().text_in_pieces("It is four.\nReally.", 3)]);
    let editor = open(&provider, "@You:\nTwo and two?\n");
    editor.keys("<C-]>");
    editor.wait_for("the whole chat", |editor| {
        editor.text() == "@You:\nTwo and two?\n\n@Assistant:\nIt is four.\nReally.\n\n@You:\n\n"
    });
}

#[test]
fn a_read_runs_by_policy_and_the_cursor_moves_to_a_pending_command() {
    let provider = Provider::anthropic([read_and_bash()]);
    let setup = with_options(&provider, json!({})).with("f.txt", "a\nb\n");
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_b`");
    wait_result(&editor, "t_r", "**Tool Result:** `t_r`\n\n```\na\nb\n```");
    assert_eq!(
        editor.text(),
        r#"@You:
Go.

@Assistant:
I'll look.

**Tool Use:** `read` (`t_r`)

```json
{"label":"testing","path":"f.txt","offset":null,"limit":null}
```

**Tool Use:** `bash` (`t_b`)

```json
{"label":"testing","command":"touch ran; echo out","timeout":null}
```

@You:
**Tool Result:** `t_r`

```
a
b
```

**Tool Result:** `t_b`

```flemma:tool status=pending
```
"#
    );
    expect_requests(&editor, 1);
    assert!(!ran(&editor));
}

#[test]
fn a_call_approved_by_hand_runs_and_its_result_is_sent() {
    let provider = Provider::anthropic([one_command(), Answer::says("Well.")]);
    let editor = bash_waits(&provider, json!({}));
    editor.keys(APPROVE);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.\n\n@You:\n");
    assert_eq!(
        result(&editor, "t_b"),
        "**Tool Result:** `t_b`\n\n```\nout\n```"
    );
    let sent = &provider.requests()[1].body["messages"][2];
    assert_eq!(sent["content"][0]["content"], "out");
}

#[test]
fn a_rejection_reaches_the_model_as_an_error_with_the_users_reason() {
    let provider = Provider::anthropic([one_command()]);
    let editor = bash_waits(&provider, json!({}));
    editor.keys("/pending<CR>cwrejected<Esc>oNot in my home.<Esc><C-]>");
    wait_result(
        &editor,
        "t_b",
        "**Tool Result:** `t_b` (error)\n\n```\nNot in my home.\n```",
    );
    let sent = &provider.wait_requests(2)[1].body["messages"][2]["content"][0];
    assert_eq!(sent["content"], "Not in my home.");
    assert_eq!(sent["is_error"], true);
    assert!(!ran(&editor));
}

#[test]
fn a_rejection_without_a_reason_has_its_own_text() {
    let provider = Provider::chat_completions([one_command()]);
    let editor = bash_waits(&provider, json!({}));
    editor.keys("/pending<CR>cwrejected<Esc><C-]>");
    wait_result(
        &editor,
        "t_b",
        "**Tool Result:** `t_b` (error)\n\n```\nThe user rejected this call.\n```",
    );
    let messages = &provider.wait_requests(2)[1].body["messages"];
    let sent = messages.as_array().unwrap().last().unwrap();
    assert_eq!(sent["role"], "tool");
    let content = sent["content"].as_str().unwrap();
    assert!(
        content.contains("The user rejected this call."),
        "{content}"
    );
    assert!(!ran(&editor));
}

#[test]
fn alt_enter_runs_a_pending_call_and_moves_to_the_next() {
    let two = Answer::new()
        .tool_use("t_1", "bash", command("echo one"))
        .tool_use("t_2", "bash", command("echo two"));
    let provider = Provider::anthropic([two, Answer::says("Well.")]);
    let editor = ask_with(&provider, json!({}));
    editor.keys("<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_1`");

    editor.keys("<M-CR>");
    wait_result(&editor, "t_1", "**Tool Result:** `t_1`\n\n```\none\n```");
    wait_cursor(&editor, "**Tool Result:** `t_2`");
    expect_requests(&editor, 1);

    editor.keys("<M-CR>");
    editor.wait_text("@Assistant:\nWell.");
    assert_eq!(
        result(&editor, "t_2"),
        "**Tool Result:** `t_2`\n\n```\ntwo\n```"
    );
}

#[test]
fn alt_enter_works_in_the_call_and_in_an_approved_block() {
    for keys in ["?Tool Use<CR><M-CR>", "/pending<CR>cwapproved<Esc><M-CR>"] {
        let provider = Provider::anthropic([one_command(), Answer::says("Well.")]);
        let editor = bash_waits(&provider, json!({}));
        editor.keys(keys);
        editor.wait_text("@Assistant:\nWell.");
        assert!(ran(&editor), "{keys}");
    }
}

#[test]
fn a_key_in_a_pending_chat_only_moves_the_cursor_to_the_call() {
    let provider = Provider::anthropic([one_command()]);
    let editor = bash_waits(&provider, json!({}));
    let before = editor.text();
    editor.keys("gg<C-]>");
    wait_cursor(&editor, "**Tool Result:** `t_b`");
    assert_eq!(editor.text(), before);
    expect_requests(&editor, 1);
}
