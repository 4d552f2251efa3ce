//! The main flows in all protocols: parallel calls with thinking between them, failed and denied calls,
//! chats that are opened again, and other models.

use harness::{Answer, Dialect, Provider, Strict};
use serde_json::{Value as Json, json};

use super::{Talk, says, with_each_claude};

pub(super) fn read(path: &str) -> Json {
    json!({"label": "read", "path": path, "offset": null, "limit": null})
}

fn bash(command: &str) -> Json {
    json!({"label": "run", "command": command, "timeout": null})
}

/// Parallel work as current models do it: each call follows its own thinking, and text comes between.
pub(super) fn two_reads() -> Answer {
    Answer::new()
        .thinking("First f.txt.", Some("one"))
        .tool_use("call_1", "read", &read("f.txt"))
        .thinking("Then none.txt.\n\nIt may not exist.", Some("two"))
        .text("I also look for another one.")
        .tool_use("call_2", "read", &read("none.txt"))
}

/// Text before any thinking, and several thoughts in a row.
pub(super) fn speaks_first() -> Answer {
    Answer::new()
        .text("I'll look.")
        .thinking("Hm.", Some("three"))
        .thinking("", Some("four"))
        .tool_use("call_3", "bash", &bash("printf out"))
}

/// A service of each protocol that is not Anthropic's, with a model and another one to switch to.
pub(super) fn others() -> [(Provider, &'static str, &'static str); 3] {
    let none = [""; 0];
    [
        (
            Provider::responses(none).strict(Strict::responses()),
            "gpt-6.1-sol",
            "gpt-5.6-sol",
        ),
        (
            Provider::gemini(none).strict(Strict::gemini()),
            "gemini-3.8-pro",
            "gemini-3.8-flash",
        ),
        (
            Provider::chat_completions(none).strict(Strict::chat_completions(Dialect::OpenAi)),
            "scripted-1",
            "scripted-2",
        ),
    ]
}

/// Plays a scenario at a service of each protocol that is not Anthropic's.
fn with_each_other(scenario: impl Fn(&Talk, &str)) {
    for (provider, model, other) in others() {
        scenario(&Talk::new(provider, model), other);
    }
}

#[track_caller]
pub(super) fn expect_accepted(talk: &Talk) {
    assert_eq!(
        talk.provider.refusals(),
        [""; 0],
        "{talk:?}\n{}",
        talk.chat()
    );
}

/// Makes parallel calls with thinking between them; another process goes on.
pub(super) fn parallel_calls(talk: &Talk, _other: &str) {
    talk.shell.write("f.txt", "n=0\n");
    talk.script([two_reads(), speaks_first(), says("Done."), says("More.")]);
    talk.ask("Read both.");
    // Another process opens the chat again.
    talk.ask("And?");
    expect_accepted(talk);
    if talk.provider.name() == "anthropic" {
        talk.expect_kept();
    }
}

/// Denies calls.
pub(super) fn denied_calls(talk: &Talk, _other: &str) {
    let (name, model) = (talk.provider.name(), talk.model);
    talk.shell.configure(&format!(
        "provider = \"{name}\"\nmodel = \"{model}\"\n[tools]\nauto_approve = [\"$none\"]\n\
         [tools.presets.\"$none\"]\ndeny = [\"bash\", \"read\"]\n"
    ));
    talk.script([two_reads(), says("A pity."), says("More.")]);
    assert_eq!(talk.send("Read both.").code, Some(4), "{talk:?}");
    let _ = talk.send("And?");
    expect_accepted(talk);
    assert!(talk.chat().contains("More."), "{talk:?}\n{}", talk.chat());
}

/// Sends messages that follow one another.
pub(super) fn follow_ups(talk: &Talk, _other: &str) {
    talk.shell.write("f.txt", "n=0\n");
    talk.script([two_reads(), says("One."), speaks_first(), says("Two.")]);
    let arguments = ["send", "a.chat", "-m", "Read.", "--follow-up", "Run."];
    let ran = talk.shell.run(&arguments);
    assert_eq!(ran.code, Some(0), "{talk:?}: {ran:?}");
    expect_accepted(talk);
    if talk.provider.name() == "anthropic" {
        talk.expect_kept();
    }
}

