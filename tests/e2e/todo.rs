//! The tool `todo`: its list is in the chat and is shown below it while the model works.

use harness::{Answer, Editor, Gate, Provider};
use serde_json::{Value as Json, json};

use crate::stage::{ask_with, wait_end};

/// The arguments of a call: tasks and their status.
fn list(tasks: &[(&str, &str)]) -> Json {
    let task = |(content, status): &(&str, &str)| json!({"content": content, "status": status});
    json!({"items": tasks.iter().map(task).collect::<Vec<_>>()})
}

fn offered() -> Json {
    json!({"tools": {"offer": ["todo"]}})
}

/// Waits until exactly these tasks are shown below the last line of the chat.
#[track_caller]
fn wait_tasks(editor: &Editor, expected: &[&str]) {
    editor.wait_for(&format!("the tasks {expected:?}"), |editor| {
        let last = editor.text().lines().count() - 1;
        let lines = editor.virtual_lines().into_iter();
        let tasks = lines.filter(|it| it.text.starts_with(['✓', '▸', '○']));
        let tasks: Vec<_> = tasks.collect();
        let shown: Vec<&str> = tasks.iter().map(|it| it.text.as_str()).collect();
        shown == expected && tasks.iter().all(|it| it.line == last)
    });
}

#[test]
fn the_latest_list_is_shown_while_the_model_works_and_is_a_checklist_in_the_chat() {
    let gates = [Gate::new(), Gate::new()];
    let first = list(&[("Read", "in_progress"), ("Write", "pending")]);
    let second = list(&[("Read", "completed"), ("Write", "in_progress")]);
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "todo", &first),
        Answer::new()
            .gate(&gates[0])
            .tool_use("t_2", "todo", &second),
        Answer::new().gate(&gates[1]).text("Half of it is done."),
    ]);
    let editor = ask_with(&provider, offered());
    editor.keys("<C-]>");
    // The call needs no approval, and the list stays until the next answer.
    gates[0].wait_reached();
    wait_tasks(&editor, &["▸ Read", "○ Write"]);
    gates[0].open();
    gates[1].wait_reached();
    wait_tasks(&editor, &["✓ Read", "▸ Write"]);
    gates[1].open();
    wait_end(&editor, "Half of it is done.\n\n@You:\n\n");
    wait_tasks(&editor, &[]);
    let text = editor.text();
    assert!(
        text.contains("- [x] Read\n- [ ] Write (in progress)\n"),
        "{text}"
    );
    assert_eq!(provider.requests().len(), 3);
}

#[test]
fn a_cancelled_run_removes_the_list_and_queued_messages_are_below_it() {
    let gate = Gate::new();
    let call = list(&[("Read", "in_progress")]);
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "todo", &call),
        Answer::new().gate(&gate),
    ]);
    let editor = ask_with(&provider, offered());
    editor.keys("<C-]>");
    gate.wait_reached();
    editor.keys(":Flemma queue Thanks.<CR>");
    editor.wait_for("the words below the task", |editor| {
        let lines = editor.virtual_lines().into_iter();
        let lines: Vec<String> = lines.map(|it| it.text).collect();
        let at = |start| lines.iter().position(|it| it.starts_with(start));
        at("▸ Read").is_some_and(|task| at("⏵ then: Thanks.").is_some_and(|it| it > task))
    });
    editor.keys("<C-c>");
    wait_tasks(&editor, &[]);
}
