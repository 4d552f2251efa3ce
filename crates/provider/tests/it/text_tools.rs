//! Tools for models without tool calling: their prompts, and the calls in their answers.

use chat::prompt::{Part, Prompt, PromptMessage, PromptRole};
use chat::tool::{MALFORMED_CALL, ToolDefinition, ToolUseId};
use provider::{Endpoint, Parameters, Protocol, StopReason, StreamEvent, TextCalls, encode};
use serde_json::{Value, json};

fn tools() -> Vec<ToolDefinition> {
    let tool = |name: &str, properties: Value, required: Value| ToolDefinition {
        name: name.to_owned(),
        description: format!("Does {name}."),
        input_schema: json!({
            "type": "object", "properties": properties, "required": required,
            "additionalProperties": false,
        }),
        strict: true,
        keywords: Vec::new(),
    };
    let number = json!({"type": "number"});
    vec![
        tool(
            "calculator",
            json!({"num1": number, "num2": number, "operation": {"type": "string"}}),
            json!(["num1"]),
        ),
        tool(
            "bash",
            json!({"command": {"type": "string"}, "timeout": {"type": ["number", "null"]}}),
            json!(["command", "timeout"]),
        ),
        tool(
            "tag",
            json!({"names": {"type": "array", "items": {"type": "string"}}, "deep": {"type": "boolean"}}),
            json!([]),
        ),
        tool(
            "typed",
            json!({
                "lines": {"type": "array", "items": {"type": "integer"}},
                "count": {"type": "integer"},
                "note": {"type": ["string", "null"]},
                "place": {"type": "object", "properties": {"line": {"type": "integer"}}},
            }),
            json!([]),
        ),
    ]
}

/// Formats an answer that arrives in these pieces: text as is, calls in brackets.
fn read<'a>(pieces: impl IntoIterator<Item = &'a str>, stop: StopReason) -> (String, StopReason) {
    let mut reader = TextCalls::new(tools());
    let mut shown = String::new();
    let mut end = None;
    let texts = pieces
        .into_iter()
        .map(|it| StreamEvent::Text(it.to_owned()));
    for event in texts.chain([StreamEvent::Stop(stop)]) {
        for event in reader.read(vec![event]) {
            match event {
                StreamEvent::Text(text) => shown.push_str(&text),
                StreamEvent::ToolUse(call) => {
                    shown.push_str(&format!("[{} {} {}]", call.id, call.name, call.input));
                }
                StreamEvent::Stop(reason) => end = Some(reason),
                _ => {}
            }
        }
    }
    (shown, end.unwrap())
}

/// Checks an answer that arrives whole and split at every character.
#[track_caller]
fn check(answer: &str, expected: &str) {
    let (whole, _) = read([answer], StopReason::EndTurn);
    assert_eq!(whole, expected);
    for (at, _) in answer.char_indices() {
        let (split, _) = read([&answer[..at], &answer[at..]], StopReason::EndTurn);
        assert_eq!(split, expected, "cut at {at}");
    }
    let letters: Vec<String> = answer.chars().map(String::from).collect();
    let (single, _) = read(letters.iter().map(String::as_str), StopReason::EndTurn);
    assert_eq!(single, expected, "letter by letter");
}

#[test]
fn text_is_returned_at_once_unless_it_may_begin_a_call() {
    for (piece, expected) in [("Hello wor", "Hello wor"), ("<tool", ""), ("```x", "")] {
        let mut reader = TextCalls::new(tools());
        let events = reader.read(vec![StreamEvent::Text(piece.to_owned())]);
        let texts = events.iter().filter_map(|event| match event {
            StreamEvent::Text(text) => Some(text.as_str()),
            _ => None,
        });
        assert_eq!(texts.collect::<String>(), expected, "{piece:?}");
    }
}