/// Lets another model take over for a while.
pub(super) fn other_model(talk: &Talk, other: &str) {
    talk.shell.write("f.txt", "n=0\n");
    talk.script([two_reads(), says("One.")]);
    talk.ask("Read both.");
    talk.script([speaks_first(), says("Two.")]);
    let name = talk.provider.name();
    let to_other = ["--provider", name, "--model", other];
    let message = ["send", "a.chat", "-m", "Run it."];
    let ran = talk.shell.run(&[&message[..], &to_other].concat());
    assert_eq!(ran.code, Some(0), "{talk:?}: {ran:?}");
    talk.script([says("Three.")]);
    talk.ask("Back to you.");
    expect_accepted(talk);
    // What the other model cannot read is dropped; nothing else is.
    let dropped = talk.provider.dropped();
    let mut reasons = dropped.iter().map(|it| &it["reason"]);
    assert!(
        reasons.all(|it| it == "model_binding_mismatch"),
        "{talk:?}: {dropped:?}"
    );
}

#[test]
fn parallel_calls_with_thinking_between_them_go_on() {
    with_each_other(parallel_calls);
}

#[test]
fn a_call_that_is_denied_has_a_result() {
    with_each_other(denied_calls);
}

#[test]
fn messages_follow_one_another() {
    with_each_other(follow_ups);
}

#[test]
fn another_model_takes_over_and_gives_back() {
    with_each_other(other_model);
}

#[test]
fn redacted_thinking_goes_back() {
    with_each_claude(|talk| {
        talk.shell.write("f.txt", "n=0\n");
        let answer = Answer::new()
            .redacted_thinking("secret")
            .thinks("Hm.")
            .redacted_thinking("secret")
            .tool_use("call_1", "read", &read("f.txt"));
        talk.script([answer, says("Done."), says("More.")]);
        talk.ask("Go.");
        talk.ask("And?");
        talk.expect_kept();
    });
}

#[test]
fn mistral_gets_ids_that_it_takes() {
    let service = Strict::chat_completions(Dialect::Mistral);
    let talk = Talk::new(
        Provider::chat_completions([""; 0]).strict(service),
        "mistral-large-latest",
    );
    talk.shell.write("f.txt", "n=0\n");
    let chat = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `read` (`toolu_01A-b`)\n\n```json\n\
                {\"label\":\"r\",\"path\":\"f.txt\",\"offset\":null,\"limit\":null}\n```\n\n\
                @You:\n**Tool Result:** `toolu_01A-b`\n\n```\nn=0\n```\n";
    talk.shell.write("a.chat", chat);
    let read = Answer::new().tool_use("Abc123XYZ", "read", &read("f.txt"));
    talk.script([read, Answer::says("Done.")]);
    talk.ask("More.");
    expect_accepted(&talk);
}

#[test]
fn deepseek_gets_its_reasoning_back() {
    let service = Strict::chat_completions(Dialect::DeepSeek);
    let provider = Provider::chat_completions([""; 0]).strict(service);
    let url = provider.url();
    let mut talk = Talk::new(provider, "deepseek-v4-pro");
    talk.shell.set("DEEPSEEK_BASE_URL", &url);
    talk.shell.set("DEEPSEEK_API_KEY", "test-key");
    talk.shell.configure(
        "provider = \"deepseek\"\nmodel = \"deepseek-v4-pro\"\n[tools]\nrequire_approval = false\n",
    );
    talk.shell.write("f.txt", "n=0\n");
    let both = Answer::new()
        .thinks("First f.txt.\n\nThen none.txt.")
        .text("I read both.")
        .tool_use("call_1", "read", &read("f.txt"))
        .tool_use("call_2", "read", &read("none.txt"));
    talk.script([both, says("One."), says("Two.")]);
    talk.ask("Read both.");
    talk.ask("More.");
    expect_accepted(&talk);
}
