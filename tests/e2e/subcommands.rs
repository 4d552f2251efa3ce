//! `:Flemma` and its subcommands, their completion, and Ctrl-] in Insert mode.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::*;

#[track_caller]
fn completions(editor: &Editor, line: &str) -> serde_json::Value {
    editor.lua(
        "return vim.fn.getcompletion(..., 'cmdline')",
        &json!([line]),
    )
}

#[test]
fn a_misspelled_subcommand_is_reported_with_a_suggestion() {
    let editor = offline().file("question.chat", QUESTION).start();
    editor.keys(":Flemma statsu<CR>");
    wait_message(
        &editor,
        "There is no command \"statsu\". Did you mean \"status\"?",
    );
    editor.keys(":Flemma tool<CR>");
    wait_message(
        &editor,
        ":Flemma tool is a group. Its commands: tool:cancel, tool:cancel-all, tool:list.",
    );
    editor.keys(":Flemma xyzzy<CR>");
    wait_message(&editor, "There is no command \"xyzzy\". Commands: ");
}

#[test]
fn subcommands_are_completed() {
    let editor = offline().start();
    assert_eq!(
        completions(&editor, "Flemma tool:"),
        json!(["tool:cancel", "tool:cancel-all", "tool:list"])
    );
    assert_eq!(
        completions(&editor, "Flemma auto"),
        json!(["autopilot:disable", "autopilot:enable", "autopilot:status"])
    );
    let all = completions(&editor, "Flemma ");
    for name in ["cancel", "send", "status", "tutor"] {
        assert!(all.as_array().unwrap().contains(&json!(name)), "{name}");
    }
    assert_eq!(completions(&editor, "Flemma status "), json!([]));
}

#[test]
fn a_command_that_comes_before_the_host_is_carried_out_although_ctrl_c_follows() {
    for command in ["steer Look here.", "queue Look here."] {
        let editor = offline().file("question.chat", "@You:\n").start();
        editor.keys(&format!(":Flemma {command}<CR><C-c>"));
        editor.wait_text("Look here.");
    }
    let editor = offline().file("question.chat", QUESTION).start();
    editor.keys(":Flemma rename Another name<CR><C-c>");
    editor.wait_for("the new name", |it| {
        it.lua("return vim.fn.expand('%:t')", &json!([])) == json!("another-name.chat")
    });
}

#[test]
fn a_subcommand_outside_a_chat_says_where_it_works() {
    let editor = offline().with("note.txt", "x\n").start();
    editor.keys(":edit note.txt<CR>:Flemma send<CR>");
    wait_message(
        &editor,
        "This buffer is not a chat. Open a file whose name ends in .chat",
    );
}

#[test]
fn status_shows_provider_model_key_and_policy_and_never_the_key() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = ask_with(&provider, json!({"model": "scripted-1"}));
    editor.keys(":Flemma status<CR>");
    editor.wait_text("scripted-1");
    let report = editor.text();
    for words in ["anthropic", "$ANTHROPIC_API_KEY is set", "autopilot  on"] {
        assert!(report.contains(words), "{words} in {report}");
    }
    let of = |name: &str| {
        let line = report
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        line.unwrap_or_default().to_owned()
    };
    assert!(of("read").contains("runs"), "{report}");
    assert!(of("bash").contains("needs approval"), "{report}");
    assert!(!report.contains("test-key"));

    // `q` closes the report, and the chat is unchanged.
    editor.keys("q");
    assert_eq!(editor.text(), QUESTION);
}

#[test]
fn send_sends_and_cancel_cancels() {
    let provider = Provider::anthropic([Answer::says("Once upon").stall()]);
    let editor = ask_with(&provider, json!({}));
    editor.keys(":Flemma send<CR>");
    editor.wait_text("Once upon");
    editor.keys(":Flemma cancel<CR>");
    editor.wait_text("<!-- flemma:aborted: cancelled by the user -->");
    wait_event(&editor, "FlemmaRequestFinished cancelled");
    provider.wait_hang_ups(1);
    at_rest(&editor);
    editor.keys(":Flemma cancel<CR>");
    wait_message(&editor, "Nothing is running here.");
}

