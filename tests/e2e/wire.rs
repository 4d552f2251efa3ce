//! What the providers' documentations demand of a request, checked on a body as it
//! was received: whatever stands in the chat, it must be one that is answered.

use serde_json::Value as Json;

/// Fails when Anthropic's Messages API would refuse the conversation: roles take
/// turns, nothing is empty, and the calls of an answer have their results, each
/// one, first in the message after it.
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

/// Fails when a Chat Completions server would refuse the conversation: the calls
/// of an answer have their results, each one, in the messages right after it.
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
