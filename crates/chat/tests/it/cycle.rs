//! The three phases: what Ctrl-] and Alt-Enter do to a document.

use chat::approval::Decision;
use chat::cycle::{AnswerEnd, CycleEvent};
use chat::origin::ChangeSource;
use chat::text::Text;

use crate::play::Play;

pub(crate) const QUESTION: &str = "@You:\nLook around.";

pub(crate) const BASH: (&str, &str, &str) = ("bash", "t_b", r#"{"command":"ls"}"#);
const READ: (&str, &str, &str) = ("read", "t_r", r#"{"path":"f"}"#);

/// A chat whose model called `read` and `bash`; `read` is running.
fn read_and_bash() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[READ, BASH]);
    play
}

/// A chat in which one `bash` call is pending.
pub(crate) fn bash_waits() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[BASH]);
    play.log();
    play
}

pub(crate) fn line_of(play: &Play, text: &str) -> usize {
    let whole = play.string();
    let at = whole
        .find(text)
        .unwrap_or_else(|| panic!("no {text:?} in\n{whole}"));
    whole[..at].matches('\n').count()
}

#[test]
fn a_read_runs_by_policy_and_a_command_is_pending() {
    let mut play = read_and_bash();
    assert_eq!(play.log(), ["send", "run t_r"]);
    play.finish("t_r", "a\nb");
    assert_eq!(play.log(), [""; 0]);
    play.expect(
        r#"
@You:
Look around.

@Assistant:
**Tool Use:** `read` (`t_r`)

```json
{"path":"f"}
```

**Tool Use:** `bash` (`t_b`)

```json
{"command":"ls"}
```

@You:
**Tool Result:** `t_r`

```
a
b
```

$0**Tool Result:** `t_b`

```flemma:tool status=pending
```"#,
    );
}

#[test]
fn approving_by_hand_runs_the_call_and_autopilot_sends() {
    let mut play = bash_waits();
    play.change("status=pending", "status=approved");
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["run t_b"]);
    play.finish("t_b", "out");
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn without_autopilot_the_next_key_sends() {
    let mut play = bash_waits();
    play.options.autopilot = false;
    play.change("status=pending", "status=approved");
    play.event(CycleEvent::Advance);
    play.finish("t_b", "out");
    assert_eq!(play.log(), ["run t_b"]);
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn a_rejection_carries_the_users_reason_to_the_model() {
    for (written, result) in [
        (
            "status=rejected\nNot in my home.",
            "**Tool Result:** `t_b` (error)\n\n```\nNot in my home.\n```",
        ),
        (
            "status=reject",
            "**Tool Result:** `t_b` (error)\n\n```\nThe user rejected this call.\n```",
        ),
        (
            "status=denied\nkept",
            "(error)\n\n```\nThe tool was denied by a policy.\n\nkept\n```",
        ),
    ] {
        let mut play = bash_waits();
        play.change("status=pending", written);
        play.event(CycleEvent::Advance);
        assert_eq!(play.log(), ["send"]);
        assert!(play.string().contains(result), "{}", play.string());
    }
}

/// A call that `$shell-safe` let run, and that its view hindered.
fn hindered() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.decide_always(Decision::Approve);
    play.answer("", &[BASH]);
    assert_eq!(play.log(), ["send", "run t_b"]);
    let call = play.cycle.running()[0].clone();
    let why = "was hindered";
    play.event(CycleEvent::Hindered { call, why });
    assert!(play.cycle.is_idle() && play.string().contains("status=pending"));
    play
}

#[test]
fn a_call_that_its_view_hindered_waits_and_no_rule_approves_it_again() {
    let mut play = hindered();
    assert_eq!(
        play.rulings().last().unwrap(),
        "t_b Waits urn:flemma:approval:shell-safe (was hindered)"
    );
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["waiting t_b None"]);
    // The user's approval is for another run, whose result counts.
    let line = line_of(&play, "**Tool Use:**");
    play.event(CycleEvent::Resolve { line });
    assert_eq!(play.log(), ["run t_b"]);
    play.finish("t_b", "done");
    assert_eq!(play.log(), ["send"]);
    assert!(play.string().contains("done"));
}

#[test]
fn a_call_that_its_view_hindered_is_approved_by_typing_but_not_by_undo() {
    let mut play = hindered();
    play.change("status=pending", "status=approved");
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["run t_b"]);
    let mut play = hindered();
    let before = play.string().replace("status=pending", "status=approved");
    play.replace(&Text::from(before.as_str()), ChangeSource::Undo);
    play.event(CycleEvent::Advance);
    play.expect_no_run();
    assert!(play.string().contains("status=pending"));
}

#[test]
fn a_rejection_that_was_typed_meanwhile_stays() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.decide_always(Decision::Approve);
    play.answer("", &[BASH]);
    let call = play.cycle.running()[0].clone();
    play.change("status=approved", "status=rejected");
    let why = "was hindered";
    play.event(CycleEvent::Hindered { call, why });
    assert!(play.string().contains("status=rejected"));
    play.event(CycleEvent::Advance);
    assert!(play.string().contains("The user rejected this call."));
}

