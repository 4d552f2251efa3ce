//! Requests to Gemini, with a key and on Vertex AI.

use provider::catalogue::ThinkingKind;
use provider::{ThinkingLevel, catalogue};

use super::*;

const GEMINI: Protocol = Protocol::Gemini;

fn model(name: &str) -> Parameters {
    Parameters {
        model: name.to_owned(),
        about: Box::new(catalogue::model("gemini", name, None)),
        ..Parameters::default()
    }
}

/// Returns the contents of these messages for a model.
fn contents(name: &str, messages: Vec<PromptMessage>) -> Value {
    body(GEMINI, &prompt(messages), &model(name))["contents"].take()
}

fn signed(value: &str) -> Part {
    thinking("", Some(("gemini", value)))
}

fn config(name: &str, thinking: Thinking) -> Value {
    let parameters = Parameters {
        thinking: Some(thinking),
        ..model(name)
    };
    let prompt = prompt(vec![user(vec![text("Hi")])]);
    body(GEMINI, &prompt, &parameters)["generationConfig"]["thinkingConfig"].take()
}

#[test]
fn a_request_has_the_form_of_the_api() {
    let mut prompt = prompt(conversation());
    prompt.system = Some("Be brief.".to_owned());
    prompt.tools = vec![tool("write", true), tool("bash", false)];
    let parameters = Parameters {
        max_tokens: Some(100),
        temperature: Some(0.5),
        ..model("gemini-2.5-pro")
    };

    let request = request(GEMINI, &prompt, &parameters);

    assert_eq!(
        request.url,
        "https://generativelanguage.googleapis.com/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse"
    );
    assert!(headers(&request).contains(&("x-goog-api-key", "sk-1")));
    let schema = json!({"type": "object", "properties": {}});
    let body: Value = serde_json::from_slice(&request.body).unwrap();
    assert_eq!(
        body,
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "tools": [{"functionDeclarations": [
                {"name": "write", "description": "Runs write.", "parametersJsonSchema": schema},
                {"name": "bash", "description": "Runs bash.", "parametersJsonSchema": schema},
            ]}],
            "toolConfig": {"functionCallingConfig": {"mode": "AUTO"}},
            "generationConfig": {"maxOutputTokens": 100, "temperature": 0.5},
            "contents": [
                {"role": "user", "parts": [{"text": "List the files.\n\n    indented"}]},
                {"role": "model", "parts": [
                    {"text": "I look."},
                    {"functionCall": {"id": "call_1", "name": "bash", "args": {"z": 1.0, "a": "ls"}}},
                ]},
                {"role": "user", "parts": [
                    {"functionResponse": {"id": "call_1", "name": "bash", "response": {"output": "a.rs"}}},
                    {"text": "And then?"},
                ]},
            ],
        })
    );
}

#[test]
fn vertex_gets_a_token_and_its_project_in_the_url() {
    let endpoint = Endpoint {
        provider: "vertex".to_owned(),
        base_url: "https://h/v1beta1/projects/p/locations/global/publishers/google".to_owned(),
        ..endpoint(GEMINI)
    };
    let request = encode(
        &prompt(conversation()),
        &endpoint,
        &model("models/gemini 3?"),
    )
    .unwrap();

    assert_eq!(
        request.url,
        "https://h/v1beta1/projects/p/locations/global/publishers/google/models/gemini%203%3F:streamGenerateContent?alt=sse"
    );
    assert!(headers(&request).contains(&("authorization", "Bearer sk-1")));
}

#[test]
fn a_failed_result_is_an_error_with_the_tools_name() {
    let messages = vec![
        assistant(vec![call("x", "bash", "{}")]),
        user(vec![result("x", "no", true)]),
    ];

    let contents = contents("gemini-2.5-pro", messages);

    assert_eq!(
        contents[1]["parts"],
        json!([{"functionResponse": {"id": "x", "name": "bash", "response": {"error": "no"}}}])
    );
}

#[test]
fn each_part_gets_the_signature_before_it() {
    let messages = vec![
        assistant(vec![
            thinking("I look.", Some(("gemini", "S0"))),
            text("Both."),
            signed("S1"),
            call("a", "bash", "{}"),
            signed("S2"),
            call("b", "bash", "{}"),
            call("c", "bash", "{}"),
            signed("S3"),
        ]),
        user(vec![text("Go on.")]),
    ];

    let contents = contents("gemini-3-pro-preview", messages);

    let of = |id: &str| json!({"id": id, "name": "bash", "args": {}});
    assert_eq!(
        contents[0]["parts"],
        json!([
            {"text": "Both.", "thoughtSignature": "S0"},
            {"functionCall": of("a"), "thoughtSignature": "S1"},
            {"functionCall": of("b"), "thoughtSignature": "S2"},
            {"functionCall": of("c")},
            {"text": "", "thoughtSignature": "S3"},
        ])
    );
}

#[test]
fn a_separate_signature_is_not_given_to_the_next_call() {
    let messages = vec![
        assistant(vec![
            text("One two."),
            signed("S1"),
            signed(""),
            call("a", "bash", "{}"),
        ]),
        user(vec![text("Go on.")]),
    ];

    let contents = contents("gemini-2.5-pro", messages);

    assert_eq!(
        contents[0]["parts"],
        json!([
            {"text": "One two."},
            {"text": "", "thoughtSignature": "S1"},
            {"functionCall": {"id": "a", "name": "bash", "args": {}}},
        ])
    );
}

