//! An answer at the speed of a model, 50 deltas a second for ten seconds: the CPU time of the editor,
//! and the delay until each delta is on the screen.

use std::io;
use std::time::{Duration, Instant};

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::chats::{chat, name};
use crate::machine::computed;
use crate::stage::{await_row, bare, ours, press, rest, since};
use crate::streams::append_by_hand;
use crate::table::{Budget, Row, Samples, Table};

const DELTAS: usize = 500;
const EVERY: Duration = Duration::from_millis(20);

pub fn run(table: &mut Table) -> io::Result<()> {
    for lines in [1_000, 10_000, 50_000] {
        let text = chat(lines);
        let gates: Vec<Gate> = (0..DELTAS).map(|_| Gate::new()).collect();
        let script = gates
            .iter()
            .enumerate()
            .fold(Answer::new(), |answer, (index, gate)| {
                answer.gate(gate).text(&word(index))
            });
        let provider = Provider::anthropic([script]);
        let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
        press(&with, "<C-]>");
        gates[0].wait_reached();
        rest(&with);
        let (ours_cpu, lag) = paced(&with, |index| gates[index].open());
        append_by_hand(&without, "\n\n@Assistant:\n");
        let (hand_cpu, hand_lag) = paced(&without, |index| append_by_hand(&without, &word(index)));
        let row = |what: &str, hand, ours, budget| Row {
            what: format!("50 deltas/s for 10 s into {} lines: {what}", name(lines)),
            hand: Some(hand),
            ours,
            budget,
            lines: Some(lines),
        };
        let one = |figure: f64| [figure].into_iter().collect::<Samples>();
        let budget = Budget::median(600.0).by_hand(310.0);
        table.add(row(
            "the editor's processor",
            one(hand_cpu),
            one(ours_cpu),
            budget,
        ))?;
        table.add(row("lag", hand_lag, lag, Budget::NONE.max(50.0)))?;
    }
    Ok(())
}

fn word(index: usize) -> String {
    let end = if index % 12 == 11 { "\n" } else { " " };
    format!("w{index:04}{end}")
}

/// Streams a word every 20 ms. Returns the editor's CPU time and the delay of each word.
fn paced(editor: &Editor, say: impl Fn(usize) + Sync) -> (f64, Samples) {
    let before = computed(editor.nvim_pid());
    let start = Instant::now();
    let due = |index: usize| EVERY * u32::try_from(index).unwrap_or(u32::MAX);
    let mut lags = Samples::default();
    std::thread::scope(|scope| {
        // On its own thread, because a model does not wait until its last word is on the screen.
        scope.spawn(|| {
            for index in 0..DELTAS {
                std::thread::sleep(due(index).saturating_sub(start.elapsed()));
                say(index);
            }
        });
        for index in 0..DELTAS {
            let expected = word(index);
            await_row(editor, "the word", |row| row.contains(expected.trim_end()));
            lags.add(since(start + due(index)));
        }
    });
    (computed(editor.nvim_pid()) - before, lags)
}
