//! Every call ends with an outcome, whatever the tool does.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::{Value, json};
use tools::{Tool, ToolContext, ToolError, ToolResult};

use crate::fixture::TestFolder;

/// A tool that does what its name says.
struct Odd(&'static str);

#[async_trait]
impl Tool for Odd {
    fn name(&self) -> &str {
        self.0
    }

    fn label(&self) -> &str {
        self.0
    }

    fn description(&self) -> &str {
        ""
    }

    fn input_schema(&self) -> Value {
        json!({ "type": "object" })
    }

    async fn execute(
        &self,
        _id: &ToolUseId,
        _input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        match self.0 {
            "panics" => panic!("index out of bounds"),
            "hangs" => std::future::pending().await,
            "finishes" => {
                ctx.cancel.cancelled().await;
                Ok(ToolResult::text("done all the same"))
            }
            _ => {
                ctx.cancel.cancelled().await;
                Err(ToolError::Cancelled)
            }
        }
    }
}

async fn run(name: &'static str, ctx: ToolContext) -> ToolOutcome {
    tools::run(Arc::new(Odd(name)), ToolUseId::new("t"), json!({}), ctx).await
}

#[tokio::test]
async fn a_panic_becomes_an_error_result() {
    let outcome = run("panics", TestFolder::new().ctx).await;

    let text = "The tool panics crashed and gave no result: index out of bounds";
    assert_eq!(outcome, ToolOutcome::Failed(text.to_owned()));

    // The next call still works.
    let ctx = TestFolder::new().ctx;
    ctx.cancel.cancel();
    let outcome = run("finishes", ctx).await;
    assert!(matches!(outcome, ToolOutcome::Done { .. }), "{outcome:?}");
}

#[tokio::test]
async fn a_panic_affects_no_other_call() {
    let ctx = TestFolder::new().ctx;
    let other = tokio::spawn(run("finishes", ctx.clone()));
    let panicked = run("panics", TestFolder::new().ctx).await;
    assert!(matches!(panicked, ToolOutcome::Failed(_)), "{panicked:?}");
    assert!(!other.is_finished());
    ctx.cancel.cancel();
    let done = ToolOutcome::Done {
        content: "done all the same".to_owned(),
        marked_failed: false,
    };
    assert_eq!(other.await.unwrap(), done);
    // Another panic is handled in the same way.
    assert_eq!(run("panics", TestFolder::new().ctx).await, panicked);
}

#[tokio::test(start_paused = true)]
async fn a_tool_over_its_deadline_is_an_error_result() {
    let mut ctx = TestFolder::new().ctx;
    ctx.timeout = Duration::from_secs(7);

    for name in ["hangs", "obeys"] {
        let outcome = run(name, ctx.clone()).await;
        let text = "The tool was stopped after 7 seconds, its time limit.";
        assert_eq!(outcome, ToolOutcome::Failed(text.to_owned()), "{name}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_tool_is_cancelled_even_if_it_does_not_listen() {
    for name in ["hangs", "obeys"] {
        let ctx = TestFolder::new().ctx;
        ctx.cancel.cancel();
        let outcome = run(name, ctx).await;
        let text = "Cancelled by the user.".to_owned();
        assert_eq!(outcome, ToolOutcome::Cancelled(text), "{name}");
    }
}

#[tokio::test]
async fn a_tool_that_finishes_despite_a_cancel_has_a_result() {
    let ctx = TestFolder::new().ctx;
    ctx.cancel.cancel();

    let outcome = run("finishes", ctx).await;

    let content = "done all the same".to_owned();
    assert_eq!(
        outcome,
        ToolOutcome::Done {
            content,
            marked_failed: false
        }
    );
}

#[tokio::test]
async fn one_timed_out_call_does_not_cancel_its_neighbours() {
    let mut ctx = TestFolder::new().ctx;
    ctx.timeout = Duration::ZERO;

    run("obeys", ctx.clone()).await;

    assert!(!ctx.cancel.is_cancelled());
}

#[tokio::test(start_paused = true)]
async fn the_slow_calculator_waits_and_answers() {
    let place = TestFolder::new();

    let content = place
        .done(
            "calculator_async",
            json!({ "expression": "2^10", "delay": 500 }),
        )
        .await;

    assert_eq!(content, "1024");
}

#[tokio::test]
async fn the_calculator_returns_the_value_or_the_reason() {
    let place = TestFolder::new();

    assert_eq!(
        place
            .done("calculator", json!({ "expression": "2 + 2" }))
            .await,
        "4"
    );
    let problem = place
        .failed("calculator", json!({ "expression": "1/0" }))
        .await;
    assert_eq!(problem, "Division by zero in 1 / 0.");
}
