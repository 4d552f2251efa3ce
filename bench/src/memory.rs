//! Memory while chats are open: of Neovim, the host, and its watcher.

use std::io;

use harness::Provider;
use serde_json::json;

use crate::chats::{chat, name};
use crate::machine;
use crate::stage::{bare, ours};
use crate::table::{Budget, Row, Table};

pub fn run(table: &mut Table) -> io::Result<()> {
    let provider = Provider::anthropic([""; 0]);
    for (lines, limit, by_hand) in [(10_000, 30.0, 11.0), (50_000, 45.0, 13.0)] {
        let text = chat(lines);
        let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
        let whole = machine::memory(with.nvim_pid());
        let host = with.host_pid().map_or(0.0, machine::memory);
        let row = |what: &str, figure: f64, budget| Row {
            what: format!("{what}, {} lines open (MiB)", name(lines)),
            hand: None,
            ours: [figure].into_iter().collect(),
            budget,
            lines: None,
        };
        let hand = machine::memory(without.nvim_pid());
        table.add(Row {
            hand: Some([hand].into_iter().collect()),
            ..row("memory", whole, Budget::median(limit).by_hand(by_hand))
        })?;
        table.add(row("of it the host and its watcher", host, Budget::NONE))?;
    }
    Ok(())
}
