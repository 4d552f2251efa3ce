//! Errors that another request avoids.
#![allow(clippy::unwrap_used)]

use provider::{Endpoint, Feature, Parameters, Protocol, ServerRefusal, explain, refusal};

fn endpoint(protocol: Protocol) -> Endpoint {
    Endpoint {
        provider: "anthropic".to_owned(),
        protocol,
        base_url: "https://gateway.example/anthropic".to_owned(),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    }
}

fn refused(message: &str, parameters: &Parameters) -> Option<ServerRefusal> {
    let body = serde_json::json!({"type": "error", "error": {"message": message}}).to_string();
    let endpoint = endpoint(Protocol::AnthropicMessages);
    refusal(&endpoint, parameters, 400, body.as_bytes())
}

const BOUND: &str = "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".";

#[test]
fn a_feature_that_the_error_names_is_left_out() {
    use Feature::{BlockBinding, SystemMessages, ToolChanges};
    for (message, feature) in [
        (
            "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header.",
            BlockBinding,
        ),
        (
            "thinking.adaptive.block_binding: Extra inputs are not permitted",
            BlockBinding,
        ),
        (
            "thinking.block_binding requires the beta header thinking-binding-controls-2026-08-01",
            BlockBinding,
        ),
        ("invalid beta flag", BlockBinding),
        (
            "Unexpected value(s) `inline-tools-2026-09-15` for the `anthropic-beta` header.",
            ToolChanges,
        ),
        (
            "messages.3.content.1: Input tag 'tool_addition' found using 'type' does not match any of the expected tags",
            ToolChanges,
        ),
        (
            "messages.3.role: Input should be 'user' or 'assistant'",
            SystemMessages,
        ),
        (
            "messages: Unexpected role \"system\". Use the top-level system parameter.",
            SystemMessages,
        ),
    ] {
        let parameters = Parameters::default();
        assert_eq!(
            refused(message, &parameters),
            Some(ServerRefusal::Feature(feature)),
            "{message}"
        );
        let mut without = Parameters::default();
        without.without.add(feature);
        assert_ne!(
            refused(message, &without),
            Some(ServerRefusal::Feature(feature)),
            "{message}"
        );
    }
}

#[test]
fn a_beta_flag_without_a_name_leaves_out_one_feature_after_the_other() {
    let mut parameters = Parameters::default();
    let mut left_out = Vec::new();
    while let Some(ServerRefusal::Feature(feature)) = refused("invalid beta flag", &parameters) {
        parameters.without.add(feature);
        left_out.push(feature);
    }
    assert_eq!(left_out, [Feature::BlockBinding, Feature::ToolChanges]);
}

#[test]
fn thinking_of_another_conversation_is_explained_and_left_out_once() {
    let mut parameters = Parameters::default();
    assert_eq!(
        refused(BOUND, &parameters),
        Some(ServerRefusal::BoundThinking)
    );
    parameters.without.signed_thinking = true;
    assert_eq!(refused(BOUND, &parameters), None);

    let body = serde_json::json!({"error": {"message": BOUND}}).to_string();
    let endpoint = endpoint(Protocol::AnthropicMessages);
    let problem = explain(
        &endpoint,
        400,
        Some("application/json"),
        None,
        body.as_bytes(),
    );
    assert!(
        problem.what.starts_with("Something before the model's earlier thinking has changed since it was sent, so Anthropic refuses that thinking (400, messages.1.content.0:"),
        "{problem}"
    );
    assert_eq!(
        problem.fix,
        "Press Ctrl-] to send the chat without it; the conversation is unchanged."
    );
}

#[test]
fn other_errors_leave_nothing_out() {
    let parameters = Parameters::default();
    for message in ["max_tokens: must be positive", "overloaded", ""] {
        assert_eq!(refused(message, &parameters), None, "{message}");
    }
    let body = br#"{"error": {"message": "block_binding: unknown"}}"#;
    assert_eq!(
        refusal(&endpoint(Protocol::Responses), &parameters, 400, body),
        None
    );
    let anthropic = endpoint(Protocol::AnthropicMessages);
    assert_eq!(refusal(&anthropic, &parameters, 500, body), None);
}
