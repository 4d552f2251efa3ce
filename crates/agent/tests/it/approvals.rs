//! Which calls run.

use std::sync::Arc;

use agent::*;
use harness::Answer;
use serde_json::json;
use tokio::sync::Mutex;

use crate::stage::*;

const DENIED: &str = "The tool was denied by a policy.";

fn calls(name: &str) -> [Answer; 2] {
    [
        Answer::new().tool_use(
            "t1",
            name,
            &json!({"path": "/etc/hostname", "city": "Oslo"}),
        ),
        Answer::says("Ok."),
    ]
}

fn named(names: &[&'static str]) -> Vec<Box<dyn Tool>> {
    let tool = |name| Acts::tool(name, |_| Ok(ToolResult::text("ran")));
    names.iter().map(|name| tool(*name)).collect()
}

/// Returns the outcome of a call of this tool.
async fn outcome(name: &str, rules: impl Fn(Agent) -> Agent) -> String {
    let provider = harness::Provider::anthropic(calls(name));
    let agent = agent(&provider).with_tools(named(&["read", "write", "get_weather", "bash"]));
    let events = read(rules(agent).prompt("Go.")).await;
    let lines = shown(&events);
    let result = lines
        .lines()
        .find_map(|line| line.strip_prefix("User: result t1 "));
    result.unwrap_or(&lines).to_owned()
}

#[tokio::test]
async fn by_default_only_reads_run() {
    assert_eq!(outcome("read", |it| it).await, "ran");
    let denied = format!("(error) {DENIED}");
    for name in ["write", "bash", "get_weather"] {
        assert_eq!(outcome(name, |it| it).await, denied, "{name}");
    }
}

#[tokio::test]
async fn names_and_presets_approve_and_a_denial_overrides_them() {
    let denied = format!("(error) {DENIED}");
    assert_eq!(outcome("write", |it| it.approve(["$default"])).await, "ran");
    assert_eq!(outcome("bash", |it| it.approve(["$default"])).await, denied);
    assert_eq!(outcome("bash", |it| it.approve_all()).await, "ran");
    let both = |it: Agent| it.approve_all().deny(["bash"]);
    assert_eq!(outcome("bash", both).await, denied);
    let narrow = |it: Agent| it.deny(["read"]);
    assert_eq!(outcome("read", narrow).await, denied);
}

#[tokio::test]
async fn a_function_decides_about_other_calls() {
    let asked = Arc::new(Mutex::new(Vec::new()));
    let asks = |answer: bool| {
        let asked = asked.clone();
        move |it: Agent| {
            let asked = asked.clone();
            it.deny(["write"]).ask(move |call| {
                let asked = asked.clone();
                async move {
                    asked
                        .lock()
                        .await
                        .push((call.name, call.input["city"].clone()));
                    answer
                }
            })
        }
    };
    let denied = format!("(error) {DENIED}");
    assert_eq!(outcome("bash", asks(true)).await, "ran");
    assert_eq!(outcome("get_weather", asks(false)).await, denied);
    assert_eq!(outcome("read", asks(false)).await, "ran");
    assert_eq!(outcome("write", asks(true)).await, denied);
    let seen = [
        ("bash".to_owned(), json!("Oslo")),
        ("get_weather".to_owned(), json!("Oslo")),
    ];
    assert_eq!(*asked.lock().await, seen);
}

#[tokio::test]
async fn a_function_that_panics_denies() {
    let panics = |it: Agent| it.ask(|call| async move { panic!("no idea about {}", call.name) });
    assert_eq!(outcome("bash", panics).await, format!("(error) {DENIED}"));
}

#[tokio::test]
async fn a_cancel_does_not_wait_for_the_function() {
    let provider = harness::Provider::anthropic(calls("bash"));
    let mut agent = agent(&provider)
        .with_tools(named(&["bash"]))
        .ask(|_| std::future::pending());
    let mut run = agent.prompt("Go.");

    read_until(
        &mut run,
        |it| matches!(it, Event::Message(message) if message.role == PromptRole::Assistant),
    )
    .await;
    run.cancel();
    let events = read(run).await;

    assert!(shown(&events).ends_with("Cancelled"), "{}", shown(&events));
    assert_eq!(provider.requests().len(), 1);
}
