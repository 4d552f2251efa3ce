//! The `bash` tool: environment, output, limits, and exit status of a command.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use chat::tool::ToolOutcome;
use serde_json::{Value, json};
use tools::Progress;

use crate::fixture::TestFolder;

fn command(command: &str) -> Value {
    json!({ "label": "test", "command": command, "timeout": null })
}

fn done(content: &str, marked_failed: bool) -> ToolOutcome {
    ToolOutcome::Done {
        content: content.to_owned(),
        marked_failed,
    }
}

async fn check(script: &str, expected: &str) {
    assert_eq!(
        TestFolder::new().call("bash", command(script)).await,
        done(expected, false)
    );
}

#[tokio::test]
async fn both_outputs_are_one_text_in_their_order() {
    check("echo a; echo b >&2; echo c", "a\nb\nc").await;
}

#[tokio::test]
async fn no_newline_is_added_and_trailing_white_space_is_removed() {
    check(r"printf 'a\nb'", "a\nb").await;
    check(r"printf '  a \n\n\n'", "  a").await;
    check("true", "(no output)").await;
}

#[tokio::test]
async fn a_failing_command_is_a_result_with_its_exit_code() {
    let outcome = TestFolder::new()
        .call("bash", command("echo why; exit 3"))
        .await;

    assert_eq!(outcome, done("why\n\nCommand exited with code 3", true));
}

#[tokio::test]
async fn a_command_that_dies_by_a_signal_keeps_its_output() {
    let outcome = TestFolder::new()
        .call("bash", command("echo a; kill -SEGV $$"))
        .await;

    assert_eq!(outcome, done("a\n\nCommand was killed by SIGSEGV", true));
}

#[tokio::test]
async fn a_syntax_error_is_reported_with_its_line() {
    let outcome = TestFolder::new().call("bash", command("echo a\nif")).await;

    let ToolOutcome::Done {
        content,
        marked_failed: true,
    } = outcome
    else {
        panic!("{outcome:?}")
    };
    assert!(content.contains("line 3: syntax error"), "{content}");
}

#[tokio::test]
async fn there_is_no_input_and_no_terminal() {
    check("cat", "(no output)").await;
    check("(read x </dev/tty) 2>/dev/null || echo none", "none").await;
}

#[tokio::test]
async fn programs_neither_page_nor_prompt_nor_color() {
    check(
        r#"echo "$PAGER $GIT_PAGER $GIT_TERMINAL_PROMPT $NO_COLOR""#,
        "cat cat 0 1",
    )
    .await;
}

#[tokio::test]
async fn a_program_that_opens_an_editor_fails_at_once_and_says_why() {
    let place = TestFolder::new();
    let git = "git -c user.name=t -c user.email=t@example.com -c core.editor='sleep 60; false'";
    let made = format!(
        "git init -q && touch f g && git add f && {git} commit -qm one && git add g && {git} commit -qm two"
    );
    place.done("bash", command(&made)).await;
    for words in [
        "commit --allow-empty",
        "commit --amend",
        "rebase -i --root",
        "config -e",
        "tag -a v1",
        "branch --edit-description",
        "notes edit",
        "revert --edit HEAD",
    ] {
        let outcome = place.call("bash", command(&format!("{git} {words}"))).await;
        let ToolOutcome::Done { content, .. } = outcome else {
            panic!("{words}: {outcome:?}")
        };
        assert!(
            content.contains("There is no editor here."),
            "{words}: {content}"
        );
    }
    for words in [
        "$EDITOR f",
        "$VISUAL f",
        "sh -c \"$EDITOR f\"",
        "eval \"$EDITOR\" f",
    ] {
        let outcome = place.call("bash", command(words)).await;
        assert!(
            matches!(
                outcome,
                ToolOutcome::Done {
                    marked_failed: true,
                    ..
                }
            ),
            "{words}: {outcome:?}"
        );
    }
    let content = place
        .done(
            "bash",
            command(&format!(
                "git reset -q --hard && GIT_EDITOR=true {git} commit -q --amend && echo kept"
            )),
        )
        .await;
    assert_eq!(content, "kept");
}

