//! Instructions and tools that come after the first answer.

use provider::{Without, catalogue};

use super::*;

/// A conversation whose user then gave instructions and got another tool.
fn conversation_with_more() -> Prompt {
    let mut messages = conversation();
    messages.push(PromptMessage {
        role: PromptRole::System,
        parts: vec![
            text("Be brief."),
            Part::ToolsAdded(vec![tool("read", false), tool("edit", false)]),
        ],
    });
    Prompt {
        system: Some("You are kind.".to_owned()),
        messages,
        tools: vec![tool("write", false), tool("bash", false)],
    }
}

fn parameters_of(provider: &str, model: &str) -> Parameters {
    Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model(provider, model, None)),
        ..parameters()
    }
}

fn names(tools: &Value, place: &str) -> Vec<String> {
    let tools = tools.as_array().unwrap().iter();
    let name = |tool: &Value| tool.pointer(place).unwrap().as_str().unwrap().to_owned();
    tools.map(name).collect()
}

fn roles(messages: &Value) -> Vec<&str> {
    let messages = messages.as_array().unwrap().iter();
    messages
        .map(|it| it["role"].as_str().unwrap_or("-"))
        .collect()
}

#[test]
fn claude_gets_them_at_their_place() {
    for model in [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-fable-5-2",
        "claude-opus-4-8",
    ] {
        let parameters = parameters_of("anthropic", model);
        let request = request(
            Protocol::AnthropicMessages,
            &conversation_with_more(),
            &parameters,
        );
        let body: Value = serde_json::from_slice(&request.body).unwrap();

        assert_eq!(names(&body["tools"], "/name"), ["write", "bash"], "{model}");
        assert_eq!(body["system"][0]["text"], "You are kind.");
        assert_eq!(
            roles(&body["messages"]),
            ["user", "assistant", "user", "system"]
        );
        let added = |name: &str| {
            let schema = json!({"type": "object", "properties": {}});
            let description = format!("Runs {name}.");
            let definition =
                json!({"name": name, "description": description, "input_schema": schema});
            json!({"type": "tool_addition", "tool": {"type": "tool_definition", "definition": definition}})
        };
        assert_eq!(
            body["messages"][3]["content"],
            json!([{"type": "text", "text": "Be brief."}, added("read"), added("edit")])
        );
        let betas = headers(&request)
            .into_iter()
            .find(|it| it.0 == "anthropic-beta");
        assert!(
            betas.unwrap().1.contains("inline-tools-2026-09-15"),
            "{betas:?}"
        );
    }
}

#[test]
fn models_and_servers_without_them_get_them_at_the_start() {
    let check = |system: &Value, tools: Vec<String>, roles: Vec<&str>| {
        assert_eq!(*system, "You are kind.\n\nBe brief.");
        assert_eq!(tools, ["write", "bash", "read", "edit"]);
        assert!(!roles.contains(&"developer"), "{roles:?}");
        assert_ne!(roles.last(), Some(&"system"));
    };
    let refused = Without {
        system_messages: true,
        ..Without::default()
    };
    for (model, without) in [
        ("claude-sonnet-5", Without::default()),
        ("claude-sonnet-4-6", Without::default()),
        ("claude-opus-5-5", refused),
    ] {
        let mut parameters = parameters_of("anthropic", model);
        parameters.without = without;
        let body = body(
            Protocol::AnthropicMessages,
            &conversation_with_more(),
            &parameters,
        );
        check(
            &body["system"][0]["text"],
            names(&body["tools"], "/name"),
            roles(&body["messages"]),
        );
    }
    let chat = body(
        Protocol::ChatCompletions,
        &conversation_with_more(),
        &parameters(),
    );
    let chat_tools = names(&chat["tools"], "/function/name");
    check(
        &chat["messages"][0]["content"],
        chat_tools,
        roles(&chat["messages"]),
    );
    let gemini = body(Protocol::Gemini, &conversation_with_more(), &parameters());
    let gemini_tools = names(&gemini["tools"][0]["functionDeclarations"], "/name");
    check(
        &gemini["systemInstruction"]["parts"][0]["text"],
        gemini_tools,
        roles(&gemini["contents"]),
    );
}

#[test]
fn openai_gets_instructions_from_the_developer() {
    let body = body(
        Protocol::Responses,
        &conversation_with_more(),
        &parameters(),
    );

    assert_eq!(body["instructions"], "You are kind.");
    assert_eq!(
        names(&body["tools"], "/name"),
        ["write", "bash", "read", "edit"]
    );
    let last = body["input"].as_array().unwrap().last().unwrap();
    assert_eq!(
        *last,
        json!({"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]})
    );
}

#[test]
fn a_server_without_tool_changes_still_gets_the_instructions() {
    let mut parameters = parameters_of("anthropic", "claude-opus-5-5");
    parameters.without.tool_changes = true;
    let body = body(
        Protocol::AnthropicMessages,
        &conversation_with_more(),
        &parameters,
    );

    assert_eq!(
        names(&body["tools"], "/name"),
        ["write", "bash", "read", "edit"]
    );
    assert_eq!(
        body["messages"][3]["content"],
        json!([{"type": "text", "text": "Be brief."}])
    );
}

#[test]
fn tools_that_are_described_in_words_are_all_at_the_start() {
    let mut parameters = parameters_of("anthropic", "claude-opus-5-5");
    parameters.text_tools = true;
    let body = body(
        Protocol::AnthropicMessages,
        &conversation_with_more(),
        &parameters,
    );

    let system = body["system"][0]["text"].as_str().unwrap();
    for name in ["write", "bash", "read", "edit"] {
        assert!(
            system.contains(&format!("{{\"name\":\"{name}\"")),
            "{system}"
        );
    }
    assert_eq!(
        roles(&body["messages"]),
        ["user", "assistant", "user", "system"]
    );
}

#[test]
fn a_system_message_never_comes_right_before_the_users() {
    // The answer of another provider consists of thinking that only it may get.
    let foreign = assistant(vec![thinking("Hm.", Some(("gemini", "s")))]);
    let later = PromptMessage {
        role: PromptRole::System,
        parts: vec![text("Be brief.")],
    };
    let messages = vec![
        user(vec![text("Hi.")]),
        assistant(vec![text("Hello.")]),
        user(vec![text("Go on.")]),
        later,
        foreign,
        user(vec![text("Well?")]),
    ];
    let parameters = parameters_of("anthropic", "claude-opus-5-5");
    let body = body(Protocol::AnthropicMessages, &prompt(messages), &parameters);

    assert_eq!(
        roles(&body["messages"]),
        ["user", "assistant", "user", "user", "system"]
    );
}
