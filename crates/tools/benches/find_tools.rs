//! What a search among 1,000 tools costs, and a look at a shell command.
#![allow(missing_docs)]

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tools::{Entry, ShellLists, review, search};

fn among_a_thousand(criterion: &mut Criterion) {
    let verbs = ["list", "create", "delete", "update", "search"];
    let nouns = [
        "issue",
        "page",
        "invoice",
        "customer",
        "deployment",
        "branch",
    ];
    let tools: Vec<(String, String, Vec<String>)> = (0..1000)
        .map(|at| {
            let (verb, noun) = (verbs[at % 5], nouns[at % 6]);
            let description = format!(
                "{verb} a {noun} of the project, with all the fields that the service knows of it, \
                 and return what it says. Number {at}."
            );
            (
                format!("{verb}_{noun}_{at}"),
                description,
                vec![noun.to_owned()],
            )
        })
        .collect();
    criterion.bench_function("tool_search/1000", |bencher| {
        bencher.iter(|| {
            let entries = tools.iter().map(|(name, description, keywords)| Entry {
                name,
                description,
                keywords,
            });
            search(black_box("delete an invoice of a customer"), entries)
        });
    });
}

fn a_command(criterion: &mut Criterion) {
    let command =
        "git log --oneline -20 | head -5 && find . -name '*.rs' -not -path './target/*' | wc -l";
    let lists = ShellLists::default();
    criterion.bench_function("shell/review", |bencher| {
        bencher.iter(|| review(black_box(command), None, &lists));
    });
}

criterion_group!(benches, among_a_thousand, a_command);
criterion_main!(benches);
