//! Commands that do not end, or whose output no chat can hold.

use std::fs;

use harness::{Answer, Editor, Provider};

use crate::processes::{commands_in, wait_commands};
use crate::stage::{ask_with, command, result, wait_end};
use crate::traces::{press_cancel, unasked, wait_gate, wait_unlocked};

/// Runs an approved command and waits for the next answer. Returns the editor and the result's text.
#[track_caller]
fn run(script: &str) -> (Editor, String) {
    let answer = Answer::new().tool_use("toolu_1", "bash", &command(script));
    let provider = Provider::anthropic([answer, Answer::says("I see.")]);
    let editor = ask_with(&provider, unasked());
    editor.keys("<C-]>");
    wait_end(&editor, "I see.\n\n@You:\n\n");
    let block = result(&editor, "toolu_1");
    let lines: Vec<&str> = block.lines().collect();
    let output = lines[3..lines.len() - 1].join("\n");
    assert_eq!(commands_in(&editor.dir()), Vec::<u32>::new());
    (editor, output)
}

/// Runs a command until it has created the file `ready`, and presses Ctrl-C. Returns the editor and
/// the result block.
#[track_caller]
fn cancel(script: &str) -> (Editor, String) {
    let script = format!("{script}; touch ready; sleep 3000; true");
    let answer = Answer::new().tool_use("toolu_1", "bash", &command(&script));
    let provider = Provider::anthropic([answer]);
    let editor = ask_with(&provider, unasked());
    editor.keys("<C-]>");
    wait_gate(&editor, "ready");
    press_cancel(&editor, "a cancelled call", |editor| {
        editor.text().contains("Tool Result:** `toolu_1` (error)")
    });
    wait_unlocked(&editor);
    // The result appears only after all processes have ended.
    assert_eq!(commands_in(&editor.dir()), Vec::<u32>::new());
    assert_eq!(provider.requests().len(), 1);
    let block = result(&editor, "toolu_1");
    (editor, block)
}

#[test]
fn a_process_that_ignores_sigterm_is_dead_when_its_result_appears() {
    let (_editor, block) = cancel("trap '' TERM");
    assert!(block.contains("ancelled"), "{block}");
}

#[test]
fn a_process_in_its_own_session_that_ignores_sigterm_dies_with_its_call() {
    let (_editor, block) = cancel("setsid -f bash -c \"trap '' TERM; sleep 3001; true\"");
    assert!(block.contains("ancelled"), "{block}");
}

#[test]
fn a_background_job_does_not_delay_the_result() {
    let (_editor, output) = run("(sleep 3000 &); echo hi");
    assert!(
        output.starts_with("hi\n\n[1 background process was still running"),
        "{output}"
    );
}

#[test]
fn a_daemon_is_stopped_and_the_result_says_so() {
    let (_editor, output) = run("setsid -f bash -c 'setsid -f sleep 3000'; echo started");
    assert!(output.starts_with("started"), "{output}");
    assert!(output.contains("stopped"), "{output}");
}

#[test]
fn a_detached_daemon_is_stopped_too() {
    let (_editor, output) = run("env -i setsid -f sleep 3000; echo started");
    assert!(
        output.starts_with("started\n\n[1 background process was still running"),
        "{output}"
    );
}

#[test]
fn endless_output_is_truncated_and_counted() {
    let (editor, output) = run("yes | head -n 300000");
    assert!(output.lines().count() <= 2003, "{}", output.lines().count());
    assert!(
        output.contains("of 300000"),
        "{}",
        &output[output.len() - 300..]
    );
    let path = output
        .rsplit("Full output: ")
        .next()
        .unwrap()
        .trim_end_matches(']');
    assert_eq!(fs::read(path).unwrap().len(), 600_000);
    editor.keys("ggOtyped<Esc>");
    assert!(editor.text().starts_with("typed\n"));
}

#[test]
fn a_cancel_ends_endless_output() {
    let (editor, block) = cancel("yes & true");
    assert!(block.contains("ancelled"), "{block}");
    let before = editor.text();
    editor.keys("ggOtyped<Esc>");
    assert_eq!(editor.text(), format!("typed\n{before}"));
}

#[test]
fn random_bytes_become_valid_text() {
    let (editor, output) = run("head -c 20000 /dev/urandom; echo; echo end");
    assert!(!output.contains('\0') && output.contains("end"));
    // The buffer and the file are equal.
    let text = editor.text();
    editor.command("write");
    let file = fs::read_to_string(editor.dir().join("question.chat")).unwrap();
    assert_eq!(file, text);
}

#[test]
fn reads_and_limits_never_split_a_character() {
    // In reads of one byte, and at the limit of 50 KB within a line.
    let (_editor, output) =
        run("for byte in '\\xe2' '\\x82' '\\xac'; do printf \"$byte\"; sleep 0.01; done");
    assert_eq!(output, "€");
    let (_editor, output) = run("printf '€%.0s' $(seq 30000)");
    assert!(output.starts_with('€'), "{}", &output[..30]);
    assert!(!output.contains('\u{fffd}'));
}

#[test]
fn one_key_cancels_fifty_commands() {
    let mut answer = Answer::new();
    for number in 0..50 {
        answer = answer.tool_use(
            &format!("toolu_{number}"),
            "bash",
            &command("sleep 3000; true"),
        );
    }
    let provider = Provider::anthropic([answer]);
    let mut options = unasked();
    options["tools"]["max_concurrent"] = 0.into();
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    wait_commands(&editor, 100);
    press_cancel(&editor, "fifty results", |editor| {
        editor.text().matches("(error)").count() == 50
    });
    // On a busy machine, they may end later than the supervisor waits for a call.
    wait_commands(&editor, 0);
    assert_eq!(
        editor.text().to_lowercase().matches("cancelled").count(),
        50
    );
    // Autopilot is off until the next key.
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn output_after_a_cancel_is_not_in_the_chat() {
    let script = "trap 'sleep 0.1; echo LATE; exit' TERM";
    let (editor, block) = cancel(script);
    assert!(!block.contains("LATE"), "{block}");
    crate::traces::settle(&editor);
    assert!(!editor.text().contains("LATE\n"), "{}", editor.text());
}
