//! Displays beside the text.

use serde_json::{Value, json};

use super::script::{begins, calls, echo, ends, says, wait};
use super::{QUESTION, Record, Stage};
use crate::protocol::{DiagnosticItem, Display, FieldItem, MarkItem};

fn has_state(record: &Record, state: &str) -> bool {
    record.marks().iter().any(|it| it.state == Some(state))
}

fn request_states(record: &Record) -> Vec<&'static str> {
    let states = record.shown.iter().filter_map(|it| match it {
        Display::Request(it) => Some(it.state),
        _ => None,
    });
    states.collect()
}

#[test]
fn a_pending_call_has_a_mark_with_its_preview() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.wait("a mark", |it| has_state(it, "pending"));
    let marks = stage.record().marks();
    let preview = marks[0].preview.clone().unwrap_or_default();
    assert!(
        preview.contains("echo") && preview.contains("t_1 ran"),
        "{preview}"
    );
}

#[test]
fn the_mark_of_a_call_disappears_when_it_has_its_result() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.wait("a mark", |it| has_state(it, "pending"));
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    stage.wait("no mark", |it| {
        !has_state(it, "pending") && has_state(it, "done")
    });
}

#[test]
fn a_call_that_runs_has_a_mark_with_its_tools_label() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1")])]);
    stage
        .key("advance")
        .wait("a mark", |it| has_state(it, "running"));
    assert_eq!(stage.record().marks()[0].label.as_deref(), Some("Echo"));
    stage.open_gate().wait_rest();
}

#[test]
fn a_failed_call_has_a_failed_mark() {
    let answer = calls([("t_1", "calculator", json!({"expression": "1 +"}))]);
    let stage = Stage::unasked(QUESTION).answers([answer]);
    stage.press("advance");
    stage.wait("a mark", |it| has_state(it, "failed"));
}

#[test]
fn a_request_is_shown_until_its_answer_is_written() {
    let stage = Stage::of(QUESTION).answers([begins("Once")]);
    stage.key("advance").wait_text("Once");
    stage.wait("streaming", |it| {
        request_states(it).last() == Some(&"streaming")
    });
    stage
        .continues(ends())
        .wait("idle", |it| request_states(it).last() == Some(&"idle"));
}

#[test]
fn a_misspelled_status_has_a_diagnostic_with_its_fix() {
    let stage = Stage::of(QUESTION).answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.types("pending", "aproved");
    stage.wait("a diagnostic", |it| {
        let is_it = |it: &DiagnosticItem| it.message.contains("\"aproved\" is not a status");
        it.diagnostics().iter().any(is_it)
    });
    assert!(stage.record().diagnostics()[0].fix.is_some());
}

#[test]
fn errors_in_a_partial_answer_are_not_shown() {
    let stage = Stage::of(QUESTION).answers([begins("**Tool Use:** `echo` (`x`)\n\n```json\n")]);
    stage.key("advance").wait_text("json");
    stage.key("status").settle();
    assert_eq!(stage.record().diagnostics(), []);
}

#[test]
fn nothing_is_drawn_again_without_a_change() {
    let stage = Stage::of(QUESTION);
    stage.press("autopilot:status");
    let shown = stage.record().shown.len();
    stage.press("autopilot:status").press("autopilot:status");
    assert_eq!(stage.record().shown.len(), shown);
}

#[test]
fn a_chat_has_folds_for_the_window_that_shows_it() {
    let stage = Stage::of(QUESTION).answers([says("Hi.")]);
    stage.press("advance");
    let folds = |it: &Display| matches!(it, Display::Folds(it) if it.enabled);
    stage.wait("folds", |it| it.shown.iter().any(folds));
}

#[test]
fn a_running_call_shows_up_in_the_list_of_tools() {
    let stage = Stage::unasked(QUESTION).answers([calls([wait("t_1")])]);
    stage.key("advance").wait_started("t_1");
    stage.key("tool:list").wait("a report", |it| {
        let lists = |it: &Display| match it {
            Display::Report(it) => it
                .lines
                .iter()
                .any(|it| it.starts_with("wait") && it.contains("t_1")),
            _ => false,
        };
        it.shown.iter().any(lists)
    });
    stage.open_gate().wait_rest();
}

#[test]
fn a_failing_frontmatter_sends_nothing_and_is_reported() {
    let stage = Stage::of("```lua\nerror(\"no\")\n```\n\n@You:\nGo.\n");
    stage.press("advance");
    stage.expect_requests(0);
    stage.wait("a diagnostic", |it| !it.diagnostics().is_empty());
}

#[test]
fn a_remark_is_shown_once_however_often_the_chat_is_sent() {
    let stage = Stage::of("@You:\nGo.\n@Asistant:\nText.\n");
    stage.expect_diagnostic("not a role marker");
    for _ in 0..2 {
        stage.say("steer", "More.").wait_rest();
        assert_eq!(stage.record().diagnostics().len(), 1);
    }
}

