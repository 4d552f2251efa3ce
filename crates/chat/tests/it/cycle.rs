//! The three phases: what Ctrl-] and Alt-Enter do to a document.

use chat::approval::Decision;
use chat::cycle::{AnswerEnd, CursorAfterResult, Event};
use chat::tool::{ToolOutcome, ToolUseId};

use crate::play::Play;

const QUESTION: &str = "@You:\nLook around.";

const BASH: (&str, &str, &str) = ("bash", "t_b", r#"{"command":"ls"}"#);
const READ: (&str, &str, &str) = ("read", "t_r", r#"{"path":"f"}"#);

/// A chat whose model called `read` and `bash`; `read` is running.
fn read_and_bash() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.answer("", &[READ, BASH]);
    play
}

/// A chat in which one `bash` call waits.
fn bash_waits() -> Play {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.answer("", &[BASH]);
    play.log();
    play
}

fn line_of(play: &Play, text: &str) -> usize {
    let whole = play.string();
    let at = whole
        .find(text)
        .unwrap_or_else(|| panic!("no {text:?} in\n{whole}"));
    whole[..at].matches('\n').count()
}

#[test]
fn a_read_runs_by_policy_and_a_command_waits() {
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
    play.event(Event::Advance);
    assert_eq!(play.log(), ["run t_b"]);
    play.finish("t_b", "out");
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn without_autopilot_the_next_key_sends() {
    let mut play = bash_waits();
    play.options.autopilot = false;
    play.change("status=pending", "status=approved");
    play.event(Event::Advance);
    play.finish("t_b", "out");
    assert_eq!(play.log(), ["run t_b"]);
    play.event(Event::Advance);
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
        play.event(Event::Advance);
        assert_eq!(play.log(), ["send"]);
        assert!(play.string().contains(result), "{}", play.string());
    }
}

#[test]
fn only_pending_calls_move_the_cursor_and_nothing_else() {
    let mut play = bash_waits();
    let before = play.string();
    play.cursor = None;
    play.event(Event::Advance);
    assert_eq!(play.log(), [""; 0]);
    assert_eq!(play.string(), before);
    assert_eq!(play.cursor, Some(line_of(&play, "**Tool Result:** `t_b`")));
}

#[test]
fn alt_enter_runs_one_call_and_the_last_one_sends() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.answer("", &[BASH, ("bash", "t_2", r#"{"command":"pwd"}"#)]);
    play.log();
    let line = line_of(&play, "**Tool Result:** `t_2`");
    play.event(Event::Resolve { line });
    assert_eq!(play.log(), ["run t_2"]);
    assert_eq!(play.cursor, Some(line_of(&play, "**Tool Result:** `t_b`")));
    play.finish("t_2", "/");
    assert_eq!(play.log(), [""; 0]);
    // On the call itself it works as well.
    let line = line_of(&play, r#"{"command":"ls"}"#);
    play.event(Event::Resolve { line });
    play.finish("t_b", "f");
    assert_eq!(play.log(), ["run t_b", "send"]);
}

#[test]
fn alt_enter_on_a_rejected_block_writes_the_error_and_on_a_result_nothing() {
    let mut play = bash_waits();
    play.change("status=pending", "status=rejected");
    play.options.autopilot = false;
    let line = line_of(&play, "**Tool Result:**");
    play.event(Event::Resolve { line });
    assert!(play.string().contains("The user rejected this call."));
    let before = play.string();
    play.event(Event::Resolve { line });
    assert_eq!(play.string(), before);
    assert!(play.said().contains("has its result"));
}

#[test]
fn alt_enter_does_not_overrule_a_deny() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.options.autopilot = false;
    play.answer("", &[BASH]);
    play.decide_always(Decision::Deny);
    let line = line_of(&play, "**Tool Use:**");
    play.event(Event::Resolve { line });
    assert!(play.string().contains("The tool was denied by a policy."));
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn alt_enter_between_blocks_refuses() {
    let mut play = bash_waits();
    let before = play.string();
    play.event(Event::Resolve { line: 0 });
    assert_eq!(play.string(), before);
    assert!(play.said().contains("no tool call under the cursor"));
}

#[test]
fn text_typed_in_a_waiting_block_is_the_result_and_pauses() {
    for status in ["pending", "approved"] {
        let mut play = bash_waits();
        play.change("status=pending", &format!("status={status}\nI ran it: ok"));
        play.event(Event::Advance);
        assert_eq!(play.log.iter().filter(|line| *line == "send").count(), 0);
        assert!(play.said().contains("You wrote in the block of \"t_b\""));
        assert!(
            play.string()
                .contains("**Tool Result:** `t_b`\n\n```\nI ran it: ok\n```"),
            "{}",
            play.string()
        );
        play.event(Event::Advance);
        assert_eq!(play.log(), ["send"]);
    }
}

#[test]
fn alt_enter_protects_typed_text_as_well() {
    let mut play = bash_waits();
    play.change("status=pending", "status=pending\nmine");
    let line = line_of(&play, "mine");
    play.event(Event::Resolve { line });
    assert_eq!(play.log(), [""; 0]);
    assert!(play.string().contains("```\nmine\n```"));
}

#[test]
fn blanks_in_a_block_are_not_typed_text() {
    let mut play = bash_waits();
    play.change("status=pending", "status=approved\n  \n");
    play.event(Event::Advance);
    assert_eq!(play.log(), ["run t_b"]);
}

#[test]
fn results_stand_in_call_order_whatever_ends_first() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
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
fn no_more_calls_run_at_once_than_allowed() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(Event::Advance);
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
    play.event(Event::Advance);
    play.answer("", &[("bsah", "x", "{}")]);
    assert_eq!(play.log(), ["send", "send"]);
    assert!(
        play.string()
            .contains("There is no tool named \"bsah\". Tools: bash, read, slow, typed, write.")
    );
}

#[test]
fn arguments_are_checked_before_anyone_is_asked() {
    let mut play = Play::typed(QUESTION);
    play.options.autopilot = false;
    play.event(Event::Advance);
    play.answer("", &[("bash", "x", r#"{"command":1}"#)]);
    play.event(Event::Advance);
    assert!(
        play.string().contains("do not fit the schema of \"bash\""),
        "{}",
        play.string()
    );
    play.type_over(
        "@You:\nhi\n\n@Assistant:\n**Tool Use:** `bash` (`y`)\n\n```lua\nprint(1)\n```\n\n@You:\n",
    );
    play.event(Event::AnswerEnded(AnswerEnd::Failed));
    play.event(Event::Advance);
    assert!(
        play.string().contains("its fence says \"lua\""),
        "{}",
        play.string()
    );
}

#[test]
fn two_calls_with_one_id_are_never_run() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
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
    play.event(Event::Advance);
    assert_eq!(play.log(), [""; 0]);
    assert!(
        play.string().contains("@You:\n**Tool Result:** `x`\n\n```flemma:tool status=pending\n```\n\nmore\n\n@Assistant:"),
        "{}",
        play.string()
    );
}

#[test]
fn words_behind_the_calls_stay_below_the_results() {
    let mut play = Play::typed(
        "@You:\nq\n\n@Assistant:\n**Tool Use:** `slow` (`a`)\n\n```json\n{}\n```\n\n**Tool Use:** `slow` (`b`)\n\n```json\n{}\n```\n\n@You: my words",
    );
    play.event(Event::Advance);
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
fn words_typed_while_tools_ran_are_not_sent_by_themselves() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.answer("", &[("slow", "a", "{}")]);
    play.log();
    let text = format!("{}\n\nhalf a sen", play.string());
    play.type_over(&text);
    play.finish("a", "A");
    assert_eq!(play.log(), [""; 0]);
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn keys_while_an_answer_arrives_or_a_tool_runs_change_nothing() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    let before = play.string();
    play.event(Event::Advance);
    play.event(Event::Send);
    assert_eq!(play.string(), before);
    assert_eq!(play.said().matches("An answer is arriving").count(), 2);
    play.answer("", &[("slow", "a", "{}")]);
    let before = play.string();
    play.event(Event::Advance);
    assert_eq!(play.string(), before);
    assert!(play.said().contains("A tool is running"));
    assert_eq!(play.log(), ["send", "run a"]);
}

#[test]
fn cancel_ends_every_call_and_disarms_autopilot() {
    let mut play = Play::typed(QUESTION);
    play.options.max_concurrent = 1;
    play.event(Event::Advance);
    play.answer("", &[("slow", "a", "{}"), ("slow", "b", "{}"), BASH]);
    play.log();
    play.event(Event::Cancel);
    assert_eq!(play.log(), ["cancel a"]);
    play.end(
        "a",
        ToolOutcome::Cancelled("Cancelled by the user.".to_owned()),
    );
    assert_eq!(play.log(), [""; 0]);
    assert!(play.string().contains(
        "**Tool Result:** `b` (error)\n\n```\nCancelled by the user before it ran.\n```"
    ));
    // The remaining call may be resolved; nothing is sent until Ctrl-].
    let line = line_of(&play, "**Tool Result:** `t_b`");
    play.event(Event::Resolve { line });
    play.finish("t_b", "x");
    assert_eq!(play.log(), ["run t_b"]);
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);
}

#[test]
fn cancel_without_anything_running_says_so() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Cancel);
    assert!(play.said().contains("Nothing is running here."));
}

#[test]
fn autopilot_stops_after_max_turns_and_a_new_message_counts_anew() {
    let mut play = Play::typed(QUESTION);
    play.options.max_turns = 2;
    play.event(Event::Advance);
    for id in ["a", "b"] {
        play.answer("", &[("slow", id, "{}")]);
        play.finish(id, "");
    }
    assert_eq!(play.log(), ["send", "run a", "send", "run b"]);
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);
    play.answer("Done.", &[]);
    assert_eq!(play.cycle.turns(), 0);
}

#[test]
fn after_an_answer_without_calls_a_prompt_stands_ready() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.answer("Hello.", &[]);
    play.expect("@You:\nLook around.\n\n@Assistant:\nHello.\n\n@You:\n$0");
}