#[test]
fn only_pending_calls_move_the_cursor_and_say_what_waits() {
    let mut play = bash_waits();
    let before = play.string();
    play.cursor = None;
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["waiting t_b None"]);
    assert_eq!(play.string(), before);
    assert_eq!(play.cursor, Some(line_of(&play, "**Tool Result:** `t_b`")));
}

#[test]
fn a_message_below_a_pending_call_is_told_with_it_and_can_be_taken_out() {
    let mut play = bash_waits();
    let before = play.string();
    play.change(
        "status=pending\n```",
        "status=pending\n```\n\nNo, use ls.\n\nIt is safer.\n",
    );
    play.event(CycleEvent::Advance);
    let words = "No, use ls.\n\nIt is safer.";
    assert_eq!(play.log(), [format!("waiting t_b {:?}", Some(words))]);
    let text = chat::text::Text::from(play.string().as_str());
    let document = chat::document::Document::parse(&text);
    let edits = chat::write::take_words(&document, words);
    assert!(edits.iter().all(|it| it.replacement.is_empty()));
    let taken: usize = edits.iter().map(|it| it.lines.len()).sum();
    assert_eq!(taken, 3);
    assert!(before.lines().count() <= edits[0].lines.start);
    assert_eq!(chat::write::take_words(&document, "other words"), []);
}