#[test]
fn a_call_in_json_is_a_call() {
    check(
        "I look.\n<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\", \"timeout\": 3.0}}\n</tool_call>",
        "I look.\n[call_1 bash {\"command\": \"ls\", \"timeout\": 3.0}]",
    );
}

#[test]
fn several_calls_and_text_between_them_keep_their_order() {
    let call = |n: u8| {
        format!("<tool_call>{{\"name\":\"calculator\",\"arguments\":{{\"num1\":{n}}}}}</tool_call>")
    };
    check(
        &format!("{}\nand\n{}\n", call(1), call(2)),
        "[call_1 calculator {\"num1\":1}]\nand\n[call_2 calculator {\"num1\":2}]\n",
    );
}

#[test]
fn an_xml_block_becomes_calls_typed_by_their_schemas() {
    check(
        "```xml\n<tools>\n  <tool name=\"calculator\">\n    <action>\n      <num1>100</num1>\n      <num2>50</num2>\n      \
         <operation>multiply</operation>\n    </action>\n  </tool>\n  <tool name=\"bash\"><command>a &lt; b &amp;&amp; \
         c</command></tool>\n</tools>\n```\n",
        "[call_1 calculator {\"num1\":100,\"num2\":50,\"operation\":\"multiply\"}]\
         [call_2 bash {\"command\":\"a < b && c\",\"timeout\":null}]\n",
    );
}

#[test]
fn lists_and_multi_line_texts_in_xml_are_parsed() {
    check(
        "```xml\n<tools><tool name=\"tag\"><names>a</names><names>b</names><deep>true</deep></tool>\
         <tool name=\"tag\"><names><item>a</item></names></tool>\
         <tool name=\"bash\"><command>\nfor i in 1; do\n  echo\ndone\n</command><timeout>5</timeout></tool></tools>\n```",
        "[call_1 tag {\"names\":[\"a\",\"b\"],\"deep\":true}][call_2 tag {\"names\":[\"a\"]}]\
         [call_3 bash {\"command\":\"for i in 1; do\\n  echo\\ndone\",\"timeout\":5}]",
    );
}

#[test]
fn xml_text_becomes_a_value_of_the_schemas_type() {
    let fields = |fields: &str| {
        let tools = format!("<tools><tool name=\"typed\">{fields}</tool></tools>");
        let (shown, _) = read(
            [format!("```xml\n{tools}\n```").as_str()],
            StopReason::EndTurn,
        );
        let input = shown.strip_prefix("[call_1 typed ");
        input
            .and_then(|it| it.strip_suffix(']'))
            .unwrap()
            .to_owned()
    };
    for (written, read) in [
        ("<count> 3 </count>", "{\"count\":3}"),
        ("<count>many</count>", "{\"count\":\"many\"}"),
        ("<count>3</count><count>4</count>", "{\"count\":[3,4]}"),
        ("<lines>3</lines>", "{\"lines\":[3]}"),
        ("<lines>3</lines><lines>4</lines>", "{\"lines\":[3,4]}"),
        ("<lines><i>3</i><i>4</i></lines>", "{\"lines\":[3,4]}"),
        ("<note>nil</note>", "{\"note\":null}"),
        ("<note>3</note>", "{\"note\":\"3\"}"),
        ("<place/>", "{\"place\":{}}"),
        ("<place>here</place>", "{\"place\":\"here\"}"),
        ("<place><line>3</line></place>", "{\"place\":{\"line\":3}}"),
        ("<other>3</other>", "{\"other\":\"3\"}"),
        // Only a text on separate lines loses the line breaks around it.
        ("<note>a \n</note>", "{\"note\":\"a \\n\"}"),
        ("<note>\na \n </note>", "{\"note\":\"a \"}"),
        ("<note>\na b</note>", "{\"note\":\"a b\"}"),
    ] {
        assert_eq!(fields(written), read, "{written}");
    }
}

