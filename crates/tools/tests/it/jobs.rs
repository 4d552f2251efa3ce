//! Background jobs: commands that run on after their call.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::{Map, Value, json};
use tools::{Elicitation, Form, FormReply, Registry};

use crate::fixture::{TestFolder, eventually};

/// A process that survives everything but SIGKILL.
const STUBBORN: &str = r#"trap "" TERM HUP INT; echo ready; while :; do sleep 0.1; done"#;

fn background(command: &str) -> Value {
    json!({ "label": "test", "command": command, "timeout": null, "background": true })
}

/// Starts a job and returns its name.
async fn start(place: &TestFolder, command: &str) -> String {
    let said = place.done("bash", background(command)).await;
    let name = said.strip_prefix("The command runs in the background as ");
    let name = name.and_then(|it| it.split_once('.')).unwrap().0;
    name.to_owned()
}

async fn output(place: &TestFolder, name: &str, wait: u64) -> String {
    place
        .done("job_output", json!({"name": name, "wait": wait}))
        .await
}

/// Replaces the time in the last paragraph by `T`.
fn without_time(said: &str) -> String {
    let (rest, state) = said.rsplit_once("\n\n[").unwrap();
    let (before, after) = [" for ", " after "]
        .iter()
        .find_map(|word| state.split_once(word))
        .unwrap();
    let end = after.find(['.', ':']).unwrap();
    format!("{rest}\n\n[{before} T{}", &after[end..])
}

#[tokio::test]
async fn each_line_is_returned_once_and_the_end_has_the_exit_code() {
    let place = TestFolder::new();
    let name = start(
        &place,
        "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; printf three; exit 3",
    )
    .await;
    let said = output(&place, &name, 60).await;
    assert_eq!(
        without_time(&said),
        format!("one\n\n[{name} has been running T.]")
    );
    let said = output(&place, &name, 0).await;
    assert_eq!(
        without_time(&said),
        format!("(no new output)\n\n[{name} has been running T.]")
    );
    std::fs::write(place.path("go"), "").unwrap();
    let ended = format!("[{name} has ended T: it exited with code 3.]");
    // It ends within the second of silence for which the call waits.
    let said = output(&place, &name, 600).await;
    assert_eq!(without_time(&said), format!("two\nthree\n\n{ended}"));
    let said = output(&place, &name, 600).await;
    assert_eq!(without_time(&said), format!("(no new output)\n\n{ended}"));
}

#[tokio::test]
async fn a_job_runs_until_its_last_process_has_ended() {
    let place = TestFolder::new();
    // A daemon: in a session of its own, without a parent and without the pipe.
    let daemon =
        "setsid -f sh -c 'while [ ! -e go ]; do sleep 0.01; done' </dev/null >/dev/null 2>&1";
    let name = start(&place, &format!("{daemon}; echo left; touch over; exit 4")).await;
    eventually(|| place.path("over").exists()).await;
    let said = output(&place, &name, 2).await;
    assert_eq!(
        without_time(&said),
        format!("left\n\n[{name} has been running T.]")
    );
    std::fs::write(place.path("go"), "").unwrap();
    while !output(&place, &name, 600)
        .await
        .contains("it exited with code 4")
    {}
}

#[tokio::test]
async fn a_job_that_ignores_sigterm_is_killed() {
    let place = TestFolder::new();
    let name = start(&place, &format!("setsid sh -c '{STUBBORN}' & {STUBBORN}")).await;
    let said = output(&place, &name, 60).await;
    assert!(said.starts_with("ready\n"), "{said}");
    let said = place.done("job_stop", json!({"name": name})).await;
    assert!(said.contains(": it was stopped.]"), "{said}");
    let again = place.done("job_stop", json!({"name": name})).await;
    assert!(again.contains(": it was stopped.]"), "{again}");
}

#[tokio::test]
async fn what_a_job_prints_when_it_is_stopped_is_not_lost() {
    let place = TestFolder::new();
    let script = "trap 'echo saved; exit' TERM; echo ready; while :; do sleep 0.01; done";
    let name = start(&place, script).await;
    let said = output(&place, &name, 60).await;
    assert!(said.starts_with("ready\n"), "{said}");
    let said = place.done("job_stop", json!({"name": name})).await;
    assert!(said.contains("saved\n"), "{said}");
}

