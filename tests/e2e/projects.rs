//! A project's `.flemma/config.toml`, in a real Neovim and on the command line.

use std::fs;

use harness::{Answer, Provider};
use serde_json::json;

use crate::shell::Shell;
use crate::stage::*;
use crate::traces::wait_unlocked;

const CONFIG: &str = ".flemma/config.toml";
/// Approves commands, and asks before files are read.
const LOOSE: &str = "[tools]\nauto_approve = [\"bash\"]\n";
const ASKS: &str = "confirm with :Flemma trust project. Line 2 would run bash without asking.";

fn bash(id: &str) -> Answer {
    Answer::new().tool_use(id, "bash", &command("touch ran"))
}

#[test]
fn a_projects_options_apply_once_trusted_and_ask_again_when_they_change() {
    let provider = Provider::anthropic([bash("t_1"), bash("t_2"), Answer::says("Well.")]);
    let setup = setup(&provider).with(CONFIG, LOOSE);
    let editor = setup.file("question.chat", QUESTION).start();
    wait_message(&editor, ASKS);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);

    editor.keys(":Flemma trust project<CR>");
    let title = "config.toml, line 2 would run bash without asking.";
    // The question is wrapped.
    let shown = |rows: &[String]| {
        rows.iter()
            .map(|it| it.trim_end())
            .collect::<Vec<_>>()
            .join(" ")
    };
    editor.wait_screen(title, |rows| shown(rows).contains(title));
    editor.keys("1<CR>");
    wait_message(&editor, "Trusted as it is now: ");
    wait_unlocked(&editor);
    // The call that waits stays the user's; the next one runs by itself.
    editor.keys(&format!("{APPROVE}<C-]>"));
    assert_eq!(outcomes(&editor, ["t_1", "t_2"]), ["ran", "ran"]);
    editor.wait_text("Well.");

    fs::write(editor.dir().join(CONFIG), format!("{LOOSE}# more\n")).unwrap();
    editor.command("messages clear");
    editor.keys("GiAgain.<Esc><C-]>");
    wait_message(&editor, ASKS);
}

#[test]
fn the_model_does_not_write_a_projects_options_without_approval() {
    let input = json!({"label": "", "path": CONFIG, "content": LOOSE});
    let provider = Provider::anthropic([Answer::new().tool_use("t_1", "write", &input)]);
    let editor = ask_with(&provider, json!({"tools": {"require_approval": false}}));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    assert!(!editor.dir().join(CONFIG).exists());
}

#[test]
fn the_command_line_applies_the_same_rule_and_its_flags_win() {
    let calls = || [bash("t_1"), Answer::says("Well.")];
    let provider = Provider::anthropic([calls(), calls()].into_iter().flatten());
    let shell = Shell::new(&provider);
    shell.write(CONFIG, &format!("{LOOSE}[parameters]\ntemperature = 0.5\n"));
    shell.write("a.chat", QUESTION);
    let ran = shell.run(&["send", "a.chat"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert!(
        ran.err
            .contains("confirm with `flemma trust`. Line 2 would run bash"),
        "{ran:?}"
    );

    let ran = shell.run(&["trust"]);
    assert_eq!(ran.code, Some(4), "no user was there: {ran:?}");
    assert!(
        ran.err
            .contains("config.toml, line 2 would run bash without asking."),
        "{ran:?}"
    );
    assert!(
        ran.err
            .contains("config.toml, line 4 would set parameters.temperature to 0.5."),
        "{ran:?}"
    );
    let ran = shell.run(&["trust", "--yes"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.err.contains("`flemma trust --revoke` revokes that"),
        "{ran:?}"
    );

    shell.write("b.chat", QUESTION);
    let ran = shell.run(&["send", "b.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let ran = shell.run(&["trust", "--revoke"]);
    assert!(ran.err.contains("No longer trusted: "), "{ran:?}");
}
