//! What the log stores, and which damage it reports.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;

use chat::cycle::Ruling;
use chat::tool::ToolUseId;

use super::*;

fn call(id: &str) -> CallKey {
    CallKey {
        id: ToolUseId::new(id),
        name: "bash".to_owned(),
        input: r#"{"command":"echo $SECRET"}"#.to_owned(),
    }
}

fn start<'a>(call: &'a CallKey, by: Option<&'a str>) -> CallStart<'a> {
    let sandbox = "none";
    CallStart { call, by, sandbox }
}

fn approved(id: &str) -> Decided {
    Decided {
        call: call(id),
        ruling: Ruling::Approved,
        by: "urn:flemma:approval:config".to_owned(),
        reason: None,
    }
}

struct Desk {
    folder: tempfile::TempDir,
    audit: Audit,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::open(&folder.path().join("state"));
        Self { folder, audit }
    }

    fn decided(&self, id: &str) {
        let chat = Path::new("/p/a.chat");
        let done = self.audit.decided(Some(chat), &[approved(id)]);
        done.unwrap();
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("state").join(FILE)
    }

    fn text(&self) -> String {
        fs::read_to_string(self.path()).unwrap()
    }

    fn calls(&self, count: usize) -> Vec<String> {
        let log = self.audit.read_last(count).unwrap();
        log.records.into_iter().map(|it| it.call).collect()
    }

    fn problems(&self) -> Vec<String> {
        self.audit.read_last(100).unwrap().problems
    }
}

#[test]
fn a_call_is_recorded_from_decision_to_end() {
    let desk = Desk::new();
    let outcome = ToolOutcome::Failed("No.".to_owned());
    desk.decided("c1");
    desk.audit
        .begun(None, &[], &[], &[start(&call("c1"), None)])
        .unwrap();
    desk.audit.ended(None, &[(call("c1"), outcome)]).unwrap();

    let log = desk.audit.read_last(10).unwrap();
    assert_eq!(log.problems, [""; 0]);
    let shown: Vec<String> = lines(&log.records)
        .iter()
        .map(|line| line.split_once("Z  ").unwrap().1.to_owned())
        .collect();
    assert_eq!(
        shown,
        [
            "bash  c1  approved by config  /p/a.chat",
            "bash  c1  started, sandbox none  (no name)",
            "bash  c1  failed, 3 bytes  (no name)",
        ]
    );
}

#[test]
fn decisions_and_starts_are_written_together_in_order() {
    let desk = Desk::new();
    let ended = [(call("c1"), ToolOutcome::Failed("No.".to_owned()))];
    let decided = [approved("c2")];
    desk.audit
        .begun(None, &ended, &decided, &[start(&call("c2"), None)])
        .unwrap();

    let log = desk.audit.read_last(10).unwrap();
    assert_eq!(log.problems, [""; 0]);
    let shown = lines(&log.records).join("\n");
    let at = |words: &str| shown.find(words).unwrap();
    assert!(at("c1  failed") < at("c2  approved") && at("c2  approved") < at("c2  started"));
}

#[test]
fn every_decision_is_recorded_with_its_author_and_reason() {
    let desk = Desk::new();
    let decided = |id: &str, ruling, by: &str, reason| Decided {
        call: call(id),
        ruling,
        by: by.to_owned(),
        reason,
    };
    let all = [
        decided("c1", Ruling::Waits, "default", None),
        decided("c2", Ruling::Denied, "my:rules", None),
        decided("c3", Ruling::Rejected, "written in the chat", None),
        decided("c4", Ruling::Answered, "written in the chat", None),
        decided(
            "c5",
            Ruling::Unfit,
            "flemma",
            Some("the tool does not exist"),
        ),
        decided("c6", Ruling::Cancelled, "user: cancel", None),
    ];
    desk.audit.decided(None, &all).unwrap();
    desk.audit
        .begun(None, &[], &[], &[start(&call("c7"), Some("user: typed"))])
        .unwrap();
    let log = desk.audit.read_last(10).unwrap();
    assert_eq!(log.problems, [""; 0]);
    let shown = lines(&log.records).join("\n");
    for line in [
        "c1  waits, by default",
        "c2  denied by my:rules",
        "c3  rejected, written in the chat",
        "c4  answered by hand, written in the chat",
        "c5  cannot run, by flemma (the tool does not exist)",
        "c6  cancelled by user: cancel",
        "c7  approved by user: typed",
        "c7  started, sandbox none",
    ] {
        assert!(shown.contains(line), "{line}\n{shown}");
    }
}

