//! `:Flemma approve` and `:Flemma reject`: decisions by command.

use chat::approval::{CallKey, OpinionSource, Policy, Resolver, ResolverChain};
use chat::cycle::CycleEvent;
use chat::document::Document;
use chat::tool::ToolUseId;

use crate::cycle::{BASH, QUESTION, bash_waits, line_of};
use crate::play::Play;

const SECOND: (&str, &str, &str) = ("bash", "t_c", r#"{"command":"make"}"#);
const THIRD: (&str, &str, &str) = ("bash", "t_d", r#"{"command":"rm x"}"#);

/// A chat in which these calls of `bash` are pending.
fn waits(calls: &[(&str, &str, &str)]) -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", calls);
    play.log();
    play
}

fn reject(play: &mut Play, line: usize, reason: &str) {
    let reason = reason.to_owned();
    play.event(CycleEvent::Reject { line, reason });
}

#[test]
fn approve_all_runs_all_pending_calls() {
    let mut play = waits(&[BASH, SECOND]);
    play.event(CycleEvent::ApproveAll);
    assert_eq!(play.log(), ["run t_b", "run t_c"]);
    assert_eq!(
        play.rulings()[..2],
        [
            "t_b Approved user: approve all",
            "t_c Approved user: approve all"
        ]
    );
    play.finish("t_b", "one");
    play.finish("t_c", "two");
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn a_denied_call_cannot_be_approved() {
    let mut play = waits(&[BASH, SECOND]);
    let deny = OpinionSource::List(Policy {
        deny: ["bash".to_owned()].into(),
        ..Policy::default()
    });
    play.options.chain = ResolverChain::new(vec![Resolver::new("my:rules", 50, deny)]);
    play.event(CycleEvent::ApproveAll);
    play.expect_no_run();
    assert!(play.string().contains("The tool was denied by a policy."));
}

#[test]
fn approve_all_skips_blocks_that_the_user_wrote_in() {
    let mut play = waits(&[BASH, SECOND]);
    play.change("status=pending\n", "status=pending\nmy own result\n");
    play.event(CycleEvent::ApproveAll);
    assert_eq!(play.log(), ["run t_c"]);
    assert!(play.string().contains("my own result"));
}

#[test]
fn approve_all_without_a_pending_call_does_nothing() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::ApproveAll);
    assert_eq!(play.said(), "say No call is pending here.");
    assert_eq!(play.log(), [""; 0]);
}

#[test]
fn a_rejected_call_ends_with_the_reason_and_the_work_continues() {
    for (reason, notice) in [
        ("Not today.", "Not today."),
        ("", "The user rejected this call."),
        ("```\n@You:\n```", "```\n@You:\n```"),
    ] {
        let mut play = bash_waits();
        play.log();
        let line = line_of(&play, "**Tool Result:**");
        reject(&mut play, line, reason);
        assert_eq!(play.log(), ["send"]);
        assert!(play.string().contains("**Tool Result:** `t_b` (error)"));
        assert!(play.string().contains(notice), "{}", play.string());
        assert_eq!(
            play.rulings().last().map(String::as_str),
            Some("t_b Rejected user: reject")
        );
    }
}

#[test]
fn rejecting_one_call_leaves_the_others_pending() {
    let mut play = waits(&[BASH, SECOND, THIRD]);
    let line = line_of(&play, "**Tool Result:** `t_c`");
    reject(&mut play, line, "no");
    assert_eq!(play.log(), [""; 0]);
    assert_eq!(play.string().matches("status=pending").count(), 2);
    play.event(CycleEvent::ApproveAll);
    assert_eq!(play.log(), ["run t_b", "run t_d"]);
}

#[test]
fn text_in_the_block_is_part_of_the_reason() {
    let mut play = bash_waits();
    play.change("status=pending\n", "status=pending\nsee the notes\n");
    let line = line_of(&play, "**Tool Result:**");
    reject(&mut play, line, "No.");
    assert!(
        play.string().contains("No.\n\nsee the notes"),
        "{}",
        play.string()
    );
}

#[test]
fn a_command_elsewhere_applies_to_the_only_pending_call() {
    let meant = |play: &Play, line: usize| play.cycle.meant(line, &Document::parse(&play.text));
    let one = bash_waits();
    let call = line_of(&one, "**Tool Use:**");
    assert_eq!(meant(&one, 0), Ok(call));
    assert_eq!(meant(&one, call + 1), Ok(call + 1));
    assert_eq!(meant(&waits(&[BASH, SECOND]), 0), Err(2));
    assert_eq!(meant(&Play::typed(QUESTION), 0), Err(0));
}

/// A provider may reuse an ID in a later answer.
#[test]
fn with_equal_ids_the_call_under_the_cursor_runs() {
    let mut play = waits(&[BASH]);
    let (name, id, _) = BASH;
    play.answer("", &[(name, id, r#"{"command":"make"}"#)]);
    let line = line_of(&play, "make");
    play.event(CycleEvent::Resolve { line });
    assert_eq!(play.log(), ["run t_b"]);
    assert_eq!(play.ran[0].1["command"], "make");
    assert_eq!(play.string().matches("status=pending").count(), 1);
}

#[test]
fn only_pending_calls_are_listed_as_waiting() {
    let mut play = waits(&[BASH, ("slow", "s", "{}"), SECOND, THIRD]);
    play.change(
        "`t_c`\n\n```flemma:tool status=pending\n",
        "`t_c`\n\n```flemma:tool status=pending\nmine\n",
    );
    let waiting = play.cycle.waiting_tools(&Document::parse(&play.text));
    assert_eq!(waiting, ["bash", "bash"]);
    let line = line_of(&play, "**Tool Result:** `t_d`");
    play.event(CycleEvent::Resolve { line });
    let waiting = play.cycle.waiting_tools(&Document::parse(&play.text));
    assert_eq!(waiting, ["bash"]);
}

#[test]
fn a_tool_may_define_the_text_of_a_rejection_without_a_reason() {
    let refused = |reason: &str| {
        let mut play = waits(&[BASH, SECOND]);
        let (name, id, input) = BASH;
        let call = CallKey {
            id: ToolUseId::new(id),
            name: name.to_owned(),
            input: input.to_owned(),
        };
        play.cycle.word_refusal(call, "Ask first.".to_owned());
        let line = line_of(&play, "**Tool Result:** `t_b`");
        reject(&mut play, line, reason);
        let line = line_of(&play, "**Tool Result:** `t_c`");
        reject(&mut play, line, "");
        play.string()
    };
    let own = "`t_b` (error)\n\n```\nAsk first.\n```";
    let other = "`t_c` (error)\n\n```\nThe user rejected this call.\n```";
    let chat = refused("");
    assert!(chat.contains(own) && chat.contains(other), "{chat}");
    assert!(!refused("No.").contains("Ask first."));
}

#[test]
fn a_call_outside_the_document_runs_with_its_checked_arguments() {
    let options = crate::play::options();
    let call = |name: &str, input: serde_json::Value| chat::cycle::callable(name, input, &options);
    let ls = serde_json::json!({"command": "ls"});
    assert_eq!(call("bash", ls.clone()), Ok(ls));

    let missing = call("bash", serde_json::json!({})).unwrap_err();
    assert!(missing.contains("do not fit the schema"), "{missing}");
    assert!(call("bahs", serde_json::json!({})).is_err());
}
