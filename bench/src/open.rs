//! Opening a chat: from `:edit` to the frame with its text, and to its colors.

use std::io;
use std::time::Instant;

use harness::{Editor, Provider};
use serde_json::json;

use crate::chats::{LAST, chat, name};
use crate::stage::{await_row, bare, press, rest, since, with_plugin};
use crate::table::{Budget, Row, Samples, Table};

const RUNS: usize = 12;
/// Runs that need a new Neovim each.
const FIRST_RUNS: usize = 5;
/// A row that is in no chat, so that the next frame differs.
const EMPTY: &str = "@You:\nNothing yet.\n";

pub fn run(table: &mut Table) -> io::Result<()> {
    let provider = Provider::anthropic([""; 0]);
    let budgets = [
        (1_000, 16.0, 5.0, 25.0),
        (10_000, 32.0, 8.0, 25.0),
        (50_000, 100.0, 11.0, 60.0),
    ];
    for (lines, limit, by_hand, first_limit) in budgets {
        let text = chat(lines);
        let setup = with_plugin(&provider, json!({}));
        let with = setup
            .with("long.chat", &text)
            .with("empty.chat", EMPTY)
            .start();
        let without = bare(EMPTY);
        std::fs::write(without.dir().join("long.plain"), &text)?;
        open(&with, "long.chat", true);
        close(&with, "empty.chat");
        let (mut ours, mut colours, mut hand) = Default::default();
        for _ in 0..RUNS {
            let (text, coloured) = open(&with, "long.chat", true);
            close(&with, "empty.chat");
            Samples::add(&mut ours, text);
            Samples::add(&mut colours, coloured);
            Samples::add(&mut hand, open(&without, "long.plain", false).0);
            close(&without, "bench.plain");
        }
        let row = |what: &str, ours, budget| Row {
            what: format!("{what} {} lines", name(lines)),
            hand: None,
            ours,
            budget,
            lines: None,
        };
        table.add(Row {
            hand: Some(hand),
            ..row("open", ours, Budget::median(limit).by_hand(by_hand))
        })?;
        table.add(row("until coloured:", colours, Budget::median(limit)))?;
        table.add(row(
            "as the first chat of a Neovim:",
            first_opens(&provider, &text),
            Budget::median(first_limit),
        ))?;
    }
    Ok(())
}

/// Milliseconds until the text of the first chat of a Neovim is shown.
fn first_opens(provider: &Provider, text: &str) -> Samples {
    let open_first = |_| {
        let setup = with_plugin(provider, json!({})).with("long.chat", text);
        open(&setup.file("bench.plain", "").start(), "long.chat", true).0
    };
    (0..FIRST_RUNS).map(open_first).collect()
}

/// Milliseconds until the text is shown, or if requested, until the first marker has its color.
fn open(editor: &Editor, file: &str, coloured: bool) -> (f64, f64) {
    let start = Instant::now();
    press(editor, &format!(":edit {file}<CR>"));
    await_row(editor, "the first line", |row| {
        row.starts_with("Question 1:")
    });
    let text = since(start);
    if coloured {
        editor.wait_for("colours", |editor| {
            let groups = editor.highlight_of("@You:", 0);
            groups.is_some_and(|it| !it.is_empty())
        });
    }
    let colours = since(start);
    rest(editor);
    (text, colours)
}

fn close(editor: &Editor, other: &str) {
    editor.keys(&format!(":silent edit {other}<CR>:silent bwipeout! #<CR>"));
    editor.wait_screen("another file", |rows| {
        !rows
            .iter()
            .any(|row| row.starts_with("Question 1:") || row.starts_with(LAST))
    });
    rest(editor);
}
