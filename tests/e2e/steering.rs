//! Messages sent while the model works: `:Flemma steer` and `:Flemma queue`, their effect
//! on calls, how they are shown, and where they are kept after a failure.

use harness::{Answer, Editor, Gate, Provider};
use rustix::process::Signal;
use serde_json::{Value as Json, json};

use crate::processes::{host, next_host, signal};
use crate::shell::Shell;
use crate::stage::{QUESTION, ask_with, command, open, wait_end, wait_message};
use crate::traces::{gate, open_gate, settle, wait_gate};

/// Options that run one approved call at a time.
fn one_at_a_time() -> Json {
    json!({"tools": {"require_approval": false, "max_concurrent": 1, "lock_buffer": true}})
}

/// An answer with three calls, the first of which waits for its gate.
fn three_calls() -> Answer {
    Answer::new()
        .tool_use(
            "t_1",
            "bash",
            &command(&format!("{}; echo one", gate("gate"))),
        )
        .tool_use("t_2", "bash", &command("echo >> ran"))
        .tool_use("t_3", "bash", &command("echo >> ran"))
}

/// A chat in which the first of three calls is running.
#[track_caller]
fn first_of_three_runs(provider: &Provider) -> Editor {
    let editor = ask_with(provider, one_at_a_time());
    editor.keys("<C-]>");
    wait_gate(&editor, "gate");
    editor.wait_for("a locked chat", |editor| {
        editor.lua("return vim.bo.modifiable", &json!([])) == json!(false)
    });
    editor
}

/// The virtual lines of queued messages.
fn queued(editor: &Editor) -> Vec<String> {
    let lines = editor.virtual_lines().into_iter().map(|line| line.text);
    lines
        .filter(|text| text.contains("next: ") || text.contains("then: "))
        .collect()
}

#[track_caller]
fn wait_queued(editor: &Editor, expected: &[&str]) {
    editor.wait_for(&format!("{expected:?} shown below the chat"), |editor| {
        let shown = queued(editor);
        shown.len() == expected.len()
            && shown
                .iter()
                .zip(expected)
                .all(|(text, end)| text.ends_with(end))
    });
}

