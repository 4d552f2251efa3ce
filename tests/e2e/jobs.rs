//! Background jobs: commands that run on after their call, in Neovim and in `flemma send`.

use std::fs;

use harness::{Answer, Editor, PATIENCE, Provider};
use rustix::process::Signal;
use serde_json::{Value, json};

use crate::listed_hosts::server;
use crate::processes::{commands_in, host, signal, wait_commands};
use crate::sandbox::holds;
use crate::shell::{Shell, wait};
use crate::stage::{QUESTION, ask_with, offline, outcomes, result, wait_end, wait_message};
use crate::traces::unasked;

fn background(command: &str) -> Value {
    json!({"label": "", "command": command, "timeout": null, "background": true})
}

/// A model that starts this job, and then says something.
fn starts(command: &str) -> Provider {
    let call = Answer::new().tool_use("t_1", "bash", &background(command));
    Provider::anthropic([call, Answer::says("Started.")])
}

/// The name of the job in the result of `t_1`.
fn job(text: &str) -> String {
    let after = text.split_once("in the background as ").unwrap().1;
    after.split_once('.').unwrap().0.to_owned()
}

/// An editor in which this job runs.
fn with_job(command: &str, options: Value) -> (Editor, Provider, String) {
    let provider = starts(command);
    let editor = ask_with(&provider, options);
    editor.keys("<C-]>");
    wait_end(&editor, "Started.\n\n@You:\n\n");
    let name = job(&result(&editor, "t_1"));
    (editor, provider, name)
}

/// Lets the model call a tool of jobs, and returns the result once it has this text.
fn call(editor: &Editor, provider: &Provider, id: &str, tool: &str, input: &Value) -> String {
    provider.then(Answer::new().tool_use(id, tool, input));
    provider.then(Answer::says(&format!("Called {id}.")));
    editor.keys("GiAgain.<Esc><C-]>");
    wait_end(editor, &format!("Called {id}.\n\n@You:\n\n"));
    result(editor, id)
}

#[test]
fn the_model_starts_reads_and_stops_a_job_that_a_daemon_outlives_in_each_sandbox() {
    let sandboxes = [json!({"enabled": false}), json!({})];
    for sandbox in &sandboxes[..if holds("jobs") { 2 } else { 1 }] {
        let mut options = unasked();
        options["sandbox"] = sandbox.clone();
        // The daemon leaves the session and the pipe, and drops its environment.
        let (editor, provider, name) = with_job(
            "env -i setsid -f sleep 3000 </dev/null >/dev/null 2>&1; echo built; exit 3",
            options,
        );
        editor.wait_for("the daemon", |editor| {
            !commands_in(&editor.dir()).is_empty()
        });
        let input = json!({"name": name, "wait": 1});
        let said = call(&editor, &provider, "t_2", "job_output", &input);
        assert!(
            said.contains("built\n\n[") && said.contains("has been running for"),
            "{said}"
        );
        let said = call(
            &editor,
            &provider,
            "t_3",
            "job_stop",
            &json!({"name": name}),
        );
        assert!(
            said.contains("(no new output)") && said.contains("it was stopped.]"),
            "{said}"
        );
        wait_commands(&editor, 0);
        wait_message(
            &editor,
            &format!("The background job {name} has ended after"),
        );
    }
}

#[test]
fn a_job_and_a_command_reach_listed_hosts_at_the_same_time() {
    if !holds("a_job_and_a_command_reach_listed_hosts_at_the_same_time") {
        return;
    }
    let port = server();
    let mut options = unasked();
    options["sandbox"] = json!({"policy": {"network": {"allow": [format!("127.0.0.1:{port}")]}}});
    let fetch = format!(
        "curl -sS http://127.0.0.1:{port}/; curl -sS http://127.0.0.1:1/ -o refused; \
         curl -sS http://127.0.0.1:1/ -o refused"
    );
    let waiting = format!("until [ -e go ]; do sleep 0.01; done; {fetch}");
    let (editor, provider, name) = with_job(&waiting, options);
    let meanwhile = json!({"label": "", "command": format!("{fetch}; touch go"), "timeout": null});
    let said = call(&editor, &provider, "t_2", "bash", &meanwhile);
    wait_message(
        &editor,
        &format!("The background job {name} has ended after"),
    );
    let of_job = call(
        &editor,
        &provider,
        "t_3",
        "job_output",
        &json!({"name": name}),
    );
    let note = "[Network: 127.0.0.1:1 was refused, because sandbox.policy.network.allow does not name it.]";
    for said in [said, of_job] {
        assert!(said.contains("ok\n"), "{said}");
        assert_eq!(said.matches(note).count(), 1, "{said}");
    }
}

