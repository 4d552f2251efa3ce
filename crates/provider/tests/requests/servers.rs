//! What servers with rules of their own get: IDs of calls, and requests without the
//! parameters that they refuse.

use provider::RefusedParameter;

use super::*;

fn at(base_url: &str) -> Endpoint {
    Endpoint {
        base_url: base_url.to_owned(),
        ..endpoint(Protocol::ChatCompletions)
    }
}

/// Returns the IDs of calls and results in a request of calls with these IDs.
fn wire_ids(base_url: &str, model: &str, ids: &[&str]) -> Vec<(String, String)> {
    let calls = ids.iter().map(|id| call(id, "read", "{}")).collect();
    let results = ids.iter().map(|id| result(id, "a", false)).collect();
    let prompt = prompt(vec![
        user(vec![Part::Text("Go.".to_owned())]),
        assistant(calls),
        user(results),
    ]);
    let parameters = Parameters {
        model: model.to_owned(),
        ..parameters()
    };
    let request = encode(&prompt, &at(base_url), &parameters).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    let messages = body["messages"].as_array().unwrap();
    let calls = messages[1]["tool_calls"].as_array().unwrap();
    let text = |id: &Value| id.as_str().unwrap().to_owned();
    let results = messages[2..].iter().map(|it| text(&it["tool_call_id"]));
    calls
        .iter()
        .map(|it| text(&it["id"]))
        .zip(results)
        .collect()
}

const LOCAL: &str = "http://127.0.0.1:8080/v1";
/// IDs of other servers, some of which are alike after any mapping.
const FOREIGN: [&str; 9] = [
    "toolu_p13a",
    "toolu_p13b",
    "aB3dE6gH9",
    "call_1",
    "call-1",
    "call 1",
    "functions.bash:0",
    "chatcmpl-tool-0123456789abcdef0123456789abcdef",
    "chatcmpl-tool-0123456789abcdef0123456789abcdee",
];

#[test]
fn mistral_gets_ids_of_nine_letters_and_digits() {
    for (base_url, model) in [
        (LOCAL, "mistral-large"),
        (LOCAL, "mistralai/Ministral-8B"),
        ("https://api.mistral.ai/v1", "any"),
    ] {
        let ids = wire_ids(base_url, model, &FOREIGN);
        for (call, result) in &ids {
            assert_eq!(call, result);
            assert_eq!(call.len(), 9, "{call}");
            assert!(call.chars().all(|c| c.is_ascii_alphanumeric()), "{call}");
        }
        let distinct: std::collections::HashSet<_> = ids.iter().collect();
        assert_eq!(distinct.len(), FOREIGN.len());
        assert_eq!(ids[2].0, "aB3dE6gH9", "its own ID is kept");
        // The same in each request, whatever comes before.
        assert_eq!(wire_ids(base_url, model, &FOREIGN[1..]), ids[1..]);
    }
}

#[test]
fn other_servers_get_ids_of_at_most_forty_visible_characters() {
    let ids = wire_ids(LOCAL, "m", &FOREIGN);
    for ((call, result), sent) in ids.iter().zip(FOREIGN) {
        assert_eq!(call, result);
        assert!(
            call.len() <= 40 && call.chars().all(|c| c.is_ascii_graphic()),
            "{call}"
        );
        let fits = sent.len() <= 40 && !sent.contains(' ');
        assert_eq!(call == sent, fits, "{call} for {sent}");
    }
    let distinct: std::collections::HashSet<_> = ids.iter().collect();
    assert_eq!(distinct.len(), FOREIGN.len());
}

/// Returns the refused parameter of an error, and the body without it.
fn without(parameters: &Parameters, status: u16, error: &str) -> Option<(String, Value)> {
    let mut request = request(
        Protocol::ChatCompletions,
        &prompt(conversation()),
        parameters,
    );
    let refused = RefusedParameter::of_answer(status, error.as_bytes(), &request)?;
    refused.apply(&mut request.body);
    Some((
        refused.to_string(),
        serde_json::from_slice(&request.body).unwrap(),
    ))
}

