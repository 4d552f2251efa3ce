//! The options of a chat's project, before and after the user trusts them.

use std::fs;

use serde_json::json;

use super::script::{bash, calls, echo, read, says};
use super::{QUESTION, Stage};
use crate::protocol::Prompted;

const CONFIG: &str = ".flemma/config.toml";
const LOOSE: &[u8] = b"[tools]\nauto_approve = [\"$default\", \"echo\"]\n";
const WITHHELD: &str = "config.toml has settings that do not apply until you have read it and confirm with \
                        :Flemma trust project";

fn in_project(config: &[u8]) -> Stage {
    Stage::beside(&[(CONFIG, config), ("f.txt", b"a\n")], json!({}), QUESTION)
}

impl Stage {
    /// Chooses this item of the next question.
    fn chooses(&self, item: usize) -> &Self {
        let chosen = Prompted {
            item: Some(item),
            text: None,
        };
        self.record().prompted.push_back(chosen);
        self
    }

    fn trust_project(&self, name: &str) -> &Self {
        self.key_at(name, "", json!({"1": "project"}));
        self
    }
}

#[test]
fn opening_a_chat_reports_what_does_not_apply_and_it_does_not() {
    let stage = in_project(LOOSE);
    stage
        .wait_notice(WITHHELD)
        .wait_notice("Line 2 would run echo without asking.");
    let stage = stage.answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    let count = |part: &str| {
        stage
            .record()
            .notices
            .iter()
            .filter(|it| it.contains(part))
            .count()
    };
    assert_eq!(count(WITHHELD), 1, "reported once");
}

