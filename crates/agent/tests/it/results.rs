//! Results of failing calls, and the order of results.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use agent::*;
use harness::Answer;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::stage::*;

fn three(name: &str) -> Answer {
    Answer::new()
        .tool_use("t1", name, &json!({"n": 1}))
        .tool_use("t2", name, &json!({"n": 2}))
        .tool_use("t3", name, &json!({"n": 3}))
}

#[tokio::test]
async fn a_tools_error_reaches_the_model_verbatim() {
    let fails = Acts::tool("look", |_| {
        Err(ToolError::Failed("Cannot read x: no such file".to_owned()))
    });
    let refuses = Acts::tool("check", |_| {
        Err(ToolError::InvalidInput("missing city".to_owned()))
    });
    let provider = harness::Provider::anthropic([
        Answer::new()
            .tool_use("t1", "look", &json!({}))
            .tool_use("t2", "check", &json!({})),
        Answer::says("I see."),
    ]);
    let mut agent = agent(&provider)
        .with_tools(vec![fails, refuses])
        .approve_all();

    agent.prompt("Look.").answer().await.unwrap();

    let results = &provider.requests()[1].body["messages"][2]["content"];
    for (at, text) in ["Cannot read x: no such file", "missing city"]
        .iter()
        .enumerate()
    {
        assert_eq!(results[at]["content"], *text);
        assert_eq!(results[at]["is_error"], json!(true));
    }
}

#[tokio::test]
async fn a_tool_that_panics_is_an_error_result_and_the_next_call_works() {
    let count = AtomicUsize::new(0);
    let odd = Acts::tool("odd", move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0 => panic!("boom"),
        _ => Ok(ToolResult::text("fine")),
    });
    let provider = harness::Provider::anthropic([
        Answer::new().tool_use("t1", "odd", &json!({})),
        Answer::new().tool_use("t2", "odd", &json!({})),
        Answer::says("Done."),
    ]);
    let mut agent = agent(&provider).with_tools(vec![odd]).approve(["odd"]);

    let events = read(agent.prompt("Go.")).await;

    let ends: Vec<String> = shown(&events)
        .lines()
        .filter(|it| it.starts_with("end"))
        .map(str::to_owned)
        .collect();
    assert_eq!(
        ends,
        [
            "end t1 (error) The tool odd crashed and gave no result: boom",
            "end t2 fine"
        ]
    );
    assert_eq!(events.last(), Some(&Event::Finished(Ended::Done)));
}

#[tokio::test]
async fn with_one_at_a_time_calls_run_in_order() {
    let gate = Arc::new(Semaphore::new(3));
    let provider = harness::Provider::anthropic([three("wait"), Answer::says("Done.")]);
    let mut agent = agent(&provider)
        .with_tools(vec![Acts::waits("wait", &gate)])
        .approve(["wait"])
        .with_max_concurrent(1);

    let events = read(agent.prompt("Go.")).await;

    check(
        &events,
        r#"
        User: Go.
        request 1
        call t1 wait {"n":1}
        call t2 wait {"n":2}
        call t3 wait {"n":3}
        Assistant: use t1 | use t2 | use t3
        start t1 wait
        end t1 {"n":1}
        start t2 wait
        end t2 {"n":2}
        start t3 wait
        end t3 {"n":3}
        User: result t1 {"n":1} | result t2 {"n":2} | result t3 {"n":3}
        request 2
        text Done.
        Assistant: Done.
        Done
        "#,
    );
}

#[tokio::test]
async fn results_are_in_the_order_of_the_calls() {
    let (first, others) = (Arc::new(Semaphore::new(0)), Arc::new(Semaphore::new(1)));
    let tools = vec![Acts::waits("slow", &first), Acts::waits("quick", &others)];
    let provider = harness::Provider::anthropic([
        Answer::new()
            .tool_use("t1", "slow", &json!({}))
            .tool_use("t2", "quick", &json!({})),
        Answer::says("Done."),
    ]);
    let mut agent = agent(&provider).with_tools(tools).approve_all();
    let mut run = agent.prompt("Go.");

    read_until(
        &mut run,
        |it| matches!(it, Event::ToolFinished { name, .. } if name == "quick"),
    )
    .await;
    first.add_permits(1);
    let events = read(run).await;

    assert!(
        shown(&events).contains("User: result t1 {} | result t2 {}"),
        "{}",
        shown(&events)
    );
}

#[tokio::test]
async fn a_hostile_pattern_is_only_searched_for() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("evil.sh"), "#!/bin/sh\ntouch ran\n").unwrap();
    std::fs::write(folder.path().join("notes"), "--pre=./evil.sh\n").unwrap();
    let grep = tools::Registry::builtin().get("grep").unwrap();
    let provider = harness::Provider::anthropic([
        Answer::new().tool_use(
            "t1",
            "find_text",
            &json!({"label": "look", "pattern": "--pre=./evil.sh", "path": null, "glob": null, "limit": null}),
        ),
        Answer::says("Found."),
    ]);
    let mut agent = agent(&provider)
        .with_tools(vec![Box::new(Renamed(grep))])
        .approve(["find_text"])
        .with_context(ToolContext::new(
            folder.path(),
            folder.path().join("outputs"),
        ));

    let events = read(agent.prompt("Search.")).await;

    let text = shown(&events);
    assert!(text.contains("end t1 notes:1:"), "{text}");
    assert!(!folder.path().join("ran").exists());
}

/// A built-in tool under another name, because tools can be wrapped.
struct Renamed(Arc<dyn Tool>);

#[async_trait]
impl Tool for Renamed {
    fn name(&self) -> &str {
        "find_text"
    }
    fn label(&self) -> &str {
        self.0.label()
    }
    fn description(&self) -> &str {
        self.0.description()
    }
    fn input_schema(&self) -> Value {
        json!({"type": "object"})
    }
    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        self.0.execute(id, input, ctx).await
    }
}