#[test]
fn alt_enter_runs_one_call_and_the_last_one_sends() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[BASH, ("bash", "t_2", r#"{"command":"pwd"}"#)]);
    play.log();
    let line = line_of(&play, "**Tool Result:** `t_2`");
    play.event(CycleEvent::Resolve { line });
    assert_eq!(play.log(), ["run t_2"]);
    assert_eq!(play.cursor, Some(line_of(&play, "**Tool Result:** `t_b`")));
    play.finish("t_2", "/");
    assert_eq!(play.log(), [""; 0]);
    // The call itself works as well as its result.
    let line = line_of(&play, r#"{"command":"ls"}"#);
    play.event(CycleEvent::Resolve { line });
    play.finish("t_b", "f");
    assert_eq!(play.log(), ["run t_b", "send"]);
}

#[test]
fn alt_enter_on_a_rejected_block_writes_the_error_and_on_a_result_nothing() {
    let mut play = bash_waits();
    play.change("status=pending", "status=rejected");
    play.options.autopilot = false;
    let line = line_of(&play, "**Tool Result:**");
    play.event(CycleEvent::Resolve { line });
    assert!(play.string().contains("The user rejected this call."));
    let before = play.string();
    play.event(CycleEvent::Resolve { line });
    assert_eq!(play.string(), before);
    assert!(play.said().contains("has its result"));
}

#[test]
fn alt_enter_does_not_override_a_denial() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.options.autopilot = false;
    play.answer("", &[BASH]);
    play.decide_always(Decision::Deny);
    let line = line_of(&play, "**Tool Use:**");
    play.event(CycleEvent::Resolve { line });
    assert!(play.string().contains("The tool was denied by a policy."));
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn alt_enter_between_blocks_does_nothing() {
    let mut play = bash_waits();
    let before = play.string();
    play.event(CycleEvent::Resolve { line: 0 });
    assert_eq!(play.string(), before);
    assert!(play.said().contains("no tool call under the cursor"));
}

#[test]
fn text_typed_into_a_pending_block_is_the_result_and_pauses() {
    for status in ["pending", "approved"] {
        let mut play = bash_waits();
        play.change("status=pending", &format!("status={status}\nI ran it: ok"));
        play.event(CycleEvent::Advance);
        assert_eq!(play.log.iter().filter(|line| *line == "send").count(), 0);
        assert!(play.said().contains("You wrote in the block of \"t_b\""));
        assert!(
            play.string()
                .contains("**Tool Result:** `t_b`\n\n```\nI ran it: ok\n```"),
            "{}",
            play.string()
        );
        play.event(CycleEvent::Advance);
        assert_eq!(play.log(), ["send"]);
    }
}

#[test]
fn alt_enter_keeps_typed_text() {
    let mut play = bash_waits();
    play.change("status=pending", "status=pending\nmine");
    let line = line_of(&play, "mine");
    play.event(CycleEvent::Resolve { line });
    assert_eq!(play.log(), [""; 0]);
    assert!(play.string().contains("```\nmine\n```"));
}

#[test]
fn blanks_in_a_block_are_not_typed_text() {
    let mut play = bash_waits();
    play.change("status=pending", "status=approved\n  \n");
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["run t_b"]);
}

#[test]
fn results_are_in_call_order() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer(
        "",
        &[
            ("slow", "a", "{}"),
            ("slow", "b", "{}"),
            ("slow", "c", "{}"),
        ],
    );
    assert_eq!(play.log(), ["send", "run a", "run b", "run c"]);
    for id in ["c", "a", "b"] {
        play.finish(id, &format!("from {id}"));
    }
    let text = play.string();
    let order: Vec<_> = ["from a", "from b", "from c"]
        .map(|it| text.find(it).unwrap())
        .into();
    assert!(order.is_sorted(), "{text}");
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn the_number_of_concurrent_calls_is_limited() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(CycleEvent::Advance);
    play.answer("", &[("slow", "a", "{}"), ("slow", "b", "{}")]);
    assert_eq!(play.log(), ["send", "run a"]);
    play.finish("a", "");
    assert_eq!(play.log(), ["run b"]);
    play.finish("b", "");
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn an_unknown_tool_ends_in_an_error_and_never_loops() {
    let mut play = Play::typed(QUESTION);
    play.decide_always(Decision::Approve);
    play.event(CycleEvent::Advance);
    play.answer("", &[("bsah", "x", "{}")]);
    assert_eq!(play.log(), ["send", "send"]);
    assert!(
        play.string()
            .contains("There is no tool named \"bsah\". Tools: bash, read, slow, typed, write.")
    );
}

#[test]
fn arguments_are_checked_before_the_user_is_asked() {
    let mut play = Play::typed(QUESTION);
    play.options.autopilot = false;
    play.event(CycleEvent::Advance);
    play.answer("", &[("bash", "x", r#"{"command":1}"#)]);
    play.event(CycleEvent::Advance);
    assert!(
        play.string().contains("do not fit the schema of \"bash\""),
        "{}",
        play.string()
    );
    play.type_over(
        "@You:\nhi\n\n@Assistant:\n**Tool Use:** `bash` (`y`)\n\n```lua\nprint(1)\n```\n\n@You:\n",
    );
    play.event(CycleEvent::AnswerEnded(AnswerEnd::Failed));
    play.event(CycleEvent::Advance);
    assert!(
        play.string().contains("its fence says \"lua\""),
        "{}",
        play.string()
    );
}

#[test]
fn two_calls_with_one_id_are_never_run() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.decide_always(Decision::Approve);
    play.answer("", &[("slow", "x", "{}"), ("slow", "x", r#"{"a":1}"#)]);
    assert_eq!(play.log(), ["send", "send"]);
    assert_eq!(
        play.string()
            .matches("Two calls of one answer had the id")
            .count(),
        2
    );
}

#[test]
fn a_call_in_an_older_turn_is_answered_in_its_own_turn() {
    let mut play = Play::typed(
        "@You:\na\n\n@Assistant:\n**Tool Use:** `bash` (`x`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n@You:\nmore\n\n@Assistant:\nok\n\n@You:\nand?",
    );
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), [""; 0]);
    assert!(
        play.string().contains("@You:\n**Tool Result:** `x`\n\n```flemma:tool status=pending\n```\n\nmore\n\n@Assistant:"),
        "{}",
        play.string()
    );
}

#[test]
fn text_below_the_calls_stays_below_the_results() {
    let mut play = Play::typed(
        "@You:\nq\n\n@Assistant:\n**Tool Use:** `slow` (`a`)\n\n```json\n{}\n```\n\n**Tool Use:** `slow` (`b`)\n\n```json\n{}\n```\n\n@You: my words",
    );
    play.event(CycleEvent::Advance);
    play.finish("b", "B");
    play.finish("a", "A");
    assert!(
        play.string().ends_with("@You:\n**Tool Result:** `a`\n\n```\nA\n```\n\n**Tool Result:** `b`\n\n```\nB\n```\n\nmy words"),
        "{}",
        play.string()
    );
    assert_eq!(play.log().last().map(String::as_str), Some("send"));
}

#[test]
fn text_typed_while_tools_ran_is_not_sent_automatically() {
    let mut play = Play::typed(QUESTION);
    play.event(CycleEvent::Advance);
    play.answer("", &[("slow", "a", "{}")]);
    play.log();
    let text = format!("{}\n\nhalf a sen", play.string());
    play.type_over(&text);
    play.finish("a", "A");
    assert_eq!(play.log(), [""; 0]);
    play.event(CycleEvent::Advance);
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn approved_calls_run_in_free_slots_beside_a_pending_one() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(CycleEvent::Advance);
    play.answer(
        "",
        &[
            ("slow", "a", "{}"),
            BASH,
            ("slow", "b", "{}"),
            ("slow", "c", "{}"),
        ],
    );
    assert_eq!(play.log(), ["send", "run a"]);
    play.finish("a", "");
    assert_eq!(play.log(), ["run b"]);
    play.finish("b", "");
    assert_eq!(play.log(), ["run c"]);
    play.finish("c", "");
    assert_eq!(play.log(), [""; 0]);
    assert_eq!(play.cursor, Some(line_of(&play, "**Tool Result:** `t_b`")));
}
