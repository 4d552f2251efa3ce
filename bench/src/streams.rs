//! An answer at full speed of the loopback: the time until it is on the screen, and what the user
//! notices in the meantime.

use std::io;
use std::time::{Duration, Instant};

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::chats::{chat, name};
use crate::probe;
use crate::stage::{ask_again, await_lua, await_row, await_turn, bare, ours, press, rest, since};
use crate::table::{Budget, Row, Samples, Table};

/// Interval between checks whether an answer has ended, where a check affects the measurement.
const LOOK: Duration = Duration::from_millis(10);
/// Number of words in one write by hand: as many as arrive within a frame at full speed.
const BATCH: usize = 400;

pub fn run(table: &mut Table) -> io::Result<()> {
    for (lines, deltas, runs, limit, by_hand) in [
        (1_000, 2_000, 7, 100.0, 14.0),
        (10_000, 2_000, 7, 100.0, 14.0),
        (50_000, 2_000, 5, 100.0, 14.0),
        (1_000, 20_000, 3, 300.0, 56.0),
        (10_000, 20_000, 3, 400.0, 56.0),
    ] {
        let budget = Budget::median(limit).by_hand(by_hand);
        let row = speed(lines, deltas, runs, budget);
        table.add(row)?;
    }
    notice(table)
}

/// Word number `index` of an answer with about twelve words in a line.
fn word(index: usize) -> String {
    let end = if index % 12 == 11 { "\n" } else { " " };
    format!("word{index:05}{end}")
}

/// The last word of an answer, which is in no earlier one.
fn end(run: usize) -> String {
    format!("THE-END-OF-{run:03}")
}

fn answer(run: usize, deltas: usize, gate: &Gate) -> Answer {
    let start = Answer::new().text("So:\n").gate(gate);
    let said = (0..deltas).fold(start, |answer, index| answer.text(&word(index)));
    said.text(&end(run))
}

fn speed(lines: usize, deltas: usize, runs: usize, budget: Budget) -> Row {
    let provider = Provider::anthropic([""; 0]);
    let text = chat(lines);
    let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
    let (mut ours, mut hand) = (Samples::default(), Samples::default());
    for run in 0..runs {
        let gate = begin(&provider, &with, run, deltas);
        ours.add(shown(&with, run, || gate.open()));
        await_turn(&with);
        ask_again(&with);
        hand.add(shown(&without, run, || {
            write_by_hand(&without, run, deltas, append_by_hand)
        }));
        ask_again(&without);
    }
    Row {
        what: format!("{deltas} deltas at full speed into {} lines", name(lines)),
        hand: Some(hand),
        ours,
        budget,
        lines: Some(lines),
    }
}

/// Sends the question, and waits until the answer has reached the gate.
fn begin(provider: &Provider, editor: &Editor, run: usize, deltas: usize) -> Gate {
    let gate = Gate::new();
    provider.then(answer(run, deltas, &gate));
    press(editor, "<C-]>");
    gate.wait_reached();
    await_end(editor, "So:");
    rest(editor);
    gate
}

const ENDS_IN: &str = "local last = vim.api.nvim_buf_get_lines(0, -6, -1, false)
    return table.concat(last, '\\n'):find(..., 1, true) ~= nil";

/// Waits until the buffer ends in `text`, whichever part the window shows.
fn await_end(editor: &Editor, text: &str) {
    await_lua(editor, ENDS_IN, &json!([text]));
}

fn ends_in(editor: &Editor, text: &str) -> bool {
    editor.lua(ENDS_IN, &json!([text])) == json!(true)
}

/// The milliseconds from `act` to the frame that shows the end.
fn shown(editor: &Editor, run: usize, act: impl FnOnce()) -> f64 {
    let end = end(run);
    let start = Instant::now();
    act();
    await_row(editor, "the end of the answer", |row| row.contains(&end));
    since(start)
}

fn write_by_hand(editor: &Editor, run: usize, deltas: usize, write: fn(&Editor, &str)) {
    let words: Vec<String> = (0..deltas).map(word).collect();
    editor.request("nvim_buf_set_lines", json!([0, -1, -1, true, ["So:", ""]]));
    for batch in words.chunks(BATCH) {
        write(editor, &batch.concat());
    }
    write(editor, &end(run));
}

/// Inserts at the end with an API call while the cursor is elsewhere.
fn insert_by_hand(editor: &Editor, text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    editor.request("nvim_buf_set_text", json!([0, -1, -1, -1, -1, lines]));
}

/// Inserts at the end and moves the cursor there, with API calls.
pub fn append_by_hand(editor: &Editor, text: &str) {
    let lines: Vec<&str> = text.split('\n').collect();
    let batch = json!([
        ["nvim_buf_set_text", [0, -1, -1, -1, -1, lines]],
        ["nvim_command", ["normal! G"]],
    ]);
    editor.request("nvim_call_atomic", json!([batch]));
}

/// Measures what a user notices while 20,000 deltas arrive.
fn notice(table: &mut Table) -> io::Result<()> {
    const DELTAS: usize = 20_000;
    /// Number of runs, each of which yields about 60 figures. With less than 100, the 99th percentile
    /// would be the maximum.
    const RUNS: usize = 8;
    for lines in [1_000, 10_000, 50_000] {
        let provider = Provider::anthropic([""; 0]);
        let text = chat(lines);
        let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
        let (mut probed, mut typed) = Default::default();
        let (mut probed_by_hand, mut typed_by_hand) = Default::default();
        for run in (0..RUNS).map(|run| 2 * run) {
            let gate = begin(&provider, &with, run, DELTAS);
            let figures = probe::during(&with, || {
                shown(&with, run, || gate.open());
            });
            Samples::extend(&mut probed, figures);
            await_turn(&with);
            ask_again(&with);
            let gate = begin(&provider, &with, run + 1, DELTAS);
            let figures = probe::typing_during(&with, || {
                gate.open();
                // Checked rarely, because a typed key has to wait for the check.
                while !ends_in(&with, &end(run + 1)) {
                    std::thread::sleep(LOOK);
                }
            });
            Samples::extend(&mut typed, figures);
            await_turn(&with);
            ask_again(&with);
            let figures = probe::during(&without, || {
                shown(&without, run, || {
                    write_by_hand(&without, run, DELTAS, append_by_hand);
                });
            });
            Samples::extend(&mut probed_by_hand, figures);
            ask_again(&without);
            let figures = probe::typing_during(&without, || {
                write_by_hand(&without, run + 1, DELTAS, insert_by_hand);
            });
            Samples::extend(&mut typed_by_hand, figures);
            ask_again(&without);
        }
        let row = |what: &str, hand, ours, budget| Row {
            what: format!("{what} while 20,000 deltas come, {} lines", name(lines)),
            hand: Some(hand),
            ours,
            budget,
            lines: Some(lines),
        };
        let budget = Budget::NONE.p99(16.0).max(50.0);
        table.add(row("answer to a probe", probed_by_hand, probed, budget))?;
        let budget = Budget::NONE.p99(16.0);
        table.add(row("typed key", typed_by_hand, typed, budget))?;
    }
    Ok(())
}
