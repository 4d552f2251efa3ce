//! What a search among 1,000 tools costs (5 ms at most), a look at a shell command, and
//! a call of a tool in Rust beyond the tool's own work (0.1 ms at most).
#![allow(missing_docs)]

use std::hint::black_box;
use std::sync::Arc;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use criterion::{Criterion, criterion_group, criterion_main};
use serde_json::{Value, json};
use tools::{
    SearchEntry, ShellLists, Tool, ToolContext, ToolError, ToolResult, review, run, search,
};

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
            let entries = tools
                .iter()
                .map(|(name, description, keywords)| SearchEntry {
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
        bencher.iter(|| review(black_box(command), &lists));
    });
}

struct Nothing;

#[async_trait]
impl Tool for Nothing {
    fn name(&self) -> &str {
        "nothing"
    }

    fn label(&self) -> &str {
        "Nothing"
    }

    fn description(&self) -> &str {
        "Does nothing"
    }

    fn input_schema(&self) -> Value {
        json!({"type": "object", "properties": {}})
    }

    async fn execute(
        &self,
        _: &ToolUseId,
        _: Value,
        _: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        Ok(ToolResult::text("done"))
    }
}

fn a_call(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let folder = std::env::temp_dir();
    let tool: Arc<dyn Tool> = Arc::new(Nothing);
    criterion.bench_function("run/nothing", |bencher| {
        bencher.iter(|| {
            let context = ToolContext::new(&folder, &folder);
            let id = ToolUseId::new("toolu_1");
            runtime.block_on(run(tool.clone(), id, json!({}), context))
        });
    });
}

criterion_group!(benches, among_a_thousand, a_command, a_call);
criterion_main!(benches);
