//! No process that a command starts outlives it.
#![cfg(target_os = "linux")]

use std::fs;
use std::time::Duration;

use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::{Value, json};
use tools::Registry;

use crate::fixture::{TestFolder, eventually};

/// A process that survives everything but SIGKILL, and writes its id to `pid`.
const STUBBORN: &str =
    r#"sh -c 'trap "" TERM HUP INT; echo $$ > pid.new; mv pid.new pid; while :; do sleep 1; done'"#;

fn command(command: &str) -> Value {
    json!({ "label": "test", "command": command, "timeout": null })
}

/// Returns true if the process whose id is in the file `pid` is running. A zombie is not.
fn runs(place: &TestFolder) -> bool {
    let id = place.text("pid");
    let stat = fs::read_to_string(format!("/proc/{}/stat", id.trim())).unwrap_or_default();
    let state = stat
        .rsplit(')')
        .next()
        .and_then(|rest| rest.split_whitespace().next());
    state.is_some_and(|state| state != "Z" && state != "X")
}

/// Cancels `script` once its `pid` is written, and waits until that process has ended.
async fn check_cancelled(script: &str) {
    let place = TestFolder::new();
    let started = place.path("pid");
    let cancel = place.ctx.cancel.clone();

    let stop = async {
        eventually(|| started.exists()).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(place.call("bash", command(script)), stop);

    assert_eq!(
        outcome,
        ToolOutcome::Cancelled("Cancelled by the user.".to_owned())
    );
    // On a busy machine, the call may be given up before the last process has ended.
    eventually(|| !runs(&place)).await;
}

/// Lets `script` end by itself, and checks that the `pid` it left is stopped.
async fn check_left_behind(script: &str) {
    let place = TestFolder::new();

    let content = place.done("bash", command(script)).await;

    assert!(!runs(&place), "{script} still runs");
    let (output, notice) = content.split_once("\n\n").unwrap();
    assert_eq!(output, "hi");
    assert!(
        notice.contains("still running when the command ended"),
        "{notice}"
    );
}

#[tokio::test]
async fn cancelling_kills_a_child_that_ignores_sigterm() {
    check_cancelled(STUBBORN).await;
}

#[tokio::test]
async fn cancelling_kills_a_grandchild_in_its_own_session() {
    check_cancelled(&format!("setsid {STUBBORN} & wait")).await;
}

#[tokio::test]
async fn cancelling_kills_an_orphaned_daemon() {
    check_cancelled(&format!("(setsid setsid -f {STUBBORN}); exec sleep 1000")).await;
}

#[tokio::test]
async fn cancelling_kills_a_descendant_that_dropped_its_environment() {
    check_cancelled(&format!("env -i PATH=\"$PATH\" setsid {STUBBORN} & wait")).await;
}

#[tokio::test]
async fn a_time_limit_kills_as_a_cancel_does() {
    let mut place = TestFolder::new();
    let script = format!("setsid {STUBBORN} & wait");
    // On a busy machine, a second may not be enough for the child to start.
    for seconds in [1, 10, 60] {
        place.ctx.timeout = Duration::from_secs(seconds);
        let problem = place.failed("bash", command(&script)).await;
        assert!(problem.contains("timed out"), "{problem}");
        if place.path("pid").exists() {
            break;
        }
    }
    eventually(|| !runs(&place)).await;
}

#[tokio::test]
async fn a_background_job_does_not_hold_the_result_back() {
    check_left_behind("sleep 1000 & echo $! > pid; echo hi").await;
}

#[tokio::test]
async fn a_daemon_that_left_the_session_is_stopped_after_the_command() {
    let wait = "while [ ! -e pid ]; do sleep 0.01; done";
    let script = format!("setsid -f {STUBBORN} >/dev/null 2>&1; {wait}; echo hi");

    check_left_behind(&script).await;
}

#[tokio::test]
async fn a_background_job_that_floods_the_pipe_does_not_hold_the_result_back() {
    let place = TestFolder::new();

    let content = place.done("bash", command("yes & echo $! > pid")).await;

    assert!(!runs(&place));
    assert!(
        content.contains("1 background process was still running"),
        "{content:.200}"
    );
}

#[tokio::test]
async fn fifty_cancelled_commands_all_end() {
    let place = TestFolder::new();
    let script = "mktemp started.XXXXXX; setsid sleep 1000 & wait";
    let calls = (0..50).map(|_| place.call("bash", command(script)));

    let stop = async {
        eventually(|| {
            place
                .names()
                .iter()
                .filter(|name| name.starts_with("started"))
                .count()
                == 50
        })
        .await;
        place.ctx.cancel.cancel();
    };
    let (outcomes, ()) = tokio::join!(futures::future::join_all(calls), stop);

    for outcome in outcomes {
        let ToolOutcome::Cancelled(text) = outcome else {
            panic!("{outcome:?}");
        };
        // Output that was read before the cancel comes first.
        assert!(text.ends_with("Cancelled by the user."), "{text}");
    }
}

#[tokio::test]
async fn a_call_that_is_given_up_leaves_nothing_running() {
    let place = TestFolder::new();
    let started = place.path("pid");
    let bash = Registry::builtin().get("bash").unwrap();
    let ctx = place.ctx.clone();
    let script = command(&format!("setsid {STUBBORN} & wait"));
    let call = tokio::spawn(async move { bash.execute(&ToolUseId::new("t"), script, ctx).await });

    eventually(|| started.exists()).await;
    call.abort();

    eventually(|| !runs(&place)).await;
}
