//! Checks request bodies against the rules in the providers' documentation.

use serde_json::Value as Json;

/// Fails if Anthropic's Messages API would refuse the conversation: roles must alternate, nothing may
/// be empty, and the message after an answer must start with one result for each of its calls.
#[track_caller]
pub fn expect_valid_messages(body: &Json) {
    let messages = list(&body["messages"]);
    assert_eq!(messages.first().map(|it| &it["role"]), Some(&"user".into()));
    assert_eq!(messages.last().map(|it| &it["role"]), Some(&"user".into()));
    let mut open: Vec<&Json> = Vec::new();
    for (at, message) in messages.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "assistant" };
        assert_eq!(message["role"], role, "{messages:#?}");
        let content = list(&message["content"]);
        assert!(!content.is_empty(), "{messages:#?}");
        for block in content.iter().filter(|block| block["type"] == "text") {
            let text = block["text"].as_str().unwrap();
            assert!(!text.trim().is_empty(), "{messages:#?}");
        }
        let answered = ids(content, "tool_result", "tool_use_id");
        assert_eq!(answered, open, "{messages:#?}");
        let results_first = content.iter().take(answered.len());
        assert!(
            results_first
                .into_iter()
                .all(|block| block["type"] == "tool_result")
        );
        open = ids(content, "tool_use", "id");
        expect_unique(&open);
    }
}

/// Fails if a Chat Completions server would refuse the conversation: the messages directly after an
/// answer must be one result for each of its calls.
#[track_caller]
pub fn expect_valid_completion(body: &Json) {
    let messages = list(&body["messages"]);
    let mut open: Vec<&Json> = Vec::new();
    for message in messages {
        match message["role"].as_str().unwrap() {
            "tool" => {
                let id = &message["tool_call_id"];
                let found = open.iter().position(|it| *it == id);
                open.remove(found.unwrap_or_else(|| panic!("{id} in {messages:#?}")));
            }
            "assistant" => {
                assert!(open.is_empty(), "{messages:#?}");
                let calls = message["tool_calls"].as_array();
                open = calls
                    .into_iter()
                    .flatten()
                    .map(|call| &call["id"])
                    .collect();
                expect_unique(&open);
                for call in calls.into_iter().flatten() {
                    let arguments = call["function"]["arguments"].as_str().unwrap();
                    serde_json::from_str::<Json>(arguments).unwrap();
                }
            }
            _ => assert!(open.is_empty(), "{messages:#?}"),
        }
    }
    assert!(open.is_empty(), "{messages:#?}");
}

/// Fails if OpenAI's Responses API would refuse the conversation: each call must have a result before
/// the next message, and an item must follow reasoning.
#[track_caller]
pub fn expect_valid_input(body: &Json) {
    let items = list(&body["input"]);
    let mut open: Vec<&Json> = Vec::new();
    for (at, item) in items.iter().enumerate() {
        match item["type"].as_str() {
            Some("function_call") => open.push(&item["call_id"]),
            Some("function_call_output") => {
                let found = open.iter().position(|it| *it == &item["call_id"]);
                open.remove(found.unwrap_or_else(|| panic!("{item} in {items:#?}")));
            }
            Some("reasoning") => {
                let next = items.get(at + 1).unwrap_or(&Json::Null);
                let is_models = next["role"] == "assistant" || next["type"] != "message";
                assert!(is_models && next["role"] != "user", "{items:#?}");
            }
            _ => assert!(item["role"] == "assistant" || open.is_empty(), "{items:#?}"),
        }
        expect_unique(&open);
    }
    assert!(open.is_empty(), "{items:#?}");
}

/// Fails if Gemini's API would refuse the conversation: roles must alternate, nothing may be empty, and
/// the message after calls must have as many results.
#[track_caller]
pub fn expect_valid_contents(body: &Json) {
    let contents = list(&body["contents"]);
    let mut open: Vec<&Json> = Vec::new();
    for (at, content) in contents.iter().enumerate() {
        let role = if at % 2 == 0 { "user" } else { "model" };
        assert_eq!(content["role"], role, "{contents:#?}");
        let parts = list(&content["parts"]);
        assert!(!parts.is_empty(), "{contents:#?}");
        let names = |key: &str| -> Vec<&Json> {
            let calls = parts.iter().filter(|part| part.get(key).is_some());
            calls.map(|part| &part[key]["name"]).collect()
        };
        assert_eq!(names("functionResponse"), open, "{contents:#?}");
        open = names("functionCall");
    }
    assert!(open.is_empty(), "{contents:#?}");
}

#[track_caller]
fn list(value: &Json) -> &[Json] {
    value
        .as_array()
        .unwrap_or_else(|| panic!("no list: {value}"))
}

fn ids<'a>(content: &'a [Json], kind: &str, key: &str) -> Vec<&'a Json> {
    let blocks = content.iter().filter(|block| block["type"] == kind);
    blocks.map(|block| &block[key]).collect()
}

#[track_caller]
fn expect_unique(ids: &[&Json]) {
    for (at, id) in ids.iter().enumerate() {
        assert!(!ids[..at].contains(id), "{id} twice");
    }
}