#[test]
fn after_a_cancel_there_is_no_new_prompt() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.event(Event::Cancel);
    assert_eq!(play.log(), ["send", "cancel request"]);
    play.event(Event::AnswerEnded(AnswerEnd::Cancelled));
    play.expect(QUESTION);
}

#[test]
fn calls_of_a_cut_answer_end_in_errors_and_the_answer_is_taken_up_again() {
    let mut play = Play::typed(
        "@You:\nq\n\n@Assistant:\nI will\n\n**Tool Use:** `slow` (`a`)\n\n```json\n{}\n```\n\n<!-- flemma:aborted: the connection was lost -->",
    );
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);
    assert!(
        play.string().contains(
            "The answer was cut off (the connection was lost), so this call was not run."
        )
    );

    let mut play =
        Play::typed("@You:\nq\n\n@Assistant:\nI will\n\n<!-- flemma:aborted: cancelled -->");
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);
    assert!(
        play.string()
            .ends_with("-->\n\n@You:\nYour answer was cut off. Go on from where it ends.")
    );
}

#[test]
fn there_must_be_something_to_send() {
    let mut play = Play::typed("");
    play.event(Event::Advance);
    assert!(play.said().contains("There is nothing to send."));
    let mut play = Play::typed("@You:\nq\n\n@Assistant:\nanswer");
    play.event(Event::Advance);
    assert!(play.said().contains("nothing new to send"));
    assert_eq!(play.log(), [""; 0]);
    play.expect("@You:\nq\n\n@Assistant:\nanswer\n\n@You:\n$0");
}

