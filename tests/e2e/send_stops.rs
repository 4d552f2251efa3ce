//! `flemma send` that is stopped, killed, or finds its file changed: nothing is lost, and
//! nothing continues.

use std::fs;

use harness::{Answer, Gate, Provider};
use rustix::process::Signal;

use crate::processes::{commands_in, is_running, signal, stop};
use crate::shell::{Shell, end, wait, worker};
use crate::stage::{QUESTION, command};

/// An answer that waits for the gate after its first words.
fn gated() -> (Gate, Provider) {
    let gate = Gate::new();
    let answer = Answer::new()
        .text("One,\ntwo")
        .gate(&gate)
        .text(",\nthree.");
    (gate.clone(), Provider::anthropic([answer]))
}

#[test]
fn an_interrupt_cancels_and_keeps_the_text() {
    let (_gate, provider) = gated();
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let child = shell.start(&["send", "question.chat"]);
    shell.wait_file("question.chat", "two");
    signal(child.id(), Signal::INT);
    let ran = end(child);
    assert_eq!(ran.code, Some(130), "{ran:?}");
    assert_eq!(ran.out, "One,\ntwo\n");
    assert_eq!(
        shell.read("question.chat"),
        "@You:\nGo.\n\n@Assistant:\nOne,\ntwo\n\n<!-- flemma:aborted: cancelled by the user -->\n"
    );
    provider.wait_hang_ups(1);
}

#[test]
fn text_that_arrives_after_an_interrupt_is_not_written() {
    let (arrives, arrived) = (Gate::new(), Gate::new());
    let answer = Answer::new()
        .text("Before.")
        .gate(&arrives)
        .text(" After.")
        .gate(&arrived);
    let provider = Provider::anthropic([answer]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let child = shell.start(&["send", "question.chat"]);
    shell.wait_file("question.chat", "Before.");
    let works = worker(&child);
    stop(works);
    signal(child.id(), Signal::INT);
    wait("a signal that waits", || {
        let status = fs::read_to_string(format!("/proc/{works}/status")).unwrap();
        let pending = status.lines().find_map(|it| it.strip_prefix("ShdPnd:"));
        pending.is_some_and(|it| it.trim().contains(|bit| bit != '0'))
    });
    arrives.open();
    arrived.wait_reached();
    signal(works, Signal::CONT);
    let ran = end(child);
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), "Before.\n"));
    assert!(!shell.read("question.chat").contains("After."));
}