#[tokio::test]
async fn the_file_with_the_output_can_be_read_while_the_job_runs() {
    let place = TestFolder::new();
    let name = start(&place, "seq 1 3000; exec sleep 1000").await;
    let said = output(&place, &name, 60).await;
    let (notice, _) = said.split_once("]\n\n").unwrap();
    let path = notice.rsplit(": ").next().unwrap();
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("1\n2\n"), "{text:.100}");
    assert_eq!(place.ctx.exec.jobs.stop_all().await, [name]);
}

#[tokio::test]
async fn a_flood_is_kept_within_bounds() {
    let place = TestFolder::new();
    let name = start(&place, "seq 1 3000000; echo end").await;
    let mut said = String::new();
    while !said.contains("has ended") {
        said = output(&place, &name, 60).await;
        assert!(said.len() < 60_000);
    }
    let (notice, rest) = said.split_once("\n\n").unwrap();
    assert!(rest.contains("\n3000000\nend\n\n["), "{rest:.200}");
    let path = notice
        .strip_prefix("[Lines before these are left out. The first 100 MB of the output: ")
        .and_then(|it| it.strip_suffix(']'))
        .unwrap_or_else(|| panic!("{notice}"));
    let text = std::fs::read_to_string(path).unwrap();
    assert!(text.starts_with("1\n2\n") && text.ends_with("\n3000000\nend\n"));
}

#[tokio::test]
async fn only_its_own_chat_reads_and_stops_a_job() {
    let mut place = TestFolder::new();
    place.ctx.user.buffer = 1;
    place.ctx.user.chat = Some("/a.chat".into());
    let name = start(&place, "exec sleep 1000").await;
    // The same file in another buffer, and the same buffer under another name.
    place.ctx.user.buffer = 2;
    output(&place, &name, 0).await;
    place.ctx.user.buffer = 1;
    place.ctx.user.chat = Some("/b.chat".into());
    output(&place, &name, 0).await;
    place.ctx.user.buffer = 2;
    for tool in ["job_output", "job_stop"] {
        let input = if tool == "job_stop" {
            json!({"name": name})
        } else {
            json!({"name": name, "wait": null})
        };
        let problem = place.failed(tool, input).await;
        assert!(
            problem.starts_with(&format!("This chat has no job named \"{name}\"."))
                && problem.ends_with("This chat has no jobs."),
            "{problem}"
        );
    }
    place.ctx.user.buffer = 1;
    let problem = place.failed("job_stop", json!({"name": "job-0"})).await;
    assert!(
        problem.ends_with(&format!("Jobs of this chat: {name}.")),
        "{problem}"
    );
    assert_eq!(place.ctx.exec.jobs.stop_all().await, [name]);
}

#[tokio::test]
async fn a_command_that_cannot_start_is_the_result_of_its_call() {
    let mut place = TestFolder::new();
    place.ctx.exec.bash.shell = Some("no-such-shell".to_owned());
    let problem = place.failed("bash", background("true")).await;
    assert!(problem.contains("\"no-such-shell\""), "{problem}");
    let problem = place.failed("bash", background("")).await;
    assert!(problem.contains("The command is empty"), "{problem}");
    assert_eq!(place.ctx.exec.jobs.list(), []);
}

#[tokio::test]
async fn a_job_outlives_its_call_and_ends_at_its_own_time_limit() {
    let place = TestFolder::new();
    let limited = json!({"label": "", "command": "sleep 1000", "timeout": 1, "background": true});
    let said = place.done("bash", limited).await;
    // As a chat does when the user cancels what runs.
    place.ctx.cancel.cancel();
    let name = place.ctx.exec.jobs.list().remove(0).name;
    assert!(said.contains(&name), "{said}");
    eventually(|| place.ctx.exec.jobs.list()[0].end.is_some()).await;
    let end = place.ctx.exec.jobs.list().remove(0).end.unwrap();
    assert_eq!(end, "it was stopped at its time limit of 1 seconds");
}

#[tokio::test]
async fn too_many_jobs_are_refused_and_none_is_started_in_plan_mode() {
    let mut place = TestFolder::new();
    for _ in 0..16 {
        start(&place, "exec sleep 1000").await;
    }
    let problem = place.failed("bash", background("touch made")).await;
    assert!(
        problem.starts_with("16 background jobs are running"),
        "{problem}"
    );
    assert_eq!(place.ctx.exec.jobs.stop_all().await.len(), 16);
    place.ctx.exec.is_planning = true;
    let problem = place.failed("bash", background("touch made")).await;
    assert!(problem.starts_with("In plan mode"), "{problem}");
    assert_eq!(place.names(), ["outputs"; 0]);
}