const APPROVED: &str = "@You:\nq\n\n@Assistant:\n**Tool Use:** `bash` (`x`)\n\n```json\n{\"command\":\"ls\"}\n```\n\n@You:\n**Tool Result:** `x`\n\n```flemma:tool status=approved\n```";

#[test]
fn an_approval_found_in_a_file_approves_nothing() {
    let mut play = Play::opened(APPROVED);
    play.event(Event::Advance);
    assert_eq!(
        play.log
            .iter()
            .filter(|line| line.starts_with("run"))
            .count(),
        0
    );
    assert!(play.said().contains("was not given here"));
    assert!(play.string().contains("status=pending"));
    // Given here, it counts.
    play.change("status=pending", "status=approved");
    play.event(Event::Advance);
    assert_eq!(play.log(), ["run x"]);
}

#[test]
fn undo_does_not_make_an_approval_from_a_file_count() {
    let mut play = Play::opened(APPROVED);
    play.event(Event::Advance);
    assert!(play.string().contains("status=pending"));
    play.type_over(APPROVED);
    play.event(Event::Undone);
    play.event(Event::Advance);
    assert!(play.log.iter().all(|line| !line.starts_with("run")));
    // Typed, it counts.
    play.change("status=pending", "status=approved");
    play.event(Event::Advance);
    assert_eq!(play.log(), ["run x"]);
}

#[test]
fn a_conversation_that_begins_with_an_answer_is_not_sent() {
    let mut play = Play::typed("@Assistant:\nhi\n\n@You:\nhello");
    play.event(Event::Advance);
    assert!(play.said().contains("begins with"));
    assert_eq!(play.log(), [""; 0]);
}