#[test]
fn the_preview_says_that_it_runs_in_the_background_and_it_is_not_tried() {
    let provider = starts("sleep 3000");
    let editor = ask_with(
        &provider,
        json!({"tools": {"auto_approve": ["$default", "$trial"]}}),
    );
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    editor.wait_for("the preview", |editor| {
        let lines = editor.virtual_lines();
        lines
            .iter()
            .any(|it| it.text.contains("bash: in the background: $ sleep 3000"))
    });
    editor.command("Flemma try");
    wait_message(&editor, "none that runs in the background");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
}

#[test]
fn the_list_of_jobs_opens_a_log_that_follows() {
    let (editor, _provider, name) = with_job(
        "echo one; until [ -e go ]; do sleep 0.01; done; printf 'two\\n\\nthr'; \
         until [ -e end ]; do sleep 0.01; done; printf 'ee\\n'; exit 4",
        unasked(),
    );
    let text = |editor: &Editor| editor.text().trim_end().to_owned();
    editor.command("Flemma jobs");
    editor.wait_for("the list", |editor| {
        let list = text(editor);
        let line = list.lines().next().unwrap_or_default();
        line.starts_with(&format!("{name}  running for "))
            && line.contains("s  question.chat  $ echo one;")
            && list.ends_with("\n    one")
    });
    editor.keys("<CR>");
    editor.wait_for("its log", |editor| text(editor) == "one");
    fs::write(editor.dir().join("go"), "").unwrap();
    editor.wait_for("what is new", |editor| text(editor) == "one\ntwo\n\nthr");
    // A cursor that is not at the end stays.
    editor.keys("gg");
    fs::write(editor.dir().join("end"), "").unwrap();
    let ended = format!("[{name} has ended after ");
    editor.wait_for("its end", |editor| {
        let log = text(editor);
        log.starts_with(&format!("one\ntwo\n\nthree\n\n{ended}"))
            && log.ends_with(": it exited with code 4.]")
    });
    assert_eq!(editor.lua("return vim.fn.line('.')", &json!([])), 1);
    editor.keys("q");
    editor.command("Flemma jobs");
    editor.wait_for("the list again", |editor| {
        text(editor).starts_with(&format!("{name}  exited with code 4 after "))
            && text(editor).ends_with("\n    three")
    });
}

#[test]
fn a_key_stops_a_job_and_a_log_of_a_flood_stays_short() {
    let (editor, _provider, name) = with_job(
        "trap '' TERM; yes | head -c 100000000; sleep 3000",
        unasked(),
    );
    editor.command("Flemma jobs");
    editor.wait_for("the list", |editor| editor.text().starts_with(&name));
    editor.keys("<CR>");
    editor.wait_for("its log", |editor| {
        let log = editor.text();
        assert!(log.lines().count() <= 5000);
        log.lines().any(|it| it == "y")
    });
    editor.keys("x");
    wait_message(&editor, &format!("{name} is being stopped."));
    editor.wait_for("its end", |editor| {
        editor.text().trim_end().ends_with(": it was stopped.]")
    });
    wait_commands(&editor, 0);
}

#[test]
fn without_jobs_the_list_says_so_outside_a_chat_too() {
    let editor = offline().start();
    editor.command("Flemma jobs");
    editor.wait_text("There are no background jobs.");
    // The list follows, and a job may start.
    let mapped = editor.lua("return vim.fn.maparg('x', 'n')", &json!([]));
    assert_ne!(mapped, "");
}

