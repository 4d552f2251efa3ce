//! Answers, calls, and decisions: what Ctrl-] and Alt-Enter do to a chat.

use harness::{Answer, Provider};
use serde_json::json;

use crate::stage::*;

/// Calls of `read` for `f.txt`, and of `bash` with `touch ran`.
fn read_and_bash() -> Answer {
    Answer::says("I'll look.")
        .tool_use("t_r", "read", &file("f.txt"))
        .tool_use("t_b", "bash", &command("touch ran; echo out"))
}

fn ran(editor: &harness::Editor) -> bool {
    editor.dir().join("ran").exists()
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
fn alt_enter_runs_a_pending_call_and_moves_to_the_next() {
    let two = Answer::new()
        .tool_use("t_1", "bash", &command("echo one"))
        .tool_use("t_2", "bash", &command("echo two"));
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