#[tokio::test]
async fn a_job_is_not_tried() {
    let bash = Registry::builtin().get("bash").unwrap();
    assert!(!bash.can_be_tried(&background("true")));
    assert!(bash.can_be_tried(&json!({"command": "true", "background": false})));
    let id = ToolUseId::new("t");
    let tried = bash
        .attempt(&id, background("true"), TestFolder::new().ctx)
        .await;
    assert!(tried.is_err_and(|it| it.to_string().contains("none in the background")));
}

#[tokio::test]
async fn the_user_hears_of_its_end() {
    let mut place = TestFolder::new();
    let (heard, said) = std::sync::mpsc::channel();
    place.ctx.user.job_ends =
        std::sync::Arc::new(move |end| heard.send(end.sentence.clone()).unwrap());
    let name = start(&place, "exit 2").await;
    let said = tokio::task::spawn_blocking(move || said.recv_timeout(Duration::from_secs(60)));
    let said = said.await.unwrap().unwrap();
    assert!(
        said.starts_with(&format!("The background job {name} has ended after "))
            && said.ends_with(": it exited with code 2. ($ exit 2  # test)"),
        "{said}"
    );
    let outcome = place
        .call("job_output", json!({"name": name, "wait": -1}))
        .await;
    assert!(matches!(outcome, ToolOutcome::Done { .. }), "{outcome:?}");
}

/// A user who gives this reply; none if there is none.
struct Replies(Option<FormReply>);

#[async_trait]
impl Elicitation for Replies {
    async fn ask(&self, form: Form) -> FormReply {
        assert!(form.message.ends_with("Let it run on in the background?"));
        match &self.0 {
            Some(reply) => reply.clone(),
            None => std::future::pending().await,
        }
    }
}

#[tokio::test]
async fn before_its_time_limit_the_user_decides_whether_a_command_becomes_a_job() {
    let script = "sleep 3000 >/dev/null 2>&1 & echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 5";
    let input = json!({"label": "", "command": script, "timeout": 11});
    let flood = json!({"label": "", "command": "seq 1 3000; exec sleep 1000", "timeout": 11});
    let place = |reply| {
        let mut place = TestFolder::new();
        place.ctx.user.is_asked_about_jobs = true;
        place.ctx.user.elicitation = Arc::new(Replies(reply));
        place
    };
    let accepted = || place(Some(FormReply::Accepted(Map::new())));
    let (yes, no, none, flooded, full) = (
        accepted(),
        place(Some(FormReply::Declined)),
        place(None),
        accepted(),
        accepted(),
    );
    for _ in 0..16 {
        start(&full, "exec sleep 1000").await;
    }
    let (said, declined, unanswered, cut, refused) = tokio::join!(
        yes.done("bash", input.clone()),
        no.failed("bash", input.clone()),
        none.failed("bash", input.clone()),
        flooded.done("bash", flood),
        full.failed("bash", input.clone()),
    );
    assert!(
        cut.starts_with("[Lines before these are left out. The first 100 MB of the output: "),
        "{cut:.200}"
    );
    assert!(
        refused.contains("but that was not possible: 16 background jobs are running"),
        "{refused}"
    );
    for place in [flooded, full] {
        place.ctx.exec.jobs.stop_all().await;
    }
    for stopped in [declined, unanswered] {
        assert_eq!(
            stopped,
            "one\n\nCommand timed out after 11 seconds and was stopped."
        );
    }
    assert_eq!([&no, &none].map(|it| it.ctx.exec.jobs.list().len()), [0, 0]);
    assert!(
        said.starts_with("one\n\n[The command has not ended after"),
        "{said}"
    );
    let name = yes.ctx.exec.jobs.list().remove(0).name;
    assert!(
        said.contains(&format!("in the background as {name}.")),
        "{said}"
    );
    std::fs::write(yes.path("go"), "").unwrap();
    let said = output(&yes, &name, 600).await;
    assert_eq!(
        without_time(&said),
        format!(
            "two\n\n[{name} has ended T: it exited with code 5, and a process that it had left running was stopped.]"
        )
    );
}