#[test]
fn a_call_that_fails_in_the_same_way_three_times_ends_it() {
    let call = |id| Answer::new().tool_use(id, "bash", &command("echo no; exit 3"));
    let provider = Provider::anthropic([call("t_1"), call("t_2"), call("t_3"), call("t_4")]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let ran = shell.run(&["send", "question.chat", "--yes"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(
        ran.err
            .contains("the same call of bash failed with the same error in 3 requests"),
        "{ran:?}"
    );
    assert_eq!(provider.requests().len(), 3);
    // With a new message, it continues.
    let ran = shell.run(&["send", "question.chat", "--yes", "-m", "Use ls."]);
    assert_eq!(provider.requests().len(), 5, "{ran:?}");
}

#[test]
fn a_command_that_is_interrupted_leaves_no_process() {
    let provider =
        Provider::anthropic([Answer::new().tool_use("t", "bash", &command("sleep 60 & sleep 60"))]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let child = shell.start(&["send", "question.chat", "--yes"]);
    wait("the command", || commands_in(&shell.dir()).len() >= 2);
    signal(child.id(), Signal::INT);
    assert_eq!(end(child).code, Some(130));
    wait("no command", || commands_in(&shell.dir()).is_empty());
    assert!(shell.read("question.chat").contains("(error)"));
}

#[test]
fn a_kill_loses_at_most_the_last_moment_and_the_next_run_continues() {
    let (_gate, provider) = gated();
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let child = shell.start(&["send", "question.chat"]);
    shell.wait_file("question.chat", "two");
    let works = worker(&child);
    signal(works, Signal::KILL);
    assert_eq!(end(child).code, Some(137));
    assert_eq!(
        shell.read("question.chat"),
        "@You:\nGo.\n\n@Assistant:\nOne,\ntwo\n"
    );
    provider.then(Answer::says("Three."));
    let ran = shell.run(&["send", "question.chat", "-m", "And then?"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        shell
            .read("question.chat")
            .ends_with("two\n\n@You:\nAnd then?\n\n@Assistant:\nThree.\n\n@You:\n\n")
    );
}

#[test]
fn when_the_program_is_killed_its_commands_end_with_it() {
    let provider = Provider::anthropic([Answer::new().tool_use(
        "t",
        "bash",
        &command("setsid sleep 60 & sleep 60"),
    )]);
    for kill_the_watcher in [true, false] {
        provider.then(Answer::new().tool_use("t", "bash", &command("setsid sleep 60 & sleep 60")));
        let shell = Shell::new(&provider);
        shell.write("question.chat", QUESTION);
        let mut child = shell.start(&["send", "question.chat", "--yes"]);
        wait("the command", || commands_in(&shell.dir()).len() >= 2);
        let works = worker(&child);
        let killed = if kill_the_watcher { child.id() } else { works };
        signal(killed, Signal::KILL);
        child.wait().unwrap();
        wait("no process", || {
            commands_in(&shell.dir()).is_empty() && !is_running(works)
        });
    }
}

#[test]
fn a_file_that_changed_on_disk_is_not_overwritten() {
    let (gate, provider) = gated();
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let child = shell.start(&["send", "question.chat"]);
    shell.wait_file("question.chat", "two");
    shell.write("question.chat", "mine\n");
    gate.open();
    let ran = end(child);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert_eq!(shell.read("question.chat"), "mine\n");
    assert!(
        ran.err.contains("another program has changed it"),
        "{}",
        ran.err
    );
    assert!(
        shell
            .read("question.chat.flemma-1")
            .contains("@Assistant:\nOne,\ntwo")
    );
}

#[test]
fn a_chat_with_unsaved_changes_in_neovim_is_not_sent() {
    let provider = Provider::anthropic([Answer::says("Yes.")]);
    let editor = crate::stage::open(&provider, QUESTION);
    // The buffer has text that the file lacks.
    editor.keys("A .<Esc>");
    let chat = editor.dir().join("question.chat");
    let state = editor.dir().parent().unwrap().join("state");
    let shell = Shell::new(&provider);
    wait("the lease", || {
        !crate::shell::names_in(&state.join("nvim/flemma/leases")).is_empty()
    });
    let mut command = shell.command(&["send", chat.to_str().unwrap(), "-m", "And?"]);
    let refused = command.env("XDG_STATE_HOME", &state).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!(refused.status.code(), Some(1), "{said}");
    assert!(said.contains("is open in Neovim (process "), "{said}");
    assert_eq!(std::fs::read_to_string(&chat).unwrap(), QUESTION);
    assert!(provider.requests().is_empty());
}

#[test]
fn two_runs_do_not_work_on_one_file() {
    let (gate, provider) = gated();
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let child = shell.start(&["send", "question.chat"]);
    shell.wait_file("question.chat", "two");
    let ran = shell.run(&["send", "question.chat", "-m", "And?"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.err.contains("is open in flemma send (process "),
        "{ran:?}"
    );
    gate.open();
    assert_eq!(end(child).code, Some(0));
    assert!(shell.read("question.chat").ends_with("three.\n\n@You:\n\n"));
}

#[test]
fn an_interrupt_at_a_question_leaves_the_call_waiting() {
    let provider =
        Provider::anthropic([Answer::new().tool_use("t", "bash", &command("touch ran"))]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let mut started = shell.command(&["send", "question.chat"]);
    // Standard input is open and empty.
    let mut child = started.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let silent = child.stdin.take();
    shell.wait_file("question.chat", "status=pending");
    let mut asked = std::io::BufReader::new(child.stderr.take().unwrap());
    wait_line(&mut asked, "[flemma]   command: touch ran");
    signal(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(silent);
    assert!(
        shell
            .read("question.chat")
            .ends_with("```flemma:tool status=pending\n```\n")
    );
    assert!(!shell.path("ran").exists());
}

#[test]
fn standard_input_that_does_not_end_is_named() {
    let provider = Provider::anthropic([""; 0]);
    let shell = Shell::new(&provider);
    let mut started = shell.command(&["send", "question.chat", "-m", "hi", "--stdin"]);
    let mut child = started.stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut said = std::io::BufReader::new(child.stderr.take().unwrap());
    wait_line(
        &mut said,
        "flemma: Still reading standard input, which has not ended (--stdin).",
    );
    signal(child.id(), Signal::INT);
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

fn wait_line(from: impl std::io::BufRead, line: &str) {
    let mut lines = from.lines().map_while(Result::ok);
    assert!(lines.any(|it| it == line), "no line {line:?}");
}

#[test]
fn a_delay_is_reported_and_the_answer_comes() {
    let busy = Answer::status(529, r#"{"error":{"message":"Overloaded"}}"#);
    let provider = Provider::anthropic([busy.header("retry-after", "0"), Answer::says("Yes.")]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let ran = shell.run(&["send", "question.chat"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "Yes.\n"), "{ran:?}");
    assert!(ran.err.contains("try 2 of "), "{ran:?}");
}
