//! The scan of a whole chat, in this process: what the host does at each change.

use std::hint::black_box;
use std::io;

use ::chat::document::Document;
use ::chat::text::Text;

use crate::chats::{chat, name};
use crate::machine;
use crate::table::{Budget, Row, Table};

/// Scans in one look.
const RUNS: usize = 20;
/// A processor that comes from a rest, or shares its core with another machine's work, takes
/// half as much again for some tenths of a second.
const LOOKS: usize = 75;

pub fn run(table: &mut Table) -> io::Result<()> {
    for (lines, budget) in [(10_000, Budget::NONE), (50_000, Budget::median(2.0))] {
        let text = Text::from(chat(lines).as_str());
        let took = || {
            let before = machine::computed_here();
            for _ in 0..RUNS {
                black_box(Document::parse(black_box(&text)));
            }
            (machine::computed_here() - before) / RUNS as f64
        };
        table.add(Row {
            what: format!("scan of {} lines, in the host, processor", name(lines)),
            hand: None,
            ours: std::iter::repeat_with(took).take(LOOKS).collect(),
            budget,
            lines: None,
        })?;
    }
    Ok(())
}