#[tokio::test]
async fn of_progress_the_last_state_is_in_the_result() {
    let lines = "for i in $(seq 1 300); do printf '\\033[2A\\033[Klayer 1: %d\\n\\033[Klayer 2: %d\\n' $i $i; done";
    let note = "[Of lines that were drawn over, only the last state is shown.]";
    check(
        &format!("echo start; echo; echo; {lines}; printf '\\033[32mdone\\033[0m\\n'"),
        &format!("start\nlayer 1: 300\nlayer 2: 300\ndone\n\n{note}"),
    )
    .await;
    check("seq 3000 | tr '\\n' '\\r'", &format!("3000\n\n{note}")).await;
    check("printf 'a\\r\\nb\\r\\n'", "a\r\nb").await;
}

#[tokio::test]
async fn a_patch_in_the_shell_is_answered_with_the_tool() {
    let place = TestFolder::new();
    let script = "apply_patch <<'EOF'\n*** Begin Patch\n*** End Patch\nEOF";
    let outcome = place.call("bash", command(script)).await;
    let ToolOutcome::Done { content, .. } = outcome else {
        panic!("{outcome:?}")
    };
    assert!(
        content.contains("apply_patch is a tool, not a program"),
        "{content}"
    );
}

#[tokio::test]
async fn it_runs_where_and_as_the_user_configured() {
    let mut place = TestFolder::new();
    std::fs::create_dir(place.path("sub")).unwrap();
    place.ctx.exec.bash.cwd = Some(place.path("sub"));
    place.ctx.exec.bash.shell = Some("sh".to_owned());
    place.ctx.exec.bash.env = vec![("GREETING".to_owned(), "hello".to_owned())];

    let content = place
        .done("bash", command(r#"echo "$GREETING ${PWD##*/} $0""#))
        .await;

    assert_eq!(content, "hello sub sh");
}

#[tokio::test]
async fn invalid_commands_are_not_run() {
    let place = TestFolder::new();
    let too_long = format!("touch made #{}", "x".repeat(128 * 1024));
    for script in ["", "  \n", "touch made\0", &too_long] {
        let problem = place.failed("bash", command(script)).await;
        assert!(problem.ends_with("Nothing was run."), "{problem}");
    }
    let problem = place
        .failed("bash", json!({ "command": "touch made", "extra": 1 }))
        .await;
    assert!(problem.contains("unknown field `extra`"), "{problem}");
    assert_eq!(place.names(), [""; 0]);
}

#[tokio::test]
async fn a_missing_shell_or_directory_is_named() {
    let mut place = TestFolder::new();
    place.ctx.exec.bash.shell = Some("no-such-shell".to_owned());
    let problem = place.failed("bash", command("true")).await;
    assert!(problem.contains("\"no-such-shell\""), "{problem}");

    place.ctx.exec.bash.cwd = Some(place.path("gone"));
    let problem = place.failed("bash", command("true")).await;
    assert!(problem.contains("gone does not exist"), "{problem}");
}

#[tokio::test]
async fn invalid_utf_8_becomes_text() {
    let place = TestFolder::new();

    let content = place.done("bash", command(r"printf 'a\0b\377c\303'")).await;

    assert_eq!(content, "a␀b\u{fffd}c\u{fffd}");
}

#[tokio::test]
async fn long_output_is_cut_to_its_end_and_kept_whole_in_a_private_file() {
    use std::os::unix::fs::PermissionsExt;
    let place = TestFolder::new();

    let content = place.done("bash", command("seq 1 5000; echo; echo")).await;

    let (kept, notice) = content.split_once("\n\n").unwrap();
    assert!(kept.starts_with("3001\n") && kept.ends_with("\n5000"));
    let path = notice
        .strip_prefix("[Showing lines 3001-5000 of 5000. Full output: ")
        .and_then(|rest| rest.strip_suffix(']'))
        .unwrap_or_else(|| panic!("{notice}"));
    let full = std::fs::read_to_string(path).unwrap();
    assert_eq!(full.lines().count(), 5002);
    let mode = |path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(path.to_owned()), 0o600);
    assert_eq!(mode(place.ctx.output_dir.display().to_string()), 0o700);
}

#[tokio::test]
async fn output_over_the_size_limit_says_so() {
    let place = TestFolder::new();

    let content = place
        .done("bash", command("yes $(printf '%099d') | head -1000"))
        .await;

    let notice = content.lines().last().unwrap();
    let expected = "[Showing lines 489-1000 of 1000 (50.0 KB limit). Full output: ";
    assert!(notice.starts_with(expected), "{notice}");
}

#[tokio::test]
async fn one_endless_line_is_cut_to_its_end() {
    let place = TestFolder::new();

    let content = place
        .done("bash", command("head -c 1000000 /dev/zero | tr '\\0' x"))
        .await;

    let notice = content.lines().last().unwrap();
    let expected = "[Showing the last 50.0 KB of line 1, the last one. Full output: ";
    assert!(notice.starts_with(expected), "{notice}");
}

#[tokio::test]
async fn short_output_leaves_no_file() {
    let place = TestFolder::new();

    place
        .done("bash", command("seq 1 2000; printf '\\n%.0s' {1..99}"))
        .await;

    assert!(
        !place.ctx.output_dir.exists() || place.ctx.output_dir.read_dir().unwrap().count() == 0
    );
}

#[tokio::test]
async fn what_is_printed_can_be_watched() {
    let mut place = TestFolder::new();
    let seen = Arc::new(Mutex::new(String::new()));
    let screen = seen.clone();
    place.ctx.progress = Progress::new(move |text| screen.lock().unwrap().push_str(text));

    place.done("bash", command("echo one; echo two")).await;

    assert_eq!(*seen.lock().unwrap(), "one\ntwo\n");
}

#[tokio::test]
async fn a_command_over_its_time_is_stopped_and_its_output_kept() {
    let mut place = TestFolder::new();
    // On a busy machine, the shell may need more than half a second to start.
    for (milliseconds, shown) in [(500, "0.5"), (10_000, "10"), (60_000, "60")] {
        place.ctx.timeout = Duration::from_millis(milliseconds);
        let problem = place
            .failed("bash", command("echo partial; exec sleep 1000"))
            .await;
        let stopped = format!("Command timed out after {shown} seconds and was stopped.");
        assert!(problem.ends_with(&stopped), "{problem}");
        if problem == format!("partial\n\n{stopped}") {
            return;
        }
    }
    panic!("the output was never kept");
}

#[tokio::test]
async fn every_requested_time_limit_is_bounded() {
    let place = TestFolder::new();
    let calls = [json!(0), json!(-1), json!(0.001)].map(|timeout| {
        let input = json!({ "label": "", "command": "sleep 1000", "timeout": timeout });
        place.failed("bash", input)
    });
    for problem in futures::future::join_all(calls).await {
        assert!(
            problem.ends_with("timed out after 1 seconds and was stopped."),
            "{problem}"
        );
    }
    let input = json!({ "label": "", "command": "true", "timeout": 1e18 });
    assert_eq!(place.done("bash", input).await, "(no output)");
    let input = json!({ "label": "", "command": "true", "timeout": "30" });
    assert!(place.failed("bash", input).await.contains("invalid type"));
}

#[tokio::test]
async fn a_here_document_is_read_to_its_end() {
    check("cat <<'EOF'\n{ $x; }\nEOF", "{ $x; }").await;
    check("cat <<EOF\none\nEOF\necho two", "one\ntwo").await;
}

#[tokio::test]
async fn a_cancelled_command_keeps_what_it_had_printed() {
    let mut place = TestFolder::new();
    let cancel = place.ctx.cancel.clone();
    // The user presses the key at what is on the screen.
    place.ctx.progress = Progress::new(move |text| {
        if text.contains("two") {
            cancel.cancel();
        }
    });
    let script = "echo one; echo two; exec sleep 60";
    let input = json!({"label": "", "command": script, "timeout": null});
    let said = place.call("bash", input).await;
    let expected = "one\ntwo\n\nCancelled by the user.".to_owned();
    assert_eq!(said, chat::tool::ToolOutcome::Cancelled(expected));
}
