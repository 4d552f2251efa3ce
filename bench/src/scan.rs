//! The scan of a whole chat, which the host does at each change, measured in this process.

use std::hint::black_box;
use std::io;

use ::chat::document::Document;
use ::chat::text::Text;

use crate::chats::{chat, name};
use crate::machine;
use crate::table::{Budget, Row, Table};

/// Number of scans in one measurement.
const RUNS: usize = 20;
/// Number of measurements. There are many because a processor that was idle, or that shares its core
/// with another virtual machine, is up to 50% slower for some tenths of a second.
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
