//! Cancelling: every call has a result, no process is left, and the conversation can
//! continue.

use std::sync::Arc;

use agent::*;
use harness::{Answer, Gate};
use serde_json::json;
use tokio::sync::Semaphore;

use crate::stage::*;

/// Returns true if a process has this argument.
fn runs(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let mut lines = processes.filter_map(|it| std::fs::read(it.path().join("cmdline")).ok());
    lines.any(|line| String::from_utf8_lossy(&line).contains(word))
}

/// A minute in seconds, spelled as no other process does.
fn minute() -> String {
    format!("60.{}", std::process::id())
}

#[tokio::test]
async fn a_cancelled_command_has_its_result_and_leaves_no_process() {
    let command = format!("echo up; sleep {}", minute());
    let input = json!({"label": "sleep", "command": command, "timeout": null});
    let provider = harness::Provider::anthropic([
        Answer::new().tool_use("t1", "bash", &input),
        Answer::says("Ok."),
    ]);
    let mut agent = agent(&provider)
        .with_tools(default_tools())
        .approve(["bash"]);
    let mut run = agent.prompt("Sleep.");

    read_until(&mut run, |it| matches!(it, Event::ToolOutput { .. })).await;
    run.cancel();
    let events = read(run).await;

    let text = shown(&events);
    assert!(
        text.contains("end t1 (error) up\n\nCancelled by the user."),
        "{text}"
    );
    assert_eq!(events.last(), Some(&Event::Finished(Ended::Cancelled)));
    assert!(!runs(&minute()), "a process is left");
    assert_eq!(provider.requests().len(), 1);

    let answer = agent.prompt("Never mind.").answer().await;
    assert_eq!(answer, Ok("Ok.".to_owned()));
    let sent = &provider.requests()[1].body["messages"][2]["content"];
    assert_eq!(sent[0]["content"], "up\n\nCancelled by the user.");
    assert_eq!(sent[0]["is_error"], json!(true));
    assert_eq!(sent[1]["text"], "Never mind.");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_answer_keeps_its_text_but_its_calls_do_not_run() {
    let gate = Gate::new();
    let provider = harness::Provider::anthropic([
        Answer::new().text("Half").gate(&gate).text(" of it."),
        Answer::says("Whole."),
    ]);
    let mut agent = agent(&provider);
    let mut run = agent.prompt("Tell.");

    read_until(&mut run, |it| matches!(it, Event::Text(_))).await;
    run.cancel();
    let events = read(run).await;

    assert_eq!(shown(&events), "Assistant: Half\nCancelled");
    provider.wait_hang_ups(1);
    assert_eq!(
        agent.prompt("All of it.").answer().await,
        Ok("Whole.".to_owned())
    );
}

#[tokio::test]
async fn a_dropped_run_is_cancelled_and_the_conversation_continues() {
    let gate = Arc::new(Semaphore::new(0));
    let provider = harness::Provider::anthropic([
        Answer::new().tool_use("t1", "wait", &json!({})),
        Answer::says("Ok."),
    ]);
    let mut agent = agent(&provider)
        .with_tools(vec![Acts::waits("wait", &gate)])
        .approve_all();
    let mut run = agent.prompt("Go.");
    read_until(&mut run, |it| matches!(it, Event::ToolStarted { .. })).await;

    drop(run);
    let answer = agent.prompt("Leave it.").answer().await;

    assert_eq!(answer, Ok("Ok.".to_owned()));
    let sent = &provider.requests()[1].body["messages"][2]["content"];
    assert_eq!(sent[0]["content"], "Cancelled by the user.");
}

#[tokio::test]
async fn a_cancel_while_idle_does_not_affect_the_next_prompt() {
    let provider = harness::Provider::anthropic([Answer::says("Ok.")]);
    let mut agent = agent(&provider);

    agent.remote().cancel();

    assert_eq!(agent.prompt("Go.").answer().await, Ok("Ok.".to_owned()));
}