#[test]
fn autopilot_is_switched_off_and_on() {
    let call = |id| Answer::new().tool_use(id, "calculator", &json!({"expression": "1"}));
    let provider = Provider::anthropic([call("t_1"), call("t_2"), Answer::says("Well.")]);
    let options = json!({"tools": {"auto_approve": ["calculator"]}});
    let editor = ask_with(&provider, options);
    editor.keys(":Flemma autopilot:disable<CR>");
    wait_message(&editor, "Autopilot is off in every chat of this Neovim.");
    editor.keys(":Flemma autopilot:status<CR>");
    wait_message(&editor, "Autopilot is off.");
    editor.keys("<C-]>");
    wait_event(&editor, "FlemmaRequestFinished success");
    expect_requests(&editor, 1);
    assert_eq!(result(&editor, "t_1"), "");

    editor.keys(":Flemma autopilot:enable<CR>");
    wait_message(&editor, "Autopilot is on in every chat of this Neovim.");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
}

#[test]
fn a_key_in_insert_mode_sends_and_typing_continues_below_the_answer() {
    let provider = Provider::anthropic([Answer::says("Four."), Answer::says("Six.")]);
    let editor = open(&provider, "@You:\n");
    editor.keys("GoTwo and two?<C-]>");
    editor.wait_for("Insert mode", |editor| {
        editor.text().contains("Four.") && editor.mode().name == "i"
    });
    editor.keys("And four and two?<C-]>");
    editor.wait_text("Six.");
    editor.wait_for("Insert mode", |editor| {
        editor.mode().name == "i" && editor.cursor().0 + 1 == editor.lines().len()
    });
    assert_eq!(
        editor.text(),
        "@You:\nTwo and two?\n\n@Assistant:\nFour.\n\n@You:\nAnd four and two?\n\n\
         @Assistant:\nSix.\n\n@You:\n\n"
    );
}

#[test]
fn keys_can_be_changed_and_switched_off() {
    let provider = Provider::anthropic([Answer::says("Four.")]);
    let keymaps = json!({"keymaps": {"normal": {"send": "<F5>", "cancel": false}}});
    let editor = ask_with(&provider, keymaps);
    let mapped = |key: &str| {
        editor.lua("return vim.fn.maparg(..., 'n') ~= '' or vim.fn.maparg(..., 'n', false, true).callback ~= nil", &json!([key]))
    };
    assert_eq!(mapped("<C-]>"), json!(false));
    assert_eq!(mapped("<C-c>"), json!(false));
    assert_eq!(mapped("<M-CR>"), json!(true));
    editor.keys("<F5>");
    editor.wait_text("Four.");
}

#[test]
fn fix_repairs_what_the_diagnostic_reports() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`t_1`)\n\n```json\n{}\n```\n\n\
                @You:\n**Tool Result:** `t_1`\n\n```flemma:tool status=rejectd\n```\n";
    let editor = offline().file("question.chat", text).start();
    wait_diagnostic(&editor, "\"rejectd\" is not a status");
    editor.keys("/rejectd<CR>:Flemma fix<CR>");
    editor.wait_for("the word that was meant", |editor| {
        editor.text() == text.replace("rejectd", "rejected")
    });
    editor.keys(":Flemma fix<CR>");
    wait_message(
        &editor,
        "There is nothing on this line that can be fixed automatically.",
    );
}

#[test]
fn checkhealth_finds_a_working_host() {
    let editor = offline().file("question.chat", QUESTION).start();
    at_rest(&editor);
    editor.keys(":checkhealth flemma<CR>");
    editor.wait_text("Running, process");
    let report = editor.text();
    assert!(report.contains("OK Host program"), "{report}");
    assert!(!report.contains("ERROR"), "{report}");
    // The host's table has more providers than this list.
    for line in [
        "Provider: anthropic",
        "openai: $OPENAI_API_KEY is",
        "moonshot: $MOONSHOT_API_KEY is",
    ] {
        assert!(report.contains(line), "{line}: {report}");
    }
}

#[test]
fn checkhealth_names_invalid_options() {
    let options = json!({"modle": "m", "tools": {"max_concurrent": 1.5}});
    let editor = offline()
        .options(options)
        .file("notes.txt", "text\n")
        .start();
    editor.keys(":checkhealth flemma<CR>");
    editor.wait_text("There is no option \"modle\". Did you mean \"model\"?");
    let report = editor.text();
    let expected = "tools.max_concurrent is 1.5; it must be a whole number from 0.";
    assert!(report.contains(expected), "{report}");
}
