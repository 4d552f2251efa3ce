//! Servers that do not know a feature, and thinking that they refuse.

use agent::transport::{self, Asker};
use chat::document::Document;
use chat::prompt;
use chat::text::Text;
use harness::Answer;
use provider::{Endpoint, Parameters, Protocol, StreamEvent, catalogue};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

const UNKNOWN: &str = r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "Unexpected value(s) `thinking-binding-controls-2026-08-01` for the `anthropic-beta` header."}}"#;
const BOUND: &str = r#"{"type": "error", "error": {"type": "invalid_request_error", "message": "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation."}}"#;

struct Nobody;

impl Asker for Nobody {}

/// Sends a chat with thinking to a model that binds it, and returns the events.
async fn send(provider: &harness::Provider) -> Vec<StreamEvent> {
    let model = "claude-opus-5-5";
    let endpoint = Endpoint {
        provider: "anthropic".to_owned(),
        protocol: Protocol::AnthropicMessages,
        base_url: provider.url(),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    };
    let parameters = Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model("anthropic", model, None)),
        ..Parameters::default()
    };
    let chat = "@You:\nHi.\n\n@Assistant:\n<thinking anthropic:signature=\"c2ln\"/>\n\nHello.\n\n@You:\nGo on.\n";
    let prompt = prompt::build(&Document::parse(&Text::from_bytes(chat)), &[]);
    let (events, mut batches) = mpsc::unbounded_channel();
    let cancel = CancellationToken::new();
    transport::send(prompt, endpoint, parameters, events, &Nobody, cancel).await;
    let mut all = Vec::new();
    while let Ok(batch) = batches.try_recv() {
        all.extend(batch);
    }
    all
}

fn is_bound(body: &Value) -> bool {
    body["thinking"].get("block_binding").is_some()
}

fn has_thinking(body: &Value) -> bool {
    body["messages"].to_string().contains("c2ln")
}

#[tokio::test]
async fn a_feature_that_a_server_does_not_know_is_left_out_there_from_then_on() {
    let provider = harness::Provider::anthropic([
        Answer::status(400, UNKNOWN),
        Answer::says("One."),
        Answer::says("Two."),
    ]);

    let first = send(&provider).await;
    let second = send(&provider).await;

    let requests = provider.requests();
    let sent: Vec<(bool, bool)> = requests
        .iter()
        .map(|it| (is_bound(&it.body), has_thinking(&it.body)))
        .collect();
    assert_eq!(sent, [(true, true), (false, false), (false, false)]);
    let Some(StreamEvent::Remark(remark)) = first.first() else {
        panic!("{first:?}");
    };
    assert!(
        remark.ends_with(
            "does not support block_binding, so the model's signed thinking is not sent there."
        ),
        "{remark}"
    );
    assert!(
        first.contains(&StreamEvent::Text("One.".to_owned())),
        "{first:?}"
    );
    assert!(
        !second.iter().any(|it| matches!(it, StreamEvent::Remark(_))),
        "{second:?}"
    );
}

#[tokio::test]
async fn a_server_that_refuses_again_is_not_asked_for_ever() {
    let refusals = std::iter::repeat_n(Answer::status(400, UNKNOWN), 4);
    let provider = harness::Provider::anthropic(refusals);

    let events = send(&provider).await;

    // Without the feature, and then without the parameter that the error names.
    assert_eq!(provider.requests().len(), 3);
    assert!(
        matches!(events.last(), Some(StreamEvent::Error(_))),
        "{events:?}"
    );
}

#[tokio::test]
async fn refused_thinking_is_reported_before_the_error() {
    let provider = harness::Provider::anthropic([Answer::status(400, BOUND)]);

    let events = send(&provider).await;

    let [StreamEvent::ThinkingRefused, StreamEvent::Error(problem)] = events.as_slice() else {
        panic!("{events:?}");
    };
    assert!(
        problem.what.contains("bound to a different conversation"),
        "{problem}"
    );
    assert!(
        problem
            .fix
            .starts_with("Press Ctrl-] to send the chat without it"),
        "{problem}"
    );
    assert_eq!(provider.requests().len(), 1);
}