#[test]
fn arguments_and_results_are_stored_as_digests_only() {
    let desk = Desk::new();
    desk.decided("c1");
    let result = ToolOutcome::Done {
        content: "hunter2".to_owned(),
        marked_failed: false,
    };
    desk.audit.ended(None, &[(call("c1"), result)]).unwrap();
    let text = desk.text();
    assert!(!text.contains("SECRET") && !text.contains("hunter2"));
    let log = desk.audit.read_last(2).unwrap();
    let digest = policy::sha256(call("c1").input.as_bytes());
    assert_eq!(log.records[0].input, digest);
}

#[test]
fn only_the_last_records_are_read() {
    let desk = Desk::new();
    assert_eq!(desk.calls(5), [""; 0]);
    for id in ["a", "b", "c"] {
        desk.decided(id);
    }
    assert_eq!(desk.calls(2), ["b", "c"]);
    assert_eq!(desk.calls(0), [""; 0]);
}

#[test]
fn records_of_earlier_versions_are_read() {
    let desk = Desk::new();
    desk.decided("new");
    let new = desk.text();
    let digest = policy::sha256(b"");
    let old = new.replace("\"new\"", "\"old\"");
    let old = old.replacen('{', &format!("{{\"number\":7,\"before\":\"{digest}\","), 1);
    let old = old.replace("}\n", &format!(",\"hash\":\"{digest}\"}}\n"));
    fs::write(desk.path(), old + &new).unwrap();
    assert_eq!(desk.problems(), [""; 0]);
    assert_eq!(desk.calls(9), ["old", "new"]);
}

#[test]
fn a_cut_off_record_is_reported_and_hides_no_other() {
    let desk = Desk::new();
    desk.decided("a");
    desk.decided("b");
    let text = desk.text();
    fs::write(desk.path(), &text[..text.len() - 20]).unwrap();
    desk.decided("c");
    assert_eq!(desk.calls(9), ["a", "c"]);
    let problems = desk.problems();
    assert_eq!(problems.len(), 1);
    assert!(problems[0].contains("line 2 was cut off"), "{problems:?}");
}

#[test]
fn a_full_file_is_set_aside_and_a_new_one_started() {
    let mut desk = Desk::new();
    desk.audit.max_bytes = 1000;
    for at in 0..40 {
        desk.decided(&format!("c{at}"));
    }
    assert_eq!(desk.problems(), [""; 0]);
    assert_eq!(desk.calls(3), ["c37", "c38", "c39"]);
    let folder = fs::read_dir(desk.path().parent().unwrap()).unwrap();
    let logs = folder.filter(|it| {
        let name = it.as_ref().unwrap().file_name();
        name.to_string_lossy().ends_with(".jsonl")
    });
    assert_eq!(logs.count(), KEPT + 1);
}

#[test]
fn hosts_that_write_at_the_same_time_lose_no_record() {
    let desk = Desk::new();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| (0..10).for_each(|at| desk.decided(&at.to_string())));
        }
    });
    assert_eq!(desk.problems(), [""; 0]);
    assert_eq!(desk.calls(100).len(), 40);
}

#[test]
fn a_log_that_cannot_be_written_is_an_error_with_a_fix() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("state");
    fs::write(&file, "").unwrap();
    let audit = Audit::open(&file);
    let error = audit.decided(None, &[approved("c1")]).unwrap_err();
    let problem = audit.refusal(&error).to_string();
    assert!(problem.contains("nothing runs"), "{problem}");
    assert!(problem.contains(&*file.to_string_lossy()), "{problem}");
}

