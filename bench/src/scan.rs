//! The scan of a whole chat, in this process: what the host does at each change.

use std::hint::black_box;
use std::io;

use ::chat::document::Document;
use ::chat::text::Text;

use crate::chats::{chat, name};
use crate::machine;
use crate::table::{Budget, Row, Table};

/// Enough that the kernel's account of the time is exact.
const RUNS: usize = 200;

pub fn run(table: &mut Table) -> io::Result<()> {
    for (lines, budget) in [(10_000, Budget::NONE), (50_000, Budget::median(1.0))] {
        let text = Text::from(chat(lines).as_str());
        let before = machine::computed(std::process::id());
        for _ in 0..RUNS {
            black_box(Document::parse(black_box(&text)));
        }
        let took = (machine::computed(std::process::id()) - before) / RUNS as f64;
        table.add(Row {
            what: format!("scan of {} lines, in the host, processor", name(lines)),
            hand: None,
            ours: [took].into_iter().collect(),
            budget,
            lines: None,
        })?;
    }
    Ok(())
}
