//! Undo in a chat: one `u` reverts one change of the host and never typed text, in any
//! order of keys and deltas.

use harness::{Answer, Editor, Gate, Provider};
use rustix::process::Signal;
use serde_json::json;

use crate::processes::{host, next_host, signal, wait_commands};
use crate::stage::{QUESTION, open, wait_end};
use crate::traces::wait_request_over;

/// The pieces of an answer, and the keys between them.
const PIECES: usize = 40;

/// A pseudorandom number from `seed`, below `limit`.
fn random(seed: &mut u64, limit: u64) -> u64 {
    *seed = seed
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % limit
}

/// The text above the answer's marker, which the user types, and the text below it, which streams.
fn parts(text: &str) -> (String, String) {
    let (typed, answer) = text.split_once("@Assistant:").unwrap_or((text, ""));
    (typed.trim_end().to_owned(), answer.trim_end().to_owned())
}

/// Streams an answer in pieces between random keys above it. Returns the editor, the typed text, and
/// the answer.
#[track_caller]
fn interleave(mut seed: u64, insert: bool) -> (Editor, Provider, String, String) {
    let gates: Vec<Gate> = (0..PIECES).map(|_| Gate::new()).collect();
    let mut answer = Answer::new();
    let (mut said, mut typed) = (String::new(), String::new());
    for (number, gate) in gates.iter().enumerate() {
        let end = if random(&mut seed, 4) == 0 { "\n" } else { " " };
        let piece = format!("said{number}{end}");
        answer = answer.gate(gate).text(&piece);
        said.push_str(&piece);
    }
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    editor.keys(if insert { "2GA " } else { "" });
    for (number, gate) in gates.iter().enumerate() {
        if random(&mut seed, 3) == 0 {
            gate.wait_reached();
        }
        gate.open();
        let word = format!("typed{number} ");
        let around = if insert { ("", "") } else { ("2GA", "<Esc>") };
        editor.keys(&format!("{}{word}{}", around.0, around.1));
        typed.push_str(&word);
        if random(&mut seed, 5) == 0 {
            editor.wait_text(&format!("said{number}"));
        }
    }
    editor.keys("<Esc>");
    wait_request_over(&editor);
    editor.wait_text(&format!("said{}", PIECES - 1));
    // The new prompt is a separate change.
    wait_end(&editor, "@You:\n\n");
    (editor, provider, typed, said)
}

/// Undoes and redoes all changes.
#[track_caller]
pub fn check(seed: u64, insert: bool) {
    let (editor, _provider, typed, said) = interleave(seed, insert);
    let last = editor.text();
    let (above, below) = parts(&last);
    let blank = if insert { " " } else { "" };
    assert_eq!(above, format!("@You:\nGo.{blank}{}", typed.trim_end()));
    assert!(
        below.starts_with(&format!("\n{}", said.trim_end())),
        "{below}"
    );

    let mut now = last.clone();
    loop {
        editor.keys("u");
        let before = editor.text();
        if before == now {
            break;
        }
        let (user, host) = (parts(&before), parts(&now));
        let both = user.0 != host.0 && user.1 != host.1;
        assert!(
            !both,
            "seed {seed}: one undo took back both\n{now}\n---\n{before}"
        );
        now = before;
    }
    assert_eq!(now, QUESTION);
    editor.keys("1000<C-r>");
    assert_eq!(editor.text(), last);
}

#[test]
fn in_insert_mode_typed_and_streamed_text_are_undone_separately() {
    for seed in 1..=2 {
        check(seed, true);
    }
}

#[test]
fn in_normal_mode_typed_and_streamed_text_are_undone_separately() {
    for seed in 11..=12 {
        check(seed, false);
    }
}

#[test]
fn an_answer_is_undone_in_few_steps_and_redone() {
    let text = "line of the answer\n".repeat(300) + "The end.";
    let answer = Answer::new().text_in_pieces(&text, 7);
    let provider = Provider::anthropic([answer]);
    let editor = open(&provider, QUESTION);
    editor.keys("<C-]>");
    wait_end(&editor, "The end.\n\n@You:\n\n");
    let after = editor.text();
    // The new prompt, the answer, and its marker.
    editor.keys("3u");
    assert_eq!(editor.text(), QUESTION);
    editor.keys("3<C-r>");
    assert_eq!(editor.text(), after);
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn undoing_and_redoing_a_result_runs_nothing() {
    let call = crate::traces::counted("echo result");
    let provider = Provider::anthropic([Answer::new().tool_use("toolu_1", "bash", &call)]);
    let editor = crate::stage::ask_with(&provider, crate::traces::unasked());
    editor.keys("<C-]>");
    wait_end(&editor, "Done.\n\n@You:\n\n");
    let after = editor.text();
    for _ in 0..3 {
        editor.keys("100u");
        assert_eq!(editor.text(), QUESTION);
        editor.keys("100<C-r>");
        assert_eq!(editor.text(), after);
    }
    crate::traces::settle(&editor);
    assert_eq!(crate::traces::runs(&editor), 1);
    assert_eq!(provider.requests().len(), 2);
    let clean = editor.lua("return vim.bo.modifiable", &json!([]));
    assert_eq!(clean, json!(true));
}

/// Undoes an "interrupted" result, which leaves an approved placeholder, and opens the chat with
/// another host.
#[test]
fn an_interrupted_result_that_is_undone_waits_for_review_when_the_chat_is_opened_again() {
    let call = crate::traces::counted("sleep 3000; true");
    let answer = Answer::new().tool_use("toolu_1", "bash", &call);
    let provider = Provider::anthropic([answer, Answer::says("Well.")]);
    let editor = crate::stage::ask_with(&provider, crate::traces::unasked());
    let first = host(&editor);
    editor.keys("<C-]>");
    wait_commands(&editor, 2);
    crate::traces::wait_running(&editor);
    signal(first.worker, Signal::KILL);
    next_host(&editor, &first);
    editor.wait_text("Tool Result:** `toolu_1` (error)");
    crate::traces::settle(&editor);
    editor.keys("u");
    assert!(
        editor.text().contains("status=approved"),
        "{}",
        editor.text()
    );
    editor.command("write | bwipeout | edit question.chat");
    crate::traces::settle(&editor);
    editor.keys("<C-]>");
    editor.wait_text("```flemma:tool status=pending");
    crate::traces::settle(&editor);
    assert_eq!(crate::traces::runs(&editor), 1);
    assert_eq!(provider.requests().len(), 1);
}
