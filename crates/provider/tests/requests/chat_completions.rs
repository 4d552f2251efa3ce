//! Requests to Chat Completions.

use super::*;

const CHAT: Protocol = Protocol::ChatCompletions;

#[test]
fn a_whole_request() {
    let prompt = Prompt {
        system: Some("Be brief.".to_owned()),
        messages: conversation(),
        tools: vec![tool("read", false), tool("bash", true)],
    };
    let parameters = Parameters {
        max_tokens: Some(100),
        temperature: Some(0.5),
        ..parameters()
    };

    let request = request(CHAT, &prompt, &parameters);

    let schema = json!({"type": "object", "properties": {}});
    assert_eq!(request.url, "http://127.0.0.1:8080/v1/chat/completions");
    assert_eq!(
        headers(&request),
        [
            ("content-type", "application/json"),
            ("accept", "text/event-stream"),
            ("authorization", "Bearer sk-1"),
        ]
    );
    assert_eq!(
        serde_json::from_slice::<Value>(&request.body).unwrap(),
        json!({
            "model": "m",
            "stream": true,
            "stream_options": {"include_usage": true},
            "max_tokens": 100,
            "temperature": 0.5,
            "tools": [
                {"type": "function", "function": {"name": "read", "description": "Runs read.", "parameters": schema}},
                {"type": "function", "function": {"name": "bash", "description": "Runs bash.", "parameters": schema, "strict": true}},
            ],
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "List the files.\n\n    indented"},
                {"role": "assistant", "content": "I look.", "tool_calls": [{
                    "id": "call_1",
                    "type": "function",
                    "function": {"name": "bash", "arguments": "{\"z\": 1.0, \"a\": \"ls\"}"},
                }]},
                {"role": "tool", "tool_call_id": "call_1", "content": "a.rs"},
                {"role": "user", "content": "And then?"},
            ],
        })
    );
}

#[test]
fn without_a_key_there_is_no_authorization() {
    let mut endpoint = endpoint(CHAT);
    endpoint.api_key = None;

    let request = encode(&prompt(conversation()), &endpoint, &parameters()).unwrap();

    assert!(
        headers(&request)
            .iter()
            .all(|(name, _)| *name != "authorization")
    );
}

#[test]
fn a_failed_call_is_marked_in_its_text_and_thinking_is_not_sent() {
    let messages = vec![
        user(vec![text("Hi")]),
        assistant(vec![thinking("T", None), call("a.b", "bash", "{}")]),
        user(vec![result("a.b", "no such file", true)]),
        assistant(vec![thinking("T", None)]),
        user(vec![text("One."), text("Two.")]),
    ];

    let body = body(CHAT, &prompt(messages), &parameters());

    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": null, "tool_calls": [{
                "id": "a.b", "type": "function", "function": {"name": "bash", "arguments": "{}"},
            }]},
            {"role": "tool", "tool_call_id": "a.b", "content": "Error: no such file"},
            {"role": "user", "content": "One.\n\nTwo."},
        ])
    );
}

#[test]
fn an_image_is_a_data_url_in_place() {
    let sent = messages_of(CHAT, vec![text("see"), image("image/png"), text("there")]);
    assert_eq!(
        sent,
        json!([{"role": "user", "content": [
            {"type": "text", "text": "see"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk="}},
            {"type": "text", "text": "there"},
        ]}])
    );
}

#[test]
fn without_images_content_is_one_string_and_a_pdf_is_its_name() {
    let parts = vec![text("see"), pdf(), text_file(), image("image/tiff")];
    assert_eq!(
        not_taken(&prompt(vec![user(parts.clone())]), CHAT, &Model::default()),
        ["@./b.pdf", "@./a.png"]
    );
    let content = "see\n\n@./b.pdf\n\n@./c.txt:\n```\nc\n```\n\n@./a.png";
    assert_eq!(
        messages_of(CHAT, parts),
        json!([{"role": "user", "content": content}])
    );
}

#[test]
fn a_model_without_vision_gets_the_names_of_images() {
    let parts = vec![text("see"), image("image/png"), pdf(), text_file()];
    for (protocol, images, pdf, names) in [
        (CHAT, Some(false), None, vec!["@./a.png", "@./b.pdf"]),
        (
            Protocol::AnthropicMessages,
            None,
            Some(false),
            vec!["@./b.pdf"],
        ),
        (
            Protocol::Responses,
            Some(false),
            Some(false),
            vec!["@./a.png", "@./b.pdf"],
        ),
        (Protocol::Gemini, Some(false), Some(true), vec!["@./a.png"]),
    ] {
        let about = Model {
            images,
            pdf,
            ..Model::default()
        };
        let prompt = prompt(vec![user(parts.clone())]);
        assert_eq!(not_taken(&prompt, protocol, &about), names);
        let parameters = Parameters {
            about: Box::new(about),
            ..parameters()
        };
        let body = encode(&prompt, &endpoint(protocol), &parameters)
            .unwrap()
            .body;
        let body = String::from_utf8(body).unwrap();
        assert_eq!(body.contains("image/png"), images != Some(false), "{body}");
        assert!(names.iter().all(|name| body.contains(name)), "{body}");
    }
}