#[test]
fn a_call_found_in_a_file_waits_whatever_the_policy_says() {
    let mut play =
        Play::opened("@You:\nq\n\n@Assistant:\n**Tool Use:** `read` (`x`)\n\n```json\n{}\n```");
    play.decide_always(Decision::Approve);
    play.event(Event::Advance);
    assert_eq!(
        play.log
            .iter()
            .filter(|line| line.starts_with("run"))
            .count(),
        0
    );
    assert!(play.string().contains("status=pending"));
    let mut play =
        Play::typed("@You:\nq\n\n@Assistant:\n**Tool Use:** `read` (`x`)\n\n```json\n{}\n```");
    play.event(Event::Advance);
    assert_eq!(play.log(), ["run x"]);
}

#[test]
fn an_approval_is_spent_once_and_undo_does_not_give_it_back() {
    let mut play = bash_waits();
    play.options.autopilot = false;
    play.change("status=pending", "status=approved");
    let approved = play.string();
    play.event(Event::Advance);
    play.finish("t_b", "out");
    assert_eq!(play.log(), ["run t_b"]);
    play.type_over(&approved);
    play.event(Event::Advance);
    assert_eq!(
        play.log
            .iter()
            .filter(|line| line.starts_with("run"))
            .count(),
        0
    );
    assert!(play.string().contains("status=pending"));
}

#[test]
fn a_call_that_ran_runs_again_by_alt_enter_only() {
    let mut play = bash_waits();
    play.options.autopilot = false;
    play.change("status=pending", "status=approved");
    let approved = play.string();
    play.event(Event::Advance);
    play.finish("t_b", "out");
    play.log();
    // Undo twice brings the word back, and looks as if it were typed.
    for _ in 0..2 {
        play.type_over(&approved);
        play.event(Event::Advance);
        assert!(play.said().contains("ran on its approval already"));
        assert_eq!(play.log(), [""; 0]);
    }
    let line = line_of(&play, "**Tool Result:**");
    play.event(Event::Resolve { line });
    assert_eq!(play.log(), ["run t_b"]);
}

#[test]
fn arguments_changed_after_the_approval_void_it() {
    let mut play = bash_waits();
    play.change("status=pending", "status=approved");
    play.change("\"ls\"", "\"rm -rf x\"");
    play.event(Event::Advance);
    assert_eq!(
        play.log
            .iter()
            .filter(|line| line.starts_with("run"))
            .count(),
        0
    );
    assert!(play.string().contains("status=pending"));
}

#[test]
fn a_call_that_ran_when_the_host_died_is_not_run_again() {
    let mut play = Play::opened(APPROVED);
    play.event(Event::Loaded {
        interrupted: vec![ToolUseId::new("x")],
    });
    assert_eq!(play.log(), [""; 0]);
    assert!(play.string().contains(
        "**Tool Result:** `x` (error)\n\n```\nThe host stopped while this call was running."
    ));
}

#[test]
fn a_result_whose_call_is_gone_is_put_nowhere() {
    let mut play = Play::typed(QUESTION);
    play.event(Event::Advance);
    play.answer("", &[("slow", "a", "{}")]);
    play.type_over(QUESTION);
    play.finish("a", "lost");
    play.expect(QUESTION);
    assert!(play.said().contains("its block is gone"));
}

#[test]
fn frontmatter_that_is_not_read_stops_everything() {
    let restrictive = "```lua\nflemma.opt.tools.auto_approve = {}\n```\n\n@You:\nhi";
    let mut play = Play::typed(restrictive);
    for read in [
        None,
        Some(Err("line 2: no.".to_owned())),
        Some(Ok("other".to_owned())),
    ] {
        play.options.frontmatter = read;
        play.event(Event::Advance);
        play.event(Event::Send);
        assert_eq!(play.log(), [""; 0]);
    }
    play.options.frontmatter = Some(Ok("flemma.opt.tools.auto_approve = {}".to_owned()));
    play.event(Event::Advance);
    assert_eq!(play.log(), ["send"]);
    let mut play = Play::typed("```lua\n-- never closed\n\n@You:\nhi");
    play.event(Event::Advance);
    assert!(play.said().contains("never closes"));
}

#[test]
fn the_cursor_goes_where_the_option_says() {
    for (option, line) in [
        (CursorAfterResult::Result, Some(11)),
        (CursorAfterResult::Stay, None),
        (CursorAfterResult::Next, Some(15)),
    ] {
        let mut play = bash_waits();
        play.options.autopilot = false;
        play.options.cursor_after_result = option;
        play.change("status=pending", "status=approved");
        play.cursor = None;
        play.event(Event::Advance);
        play.finish("t_b", "out");
        assert_eq!(play.cursor, line, "{option:?}\n{}", play.string());
    }
}