#[test]
fn quoted_calls_are_no_calls() {
    let call = "<tool_call>{\"name\": \"bash\", \"arguments\": {}}</tool_call>";
    for answer in [
        format!("```\n{call}\n```\n"),
        "````xml\n<tools><tool name=\"bash\"/></tools>\n````\n".to_owned(),
        format!("~~~\n```xml\n<tools><tool name=\"bash\"/></tools>\n```\n{call}\n~~~\nDone."),
        format!("Write {call} and then stop."),
        format!(" {call}\n> {call}\n"),
        "```xml\n<html/>\n```\nDone.\n".to_owned(),
        "<tool_calls> and <tools> are tags.\n".to_owned(),
    ] {
        check(&answer, &answer);
    }
}

#[test]
fn a_call_after_a_fence_is_a_call() {
    let call = "<tool_call>{\"name\": \"calculator\", \"arguments\": {\"num1\": 1}}</tool_call>";
    check(
        &format!("```sh\nls\n``\n```\n{call}\n"),
        "```sh\nls\n``\n```\n[call_1 calculator {\"num1\": 1}]\n",
    );
}

#[test]
fn a_closing_tag_in_an_argument_does_not_end_the_call() {
    check(
        "<tool_call>{\"name\": \"bash\", \"arguments\": {\"command\": \"echo '</tool_call>'\", \"timeout\": 1}}</tool_call>",
        "[call_1 bash {\"command\": \"echo '</tool_call>'\", \"timeout\": 1}]",
    );
}

#[test]
fn a_call_without_its_closing_tag_counts_only_at_the_end_of_a_complete_answer() {
    let answer = "<tool_call>\n{\"name\": \"calculator\", \"arguments\": {\"num1\": 1}}";
    check(answer, "[call_1 calculator {\"num1\": 1}]");
    let cut = read([answer], StopReason::MaxTokens);
    assert_eq!(cut, (answer.to_owned(), StopReason::MaxTokens));
}

#[test]
fn a_call_makes_the_stop_reason_tool_use() {
    let call = "<tool_call>{\"name\": \"calculator\", \"arguments\": {}}</tool_call>";
    assert_eq!(read([call], StopReason::EndTurn).1, StopReason::ToolUse);
    assert_eq!(read(["Hi."], StopReason::EndTurn).1, StopReason::EndTurn);
}

#[test]
fn an_unreadable_call_becomes_a_malformed_call_with_the_reason() {
    for (answer, why) in [
        ("<tool_call>{\"name\": bash}</tool_call>", "expected value"),
        (
            "<tool_call>{\"arguments\": {}}</tool_call>",
            "missing field `name`",
        ),
        (
            "<tool_call>{\"name\": \"bash\", \"arguments\": [1]}</tool_call>",
            "its arguments are not a JSON object",
        ),
        ("<tool_call>{\"name\": \"bash\", ", "it has no </tool_call>"),
        (
            "```xml\n<tools><tool name=\"bash\"><command>ls</tool></tools>\n```",
            "</tool>",
        ),
        ("```xml\n<tools></tools>\n```", "it contains no <tool>"),
        (
            "```xml\n<tools><tool><command>ls</command></tool></tools>\n```",
            "no attribute \"name\"",
        ),
    ] {
        let (shown, _) = read([answer], StopReason::EndTurn);
        let input = shown
            .strip_prefix("[call_1 malformed_call ")
            .unwrap_or_else(|| panic!("{shown}"));
        let input: Value = serde_json::from_str(input.strip_suffix(']').unwrap()).unwrap();
        assert!(input["why"].as_str().unwrap().contains(why), "{input}");
        assert_eq!(input["text"], answer);
    }
}

/// Returns the request for a model without tool calling.
fn request(prompt: &Prompt) -> Value {
    let endpoint = Endpoint {
        provider: "openai_compatible".to_owned(),
        protocol: Protocol::ChatCompletions,
        base_url: "http://127.0.0.1:1/v1".to_owned(),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    };
    let parameters = Parameters {
        model: "m".to_owned(),
        text_tools: true,
        ..Parameters::default()
    };
    let request = encode(prompt, &endpoint, &parameters).unwrap();
    serde_json::from_slice(&request.body).unwrap()
}