#[test]
fn only_the_owner_can_read_the_log() {
    let desk = Desk::new();
    desk.decided("c1");
    let mode = fs::metadata(desk.path()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[test]
fn foreign_names_are_cut_and_shown_without_control_characters() {
    let desk = Desk::new();
    let id = format!("\u{1b}]0;x\u{7}\n{}", "y".repeat(100_000));
    desk.decided(&id);
    desk.decided("next");
    assert!(desk.text().len() < 4000);
    let log = desk.audit.read_last(9).unwrap();
    assert_eq!(log.records.len(), 2);
    assert!(!lines(&log.records).concat().contains(char::is_control));
}

#[test]
fn a_call_that_started_and_did_not_end_is_found() {
    let desk = Desk::new();
    let (chat, other) = (Path::new("/p/a.chat"), Path::new("/p/b.chat"));
    let quoted = call("\"quoted\\");
    for started in [&call("cut"), &call("ended"), &call("twice"), &quoted] {
        desk.audit
            .begun(Some(chat), &[], &[], &[start(started, None)])
            .unwrap();
    }
    desk.audit
        .begun(Some(other), &[], &[], &[start(&call("other"), None)])
        .unwrap();
    let outcome = ToolOutcome::Failed("No.".to_owned());
    for ended in ["ended", "twice"] {
        let done = desk
            .audit
            .ended(Some(chat), &[(call(ended), outcome.clone())]);
        done.unwrap();
    }
    desk.audit
        .begun(Some(chat), &[], &[], &[start(&call("twice"), None)])
        .unwrap();

    let mut changed = call("cut");
    changed.input = "{}".to_owned();
    let asked = ["cut", "ended", "twice", "other", "never"].map(call);
    let asked = [&asked[..], &[quoted.clone(), changed]].concat();
    let found = desk.audit.without_end(Some(chat), &asked).unwrap();
    assert_eq!(found, [call("cut"), call("twice"), quoted]);
    assert_eq!(desk.audit.without_end(None, &asked).unwrap(), []);
}

#[test]
fn without_a_log_no_call_counts_as_interrupted() {
    let desk = Desk::new();
    assert_eq!(desk.audit.without_end(None, &[call("c1")]).unwrap(), []);
}

#[test]
fn a_call_whose_end_is_being_written_is_not_interrupted() {
    let desk = Desk::new();
    let (chat, call) = (Some(Path::new("/p/a.chat")), call("t_1"));
    let started = desk.audit.begun(chat, &[], &[], &[start(&call, None)]);
    started.unwrap();
    // The next session of the chat shares the log.
    let next = desk.audit.clone();
    let cut_off = |chat| next.without_end(chat, std::slice::from_ref(&call)).unwrap();
    assert_eq!(cut_off(chat), std::slice::from_ref(&call));
    let ends = [(call.clone(), ToolOutcome::Failed("no".to_owned()))];
    let underway = desk.audit.underway(chat, &ends);
    assert_eq!(cut_off(chat), []);
    // It could not be written.
    drop(underway);
    assert_eq!(cut_off(chat), std::slice::from_ref(&call));
    desk.audit.ended(chat, &ends).unwrap();
    assert_eq!(cut_off(chat), []);
}

#[test]
fn what_a_call_changed_is_in_the_log_and_its_diff_beside_it() {
    let desk = Desk::new();
    let counts = Counts {
        added: 12,
        removed: 3,
    };
    let changed = |diff: &str| desk.audit.changed(None, &call("t_1"), counts, diff);
    changed("+a\n").unwrap();
    // That of a secret file is empty.
    changed("").unwrap();
    let log = desk.audit.read_last(10).unwrap();
    let shown = lines(&log.records);
    assert!(
        shown.iter().all(|line| line.contains("changed +12 −3")),
        "{shown:?}"
    );
    let file = desk.audit.diff_file(&log.records[0]).unwrap();
    assert_eq!(fs::read_to_string(&file).unwrap(), "+a\n");
    assert_eq!(desk.audit.diff_file(&log.records[1]), None);
    fs::remove_file(file).unwrap();
    assert_eq!(desk.audit.diff_file(&log.records[0]), None);
}
