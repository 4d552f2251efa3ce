//! Latency of a key at the end of a chat: from the key to the frame that shows its letter.

use std::io;
use std::time::Duration;

use harness::{Editor, Provider};
use serde_json::json;

use crate::chats::{LAST, chat, name};
use crate::probe::key;
use crate::stage::{bare, ours};
use crate::table::{Budget, Row, Samples, Table};

const ROUNDS: usize = 10;
const KEYS: usize = 30;
/// The pause between keys: longer than a frame and the host's work after it, so that the editor is
/// idle before each key.
const PAUSE: Duration = Duration::from_millis(30);

pub fn run(table: &mut Table) -> io::Result<()> {
    let provider = Provider::anthropic([""; 0]);
    for lines in [1_000, 10_000, 50_000] {
        let text = chat(lines);
        let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
        with.keys("A");
        without.keys("A");
        let (mut ours, mut hand) = (Samples::default(), Samples::default());
        for round in 0..ROUNDS {
            let pause = (round % 3 == 2).then_some(PAUSE);
            ours.extend(type_line(&with, pause));
            hand.extend(type_line(&without, pause));
        }
        table.add(Row {
            what: format!("key at the end of {} lines", name(lines)),
            hand: Some(hand),
            ours,
            budget: Budget::median(1.0).p99(3.0).max(5.0).by_hand(0.5),
            lines: Some(lines),
        })?;
    }
    Ok(())
}

fn type_line(editor: &Editor, pause: Option<Duration>) -> Samples {
    let mut typed = String::new();
    let figures = (0..KEYS).map(|_| {
        std::thread::sleep(pause.unwrap_or_default());
        key(editor, &mut typed, |row, typed| {
            row.strip_prefix(LAST) == Some(typed)
        })
    });
    let figures = figures.collect();
    editor.keys("<C-u>");
    figures
}
