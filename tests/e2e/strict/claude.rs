//! The main flows and parameters with Claude models that preserve thinking.

use harness::{Answer, Provider, Strict};
use serde_json::json;

use super::flows::{self, expect_accepted, others, read, speaks_first, two_reads};
use super::{Talk, says, with_each_claude};

/// A model without preserved thinking, to which chats are switched.
const EARLIER: &str = "claude-opus-4-8";

#[test]
fn parallel_calls_with_thinking_between_them_go_on() {
    with_each_claude(|talk| flows::parallel_calls(talk, EARLIER));
}

#[test]
fn a_call_that_is_denied_has_a_result() {
    with_each_claude(|talk| flows::denied_calls(talk, EARLIER));
}

#[test]
fn messages_follow_one_another() {
    with_each_claude(|talk| flows::follow_ups(talk, EARLIER));
}

#[test]
fn another_model_takes_over_and_gives_back() {
    with_each_claude(|talk| flows::other_model(talk, EARLIER));
}

/// Sends one message with these parameters.
#[track_caller]
fn with_parameters(talk: &Talk, parameters: &str) -> String {
    let model = talk.model;
    talk.shell.configure(&format!(
        "provider = \"anthropic\"\nmodel = \"{model}\"\n[parameters]\n{parameters}\n"
    ));
    talk.script([says("Done.")]);
    let ran = talk.ask("Go.");
    assert_eq!(talk.provider.refusals(), [""; 0], "{talk:?} {parameters}");
    ran.err
}

#[test]
fn every_setting_of_thinking_is_accepted() {
    let settings = [
        "false",
        "\"minimal\"",
        "\"low\"",
        "\"medium\"",
        "\"high\"",
        "\"max\"",
        "4000",
    ];
    with_each_claude(|talk| {
        for setting in settings {
            with_parameters(talk, &format!("thinking = {setting}"));
        }
    });
}

#[test]
fn a_temperature_that_is_refused_is_not_sent_and_the_user_is_told() {
    with_each_claude(|talk| {
        let said = with_parameters(talk, "temperature = 0.5");
        assert!(said.contains("temperature"), "{talk:?}: {said}");
    });
}

#[test]
fn what_the_model_thinks_between_calls_is_visible() {
    with_each_claude(|talk| {
        talk.shell.write("f.txt", "n=0\n");
        talk.script([two_reads(), says("Done.")]);
        talk.ask("Read both.");
        let chat = talk.chat();
        for thought in [
            "First f.txt.",
            "Then none.txt.\n\nIt may not exist.",
            "Well.",
        ] {
            assert!(chat.contains(thought), "{talk:?}: {thought} in\n{chat}");
        }
    });
}

#[test]
fn neighboring_texts_of_an_answer_stay_two() {
    with_each_claude(|talk| {
        talk.shell.write("f.txt", "n=0\n");
        let answer = Answer::new()
            .thinks("Hm.")
            .text_block("One.")
            .text_block("Two.")
            .thinks("Now I know.")
            .tool_use("call_1", "read", &read("f.txt"));
        talk.script([answer, says("Done."), says("More.")]);
        talk.ask("Go.");
        talk.ask("And?");
        talk.expect_kept();
    });
}

#[test]
fn one_file_goes_on_at_every_service() {
    let claude = Provider::anthropic([""; 0]).strict(Strict::anthropic());
    let first = Talk::new(claude, "claude-opus-5-5");
    first.shell.write("f.txt", "n=0\n");
    first.script([two_reads(), says("One.")]);
    first.ask("Read both.");
    let mut chat = first.chat();
    for (provider, model, _) in others() {
        let next = Talk::new(provider, model);
        next.shell.write("f.txt", "n=0\n");
        next.shell.write("a.chat", &chat);
        next.script([speaks_first(), says("Two.")]);
        next.ask("Run it.");
        expect_accepted(&next);
        chat = next.chat();
    }
    first.shell.write("a.chat", &chat);
    first.script([says("Three.")]);
    first.ask("Back to you.");
    expect_accepted(&first);
    assert_eq!(json!(first.provider.dropped()), json!([]));
}