#[test]
fn what_tightens_applies_at_once() {
    let stage = in_project(b"tools.auto_approve = []\n").answers([calls([read("t_1", "f.txt")])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    assert_eq!(stage.record().notices, [""; 0]);
}

#[test]
fn a_trusted_file_applies_until_it_changes() {
    let stage = in_project(LOOSE);
    let answer = |id| calls([echo(id)]);
    let stage = stage.answers([answer("t_1"), says("Well."), answer("t_2")]);
    stage
        .chooses(0)
        .trust_project("trust")
        .wait_notice("Trusted as it is now: ");
    stage.press("advance");
    stage.expect_became(["t_1"], ["ran"]);

    let more = b"[tools]\nauto_approve = [\"$default\", \"echo\", \"bash\"]\n";
    fs::write(stage.path(CONFIG), more).unwrap();
    stage
        .say("steer", "Again.")
        .wait_text("`t_2`\n\n```flemma:tool");
    stage.expect_became(["t_2"], ["waits"]);
    stage.wait_notice("Line 2 would run bash and echo without asking.");
}

#[test]
fn trust_without_an_argument_asks_about_the_project_after_the_frontmatter() {
    // A chat without frontmatter.
    let stage = in_project(LOOSE).answers([calls([echo("t_1")])]);
    stage
        .chooses(0)
        .key("trust")
        .wait_notice("Trusted as it is now: ");
    stage.press("advance");
    stage.expect_became(["t_1"], ["ran"]);

    // A frontmatter that waits as well.
    let text = super::below("flemma.opt.tools.auto_approve:append(\"bash\")");
    let stage = Stage::beside(&[(CONFIG, LOOSE)], json!({}), &text);
    let stage = stage.answers([calls([echo("t_1"), bash("t_2", "touch ran")])]);
    stage.chooses(0).key("trust");
    stage
        .wait_notice("The frontmatter of this file is trusted as it is now.")
        .wait_notice("Trusted as it is now: ");
    stage.press("advance");
    stage.expect_became(["t_1", "t_2"], ["ran", "ran"]);

    // Both are trusted.
    stage
        .key("trust")
        .wait_notice("Trusted already, as it is now: ");
}

#[test]
fn a_frontmatter_can_be_trusted_while_the_project_is_not() {
    let text = super::below("flemma.opt.tools.auto_approve = { \"bash\" }");
    let stage = Stage::beside(&[(CONFIG, LOOSE)], json!({}), &text);
    let stage = stage.answers([calls([echo("t_1"), bash("t_2", "touch ran")])]);
    stage
        .chooses(2)
        .key("trust")
        .wait_notice("The frontmatter of this file is trusted");
    stage.press("advance");
    stage.expect_became(["t_1", "t_2"], ["waits", "ran"]);
}

#[test]
fn the_user_can_read_the_file_first_and_trust_nothing() {
    let stage = in_project(LOOSE);
    stage.chooses(1).trust_project("trust");
    stage.wait("the file", |it| {
        it.shown
            .iter()
            .any(|it| format!("{it:?}").contains("auto_approve = "))
    });
    let stage = stage.answers([calls([echo("t_1")])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
}

#[test]
fn the_trust_can_be_revoked() {
    let stage = in_project(LOOSE).answers([calls([echo("t_1")])]);
    stage
        .chooses(0)
        .trust_project("trust")
        .wait_notice("Trusted as it is now: ");
    stage
        .trust_project("trust!")
        .wait_notice("No longer trusted: ");
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
}

#[test]
fn a_broken_file_is_reported_once_with_its_line_and_every_call_asks() {
    let stage = in_project(b"[tools]\nauto_aprove = [\"bash\"]\n");
    stage.wait_notice(
        "line 2: There is no option \"tools.auto_aprove\". Did you mean \"auto_approve\"?",
    );
    let stage = stage.answers([calls([read("t_1", "f.txt")])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    assert_eq!(stage.record().notices.len(), 1);
}

#[test]
fn a_file_that_is_made_later_applies_to_the_next_key() {
    let stage = Stage::beside(&[("f.txt", b"a\n")], json!({}), QUESTION);
    stage.settle();
    fs::create_dir(stage.path(".flemma")).unwrap();
    fs::write(stage.path(CONFIG), "tools.auto_approve = []\n").unwrap();
    let answer = |id| calls([read(id, "f.txt")]);
    let stage = stage.answers([answer("t_1"), answer("t_2"), says("Well.")]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    fs::remove_file(stage.path(CONFIG)).unwrap();
    stage.say("steer", "Again.").wait_text("Well.");
    stage.expect_became(["t_2"], ["ran"]);
}

#[test]
fn a_chats_frontmatter_wins_as_far_as_it_may() {
    let files: &[(&str, &[u8])] = &[(CONFIG, b"tools.auto_approve = []\n"), ("f.txt", b"a\n")];
    let text = super::below("flemma.opt.tools.auto_approve = { \"read\" }");
    // It would run what the project has ask, so it has to be trusted.
    let stage = Stage::beside(files, json!({}), &text).answers([calls([read("t_1", "f.txt")])]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    let stage = Stage::beside(files, json!({}), &text).answers([calls([read("t_1", "f.txt")])]);
    stage
        .key("trust")
        .wait_notice("The frontmatter of this file is trusted");
    stage.press("advance");
    stage.expect_became(["t_1"], ["ran"]);
}

#[test]
fn status_names_the_file_and_the_layer() {
    let stage = in_project(b"tools.autopilot.max_turns = 3\nmodel = \"m\"\n");
    stage.wait_notice(WITHHELD);
    stage.key_at("status", "", json!({"1": "verbose"}));
    let report = stage.report();
    let path = stage.path(CONFIG).display().to_string();
    for line in [
        format!("project {path}, except for this until :Flemma trust project:"),
        "line 2: would set model to \"m\"".to_owned(),
        "tools.autopilot.max_turns 3 project".to_owned(),
    ] {
        assert!(report.contains(&line), "{line}: {report:#?}");
    }
}

#[test]
fn plan_mode_stays_in_a_project_and_below_a_frontmatter() {
    let files: &[(&str, &[u8])] = &[(CONFIG, b"tools.review = \"always\"\n")];
    let text = super::below("flemma.opt.thinking = \"low\"");
    let stage = Stage::beside(files, json!({"tools": {"require_approval": false}}), &text);
    let write = json!({"path": "new", "content": "x"});
    let stage = stage.answers([calls([("t_1", "write", write)])]);
    stage.key("plan").wait_notice("Plan mode");
    stage.press("advance");
    stage.expect_became(["t_1"], ["denied"]);
}
