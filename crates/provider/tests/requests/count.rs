//! Requests that count the tokens of others.

use provider::{count_request, read_count};

use super::*;

/// The path and the names of the fields of the request that counts a conversation's tokens.
fn counting(endpoint: &Endpoint) -> Option<(String, Value)> {
    let prompt = Prompt {
        system: Some("You are kind.".to_owned()),
        messages: conversation(),
        tools: vec![tool("write", false)],
    };
    let counted = encode(&prompt, endpoint, &parameters()).unwrap();
    let request = count_request(&counted, endpoint)?;
    assert!(!request.headers.iter().any(|(name, _)| name == "accept"));
    let keys = |it: &HttpRequest| it.headers.len();
    assert_eq!(keys(&request) + 1, keys(&counted));
    let base = endpoint.base_url.trim_end_matches('/');
    let path = request.url.strip_prefix(base).unwrap();
    Some((
        path.to_owned(),
        serde_json::from_slice(&request.body).unwrap(),
    ))
}

fn fields(body: &Value) -> Vec<&str> {
    body.as_object().unwrap().keys().map(|it| &**it).collect()
}

#[test]
fn each_protocol_has_its_own_endpoint_that_takes_no_more_than_it_knows() {
    let (path, body) = counting(&endpoint(Protocol::AnthropicMessages)).unwrap();
    assert_eq!(path, "/v1/messages/count_tokens");
    for name in fields(&body) {
        assert!(
            !["stream", "max_tokens", "temperature"].contains(&name),
            "{name}"
        );
    }
    assert_eq!(
        body["messages"].as_array().unwrap().len(),
        conversation().len()
    );
    assert!(body["tools"].is_array() && body["system"].is_array() && body["model"].is_string());

    let (path, body) = counting(&endpoint(Protocol::Responses)).unwrap();
    assert!(path.ends_with("/responses/input_tokens"), "{path}");
    for name in fields(&body) {
        let known = ["model", "input", "instructions", "tools", "reasoning"];
        assert!(known.contains(&name), "{name}");
    }
    assert_eq!(body["instructions"], "You are kind.");

    let (path, body) = counting(&endpoint(Protocol::Gemini)).unwrap();
    assert!(path.ends_with(":countTokens"), "{path}");
    let whole = &body["generateContentRequest"];
    let model = whole["model"].as_str().unwrap();
    assert!(path.contains(&format!("/{model}:")), "{model} in {path}");
    assert!(whole["contents"].is_array() && whole["systemInstruction"].is_object());

    let mut vertex = endpoint(Protocol::Gemini);
    vertex.provider = "vertex".to_owned();
    let (_, body) = counting(&vertex).unwrap();
    assert!(body["contents"].is_array() && body["generateContentRequest"].is_null());

    assert_eq!(counting(&endpoint(Protocol::ChatCompletions)), None);
}

#[test]
fn only_a_number_is_read() {
    for (protocol, answer, expected) in [
        (
            Protocol::AnthropicMessages,
            r#"{"input_tokens": 14}"#,
            Some(14),
        ),
        (
            Protocol::Responses,
            r#"{"object": "response.input_tokens", "input_tokens": 11}"#,
            Some(11),
        ),
        (
            Protocol::Gemini,
            r#"{"totalTokens": 31, "cachedContentTokenCount": 4}"#,
            Some(31),
        ),
        (Protocol::AnthropicMessages, r#"{"input_tokens": -1}"#, None),
        (Protocol::AnthropicMessages, "<html>", None),
        (Protocol::Gemini, "[]", None),
        (Protocol::ChatCompletions, r#"{"input_tokens": 14}"#, None),
    ] {
        assert_eq!(
            read_count(protocol, answer.as_bytes()),
            expected,
            "{answer}"
        );
    }
}
