//! The scan of a whole chat, in this process: what the host does at each change.

use std::hint::black_box;
use std::io;
use std::time::Instant;

use ::chat::document::Document;
use ::chat::text::Text;

use crate::chats::{chat, name};
use crate::stage::since;
use crate::table::{Budget, Row, Table};

const RUNS: usize = 60;

pub fn run(table: &mut Table) -> io::Result<()> {
    for (lines, budget) in [(10_000, Budget::NONE), (50_000, Budget::median(1.0))] {
        let text = Text::from(chat(lines).as_str());
        let scan = |_| {
            let start = Instant::now();
            black_box(Document::parse(black_box(&text)));
            since(start)
        };
        table.add(Row {
            what: format!("scan of {} lines, in the host", name(lines)),
            hand: None,
            ours: (0..RUNS).map(scan).collect(),
            budget,
            lines: None,
        })?;
    }
    Ok(())
}
