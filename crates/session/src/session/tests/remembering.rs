//! `:Flemma allow`: rules that the user chooses at a call, and what they approve later.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::{Value, json};
use tools::state_dir;

use super::script::{bash, calls, says};
use super::{QUESTION, Stage};
use crate::audit::{Act, Audit, Word};
use crate::protocol::{EditorQuestion, Prompted};

/// Options under which each call waits.
fn strict() -> Value {
    json!({"tools": {"auto_approve": []}})
}

/// Answers the next list.
fn choose(stage: &Stage, item: Option<usize>) {
    let prompted = Prompted { text: None, item };
    stage.record().prompted.push_back(prompted);
}

fn last_list(stage: &Stage) -> Vec<String> {
    let asked = stage.record().asked.clone();
    let mut lists = asked.into_iter().rev().filter_map(|it| match it {
        EditorQuestion::Prompt(prompt) => prompt.items,
        _ => None,
    });
    lists.next().unwrap()
}

/// Writes the file of rules, as a user would.
fn write_rules(stage: &Stage, text: &str) {
    let rules = stage.remembered();
    fs::create_dir_all(rules.path().parent().unwrap()).unwrap();
    fs::write(rules.path(), text).unwrap();
    fs::set_permissions(rules.path(), fs::Permissions::from_mode(0o600)).unwrap();
}

/// What approved a call, according to the log.
fn approved_by(stage: &Stage, id: &str) -> String {
    let chat = stage.path("question.chat").display().to_string();
    let log = Audit::open(&state_dir::path()).read_last(10_000).unwrap();
    let mut approvals = log.records.into_iter().filter_map(|it| match it.act {
        Act::Decided {
            decision: Word::Approved,
            by,
            ..
        } => (it.document.as_ref() == Some(&chat) && it.call == id).then_some(by),
        _ => None,
    });
    approvals.next_back().unwrap()
}

fn write(id: &'static str, path: &str) -> (&'static str, &'static str, Value) {
    (id, "write", json!({"path": path, "content": "x\n"}))
}

#[test]
fn a_chosen_rule_approves_the_call_and_later_ones_like_it() {
    let stage = Stage::beside(&[], strict(), QUESTION).answers([
        calls([bash("t_1", "touch ran")]),
        calls([bash("t_2", "touch  'ran'")]),
        calls([bash("t_3", "touch other")]),
    ]);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    choose(&stage, Some(0));
    stage
        .key("allow")
        .wait_notice("Allowed from now on: touch ran, this chat.")
        .wait_text("`t_3`\n\n```flemma:tool status=pending");
    stage.expect_became(["t_1", "t_2", "t_3"], ["ran", "ran", "waits"]);
    assert!(stage.path("ran").exists());
    assert_eq!(
        approved_by(&stage, "t_1"),
        "user: allow touch ran, this chat"
    );
    assert_eq!(
        approved_by(&stage, "t_2"),
        "urn:flemma:approval:remembered: touch ran in this chat"
    );
    let text = fs::read_to_string(stage.remembered().path()).unwrap();
    assert!(
        text.contains("[[allow]]\ncommand = [\"touch\", \"ran\"]\nchat = \""),
        "{text}"
    );
}

#[test]
fn the_list_offers_the_narrowest_rules_with_the_calls_that_each_would_have_matched() {
    let stage = Stage::beside(&[], strict(), QUESTION).answers([calls([
        bash("t_1", "cargo test -q"),
        bash("t_2", "cargo test"),
        bash("t_3", "cargo build"),
    ])]);
    stage.press("advance");
    choose(&stage, Some(6));
    choose(&stage, Some(7));
    stage.key_at("allow", "`t_1`", json!({}));
    stage.wait("both answers", |it| it.prompted.is_empty());
    let list = last_list(&stage);
    let (rules, rest) = list.split_at(6);
    assert!(
        rules[0].starts_with("cargo test -q, this chat (1 of "),
        "{list:?}"
    );
    assert!(
        rules[1].starts_with("cargo test -q, this project (1 of "),
        "{list:?}"
    );
    assert!(rules[2].starts_with("cargo test -q, always ("), "{list:?}");
    assert!(
        rules[3].starts_with("cargo test with any arguments, this chat (2 of "),
        "{list:?}"
    );
    assert!(rest[0].starts_with("Show which of the last "), "{list:?}");
    assert_eq!(rest[1], "Allow nothing");
    let report = stage.record().reports();
    assert!(
        report.iter().any(|it| it == "  bash: $ cargo test -q"),
        "{report:?}"
    );
    // Nothing was allowed.
    assert!(!stage.remembered().path().exists());
    stage.expect_became(["t_1", "t_2", "t_3"], ["waits"; 3]);
}

#[test]
fn of_a_command_in_parts_only_what_is_missing_is_offered() {
    let stage = Stage::beside(&[], strict(), QUESTION)
        .answers([calls([bash("t_1", "cargo fmt && cargo test -q | tee -a")])]);
    write_rules(&stage, "[[allow]]\ncommand = ['cargo', 'fmt']\n");
    stage.press("advance");
    choose(&stage, Some(6));
    choose(&stage, Some(0));
    stage.key("allow").wait_notice(
        "Allowed from now on: cargo test -q and tee -a (besides cargo fmt), this chat.",
    );
    let report = stage.record().reports();
    assert!(
        report
            .iter()
            .any(|it| it == "  rule: cargo test with any arguments"),
        "{report:?}"
    );
    let rules = fs::read_to_string(stage.remembered().path()).unwrap();
    assert_eq!(rules.matches("[[allow]]").count(), 3, "{rules}");
}

