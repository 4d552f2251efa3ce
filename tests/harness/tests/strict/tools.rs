//! Names and schemas of tools, and tools that are added later.

use harness::{Dialect, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::client::{Client, expect_refused};

/// A client of each protocol that offers one tool.
fn offer(protocol: &str, name: &str, schema: &Json) -> Client {
    let tool = json!({"name": name, "description": ""});
    let with = |key: &str| {
        let mut tool = tool.clone();
        tool[key] = schema.clone();
        tool
    };
    let user = json!([{"role": "user", "content": "Go."}]);
    let (provider, path, body) = match protocol {
        "anthropic" => (
            Provider::anthropic(["Hi."]).strict(Strict::anthropic()),
            "/v1/messages",
            json!({"model": "claude-opus-5-5", "max_tokens": 10, "messages": user,
                "tools": [with("input_schema")]}),
        ),
        "responses" => {
            let mut tool = with("parameters");
            tool["type"] = json!("function");
            (
                Provider::responses(["Hi."]).strict(Strict::responses()),
                "/v1/responses",
                json!({"model": "gpt-6.1-sol", "input": user, "tools": [tool]}),
            )
        }
        "gemini" => (
            Provider::gemini(["Hi."]).strict(Strict::gemini()),
            "/v1beta/models/gemini-3.8-pro:streamGenerateContent?alt=sse",
            json!({"contents": [{"role": "user", "parts": [{"text": "Go."}]}],
                "tools": [{"functionDeclarations": [with("parametersJsonSchema")]}]}),
        ),
        _ => (
            Provider::chat_completions(["Hi."]).strict(Strict::chat_completions(Dialect::OpenAi)),
            "/v1/chat/completions",
            json!({"model": "gpt-4.1", "messages": user,
                "tools": [{"type": "function", "function": with("parameters")}]}),
        ),
    };
    Client {
        provider,
        path,
        betas: "",
        body,
    }
}

const PROTOCOLS: [&str; 4] = ["anthropic", "responses", "gemini", "chat_completions"];

#[test]
fn names_have_the_characters_that_each_service_takes() {
    let object = json!({"type": "object", "properties": {}});
    let long = "a".repeat(65);
    // Which protocols accept it, in the order of `PROTOCOLS`.
    for (name, accepted) in [
        ("read_file-2", [true; 4]),
        ("2fa", [true, true, false, true]),
        ("-x", [true, true, false, true]),
        ("a.b", [false, false, true, false]),
        ("größe", [false; 4]),
        ("a b", [false; 4]),
        ("", [false; 4]),
        (&long, [false; 4]),
    ] {
        for (protocol, is_accepted) in PROTOCOLS.into_iter().zip(accepted) {
            let answered = offer(protocol, name, &object).send();
            assert_eq!(
                answered.is_ok(),
                is_accepted,
                "{protocol} {name:?}: {answered:?}"
            );
        }
    }
}

#[test]
fn schemas_have_the_forms_that_each_service_takes() {
    let string = json!({"type": "string"});
    for (schema, accepted) in [
        (
            json!({"type": "object", "properties": {"a.b-c_d": string}}),
            [true; 4],
        ),
        (json!({"type": "object"}), [true, false, true, false]),
        (json!({}), [false, false, true, false]),
        (json!({"type": "string"}), [false, false, true, false]),
        (
            json!({"type": "object", "properties": {}, "anyOf": [{}]}),
            [false, false, true, false],
        ),
        (
            json!({"type": "object", "properties": {}, "allOf": [{}]}),
            [false, false, true, false],
        ),
        (
            json!({"type": "object", "properties": {"a": {"oneOf": [string]}}}),
            [true; 4],
        ),
        (
            json!({"type": "object", "properties": {"$filter": string}}),
            [false, true, true, true],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "object", "properties": {"ä": string}}}}),
            [false, true, true, true],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "array", "items": [string]}}}),
            [false, true, true, true],
        ),
        (
            json!({"type": "object", "properties": {"a": {"type": "number", "exclusiveMinimum": true}}}),
            [false, true, true, true],
        ),
    ] {
        for (protocol, is_accepted) in PROTOCOLS.into_iter().zip(accepted) {
            let answered = offer(protocol, "t", &schema).send();
            assert_eq!(
                answered.is_ok(),
                is_accepted,
                "{protocol} {schema}: {answered:?}"
            );
        }
    }
}

#[test]
fn a_refused_tool_of_anthropic_is_named_by_its_number() {
    let mut client = offer("anthropic", "t", &json!({"type": "object"}));
    client.push("tools", client.body["tools"][0].clone());
    expect_refused(&client.send(), "tools: Tool names must be unique.");
    client.body["tools"][1]["name"] = json!("a.b");
    expect_refused(
        &client.send(),
        "tools.1.custom.name: String should match pattern",
    );
}

#[test]
fn a_tool_is_added_in_a_system_message_with_its_beta() {
    let definition = json!({"name": "late", "description": "", "input_schema": {"type": "object"}});
    let addition = |tool: Json| json!({"role": "system", "content": [{"type": "tool_addition", "tool": tool}]});
    let inline = addition(json!({"type": "tool_definition", "definition": definition}));
    let reference = |name: &str| addition(json!({"type": "tool_reference", "name": name}));
    let changes = "mid-conversation-tool-changes-2026-07-01";
    for (message, betas, is_accepted) in [
        (&inline, "inline-tools-2026-09-15", true),
        (&inline, changes, false),
        (&inline, "", false),
        (&reference("t"), changes, true),
        (&reference("late"), changes, false),
        (&reference("t"), "", false),
    ] {
        let mut client = offer("anthropic", "t", &json!({"type": "object"}));
        client.betas = betas;
        client.push("messages", message.clone());
        let answered = client.send();
        assert_eq!(
            answered.is_ok(),
            is_accepted,
            "{message} {betas}: {answered:?}"
        );
    }
}
