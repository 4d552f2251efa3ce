//! Rules in `setup()` and at the top of several chats. The texts in capitals are the
//! examples of the manual, word for word.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

const CONFIGURED: &str = r#"
tools = {
  -- Preset references and tool names can be mixed freely
  auto_approve = { "$readonly", "calculator" },

  -- Function form for full control
  auto_approve = function(tool_name, input, ctx)
    if tool_name == "calculator" then return true end
    if tool_name == "bash" and input.command:match("rm %-rf") then return "deny" end
    return false  -- require approval
  end,
}
"#;

const PRESETS: &str = r#"
tools = {
  presets = {
    ["$yolo"]    = { approve = { "bash", "read", "write", "edit" } },
    ["$no-bash"] = { deny = { "bash" } },
  },
  auto_approve = { "$yolo", "$no-bash" },
}
"#;

const FUNCTION_FORM: &str = r#"-- Function form: full control per-buffer
flemma.opt.tools.auto_approve = function(tool_name, input, ctx)
  if tool_name == "calculator" then return true end
  return nil  -- pass to next resolver
end"#;

const OPERATORS: &str = r#"-- Operator shorthand: + (append), - (remove)
flemma.opt.tools.auto_approve = flemma.opt.tools.auto_approve + "bash" - "write""#;

const CALLS: [&str; 5] = ["t_r", "t_w", "t_e", "t_b", "t_c"];

/// Calls of `read`, `write`, `edit`, `bash`, and `calculator`; see [`CALLS`].
fn five_tools() -> Answer {
    let write = json!({"label": "testing", "path": "new.txt", "content": "b"});
    let edit = json!({"label": "testing", "path": "f.txt", "oldText": "a", "newText": "b"});
    Answer::new()
        .tool_use("t_r", "read", &file("f.txt"))
        .tool_use("t_w", "write", &write)
        .tool_use("t_e", "edit", &edit)
        .tool_use("t_b", "bash", &command("echo out"))
        .tool_use("t_c", "calculator", &json!({"expression": "2 + 2"}))
}

#[test]
fn the_documented_functions_and_presets_of_setup_work() {
    let waits_denied = ["waits", "waits", "waits", "denied", "ran"];
    let rows = [
        (CONFIGURED, "rm -rf ./nothing", waits_denied),
        (
            CONFIGURED,
            "echo out",
            ["waits", "waits", "waits", "waits", "ran"],
        ),
        (
            PRESETS,
            "echo out",
            ["ran", "ran", "ran", "denied", "waits"],
        ),
    ];
    for (options, line, expected) in rows {
        let calls = Answer::new()
            .tool_use("t_r", "read", &file("f.txt"))
            .tool_use(
                "t_w",
                "write",
                &json!({"label": "", "path": "n", "content": ""}),
            )
            .tool_use(
                "t_e",
                "edit",
                &json!({"label": "", "path": "f.txt", "oldText": "a", "newText": "b"}),
            )
            .tool_use("t_b", "bash", &command(line))
            .tool_use("t_c", "calculator", &json!({"expression": "2 + 2"}));
        let provider = Provider::anthropic([calls]);
        let setup = with_lua_options(&provider, options).with("f.txt", "a\n");
        let editor = setup.file("question.chat", QUESTION).start();
        editor.keys("<C-]>");
        assert_eq!(outcomes(&editor, CALLS), expected, "{line} under {options}");
    }
}

#[test]
fn chats_with_different_rules_do_not_affect_each_other() {
    let rules = [
        (
            "a.chat",
            FUNCTION_FORM,
            ["waits", "waits", "waits", "waits", "ran"],
        ),
        ("b.chat", OPERATORS, ["ran", "waits", "ran", "ran", "waits"]),
        ("c.chat", "flemma.opt.tools.auto_approve = {}", ["waits"; 5]),
        ("d.chat", "", ["ran", "ran", "ran", "waits", "waits"]),
    ];
    let provider = Provider::anthropic(rules.iter().map(|_| five_tools()));
    let editor = setup(&provider).with("f.txt", "aaaaaaaa\n").start();
    for (name, frontmatter, _) in &rules {
        editor.command(&format!("edit {name}"));
        // Replaces the prompt of a new chat.
        editor.keys("ggdG");
        editor.type_text(&below(frontmatter));
        editor.keys("<C-]>");
    }
    for (name, _, expected) in rules {
        editor.command(&format!("buffer {name}"));
        let came_to = outcomes(&editor, CALLS);
        // `edit` fails if another chat has already edited the file; that also shows that it ran.
        let came_to = came_to.map(|it| if it == "failed" { "ran" } else { it });
        assert_eq!(came_to, expected, "in {name}\n{}", editor.text());
    }
}

#[test]
fn an_endless_loop_is_stopped_and_does_not_block_neovim() {
    for endless in [
        "while true do end",
        "repeat until false",
        "local s = ('x'):rep(2^30)",
        "local t = {} while true do t[#t + 1] = ('x'):rep(1e6) .. #t end",
    ] {
        let provider = Provider::anthropic([Answer::says("Well.")]);
        let editor = type_below(&provider, endless);
        editor.keys("<C-]>");
        type_meanwhile(&editor);
        wait_message(&editor, "frontmatter line 2");
        expect_requests(&editor, 0);
    }
}

/// Types until the frontmatter is reported. Neovim must handle every key.
#[track_caller]
fn type_meanwhile(editor: &Editor) {
    while !editor.messages().contains("frontmatter line") {
        editor.keys("Gox<Esc>u");
    }
}