fn all_parameters() -> Parameters {
    Parameters {
        max_tokens: Some(4000),
        temperature: Some(0.5),
        thinking: Some(Thinking::Level(provider::ThinkingLevel::High)),
        ..parameters()
    }
}

#[test]
fn a_refused_parameter_is_renamed_or_left_out() {
    for (error, expected, name) in [
        (
            r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.","param":"max_tokens","code":"unsupported_parameter"}}"#,
            "max_tokens, so it is sent as max_completion_tokens",
            "max_tokens",
        ),
        (
            r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.5 with this model. Only the default (1) value is supported.","param":"temperature"}}"#,
            "temperature, so it is left out",
            "temperature",
        ),
        (
            r#"{"error":{"message":"invalid temperature: only 1 is allowed for this model"}}"#,
            "temperature, so it is left out",
            "temperature",
        ),
        (
            r#"{"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","stream_options"],"msg":"Extra inputs are not permitted"}]}}"#,
            "stream_options, so it is left out",
            "stream_options",
        ),
        (
            r#"{"object":"error","message":"[{'type': 'extra_forbidden', 'loc': ('body', 'reasoning_effort'), 'msg': 'Extra inputs are not permitted'}]"}"#,
            "reasoning_effort, so it is left out",
            "reasoning_effort",
        ),
        (
            r#"{"error":"Argument not supported on this model: reasoning_effort"}"#,
            "reasoning_effort, so it is left out",
            "reasoning_effort",
        ),
        (
            r#"{"error":{"message":"Unrecognized request argument supplied: stream_options"}}"#,
            "stream_options, so it is left out",
            "stream_options",
        ),
    ] {
        for status in [400, 422] {
            let (said, body) = without(&all_parameters(), status, error).unwrap();
            assert_eq!(said, expected, "{error}");
            assert_eq!(body.get(name), None, "{error}");
            let renamed = body.get("max_completion_tokens").is_some();
            assert_eq!(renamed, expected.contains("max_completion_tokens"));
        }
        assert_eq!(without(&all_parameters(), 401, error), None);
    }
}

#[test]
fn other_errors_leave_the_request_alone() {
    for error in [
        r#"{"error":{"message":"messages.1.content.0.temperature: unexpected value"}}"#,
        r#"{"error":{"message":"model is not supported"}}"#,
        r#"{"error":{"message":"Unsupported parameter: 'top_k'","param":"top_k"}}"#,
        r#"{"error":{"message":"tools are not supported by this model","param":"tools"}}"#,
        r#"{"error":{"message":"max_tokens must be positive","param":"max_tokens"}}"#,
        "temperature",
        "",
    ] {
        assert_eq!(without(&all_parameters(), 400, error), None, "{error}");
    }
}

#[test]
fn what_was_refused_before_is_not_sent_again_and_the_rest_keeps_its_bytes() {
    let error = r#"{"error":{"message":"'temperature' is not supported","param":"temperature"}}"#;
    let first = request(
        Protocol::ChatCompletions,
        &prompt(conversation()),
        &all_parameters(),
    );
    let refused = RefusedParameter::of_answer(400, error.as_bytes(), &first).unwrap();
    let later = Parameters {
        refused: vec![refused],
        ..all_parameters()
    };
    let body = request(Protocol::ChatCompletions, &prompt(conversation()), &later).body;
    let expected = String::from_utf8(first.body)
        .unwrap()
        .replace("\"temperature\":0.5,", "");
    assert_eq!(String::from_utf8(body).unwrap(), expected);
}

#[test]
fn openai_gets_the_newer_name_of_the_token_limit_at_once() {
    let endpoint = at("https://api.openai.com/v1");
    let request = encode(&prompt(conversation()), &endpoint, &all_parameters()).unwrap();
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(body["max_completion_tokens"], 4000);
    assert_eq!(body.get("max_tokens"), None);
}
