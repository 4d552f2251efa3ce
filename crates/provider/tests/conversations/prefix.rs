//! A request starts with the bytes of the previous request, so that every provider's cache
//! hits.

use chat::prompt::{Part, Prompt, PromptMessage, PromptRole, Signature};
use chat::tool::{ToolDefinition, ToolUseId};
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn words() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "a",
        "Grüß\n  dich",
        "\"quoted\"",
        "```\ncode\n```",
        "\\",
        "]}",
    ])
    .prop_map(str::to_owned)
}

fn thinking() -> impl Strategy<Value = Part> {
    // The last one is an OpenAI reasoning item in base64.
    let item =
        "eyJ0eXBlIjoicmVhc29uaW5nIiwiaWQiOiJyIiwic3VtbWFyeSI6W10sImVuY3J5cHRlZF9jb250ZW50IjoieCJ9";
    let value = prop::sample::select(vec!["", "c2ln", item]);
    let provider = prop::sample::select(vec!["anthropic", "openai", "gemini", "deepseek", "other"]);
    (words(), prop::option::of((provider, value)), any::<bool>()).prop_map(
        |(text, signature, redacted)| Part::Thinking {
            text,
            signature: signature.map(|(provider, value)| Signature {
                provider: provider.to_owned(),
                value: value.to_owned(),
            }),
            redacted,
        },
    )
}

/// A model's answer, with call IDs that `turn` makes unique.
fn said() -> impl Strategy<Value = Vec<(Part, bool)>> {
    let call = (
        prop::sample::select(vec!["urn:x", "c.d", "toolu_1"]),
        prop::sample::select(vec!["{}", "{\"a\": 1.0}", "no"]),
    )
        .prop_map(|(id, input)| Part::ToolUse {
            id: ToolUseId::new(id),
            name: "bash".to_owned(),
            input: input.to_owned(),
        });
    let part = prop_oneof![words().prop_map(Part::Text), thinking(), call];
    prop::collection::vec((part, any::<bool>()), 1..5)
}

/// A turn: the model's answer, and the user's text next to the results of its calls.
fn turns() -> impl Strategy<Value = Vec<(Vec<(Part, bool)>, String)>> {
    prop::collection::vec((said(), words()), 2..5)
}

fn user(parts: Vec<Part>) -> PromptMessage {
    PromptMessage {
        role: PromptRole::User,
        parts,
    }
}

/// Returns the prompt after each turn, starting with the question.
fn prompts(turns: Vec<(Vec<(Part, bool)>, String)>) -> Vec<Prompt> {
    let mut messages = vec![user(vec![Part::Text("Go.".to_owned())])];
    let mut prompts = vec![prompt(&messages)];
    for (turn, (said, words)) in turns.into_iter().enumerate() {
        let mut parts = Vec::new();
        let mut answers = Vec::new();
        for (at, (mut part, is_error)) in said.into_iter().enumerate() {
            if let Part::ToolUse { id, name, .. } = &mut part {
                *id = ToolUseId::new(format!("{id}_{turn}_{at}"));
                answers.push(Part::ToolResult {
                    tool_use_id: id.clone(),
                    name: name.clone(),
                    content: words.clone(),
                    is_error,
                });
            }
            parts.push(part);
        }
        answers.push(Part::Text(words));
        messages.push(PromptMessage {
            role: PromptRole::Assistant,
            parts,
        });
        messages.push(user(answers));
        prompts.push(prompt(&messages));
    }
    prompts
}

fn prompt(messages: &[PromptMessage]) -> Prompt {
    let tool = |name: &str| ToolDefinition {
        name: name.to_owned(),
        description: "Runs.".to_owned(),
        input_schema: json!({"type": "object", "properties": {}}),
        strict: false,
        keywords: Vec::new(),
    };
    Prompt {
        system: Some("Be brief.".to_owned()),
        messages: messages.to_vec(),
        tools: vec![tool("read"), tool("bash")],
    }
}

/// Returns a body up to the end of the last message, without the marks that move from turn
/// to turn, which a cache ignores.
fn stable(prompt: &Prompt, provider: &str, protocol: Protocol) -> String {
    let body = body(prompt, provider, protocol);
    body.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

proptest! {
    #[test]
    fn a_request_starts_with_the_bytes_of_the_previous_one(turns in turns()) {
        let prompts = prompts(turns);
        for (provider, protocol) in PROVIDERS {
            for pair in prompts.windows(2) {
                let before = stable(&pair[0], provider, protocol);
                let after = stable(&pair[1], provider, protocol);
                let shared = before.strip_suffix("]}").unwrap();
                prop_assert!(after.starts_with(shared), "{provider}\n{before}\n{after}");
            }
        }
    }
}
