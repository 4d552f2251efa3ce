//! Instructions and tools that come after the first answer.

use provider::{ThinkingLevel, Without, catalogue, unmet};

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
        exact: None,
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
        exact: None,
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

// Options that a request cannot carry.

fn unmet_by(
    provider: &str,
    protocol: Protocol,
    model: &str,
    set: fn(&mut Parameters),
) -> Vec<String> {
    let mut parameters = Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model(provider, model, None)),
        ..parameters()
    };
    set(&mut parameters);
    let mut endpoint = endpoint(protocol);
    provider.clone_into(&mut endpoint.provider);
    let unmet = unmet(&endpoint, &parameters);
    unmet.into_iter().map(|it| it.text).collect()
}

#[track_caller]
fn check(model: &str, set: fn(&mut Parameters), expected: &[&str]) {
    let protocol_of = |model: &str| match model {
        it if it.starts_with("claude") => ("anthropic", Protocol::AnthropicMessages),
        it if it.starts_with("gemini") => ("gemini", Protocol::Gemini),
        it if it.starts_with("deepseek") => ("deepseek", Protocol::ChatCompletions),
        it if it.starts_with("llama") => ("openai_compatible", Protocol::ChatCompletions),
        _ => ("openai", Protocol::Responses),
    };
    let (provider, protocol) = protocol_of(model);
    assert_eq!(
        unmet_by(provider, protocol, model, set),
        expected,
        "{model}"
    );
}

#[test]
fn a_temperature_that_is_not_sent_is_reported() {
    let warm: fn(&mut Parameters) = |it| it.temperature = Some(0.5);
    let warm_and_thinking: fn(&mut Parameters) = |it| {
        it.temperature = Some(0.5);
        it.thinking = Some(Thinking::Level(ThinkingLevel::Low));
    };
    let never = |model: &str| format!("{model} accepts no temperature, so none is sent.");
    let thinks =
        |model: &str| format!("{model} accepts no temperature while it thinks, so none is sent.");
    for model in ["claude-opus-5-5", "claude-opus-4-7", "gpt-6.1-sol"] {
        check(model, warm, &[&never(model)]);
    }
    for model in ["claude-sonnet-4-6", "claude-haiku-4-5", "gpt-5.4"] {
        check(model, warm_and_thinking, &[&thinks(model)]);
    }
    for model in ["claude-sonnet-4-6", "gpt-4.1", "gemini-2.5-pro", "llama-3"] {
        check(model, warm, &[]);
    }
    check("gemini-2.5-pro", warm_and_thinking, &[]);
}

#[test]
fn thinking_that_cannot_be_turned_off_is_reported_with_what_is_sent() {
    let off: fn(&mut Parameters) = |it| it.thinking = Some(Thinking::Off);
    for (model, said) in [
        (
            "claude-opus-5-5",
            "claude-opus-5-5 cannot turn thinking off, so its lowest level, \"low\", is sent.",
        ),
        (
            "claude-sonnet-5-5",
            "claude-sonnet-5-5 cannot turn thinking off completely: it still thinks in short notes between calls.",
        ),
        (
            "gpt-6.1-sol",
            "gpt-6.1-sol cannot turn thinking off, so its lowest level, \"low\", is sent.",
        ),
        (
            "gemini-3.8-flash",
            "gemini-3.8-flash cannot turn thinking off, so its lowest level, \"low\", is sent.",
        ),
        (
            "gemini-2.5-pro",
            "gemini-2.5-pro cannot turn thinking off, so its smallest budget is sent.",
        ),
        (
            "llama-3",
            "Thinking cannot be turned off in requests to llama-3, so the model decides.",
        ),
    ] {
        check(model, off, &[said]);
    }
    for model in [
        "claude-haiku-5-5",
        "claude-opus-5",
        "claude-sonnet-4-6",
        "claude-3-haiku",
        "gpt-5.4",
        "gpt-4.1",
        "gemini-2.5-flash",
        "deepseek-v4",
    ] {
        check(model, off, &[]);
    }
}

#[test]
fn a_level_that_the_model_does_not_have_is_reported() {
    let max: fn(&mut Parameters) = |it| it.thinking = Some(Thinking::Level(ThinkingLevel::Max));
    for model in [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-5-6",
        "gpt-5.6",
        "gpt-6.1-sol",
        "gpt-6-luna",
        "gemini-2.5-pro",
    ] {
        check(model, max, &[]);
    }
    check(
        "gpt-5.4",
        max,
        &["gpt-5.4 has no thinking level \"max\", so \"xhigh\" is sent."],
    );
    check(
        "gpt-4.1",
        max,
        &["gpt-4.1 does not think, so the option thinking has no effect."],
    );
    check(
        "claude-haiku-4-5",
        |it| {
            it.thinking = Some(Thinking::Budget(8000));
            it.max_tokens = Some(1000);
        },
        &["max_tokens leaves no room for thinking, so the model does not think."],
    );
}
