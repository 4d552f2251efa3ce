//! Measures how long Neovim takes to respond during other work.

use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use harness::Editor;
use serde_json::json;

use crate::stage::{await_row, press, since};
use crate::table::Samples;

/// Interval between probes.
const PAUSE: Duration = Duration::from_millis(1);

/// Runs `work` and sends trivial requests to the editor in the meantime. The main loop handles a
/// request like a key.
pub fn during(editor: &Editor, work: impl FnOnce()) -> Samples {
    watched(work, || {
        let start = Instant::now();
        editor.request("nvim_eval", json!(["1"]));
        let took = since(start);
        std::thread::sleep(PAUSE);
        took
    })
}

/// Runs `work` and types in the second line of the file in the meantime. Each figure is the time from
/// a key to the frame that shows it.
pub fn typing_during(editor: &Editor, work: impl FnOnce()) -> Samples {
    editor.keys("<Esc>gg0jo");
    let mut typed = String::new();
    let figures = watched(work, || {
        if typed.len() == 60 {
            editor.keys("<C-u>");
            typed.clear();
        }
        let took = key(editor, &mut typed, |row, typed| row == typed);
        std::thread::sleep(PAUSE);
        took
    });
    editor.keys("<Esc>dd");
    figures
}

/// Types a letter. Returns the milliseconds until a row shows all of `typed`.
pub fn key(editor: &Editor, typed: &mut String, shows: impl Fn(&str, &str) -> bool) -> f64 {
    let letter = char::from(b'a' + (typed.len() % 26) as u8);
    typed.push(letter);
    let start = Instant::now();
    press(editor, &letter.to_string());
    await_row(editor, "the typed letter", |row| shows(row, typed));
    since(start)
}

fn watched(work: impl FnOnce(), mut figure: impl FnMut() -> f64 + Send) -> Samples {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let figures = scope.spawn(|| {
            let mut figures = Vec::new();
            while !over.load(Ordering::Relaxed) {
                figures.push(figure());
            }
            figures
        });
        work();
        over.store(true, Ordering::Relaxed);
        // No figures are not good figures.
        let figures = figures.join().unwrap_or_else(|panic| resume_unwind(panic));
        figures.into_iter().collect()
    })
}
