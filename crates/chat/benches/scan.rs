//! Benchmarks of the pure part of a keypress, by length of the chat: parsing, marks, the
//! spans of a window, and the request.
#![allow(missing_docs)]

use std::fmt::Write;

use chat::cycle::Cycle;
use chat::document::Document;
use chat::marks::marks;
use chat::prompt::build;
use chat::spans::spans;
use chat::text::Text;
use criterion::{BenchmarkId, Criterion, criterion_group, criterion_main};

/// Lines shown in a window.
const WINDOW: usize = 100;

/// Returns a chat of about `lines` lines: turns with prose, code, two calls, and their
/// results, in blocks of about 12 lines.
fn chat(lines: usize) -> Text {
    let mut text = String::new();
    let mut count = 0;
    for turn in 0.. {
        if count >= lines {
            break;
        }
        let before = text.len();
        let _ = write!(
            text,
            "@You:\nPlease look at module {turn} and tell me what it does.\n"
        );
        text.push_str("Only the public items matter.\n\n@Assistant:\n");
        text.push_str("I will read the file first, then run its tests.\n\n```rust\n");
        for line in 0..8 {
            let _ = writeln!(text, "    let value_{line} = compute(turn, {line})?;");
        }
        text.push_str("```\n\n");
        for call in ["read", "bash"] {
            let _ = write!(
                text,
                "**Tool Use:** `{call}` (`toolu_{turn}_{call}`)\n\n```json\n{{\"label\":\"reading\",\"path\":\"src/{turn}.rs\"}}\n```\n\n"
            );
        }
        text.push_str("@You:\n");
        for call in ["read", "bash"] {
            let _ = write!(text, "**Tool Result:** `toolu_{turn}_{call}`\n\n```\n");
            for line in 0..12 {
                let _ = writeln!(
                    text,
                    "{line:>4}  a line of output as tools print it, not too short"
                );
            }
            text.push_str("```\n\n");
        }
        text.push_str("@Assistant:\nIt computes eight values and stops at the first error.\n\n");
        count += text[before..].matches('\n').count();
    }
    Text::from(text.as_str())
}

fn by_length(criterion: &mut Criterion) {
    for lines in [1_000, 10_000, 50_000] {
        let text = chat(lines);
        let document = Document::parse(&text);
        let cycle = Cycle::default();
        let mut group = criterion.benchmark_group("chat");
        group.bench_function(BenchmarkId::new("parse", lines), |bencher| {
            bencher.iter(|| Document::parse(&text).messages.len());
        });
        group.bench_function(BenchmarkId::new("marks", lines), |bencher| {
            bencher.iter(|| marks(&document, &cycle, &(), 80).len());
        });
        let middle = text.line_count() / 2;
        group.bench_function(BenchmarkId::new("spans", lines), |bencher| {
            bencher.iter(|| spans(&document, middle..middle + WINDOW).len());
        });
        group.bench_function(BenchmarkId::new("build", lines), |bencher| {
            bencher.iter(|| build(&document, &[]).messages.len());
        });
        group.finish();
    }
}

criterion_group!(benches, by_length);
criterion_main!(benches);