#[test]
fn a_command_that_rules_allow_already_gets_no_other() {
    let stage = Stage::beside(&[], strict(), QUESTION)
        .answers([calls([bash("t_1", "cargo test -q | tail -5")])]);
    stage.press("advance");
    write_rules(
        &stage,
        "[[allow]]\ncommand = ['cargo', 'test']\narguments = 'any'\n[[allow]]\ncommand = ['tail', '-5']\n",
    );
    stage
        .key("allow")
        .wait_notice("Your rules allow calls like this one already. If it did not wait before");
}

/// A chat in which a command waits, because the sandbox is missing.
fn without_a_sandbox(rules: &str) -> Stage {
    let bwrap = json!({"bwrap": {"path": "/nowhere/bwrap"}});
    let sandbox = json!({"enabled": true, "backends": bwrap});
    let options = json!({"tools": {"auto_approve": []}, "sandbox": sandbox});
    let stage = Stage::beside(&[], options, QUESTION).answers([calls([bash("t_1", "touch ran")])]);
    write_rules(&stage, rules);
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    stage
}

#[test]
fn without_a_sandbox_a_rule_for_a_command_says_that_it_still_asks() {
    let stage = without_a_sandbox("");
    choose(&stage, Some(0));
    stage
        .key("allow")
        .wait_notice("Remembered: touch ran, this chat. Commands still ask, because no sandbox");
    let asked = stage.record().asked.clone();
    let is_said = asked.iter().any(|it| match it {
        EditorQuestion::Prompt(prompt) => prompt.title.starts_with("No sandbox confines commands"),
        _ => false,
    });
    assert!(is_said, "{asked:?}");
}

#[test]
fn without_a_sandbox_a_command_that_rules_allow_says_why_it_asks() {
    let stage = without_a_sandbox("[[allow]]\ncommand = ['touch', 'ran']\n");
    stage
        .key("allow")
        .wait_notice("already. Commands still ask, because no sandbox confines them here;");
}

#[test]
fn a_command_that_could_do_more_than_it_says_gets_no_rule() {
    let stage =
        Stage::beside(&[], strict(), QUESTION).answers([calls([bash("t_1", "make > log")])]);
    stage.press("advance");
    stage
        .key("allow")
        .wait_notice("it contains a redirection into a file");
    let none = Stage::of(QUESTION);
    none.key("allow").wait_notice("No call is pending here.");
}

#[test]
fn a_file_edited_by_hand_applies_at_the_next_call_and_a_malformed_one_does_not() {
    let stage = Stage::beside(&[], strict(), QUESTION).answers([
        calls([bash("t_1", "true")]),
        calls([bash("t_2", "true")]),
        says("Well."),
    ]);
    write_rules(
        &stage,
        "[[allow]]\ncommand = ['true']\n[[allow]]\ncomand = []\n",
    );
    stage.press("advance");
    stage.expect_became(["t_1"], ["waits"]);
    stage.expect_notice("allow.toml do not apply: line 4: unknown field `comand`");
    write_rules(&stage, "[[allow]]\ncommand = ['true']\n");
    stage.press_at("resolve", "**Tool Result:** `t_1`");
    stage.expect_became(["t_1", "t_2"], ["ran", "ran"]);
    assert_eq!(
        approved_by(&stage, "t_2"),
        "urn:flemma:approval:remembered: true"
    );
}

const ANY_TRUE: &str = "[[allow]]\ncommand = ['true']\narguments = 'any'\n";

#[test]
fn a_rule_permits_nothing_that_the_options_deny_or_that_a_chat_tightens() {
    let denied = json!({"tools": {"auto_approve": [], "bash": {"deny": ["true"]}}});
    let stage = Stage::beside(&[], denied, QUESTION).answers([calls([bash("t_1", "true")])]);
    write_rules(&stage, ANY_TRUE);
    stage.press("advance");
    stage.expect_became(["t_1"], ["denied"]);
    let tight = Stage::typed(json!({}), "flemma.opt.tools.auto_approve = {}");
    let tight = tight.answers([calls([bash("t_1", "true")])]);
    write_rules(&tight, ANY_TRUE);
    tight.press("advance");
    tight.expect_became(["t_1"], ["waits"]);
}

#[test]
fn a_rule_for_a_folder_covers_neither_protected_files_nor_what_links_lead_to() {
    let files: &[(&str, &[u8])] = &[("src/a", b""), ("out/a", b"")];
    let stage = Stage::beside(files, strict(), QUESTION).answers([calls([
        write("t_1", "src/new"),
        write("t_2", "src/.envrc"),
        write("t_3", "src/link/x"),
        write("t_4", "src/../x"),
    ])]);
    symlink(stage.path("out"), stage.path("src/link")).unwrap();
    let src = stage.path("src").canonicalize().unwrap();
    write_rules(&stage, &format!("[[allow]]\nedit = '{}/'\n", src.display()));
    stage.press("advance");
    stage.expect_became(
        ["t_1", "t_2", "t_3", "t_4"],
        ["ran", "waits", "waits", "waits"],
    );
    assert!(stage.path("src/new").exists() && !stage.path("out/x").exists());
}