/// The preview of a call that waits in the file.
#[track_caller]
fn preview(name: &str, input: &str) -> Option<String> {
    let stage = Stage::of(&format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `{name}` (`t_1`)\n\n```json\n{input}\n```\n\n\
         @You:\n**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```\n"
    ));
    stage.wait("a mark", |it| has_state(it, "pending"));
    let marks = stage.record().marks();
    marks[0].preview.clone()
}

#[test]
fn a_call_that_can_only_fail_has_no_preview() {
    assert_eq!(preview("bash", r#"{"label":"no command"}"#), None);
    assert!(preview("bash", r#"{"command":"ls"}"#).is_some());
}

#[test]
fn a_tool_without_a_preview_shows_scalars_and_then_tables() {
    let input = r#"{"tags":["a","b"],"query":"say\nhi","limit":5,"filter":{"b":1,"a":2}}"#;
    let expected = r#"my_search: limit=5, query="say⤶hi", filter={a, b}, tags=[2 items]"#;
    assert_eq!(preview("my_search", input).as_deref(), Some(expected));
}

#[test]
fn hidden_characters_in_a_command_are_shown() {
    let input = "{\"label\":\"\",\"command\":\"ls\\u001b[2K\\u202e\\n\\nrm x\"}";
    let drawn = preview("bash", input).unwrap();
    assert!(drawn.contains("rm x"), "{drawn}");
    assert!(!drawn.contains(['\u{1b}', '\u{202e}', '\n']), "{drawn}");
}

#[test]
fn an_answered_call_has_its_arguments_as_fields_and_its_change() {
    let edit = r#"{"label":"tabs","path":"f.py","oldText":"a\nb\n","newText":"a\nc\n"}"#;
    let stage = Stage::of(&format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `edit` (`t_1`)\n\n```json\n{edit}\n```\n\n\
         **Tool Use:** `bash` (`t_2`)\n```json\n{{\"command\":\"ls\"}}\n```\n\n\
         @You:\n**Tool Result:** `t_1`\n\n```\nDone.\n```\n\n\
         **Tool Result:** `t_2`\n\n```flemma:tool status=pending\n```\n"
    ));
    stage.wait("a mark", |it| has_state(it, "pending"));
    let marks = stage.record().marks();
    let mark = marks.iter().find(|it| it.id == "t_1 call 1").unwrap();
    assert_eq!(
        (mark.line, mark.header_line, mark.json),
        (5, 4, Some((6, 9)))
    );
    assert_eq!(
        mark.fields[..],
        [FieldItem("label".into(), "tabs".into(), false)]
    );
    let rows = mark.diff[0].rows.iter();
    let rows: Vec<_> = rows.map(|it| (it.kind, &*it.text)).collect();
    assert_eq!(rows, [("context", "a"), ("delete", "b"), ("add", "c")]);
    assert_eq!(
        (&*mark.diff[0].name, &*mark.diff[0].counts),
        ("f.py", "+1 −1")
    );
}

/// Returns the mark of a pending call with this input.
fn pending_mark(tool: &str, input: &str) -> MarkItem {
    let stage = Stage::of(&format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `{tool}` (`t_1`)\n\n```json\n{input}\n```\n\n\
         @You:\n\n**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```\n"
    ));
    stage.wait("a mark", |it| has_state(it, "pending"));
    let marks = stage.record().marks();
    marks
        .into_iter()
        .find(|it| it.state == Some("pending"))
        .unwrap()
}

/// The fields of a mark as `name|value`.
fn fields_of(mark: &MarkItem) -> Vec<String> {
    let rows = mark.fields.iter();
    rows.map(|it| format!("{}|{}", it.0, it.1)).collect()
}

#[test]
fn a_pending_call_whose_preview_says_all_has_no_fields() {
    let mark = pending_mark("bash", r#"{"label":"a look","command":"ls"}"#);
    assert_eq!(fields_of(&mark), [""; 0]);
    assert_eq!(mark.json, Some((6, 9)), "the JSON says no more");
}

#[test]
fn a_pending_command_that_is_longer_than_a_line_is_shown_whole() {
    let mark = pending_mark("bash", r#"{"command":"make\nmake test","timeout":60}"#);
    let fields = ["command|make", "       |make test", "timeout|60"];
    assert_eq!(fields_of(&mark), fields);
    assert_eq!(mark.json, Some((6, 9)));

    let command = format!("echo {} && rm -rf build", "x".repeat(300));
    let mark = pending_mark("bash", &format!(r#"{{"command":"{command}"}}"#));
    let shown: String = mark.fields.iter().map(|it| it.1.as_str()).collect();
    assert_eq!(shown, command);
}

#[test]
fn the_json_of_a_pending_call_is_not_hidden_if_fields_leave_something_out() {
    let command = "x\\n".repeat(40);
    let mark = pending_mark("bash", &format!(r#"{{"command":"{command}"}}"#));
    let end = ["       |… 10 more lines", "|K shows all of it."];
    assert_eq!(fields_of(&mark)[30..], end);
    assert_eq!(mark.json, None);
}

/// A call of `todo` with one task.
fn task(id: &'static str, status: &str) -> (&'static str, &'static str, Value) {
    let items = json!([{"content": "Read", "status": status}]);
    (id, "todo", json!({ "items": items }))
}

#[test]
fn a_complete_list_of_tasks_is_no_longer_shown() {
    let options = json!({"tools": {"offer": ["todo"]}});
    let answers = [
        calls([task("t_1", "in_progress")]),
        calls([task("t_2", "completed")]),
        begins("Done"),
    ];
    let stage = Stage::with(options, QUESTION).answers(answers);
    let tasks = |it: &Record| -> Vec<usize> {
        let lists = it.shown.iter().filter_map(|it| match it {
            Display::Queued(it) => Some(it.tasks.len()),
            _ => None,
        });
        lists.collect()
    };
    stage.key("advance").wait_text("Done");
    stage.wait("no list", |it| tasks(it).last() == Some(&0));
    assert!(tasks(&stage.record()).contains(&1), "{}", stage.story());
    assert!(stage.text().contains("- [x] Read\n"), "{}", stage.story());
    stage.continues(ends()).wait_rest();
}
