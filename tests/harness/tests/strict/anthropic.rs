//! The prefix of thinking, and the order of messages and blocks.

use harness::{Answer, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::client::{Client, blocks, expect_refused};

const BOUND: &str = "Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

fn ls() -> Json {
    json!({"command": "ls"})
}

/// An answer as models with preserved thinking give it.
fn two_calls() -> Answer {
    Answer::new()
        .thinks("First a.")
        .text("I look.")
        .tool_use("toolu_a", "bash", &ls())
        .thinks("Then b.")
        .tool_use("toolu_b", "bash", &ls())
}

fn client(strict: Strict, model: &str) -> Client {
    let answers = [two_calls(), Answer::new().thinks("Well.").text("Done.")];
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    Client {
        provider: Provider::anthropic(answers).strict(strict),
        path: "/v1/messages",
        betas: "",
        body: json!({
            "model": model, "max_tokens": 1000, "stream": true,
            "system": [{"type": "text", "text": "Be brief."}],
            "tools": [{"name": "bash", "description": "Runs.", "input_schema": schema}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Go."}]}],
        }),
    }
}

fn result(id: &str, text: &str) -> Json {
    json!({"type": "tool_result", "tool_use_id": id, "content": text})
}

/// Sends the question, and appends the answer and the results of its calls.
#[track_caller]
fn after_calls(strict: Strict, model: &str) -> Client {
    let mut client = client(strict, model);
    let answer = blocks(&client.send().unwrap());
    assert_eq!(answer.len(), 5, "{answer:#?}");
    client.push("messages", json!({"role": "assistant", "content": answer}));
    let results = [result("toolu_a", "a"), result("toolu_b", "b")];
    client.push("messages", json!({"role": "user", "content": results}));
    client
}

fn drop_blocks(body: &mut Json) {
    body["thinking"] = json!({
        "type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    });
}

#[test]
fn an_answer_is_accepted_as_it_came_whatever_the_cache_marks() {
    let client = after_calls(Strict::anthropic(), "claude-opus-5-5");
    // Thinking is hidden unless it is asked for.
    assert_eq!(client.body["messages"][1]["content"][0]["thinking"], "");
    let answered = client.send_changed(|body| {
        let mark = json!({"type": "ephemeral"});
        body["tools"][0]["cache_control"] = mark.clone();
        body["messages"][0]["content"][0]["cache_control"] = mark;
        // A text is the same as a list with one text.
        body["system"] = json!("Be brief.");
        body["messages"][2]["content"][1]["content"] = json!([{"type": "text", "text": "b"}]);
    });
    assert!(answered.is_ok(), "{answered:?}");
}

#[test]
fn a_request_may_ask_to_see_the_thinking() {
    let mut client = client(Strict::anthropic(), "claude-fable-5-2");
    client.body["thinking"] = json!({"type": "adaptive", "display": "summarized"});
    let answer = blocks(&client.send().unwrap());
    assert_eq!(answer[0]["thinking"], "First a.");
}

type Change = (&'static str, fn(&mut Json));

/// Changes that are before the first thinking, or move or remove thinking.
const CHANGES: &[Change] = &[
    ("text", |body| {
        body["messages"][0]["content"][0]["text"] = json!("Go!")
    }),
    ("system", |body| {
        body["system"][0]["text"] = json!("Be long.")
    }),
    ("no system", |body| body["system"] = json!([])),
    ("description", |body| {
        body["tools"][0]["description"] = json!("Runs it.")
    }),
    ("more tools", |body| {
        let mut tool = body["tools"][0].clone();
        tool["name"] = json!("read");
        body["tools"].as_array_mut().unwrap().push(tool);
    }),
    ("a message before", |body| {
        let first = json!({"role": "user", "content": "Hello."});
        body["messages"].as_array_mut().unwrap().insert(0, first);
    }),
    ("another block", |body| {
        let text = json!({"type": "text", "text": "a.txt: 1"});
        body["messages"][0]["content"]
            .as_array_mut()
            .unwrap()
            .push(text);
    }),
];

/// Changes between the first and the second thinking of an answer that has been followed by another.
const LATER: &[Change] = &[
    ("no first thinking", |body| {
        body["messages"][1]["content"]
            .as_array_mut()
            .unwrap()
            .remove(0);
    }),
    ("thinking together", |body| {
        body["messages"][1]["content"]
            .as_array_mut()
            .unwrap()
            .swap(1, 3);
    }),
    ("text changed", |body| {
        body["messages"][1]["content"][1]["text"] = json!("I looked.")
    }),
    ("arguments changed", |body| {
        body["messages"][1]["content"][2]["input"]["command"] = json!("ls -l");
    }),
    ("result changed", |body| {
        body["messages"][2]["content"][0]["content"] = json!("c")
    }),
];

#[test]
fn every_change_before_thinking_is_refused() {
    for strict in [Strict::anthropic, Strict::anthropic_without_dropping] {
        for (name, change) in CHANGES {
            let client = after_calls(strict(), "claude-sonnet-5-5");
            let answered = client.send_changed(change);
            expect_refused(&answered, &format!("content.0: {BOUND}"));
            assert_eq!(client.provider.refusals().len(), 1, "{name}");
            assert!(client.send().is_ok(), "{name}");
        }
    }
}

#[test]
fn every_change_of_an_earlier_answer_is_refused() {
    for (name, change) in LATER {
        let mut client = after_calls(Strict::anthropic(), "claude-haiku-5-5");
        let answer = blocks(&client.send().unwrap());
        client.push("messages", json!({"role": "assistant", "content": answer}));
        client.push("messages", json!({"role": "user", "content": "More."}));
        expect_refused(&client.send_changed(change), BOUND);
        assert!(client.send().is_ok(), "{name}");
    }
}

#[test]
fn changed_thinking_is_dropped_and_reported_where_the_request_asks_for_it() {
    let mut client = after_calls(Strict::anthropic(), "claude-opus-5-5");
    client.body["messages"][0]["content"][0]["text"] = json!("Go!");
    let extra = "thinking.adaptive.block_binding: Extra inputs are not permitted";
    expect_refused(&client.send_changed(drop_blocks), extra);
    client.betas = "thinking-binding-controls-2026-08-01";
    drop_blocks(&mut client.body);
    let events = client.send().unwrap();
    let dropped = |path: &str| {
        json!({
            "type": "thinking_dropped", "path": path, "reason": "prefix_binding_mismatch",
        })
    };
    let both = json!([
        dropped("messages.1.content.0"),
        dropped("messages.1.content.3")
    ]);
    assert_eq!(events[0]["message"]["input_transformations"], both);
    assert_eq!(json!(client.provider.dropped()), both);

    // What the model thinks after the change is valid.
    let answer = blocks(&events);
    client.push("messages", json!({"role": "assistant", "content": answer}));
    client.push("messages", json!({"role": "user", "content": "More."}));
    let events = client.send().unwrap();
    assert_eq!(events[0]["message"]["input_transformations"], both);
}

#[test]
fn an_account_may_refuse_changed_thinking_always() {
    let mut client = after_calls(Strict::anthropic_without_dropping(), "claude-opus-5-5");
    client.betas = "thinking-binding-controls-2026-08-01";
    client.body["messages"][0]["content"][0]["text"] = json!("Go!");
    drop_blocks(&mut client.body);
    expect_refused(&client.send(), BOUND);
    // Without any thinking there is nothing to check.
    let answered = client.send_changed(|body| {
        let content = body["messages"][1]["content"].as_array_mut().unwrap();
        content.retain(|block| block["type"] != "thinking");
    });
    assert!(answered.is_ok(), "{answered:?}");
}

#[test]
fn the_latest_thinking_is_sent_whole_or_not_at_all() {
    let whole = "blocks in the latest assistant message cannot be modified";
    let client = after_calls(Strict::anthropic(), "claude-opus-5-5");
    let changes: [fn(&mut Vec<Json>); 3] = [
        |content| {
            content.remove(3);
        },
        |content| {
            content.remove(0);
        },
        |content| content[0]["thinking"] = json!("First c."),
    ];
    for change in changes {
        let answered = client.send_changed(|body| {
            change(body["messages"][1]["content"].as_array_mut().unwrap());
        });
        expect_refused(&answered, whole);
    }
}

#[test]
fn thinking_that_the_model_cannot_read_is_dropped_in_silence() {
    let mut client = after_calls(Strict::anthropic(), "claude-opus-5-5");
    client.body["model"] = json!("claude-sonnet-5-5");
    let events = client.send().unwrap();
    assert!(events[0]["message"].get("input_transformations").is_none());
    let dropped = client.provider.dropped();
    assert_eq!(dropped[0]["reason"], "model_binding_mismatch");
    // Fable reads it.
    client.body["model"] = json!("claude-fable-5-2");
    client.send().unwrap();
    assert_eq!(client.provider.dropped().len(), 2);
}

#[test]
fn thinking_of_a_colleague_needs_drop_block_with_some_models() {
    for (model, is_bound) in [("claude-sonnet-5-5", true), ("claude-opus-5-5", false)] {
        let theirs = after_calls(Strict::anthropic(), model);
        let service = Strict::anthropic().for_account("second");
        let mut ours = Client {
            provider: Provider::anthropic(["One.", "Two."]).strict(service),
            ..theirs
        };
        assert_eq!(ours.send().is_err(), is_bound, "{model}");
        ours.betas = "thinking-binding-controls-2026-08-01";
        drop_blocks(&mut ours.body);
        ours.send().unwrap();
        let dropped = ours.provider.dropped();
        let reasons: Vec<&Json> = dropped.iter().map(|it| &it["reason"]).collect();
        let expected = ["organization_binding_mismatch"; 2];
        assert_eq!(
            reasons,
            &expected[..if is_bound { 2 } else { 0 }],
            "{model}"
        );
    }
}

#[test]
fn thinking_that_was_not_issued_is_refused() {
    let mut client = client(Strict::anthropic(), "claude-sonnet-4-6");
    let thinking = json!({"type": "thinking", "thinking": "Hm.", "signature": "c2ln"});
    client.push(
        "messages",
        json!({"role": "assistant", "content": [thinking]}),
    );
    client.push("messages", json!({"role": "user", "content": "More."}));
    expect_refused(
        &client.send(),
        "messages.1.content.0: Invalid `signature` in `thinking` block",
    );
}

#[test]
fn a_gateway_without_betas_refuses_the_header() {
    let mut client = client(Strict::anthropic_without_betas(), "claude-opus-5-5");
    client.betas = "thinking-binding-controls-2026-08-01";
    expect_refused(&client.send(), "for the `anthropic-beta` header");
    client.betas = "";
    assert!(client.send().is_ok());
}

fn call(id: &str) -> Json {
    json!({"type": "tool_use", "id": id, "name": "bash", "input": ls()})
}

fn said(role: &str, content: &Json) -> Json {
    json!({"role": role, "content": content})
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table")]
fn messages_have_the_documented_order() {
    let calls = |ids: &[&str]| {
        let calls: Vec<Json> = ids.iter().map(|id| call(id)).collect();
        said("assistant", &json!(calls))
    };
    let results = |ids: &[&str]| {
        let results: Vec<Json> = ids.iter().map(|id| result(id, "ok")).collect();
        said("user", &json!(results))
    };
    let text = |text: &str| json!({"type": "text", "text": text});
    let user = |text: &str| said("user", &json!(text));
    let system = || said("system", &json!("From now on, be long."));
    let accepted = [
        vec![user("One."), user("Two.")],
        vec![user("One."), system()],
        vec![
            user("One."),
            calls(&["a", "b"]),
            results(&["b", "a"]),
            system(),
        ],
        vec![
            user("One."),
            calls(&["a"]),
            said("user", &json!([result("a", "ok"), text("And?")])),
        ],
        vec![
            user("One."),
            calls(&["a", "b"]),
            results(&["a"]),
            results(&["b"]),
        ],
    ];
    for messages in accepted {
        let client = client(Strict::anthropic(), "claude-opus-5-5");
        let answered = client.send_changed(|body| body["messages"] = json!(messages));
        assert!(answered.is_ok(), "{answered:?}\n{messages:#?}");
    }
    let no_result = "`tool_use` ids were found without `tool_result` blocks immediately after: a.";
    let refused = [
        (vec![], "at least one message"),
        (
            vec![system(), user("One.")],
            "use the top-level 'system' parameter",
        ),
        (
            vec![said("assistant", &json!("One."))],
            "must use the \"user\" role",
        ),
        (
            vec![user("One."), said("assistant", &json!("Two.")), system()],
            "must follow a message with role 'user'",
        ),
        (
            vec![user("One."), said("assistant", &json!("Two."))],
            "does not support assistant message prefill",
        ),
        (
            vec![user("One."), said("developer", &json!("Two."))],
            "messages.1.role",
        ),
        (
            vec![user("One."), said("assistant", &json!([])), user("Two.")],
            "must have non-empty content",
        ),
        (
            vec![said("user", &json!([text(" \n")]))],
            "must contain non-whitespace text",
        ),
        (vec![user("One."), calls(&["a"]), user("Two.")], no_result),
        (
            vec![
                user("One."),
                calls(&["a"]),
                said("user", &json!([text("And?"), result("a", "ok")])),
            ],
            no_result,
        ),
        (
            vec![user("One."), calls(&["a"]), user("Two."), results(&["a"])],
            no_result,
        ),
        (
            vec![user("One."), calls(&["b", "a"]), results(&["b"])],
            no_result,
        ),
        (
            vec![results(&["a"])],
            "unexpected `tool_use_id` found in `tool_result` blocks: a.",
        ),
        (
            vec![user("One."), calls(&["a"]), results(&["a", "b"])],
            "unexpected `tool_use_id` found in `tool_result` blocks: b.",
        ),
        (
            vec![user("One."), calls(&["a"]), results(&["a", "a"])],
            "must have a single result",
        ),
        (
            vec![user("One."), calls(&["a", "a"]), results(&["a"])],
            "`tool_use` ids must be unique",
        ),
        (
            vec![
                user("One."),
                calls(&["a"]),
                results(&["a"]),
                calls(&["a"]),
                results(&["a"]),
            ],
            "`tool_use` ids must be unique",
        ),
        (
            vec![user("One."), calls(&["a.b"]), results(&["a.b"])],
            "messages.1.content.0.tool_use.id: String should match pattern",
        ),
        (
            vec![said("user", &json!([call("a")]))],
            "blocks are not permitted in `user` messages",
        ),
    ];
    for (messages, why) in refused {
        let client = client(Strict::anthropic(), "claude-opus-5-5");
        let answered = client.send_changed(|body| body["messages"] = json!(messages));
        expect_refused(&answered, why);
    }
}

#[test]
fn a_result_has_text_images_and_documents_and_only_text_if_the_call_failed() {
    let source = json!({"type": "base64", "media_type": "image/png", "data": "aGk="});
    let image = json!({"type": "image", "source": source});
    let document = json!({"type": "document", "source": source});
    let answer = |content: Json, failed: bool| {
        let client = client(Strict::anthropic(), "claude-opus-5-5");
        let block = json!({
            "type": "tool_result", "tool_use_id": "a", "content": content, "is_error": failed,
        });
        let messages = [
            said("user", &json!("One.")),
            said("assistant", &json!([call("a")])),
            said("user", &json!([block])),
        ];
        client.send_changed(|body| body["messages"] = json!(messages))
    };
    let text = json!({"type": "text", "text": "Look."});
    let accepted = answer(json!([text, image, document]), false);
    assert!(accepted.is_ok(), "{accepted:?}");
    for (content, failed, why) in [
        (
            json!([text, image]),
            true,
            "all content must be type \"text\" if `is_error` is true",
        ),
        (json!([call("b")]), false, "Input tag 'tool_use'"),
        (
            json!([{"type": "text", "text": " "}]),
            false,
            "must contain non-whitespace text",
        ),
        (
            json!([{"type": "image", "source": {"type": "base64"}}]),
            false,
            "Field required",
        ),
        (
            json!({"type": "text"}),
            false,
            "Input should be a valid string or list",
        ),
    ] {
        expect_refused(&answer(content, failed), why);
    }
}

#[test]
fn a_model_before_system_messages_refuses_them() {
    let mut client = client(Strict::anthropic(), "claude-sonnet-4-6");
    client.push("messages", said("system", &json!("Be long.")));
    expect_refused(
        &client.send(),
        "role 'system' is not supported on this model",
    );
}

#[test]
fn a_request_has_at_most_four_cache_marks_and_images_of_five_megabytes() {
    let client = client(Strict::anthropic(), "claude-opus-5-5");
    let answered = client.send_changed(|body| {
        let block = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
        body["messages"][0]["content"] = json!(vec![block; 5]);
    });
    expect_refused(
        &answered,
        "A maximum of 4 blocks with cache_control may be provided. Found 5.",
    );
    let answered = client.send_changed(|body| {
        let data = "A".repeat(5 * 1024 * 1024 + 4);
        let source = json!({"type": "base64", "media_type": "image/png", "data": data});
        body["messages"][0]["content"] = json!([{"type": "image", "source": source}]);
    });
    expect_refused(&answered, "image exceeds 5 MB maximum");
}

const PAGE: (&str, &str) = ("A page", "https://a.test/");

/// A client that offers web searches, after an answer that made one.
#[track_caller]
fn after_search(model: &str) -> Client {
    let answer = Answer::new()
        .searches("srvtoolu_1", "pages", &[PAGE])
        .cites("It is there.", PAGE.0, PAGE.1);
    let mut client = client(Strict::anthropic(), model);
    client.provider =
        Provider::anthropic([answer, Answer::says("Yes.")]).strict(Strict::anthropic());
    client.body["tools"] = json!([{"type": "web_search_20260318", "name": "web_search"}]);
    let answer = blocks(&client.send().unwrap());
    client.push("messages", json!({"role": "assistant", "content": answer}));
    let more = json!([{"type": "text", "text": "More."}]);
    client.push("messages", json!({"role": "user", "content": more}));
    client
}

#[test]
fn results_of_searches_go_back_as_they_came() {
    // Without thinking, so that the blocks are at the same places.
    let client = after_search("claude-haiku-4-5");
    let refused = |change: &dyn Fn(&mut Vec<Json>), why: &str| {
        let answered = client.send_changed(|body| {
            let content = &mut body["messages"][1]["content"];
            let mut blocks = content.as_array().unwrap().clone();
            change(&mut blocks);
            *content = json!(blocks);
        });
        expect_refused(&answered, why);
    };
    refused(
        &|blocks| drop(blocks.remove(0)),
        "must have a corresponding `server_tool_use` block",
    );
    refused(
        &|blocks| drop(blocks.drain(1..)),
        "without a corresponding result block",
    );
    refused(&|blocks| drop(blocks.drain(..2)), "no search result");
    refused(
        &|blocks| blocks[1]["content"][0]["encrypted_content"] = json!("other"),
        "Invalid `encrypted_content`",
    );
    refused(
        &|blocks| blocks[2]["citations"][0]["cited_text"] = json!("other"),
        "Invalid `encrypted_content` or citation",
    );
    assert!(client.send().is_ok());
}

#[test]
fn definitions_of_web_tools_have_only_known_fields_and_one_list() {
    let client = after_search("claude-haiku-4-5");
    for (fields, why) in [
        (json!({"type": "web_search_1999"}), "does not match any"),
        (json!({"name": "search"}), "Input should be 'web_search'"),
        (json!({"limit": 3}), "Extra inputs"),
        (
            json!({"allowed_domains": ["a.test"], "blocked_domains": ["b.test"]}),
            "Only one of",
        ),
        (json!({"allowed_domains": ["https://a.test"]}), "scheme"),
    ] {
        let answered = client.send_changed(|body| {
            for (field, value) in fields.as_object().unwrap() {
                body["tools"][0][field] = value.clone();
            }
        });
        expect_refused(&answered, why);
    }
}

#[test]
fn only_an_answer_that_was_paused_may_come_last() {
    let answer = Answer::new()
        .searches("srvtoolu_1", "pages", &[PAGE])
        .stop("pause_turn");
    let mut client = client(Strict::anthropic(), "claude-opus-5-5");
    client.provider =
        Provider::anthropic([answer, Answer::says("Yes.")]).strict(Strict::anthropic());
    let answer = blocks(&client.send().unwrap());
    client.push("messages", json!({"role": "assistant", "content": answer}));
    let other = client.send_changed(|body| {
        body["messages"][1]["content"] = json!([{"type": "text", "text": "So"}]);
    });
    expect_refused(&other, "prefill");
    assert!(client.send().is_ok());
}
