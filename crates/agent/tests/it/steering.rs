//! Messages of the user while the model works.

use std::sync::Arc;

use agent::*;
use harness::{Answer, Gate};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::stage::*;

#[tokio::test]
async fn steering_skips_calls_that_have_not_started() {
    let gate = Arc::new(Semaphore::new(0));
    let provider = harness::Provider::anthropic([
        Answer::new()
            .tool_use("t1", "wait", &json!({"n": 1}))
            .tool_use("t2", "wait", &json!({"n": 2}))
            .tool_use("t3", "wait", &json!({"n": 3})),
        Answer::says("Stopped."),
    ]);
    let mut agent = agent(&provider)
        .with_tools(vec![Acts::waits("wait", &gate)])
        .approve(["wait"])
        .with_max_concurrent(1);
    let mut run = agent.prompt("Go.");

    read_until(&mut run, |it| matches!(it, Event::ToolStarted { .. })).await;
    run.steer("STOP");
    gate.add_permits(1);
    let events = read(run).await;

    check(
        &events,
        r#"
        not run t2 Skipped due to queued user message
        not run t3 Skipped due to queued user message
        end t1 {"n":1}
        User: result t1 {"n":1} | result t2 (error) Skipped due to queued user message | result t3 (error) Skipped due to queued user message | STOP
        request 2
        text Stopped.
        Assistant: Stopped.
        Done
        "#,
    );
    assert_eq!(provider.requests().len(), 2);
}

#[tokio::test]
async fn a_follow_up_is_sent_when_the_model_is_done() {
    let gate = Gate::new();
    let provider = harness::Provider::anthropic([
        Answer::new().text("One.").gate(&gate),
        Answer::says("Two."),
    ]);
    let mut agent = agent(&provider);
    let remote = agent.remote();
    let mut run = agent.prompt("First.");

    read_until(&mut run, |it| matches!(it, Event::Text(_))).await;
    remote.follow_up("Second.");
    gate.open();
    let events = read(run).await;

    check(
        &events,
        "Assistant: One.\nUser: Second.\nrequest 2\ntext Two.\nAssistant: Two.\nDone",
    );
}
