//! Compaction on demand: the request for a summary, and where its block is accepted.

use harness::{Answer, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::client::{Client, blocks, expect_refused};

const BETA: &str = "compact-2026-09-04";
const BOUND: &str = "The block is bound to a different conversation.";

/// A conversation of two turns, of which the second has thinking.
fn conversation(strict: Strict, model: &str) -> Client {
    let answers = [
        Answer::new().thinks("Hm.").text("One."),
        Answer::new().thinks("Well.").text("Two."),
    ];
    let schema = json!({"type": "object", "properties": {}});
    let mut client = Client {
        provider: Provider::anthropic(answers).strict(strict),
        path: "/v1/messages",
        betas: BETA,
        body: json!({
            "model": model, "max_tokens": 1000, "stream": true,
            "system": [{"type": "text", "text": "Be brief."}],
            "tools": [{"name": "bash", "description": "Runs.", "input_schema": schema}],
            "messages": [{"role": "user", "content": "First."}],
        }),
    };
    for next in ["Second.", "Third."] {
        let answer = blocks(&client.send().unwrap());
        client.push("messages", json!({"role": "assistant", "content": answer}));
        client.push("messages", json!({"role": "user", "content": next}));
    }
    client
}

fn asks(body: &mut Json, kept: usize) {
    body["compaction"] = json!({"type": "summarize", "instructions": "Be brief."});
    let messages = body["messages"].as_array_mut().unwrap();
    messages.truncate(messages.len() - kept);
}

/// The same, with a summary in place of all but the last `kept` messages.
fn summarized(strict: Strict, model: &str, kept: usize) -> Client {
    let mut client = conversation(strict, model);
    client.provider.then("They spoke.");
    let answer = blocks(&client.send_changed(|body| asks(body, kept)).unwrap());
    assert_eq!(answer[0]["type"], "compaction", "{answer:#?}");
    assert_eq!(answer[0]["content"], "They spoke.");
    let messages = client.body["messages"].as_array_mut().unwrap();
    messages.drain(..messages.len() - kept);
    messages.insert(0, json!({"role": "assistant", "content": answer}));
    client
}

#[test]
fn kept_thinking_is_valid_behind_the_summary_of_what_was_before_it() {
    // With the second turn, or with its answer only.
    for kept in [3, 2] {
        let client = summarized(
            Strict::anthropic_without_dropping(),
            "claude-opus-5-5",
            kept,
        );
        let answered = client.send();
        assert!(answered.is_ok(), "{kept}: {answered:?}");
    }
}

#[test]
fn kept_thinking_is_invalid_after_any_other_change() {
    type Change = (&'static str, fn(&mut Json));
    let changes: &[Change] = &[
        ("system", |body| {
            body["system"][0]["text"] = json!("Be long.")
        }),
        ("tools", |body| {
            body["tools"][0]["description"] = json!("Runs it.")
        }),
        ("a message before", |body| {
            let first = json!({"role": "user", "content": "Hello."});
            body["messages"].as_array_mut().unwrap().insert(1, first);
        }),
        ("a text instead", |body| {
            body["messages"][0] = json!({"role": "user", "content": "They spoke."});
        }),
    ];
    for (name, change) in changes {
        let client = summarized(Strict::anthropic_without_dropping(), "claude-opus-5-5", 3);
        expect_refused(&client.send_changed(change), BOUND);
        assert_eq!(client.provider.refusals().len(), 1, "{name}");
    }
}

#[test]
fn a_summary_goes_first_as_it_came_with_its_beta() {
    type Change = (&'static str, fn(&mut Json));
    let changes: &[Change] = &[
        ("compaction_content_mismatch", |body| {
            body["messages"][0]["content"][0]["content"] = json!("They argued.");
        }),
        ("compaction_signature_invalid", |body| {
            body["messages"][0]["content"][0]["signature"] = json!("c2ln");
        }),
        ("compaction_block_misplaced", |body| {
            let first = json!({"role": "user", "content": "First."});
            body["messages"].as_array_mut().unwrap().insert(0, first);
        }),
        ("Extra inputs are not permitted", |body| {
            body["messages"][0]["content"][0]["citations"] = json!(null);
        }),
    ];
    for (expected, change) in changes {
        let client = summarized(Strict::anthropic(), "claude-opus-5-5", 3);
        expect_refused(&client.send_changed(change), expected);
    }
    let mut client = summarized(Strict::anthropic(), "claude-opus-5-5", 3);
    client.betas = "";
    expect_refused(&client.send(), "Input tag 'compaction'");
}

#[test]
fn a_summary_is_written_by_some_models_with_the_beta() {
    for model in ["claude-haiku-5-5", "claude-fable-5-2", "claude-3-haiku"] {
        let client = conversation(Strict::anthropic(), model);
        let answered = client.send_changed(|body| asks(body, 1));
        expect_refused(&answered, "compaction: not supported");
    }
    let mut client = conversation(Strict::anthropic(), "claude-opus-5-5");
    client.betas = "";
    let answered = client.send_changed(|body| asks(body, 1));
    expect_refused(&answered, "compaction: requires anthropic-beta");
}

#[test]
fn a_call_without_a_result_cannot_be_summarized() {
    let client = conversation(Strict::anthropic(), "claude-opus-5-5");
    let answered = client.send_changed(|body| {
        asks(body, 1);
        let call = json!({"type": "tool_use", "id": "toolu_1", "name": "bash", "input": {}});
        let last = body["messages"].as_array_mut().unwrap().last_mut().unwrap();
        last["content"].as_array_mut().unwrap().push(call);
    });
    expect_refused(&answered, "`tool_use` ids were found without `tool_result`");
}