/// A chat in which the first word of the answer has arrived.
fn answering(provider: &Provider) -> Editor {
    let editor = open(provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("Well");
    editor
}

#[test]
fn a_message_waits_until_the_answer_ends() {
    let gate = Gate::new();
    let answer = Answer::new()
        .text("One,\ntwo")
        .gate(&gate)
        .text(",\nthree.");
    let provider = Provider::anthropic([answer, Answer::says("Ok."), Answer::says("Sure.")]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.wait_text("two");
    editor.keys(":Flemma steer Shorter.<CR>");
    editor.keys(":Flemma queue And then?<CR>");
    wait_queued(&editor, &["next: Shorter.", "then: And then?"]);
    editor.keys(":Flemma queue<CR>");
    editor.wait_text(" 1 Shorter.\n 2 And then?\n");
    editor.keys("q");
    editor.keys(":Flemma status<CR>");
    editor.wait_text("queued     2 messages");
    editor.keys("q");
    gate.open();
    wait_end(
        &editor,
        "three.\n\n@You:\nShorter.\n\n@Assistant:\nOk.\n\n@You:\nAnd then?\n\n@Assistant:\nSure.\n\n@You:\n\n",
    );
    wait_queued(&editor, &[]);
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn without_a_message_the_command_asks_for_it() {
    let provider = Provider::anthropic([three_calls(), Answer::says("Stopped.")]);
    let editor = first_of_three_runs(&provider);
    editor.keys(":Flemma steer<CR>STOP<CR>");
    editor.wait_text("\n\nSTOP\n");
    assert_eq!(
        editor.lua("return vim.fn.histget('cmd')", &json!([])),
        json!("Flemma steer STOP")
    );
    editor.keys(":Flemma steer<CR><Esc>");
    open_gate(&editor, "gate");
    wait_end(&editor, "Stopped.\n\n@You:\n\n");
    assert_eq!(editor.text().matches("STOP").count(), 1);
}

#[test]
fn an_idle_chat_sends_the_message_unless_the_prompt_has_text() {
    let provider = Provider::anthropic([Answer::says("Yes."), Answer::says("No.")]);
    let editor = open(&provider, "@You:\n\n");
    editor.keys(":Flemma steer Well?<CR>");
    wait_end(&editor, "@You:\nWell?\n\n@Assistant:\nYes.\n\n@You:\n\n");
    editor.keys("GoI was th<Esc>:Flemma steer And?<CR>");
    wait_message(&editor, "You had started a message");
    assert!(
        editor.text().ends_with("I was th\n\nAnd?\n"),
        "{}",
        editor.text()
    );
    settle(&editor);
    assert_eq!(provider.requests().len(), 1);
    // One undo removes the message and nothing else.
    editor.keys("u");
    assert!(editor.text().ends_with("I was th\n"), "{}", editor.text());
}

#[test]
fn a_dead_host_leaves_the_message_in_the_prompt() {
    let gate = Gate::new();
    let answer = Answer::new().text("Well").gate(&gate).text(".");
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    let first = host(&editor);
    editor.keys("<C-]>");
    editor.wait_text("Well");
    editor.keys(":Flemma steer Shorter.<CR>:Flemma queue Next.<CR>");
    wait_queued(&editor, &["next: Shorter.", "then: Next."]);
    signal(first.worker, Signal::KILL);
    signal(first.watcher, Signal::KILL);
    next_host(&editor, &first);
    wait_end(
        &editor,
        "the host stopped -->\n\n@You:\nShorter.\n\nNext.\n",
    );
    wait_queued(&editor, &[]);
}

#[test]
fn closing_a_chat_reports_unsent_messages() {
    let gate = Gate::new();
    let answer = Answer::new().text("Well").gate(&gate).text(".");
    let provider = Provider::anthropic([answer]);
    let editor = answering(&provider);
    editor.keys(":Flemma queue Next.<CR>");
    wait_queued(&editor, &["then: Next."]);
    editor.keys(":bwipeout!<CR>");
    wait_message(&editor, "Next.");
}

#[test]
fn the_command_line_sends_one_message_after_the_other() {
    let ask = Answer::new().tool_use("t", "calculator", &json!({"expression": "1+1"}));
    let answers = [
        ask,
        Answer::says("Two."),
        Answer::says("Four."),
        Answer::says("Six."),
    ];
    let provider = Provider::anthropic(answers);
    let shell = Shell::new(&provider);
    let mut said = vec!["send", "new.chat", "-m", "One and one?"];
    said.extend([
        "--follow-up",
        "@You:\nAnd two?",
        "--follow-up",
        "And three?",
    ]);
    let ran = shell.run(&said);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.out, "Two.\nFour.\nSix.\n");
    assert_eq!(provider.requests().len(), 4);
    assert!(
        shell.read("new.chat").ends_with(
            "Two.\n\n@You:\n\\@You:\nAnd two?\n\n@Assistant:\nFour.\n\n@You:\nAnd three?\n\n@Assistant:\nSix.\n\n@You:\n\n"
        ),
        "{}",
        shell.read("new.chat")
    );
}

#[test]
fn messages_that_the_command_line_could_not_send_are_in_the_file() {
    let provider = Provider::anthropic([Answer::status(400, "{}")]);
    let shell = Shell::new(&provider);
    let ran = shell.run(&["send", "new.chat", "-m", "One?", "--follow-up", "Two?"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(shell.read("new.chat").trim_end(), "@You:\nOne?\n\nTwo?");
    let ran = shell.run(&["send", "new.chat", "--follow-up", " "]);
    assert!(ran.err.contains("--follow-up is empty"), "{ran:?}");

    // Without autopilot, the model is not done after its calls.
    shell.write("config.toml", "[tools.autopilot]\nenabled = false\n");
    provider.then(Answer::new().tool_use("t", "calculator", &json!({"expression": "1+1"})));
    let ran = shell.run(&[
        "send",
        "b.chat",
        "-m",
        "One?",
        "--follow-up",
        "Two?",
        "--config",
        "config.toml",
    ]);
    assert!(
        shell.read("b.chat").trim_end().ends_with("@You:\nTwo?"),
        "{ran:?}\n{}",
        shell.read("b.chat")
    );
}