#[test]
fn a_job_outlives_its_chat_and_ends_with_neovim() {
    let (editor, _provider, _) = with_job("setsid -f sleep 3000; sleep 3001; true", unasked());
    // The command is one process, besides its shell.
    wait_commands(&editor, 3);
    let ours = host(&editor);
    editor.keys("<C-c>");
    editor.command("bwipeout!");
    editor.keys(":enew<CR>");
    assert_eq!(wait_commands(&editor, 3).len(), 3);
    signal(editor.nvim_pid(), Signal::KILL);
    let deadline = std::time::Instant::now() + PATIENCE;
    let folder = editor.dir();
    while !commands_in(&folder).is_empty() || harness::is_running(ours.worker) {
        assert!(
            std::time::Instant::now() < deadline,
            "{:?}",
            commands_in(&folder)
        );
        std::thread::yield_now();
    }
}

#[test]
fn a_job_may_clean_up_when_neovim_ends() {
    let saved = tempfile::tempdir().unwrap();
    let path = saved.path().join("saved");
    let mut options = unasked();
    options["sandbox"] = json!({"enabled": false});
    let script = "trap 'echo > \"$saved\"; exit' TERM; while :; do sleep 0.01; done";
    let script = format!("saved={}; {script}", path.display());
    let (editor, _provider, _) = with_job(&script, options);
    editor.request("nvim_input", json!([":qa!<CR>"]));
    wait("the job's last act", || path.exists());
}

#[test]
fn after_a_restart_a_job_has_ended_and_its_name_is_unknown() {
    let (editor, provider, name) = with_job("sleep 3000", unasked());
    editor.command("Flemma restart");
    wait_commands(&editor, 0);
    let said = call(
        &editor,
        &provider,
        "t_2",
        "job_output",
        &json!({"name": name, "wait": 1}),
    );
    assert!(
        said.contains("(error)")
            && said.contains("one that was started before a restart has ended"),
        "{said}"
    );
}

#[test]
fn a_job_ends_with_flemma_send_and_undo_restores_what_it_changed() {
    let provider = starts("echo made > made; sleep 3000; true");
    let shell = Shell::new(&provider);
    shell.write("a.chat", QUESTION);
    let mut git = std::process::Command::new("git");
    let made = git.args(["init", "-q"]).current_dir(shell.dir()).output();
    assert!(made.unwrap().status.success());
    let ran = shell.run(&["send", "--yes", "a.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let name = job(&shell.read("a.chat"));
    let said = format!("The background job {name} was stopped, because it ends with this program.");
    assert!(ran.err.contains(&said), "{}", ran.err);
    assert_eq!(commands_in(&shell.dir()), [0; 0]);
    let log = shell.run(&["log"]).out;
    let ended = format!("  bash  t_1  {name} ended: it was stopped  ");
    assert!(log.contains(&ended), "{log}");
    assert!(shell.path("made").exists());
    let ran = shell.run(&["undo", "--yes", "a.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(!shell.path("made").exists());
}

#[test]
fn neovim_asks_before_the_time_limit_whether_a_command_becomes_a_job() {
    let limited = json!({"label": "", "command": "echo begun; sleep 3000", "timeout": 11});
    let call = Answer::new().tool_use("t_1", "bash", &limited);
    let provider = Provider::anthropic([call, Answer::says("Well.")]);
    let editor = ask_with(&provider, unasked());
    editor.keys("<C-]>");
    wait_message(&editor, "Flemma asks you something during the call of ");
    let on_screen = |text: &str| {
        editor.wait_screen(text, |rows| rows.iter().any(|it| it.contains(text)));
    };
    on_screen("Flemma asks: The time limit is in 10 s. Let it run on in the background?");
    editor.keys("G<C-]><M-CR>");
    on_screen("1: Yes");
    editor.keys("1<CR>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let said = result(&editor, "t_1");
    assert!(
        said.contains("begun\n\n[The command has not ended after"),
        "{said}"
    );
    let name = job(&said);
    editor.command("Flemma jobs");
    editor.wait_for("the list", |editor| {
        editor.text().starts_with(&format!("{name}  running for "))
    });
    editor.keys("x");
    wait_commands(&editor, 0);
}
