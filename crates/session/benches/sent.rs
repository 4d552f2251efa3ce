//! The ledger of what was sent. Budgets: 2 ms for a request with ten references of 100 KB,
//! written to disk or found again; 3 ms to compare a chat of 50,000 lines with what was sent.
#![allow(clippy::unwrap_used, missing_docs)]

use chat::document::Document;
use chat::prompt::{Attachment, Content};
use chat::text::Text;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use policy::references::{Found, Value};
use session::sent::{Ledger, Places, Sending, SentText};
use tools::objects::Hash;

/// Returns ten references of 100 KB, each with another text.
fn references(round: usize) -> Vec<(Hash, Found)> {
    let found = (0..10).map(|at| {
        let line = format!("{round} {at} The quick brown fox jumps over the lazy dog.\n");
        let text = line.repeat(100 * 1024 / line.len());
        let found = Found {
            value: Value::File(Attachment {
                name: format!("@./{at}.txt"),
                language: String::new(),
                content: Content::Text(text),
            }),
            file: None,
            is_secret: false,
        };
        (Hash::of(&[at]), found)
    });
    found.collect()
}

fn sending(round: usize) -> Sending {
    Sending {
        found: references(round),
        ..Sending::default()
    }
}

fn ten_references(bench: &mut Criterion) {
    let folder = tempfile::tempdir().unwrap();
    let chat = folder.path().join("a.chat");
    let mut ledger = Ledger::default();
    ledger.follow(folder.path(), Some(&chat));
    let mut round = 0;
    bench.bench_function("record ten references of 100 KB", |it| {
        it.iter_batched(
            || {
                round += 1;
                sending(round)
            },
            |sending| ledger.sent(sending),
            BatchSize::PerIteration,
        );
    });
    bench.bench_function("write ten references of 100 KB", |it| {
        it.iter_batched(
            || {
                round += 1;
                let mut ledger = Ledger::default();
                ledger.follow(folder.path(), Some(&chat));
                ledger.sent(sending(round));
                ledger
            },
            |mut ledger| ledger.write(),
            BatchSize::PerIteration,
        );
    });
    let mut ledger = Ledger::default();
    ledger.follow(folder.path(), Some(&chat));
    bench.bench_function("find ten references of 100 KB", |it| {
        it.iter(|| (0..10).all(|at| ledger.value(Hash::of(&[at])).is_some()));
    });
}

fn a_long_chat(bench: &mut Criterion) {
    let turn = "@You:\nSee @./f.txt now.\n\n@Assistant:\nThe quick brown fox jumps over it.\n\n";
    let text = Text::from(turn.repeat(50_000 / 6).as_str());
    let document = Document::parse(&text);
    let sent = SentText::of(&document, 0);
    bench.bench_function("compare 50,000 lines", |it| {
        it.iter(|| sent.edited(&document, 0))
    });
    bench.bench_function("places in 50,000 lines", |it| {
        it.iter(|| {
            let mut places = Places::new(&document, Vec::new());
            (0..text.line_count())
                .step_by(500)
                .map(|line| places.reference(line, "@./f.txt"))
                .last()
        });
    });
}

criterion_group!(benches, ten_references, a_long_chat);
criterion_main!(benches);