#[test]
fn foreign_thinking_is_not_sent_and_its_calls_are_marked_where_required() {
    let messages = || {
        vec![
            assistant(vec![
                thinking("Hm.", Some(("anthropic", "A"))),
                thinking("Hm.", Some(("vertex", "V"))),
                call("a", "bash", "{}"),
                call("b", "bash", "{}"),
            ]),
            user(vec![text("Go on.")]),
        ]
    };

    let strict = contents("gemini-3-pro-preview", messages());
    let lenient = contents("gemini-2.5-pro", messages());

    let signatures = |contents: &Value| {
        let parts = contents[0]["parts"].as_array().unwrap().iter();
        parts
            .map(|part| part["thoughtSignature"].clone())
            .collect::<Vec<_>>()
    };
    let mark = json!("skip_thought_signature_validator");
    assert_eq!(signatures(&strict), [mark, Value::Null]);
    assert_eq!(signatures(&lenient), [Value::Null, Value::Null]);
}

#[test]
fn thinking_after_the_calls_as_in_older_files_signs_the_first() {
    let messages = vec![
        assistant(vec![
            text("I look."),
            call("a", "bash", "{}"),
            thinking("Hm.", Some(("gemini", "S"))),
        ]),
        user(vec![text("Go on.")]),
    ];

    let contents = contents("gemini-3-pro-preview", messages);

    assert_eq!(contents[0]["parts"][1]["thoughtSignature"], "S");
    assert_eq!(contents[0]["parts"].as_array().unwrap().len(), 2);
}

#[test]
fn an_answer_of_only_foreign_thinking_is_omitted() {
    let messages = vec![
        user(vec![text("Hi")]),
        assistant(vec![thinking("Hm.", Some(("anthropic", "A")))]),
        user(vec![text("Go on.")]),
    ];

    let contents = contents("gemini-2.5-pro", messages);

    assert_eq!(contents.as_array().unwrap().len(), 2);
}

#[test]
fn thinking_is_a_budget_or_a_level_depending_on_the_model() {
    let high = Thinking::Level(ThinkingLevel::High);
    for (name, wanted, expected) in [
        (
            "gemini-2.5-pro",
            high,
            json!({"includeThoughts": true, "thinkingBudget": 16384}),
        ),
        (
            "gemini-2.5-flash-lite",
            Thinking::Budget(1),
            json!({"includeThoughts": true, "thinkingBudget": 512}),
        ),
        (
            "gemini-2.5-flash",
            Thinking::Budget(99_999),
            json!({"includeThoughts": true, "thinkingBudget": 24576}),
        ),
        (
            "gemini-2.5-flash",
            Thinking::Off,
            json!({"thinkingBudget": 0}),
        ),
        (
            "gemini-2.5-pro",
            Thinking::Off,
            json!({"thinkingBudget": 128}),
        ),
        (
            "gemini-3-pro-preview",
            Thinking::Level(ThinkingLevel::Max),
            json!({"includeThoughts": true, "thinkingLevel": "HIGH"}),
        ),
        (
            "gemini-3-flash-preview",
            Thinking::Budget(8000),
            json!({"includeThoughts": true, "thinkingLevel": "MEDIUM"}),
        ),
        (
            "gemini-3-flash-preview",
            Thinking::Off,
            json!({"thinkingLevel": "MINIMAL"}),
        ),
        ("gemini-2.0-flash", high, Value::Null),
        (
            "tuned",
            high,
            json!({"includeThoughts": true, "thinkingBudget": 16384}),
        ),
    ] {
        assert_eq!(config(name, wanted), expected, "{name} {wanted:?}");
    }
}

#[test]
fn images_and_pdfs_are_parts_and_other_files_are_text() {
    let parts = vec![
        image("image/png"),
        pdf(),
        text_file(),
        image("image/gif"),
        text("What?"),
    ];

    let contents = contents("gemini-2.5-pro", vec![user(parts)]);

    assert_eq!(
        contents[0]["parts"],
        json!([
            {"inlineData": {"mimeType": "image/png", "data": "aGk="}},
            {"inlineData": {"mimeType": "application/pdf", "data": "aGk="}},
            {"text": "@./c.txt:\n```\nc\n```"},
            {"text": "@./a.png"},
            {"text": "What?"},
        ])
    );
}

#[test]
fn the_files_of_a_result_are_parts_of_its_response_since_gemini_3() {
    let response = |thinking| {
        let about = Model {
            thinking,
            ..Model::default()
        };
        let parameters = Parameters {
            about: Box::new(about),
            ..parameters()
        };
        let mut body = body(GEMINI, &shows_files(), &parameters);
        body["contents"][2]["parts"][0]["functionResponse"].take()
    };
    let data = |mime: &str| json!({"inlineData": {"mimeType": mime, "data": "aGk="}});
    for thinking in [None, Some(ThinkingKind::Levels)] {
        let response = response(thinking);
        assert_eq!(response["response"], json!({"output": "[a.png]"}));
        let parts = json!([data("image/png"), data("application/pdf")]);
        assert_eq!(response["parts"], parts);
    }
    let older = response(Some(ThinkingKind::Budget));
    assert_eq!(older["parts"], Value::Null);
    let content = older["response"]["output"].as_str().unwrap();
    assert!(
        content.starts_with("[a.png]\n[@./a.png is not shown, "),
        "{content}"
    );
}