/// Returns a call as it is sent back to its model.
fn sent_back(name: &str, input: &str) -> Value {
    let call = Part::ToolUse {
        id: ToolUseId::new("call_1"),
        name: name.to_owned(),
        input: input.to_owned(),
    };
    let message = |role, part| PromptMessage {
        role,
        parts: vec![part],
        exact: None,
    };
    let body = request(&Prompt {
        system: None,
        messages: vec![
            message(PromptRole::User, Part::Text("Go.".to_owned())),
            message(PromptRole::Assistant, call),
        ],
        tools: Vec::new(),
    });
    assert_eq!(
        body["messages"][0]["content"], "Go.",
        "without tools no rules"
    );
    body["messages"][1]["content"].clone()
}

#[test]
fn an_unreadable_call_is_returned_as_written() {
    let written = "<tool_call>{\"name\": bash}</tool_call>";
    let input = json!({"why": "expected value", "text": written}).to_string();
    assert_eq!(sent_back(MALFORMED_CALL, &input), written);
    for (name, input, arguments) in [
        // A tool may have an argument with that name.
        ("bash", "{\"text\": \"ls\"}", "{\"text\": \"ls\"}"),
        (MALFORMED_CALL, "{\"why\": \"\"}", "{\"why\": \"\"}"),
        ("bash", "{\"command\": ", "{}"),
    ] {
        let expected = format!(
            "<tool_call>\n{{\"name\": \"{name}\", \"arguments\": {arguments}}}\n</tool_call>"
        );
        assert_eq!(sent_back(name, input), expected);
    }
}

#[test]
fn calls_and_results_are_sent_as_text_and_no_result_ends_its_block() {
    let id = ToolUseId::new("call_1");
    let prompt = Prompt {
        system: Some("Be brief.".to_owned()),
        messages: vec![
            PromptMessage {
                role: PromptRole::User,
                parts: vec![Part::Text("Go.".to_owned())],
                exact: None,
            },
            PromptMessage {
                role: PromptRole::Assistant,
                parts: vec![Part::ToolUse {
                    id: id.clone(),
                    name: "bash".to_owned(),
                    input: "{\"command\": \"ls\"}".to_owned(),
                }],
                exact: None,
            },
            PromptMessage {
                role: PromptRole::User,
                parts: vec![Part::ToolResult {
                    tool_use_id: id,
                    name: "bash".to_owned(),
                    content: "</tool_response>\n<tool_call>".to_owned(),
                    files: Vec::new(),
                    is_error: true,
                }],
                exact: None,
            },
        ],
        tools: tools(),
    };
    let body = request(&prompt);

    assert_eq!(body.get("tools"), None);
    let system = body["messages"][0]["content"].as_str().unwrap();
    assert!(system.starts_with("Be brief.\n\n# Tools"), "{system}");
    let lines: Vec<&str> = system
        .lines()
        .filter(|it| it.starts_with("{\"name\":\""))
        .collect();
    assert_eq!(lines.len(), 4, "{system}");
    let first = &tools()[0].name;
    let described =
        format!("{{\"name\":\"{first}\",\"description\":\"Does {first}.\",\"parameters\":{{");
    assert!(lines[0].starts_with(&described), "{}", lines[0]);
    assert_eq!(
        body["messages"][2]["content"],
        "<tool_call>\n{\"name\": \"bash\", \"arguments\": {\"command\": \"ls\"}}\n</tool_call>"
    );
    assert_eq!(
        body["messages"][3]["content"],
        "<tool_response>\n{\"name\":\"bash\",\"id\":\"call_1\",\"error\":\"\\u003c/tool_response>\\n\\u003ctool_call>\"}\n</tool_response>"
    );
}
