//! Pairing and signatures of OpenAI, Gemini, and services with the Chat Completions API.

use harness::{Answer, Dialect, Provider, Strict};
use serde_json::{Value as Json, json};

use crate::client::{Client, expect_refused};

/// A thought before each of two calls, and between them a text.
fn two_calls() -> Answer {
    Answer::new()
        .thinking("First a.", Some("a"))
        .tool_use("call_a", "bash", &json!({"command": "a"}))
        .thinking("Then b.", Some("b"))
        .text("And b.")
        .tool_use("call_b", "bash", &json!({"command": "b"}))
}

/// A conversation with OpenAI after two calls.
fn openai() -> Client {
    let mut client = Client {
        provider: Provider::responses([two_calls()]).strict(Strict::responses()),
        path: "/v1/responses",
        betas: "",
        body: json!({"model": "gpt-6.1-sol", "store": false, "input": [
            {"role": "user", "content": "Go."},
        ]}),
    };
    let events = client.send().unwrap();
    for event in events {
        if event["type"] == "response.output_item.done" {
            client.push("input", event["item"].clone());
        }
    }
    for id in ["call_a", "call_b"] {
        let output = json!({"type": "function_call_output", "call_id": id, "output": "ok"});
        client.push("input", output);
    }
    client
}

#[test]
fn reasoning_and_what_follows_it_belong_together() {
    let client = openai();
    let kinds: Vec<&Json> = client.body["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["type"])
        .collect();
    assert_eq!(
        kinds[1..6],
        [
            "reasoning",
            "function_call",
            "reasoning",
            "message",
            "function_call"
        ]
    );
    assert!(client.send().is_ok());
    let alone = "'rs_1_0' of type 'reasoning' was provided without its required following item.";
    let without = "'fc_1_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1_0'.";
    let second = "'rs_1_2' of type 'reasoning' was provided without its required following item.";
    type Change = fn(&mut Vec<Json>);
    let changes: [(Change, &str); 7] = [
        (|input| drop(input.remove(1)), without),
        (|input| input.swap(1, 2), alone),
        (|input| input.swap(2, 3), alone),
        (|input| drop(input.remove(4)), second),
        (
            |input| {
                input.remove(6);
                input.remove(2);
            },
            alone,
        ),
        (
            |input| drop(input.remove(6)),
            "No tool output found for function call call_a.",
        ),
        (
            |input| drop(input.remove(5)),
            "No tool call found for function call output with call_id call_b.",
        ),
    ];
    for (change, why) in changes {
        let answered = client.send_changed(|body| change(body["input"].as_array_mut().unwrap()));
        expect_refused(&answered, why);
    }
    // Another model does without the reasoning.
    let answered = client.send_changed(|body| {
        body["model"] = json!("gpt-5.6-sol");
        body["input"]
            .as_array_mut()
            .unwrap()
            .retain(|it| it["type"] != "reasoning");
    });
    assert!(answered.is_ok(), "{answered:?}");
}

#[test]
fn reasoning_is_read_from_its_encrypted_content() {
    let client = openai();
    let answered = client.send_changed(|body| {
        body["input"][1]
            .as_object_mut()
            .unwrap()
            .remove("encrypted_content");
    });
    expect_refused(
        &answered,
        "Items are not persisted when `store` is set to false.",
    );
    let answered = client.send_changed(|body| body["input"][1]["encrypted_content"] = json!("x"));
    expect_refused(&answered, "could not be decrypted or parsed");
}

#[test]
fn ids_of_openai_have_their_prefixes_and_lengths() {
    let client = openai();
    let long = "c".repeat(65);
    type Change<'a> = Box<dyn Fn(&mut Json) + 'a>;
    let changes: [(Change<'_>, &str); 3] = [
        (
            Box::new(|body| body["input"][2]["id"] = json!("toolu_1")),
            "begins with 'fc'",
        ),
        (
            Box::new(|body| body["input"][4]["id"] = json!("1")),
            "begins with 'msg'",
        ),
        (
            Box::new(|body| {
                body["input"][2]["call_id"] = json!(long);
                body["input"][6]["call_id"] = json!(long);
            }),
            "maximum length 64, but got a string with length 65",
        ),
    ];
    for (change, why) in changes {
        expect_refused(&client.send_changed(|body| change(body)), why);
    }
}

#[test]
fn an_output_of_openai_is_a_string_or_a_list_of_text_images_and_files() {
    let client = openai();
    let data = "data:image/png;base64,aGk=";
    let text = json!({"type": "input_text", "text": "Look."});
    let image = json!({"type": "input_image", "image_url": data});
    let file = json!({"type": "input_file", "filename": "a.pdf", "file_data": data});
    let answer = |output: Json| client.send_changed(|body| body["input"][6]["output"] = output);
    let accepted = answer(json!([text, image, file]));
    assert!(accepted.is_ok(), "{accepted:?}");
    for (output, why) in [
        (json!([]), "expected one of an array of objects or string"),
        (
            json!([{"type": "image", "image_url": data}]),
            "Invalid value: 'image'",
        ),
        (
            json!([{"type": "input_image", "image_url": "aGk="}]),
            "Expected a valid URL",
        ),
    ] {
        expect_refused(&answer(output), why);
    }
}

/// A conversation with Gemini after two calls.
fn gemini(model: &'static str) -> Client {
    let answers = [two_calls(), Answer::says("Done.")];
    let mut client = Client {
        provider: Provider::gemini(answers).strict(Strict::gemini()),
        path: model,
        betas: "",
        body: json!({"contents": [{"role": "user", "parts": [{"text": "Go."}]}]}),
    };
    let events = client.send().unwrap();
    let parts = events.iter().flat_map(|it| {
        it["candidates"][0]["content"]["parts"]
            .as_array()
            .unwrap()
            .clone()
    });
    let parts: Vec<Json> = parts.filter(|it| it["thought"] != true).collect();
    client.push("contents", json!({"role": "model", "parts": parts}));
    let result = |id: &str| json!({"functionResponse": {"id": id, "name": "bash", "response": {"output": "ok"}}});
    let results = json!([result("call_a"), result("call_b")]);
    client.push("contents", json!({"role": "user", "parts": results}));
    client
}

const THREE: &str = "/v1beta/models/gemini-3.8-pro:streamGenerateContent?alt=sse";
const TWO: &str = "/v1beta/models/gemini-2.5-pro:streamGenerateContent?alt=sse";

#[test]
fn calls_of_the_current_turn_carry_their_signatures() {
    let client = gemini(THREE);
    assert!(client.send().is_ok());
    let unsign = |body: &mut Json| {
        let part = body["contents"][1]["parts"][0].as_object_mut().unwrap();
        part.remove("thoughtSignature");
    };
    let missing = "Function call is missing a thought_signature in functionCall parts.";
    expect_refused(&client.send_changed(unsign), missing);
    for other in ["c2ln", "skip_thought_signature_validator"] {
        let answered = client.send_changed(|body| {
            body["contents"][1]["parts"][0]["thoughtSignature"] = json!(other);
        });
        expect_refused(&answered, "Corrupted thought signature.");
    }
    // Gemini 2.5 does not check, nor do others in earlier turns.
    assert!(gemini(TWO).send_changed(unsign).is_ok());
    let answered = client.send_changed(|body| {
        unsign(body);
        let contents = body["contents"].as_array_mut().unwrap();
        contents.push(json!({"role": "model", "parts": [{"text": "Done."}]}));
        contents.push(json!({"role": "user", "parts": [{"text": "More."}]}));
    });
    assert!(answered.is_ok(), "{answered:?}");
}

#[test]
fn a_call_of_another_model_skips_the_check() {
    let mut client = gemini(THREE);
    let call = |name: &str| json!({"functionCall": {"name": name, "args": {}}});
    let contents = |signature: Option<&str>| {
        let mut first = call("ls");
        if let Some(signature) = signature {
            first["thoughtSignature"] = json!(signature);
        }
        let result = json!({"functionResponse": {"name": "ls", "response": {}}});
        json!([
            {"role": "user", "parts": [{"text": "Go."}]},
            {"role": "model", "parts": [first, call("ls")]},
            {"role": "user", "parts": [result.clone(), result]},
        ])
    };
    client.body["contents"] = contents(None);
    expect_refused(&client.send(), "call `default_api:ls` , position 1");
    client.body["contents"] = contents(Some("skip_thought_signature_validator"));
    assert!(client.send().is_ok());
}

#[test]
fn turns_of_gemini_alternate_and_answer_every_call() {
    let client = gemini(THREE);
    type Change = fn(&mut Vec<Json>);
    let changes: [(Change, &str); 5] = [
        (
            |it| drop(it[2]["parts"].as_array_mut().unwrap().pop()),
            "number of function response parts is equal",
        ),
        (
            |it| drop(it.pop()),
            "number of function response parts is equal",
        ),
        (|it| drop(it.remove(1)), "alternate between user and model"),
        (
            |it| it[1]["parts"] = json!([{"text": "No."}]),
            "comes immediately after a function call turn",
        ),
        (|it| it[1]["parts"] = json!([]), "parts must not be empty"),
    ];
    for (change, why) in changes {
        let answered = client.send_changed(|body| change(body["contents"].as_array_mut().unwrap()));
        expect_refused(&answered, why);
    }
}

#[test]
fn a_response_for_gemini_may_have_files_since_gemini_3() {
    let with = |mime: &str| {
        let parts = json!([{"inlineData": {"mimeType": mime, "data": "aGk="}}]);
        move |body: &mut Json| {
            body["contents"][2]["parts"][0]["functionResponse"]["parts"] = parts.clone();
        }
    };
    let accepted = gemini(THREE).send_changed(with("image/png"));
    assert!(accepted.is_ok(), "{accepted:?}");
    expect_refused(
        &gemini(THREE).send_changed(with("image/gif")),
        "Unsupported MIME type in a function response",
    );
    expect_refused(
        &gemini(TWO).send_changed(with("image/png")),
        "Multimodal function responses are not supported for this model.",
    );
}

/// A conversation with a Chat Completions service after two calls with these ids.
fn completions(dialect: Dialect, ids: [&str; 2]) -> Client {
    let answer = Answer::new()
        .thinks("Hm.")
        .tool_use(ids[0], "bash", &json!({}))
        .tool_use(ids[1], "bash", &json!({}));
    let provider = Provider::chat_completions([answer, Answer::says("Done.")]);
    let client = Client {
        provider: provider.strict(Strict::chat_completions(dialect)),
        path: "/v1/chat/completions",
        betas: "",
        body: json!({"model": "m", "messages": [{"role": "user", "content": "Go."}]}),
    };
    client.send().unwrap();
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "bash", "arguments": "{}"}});
    let mut client = client;
    let calls = json!([call(ids[0]), call(ids[1])]);
    client.push(
        "messages",
        json!({"role": "assistant", "content": "", "tool_calls": calls}),
    );
    for id in ids {
        client.push(
            "messages",
            json!({"role": "tool", "tool_call_id": id, "content": "ok"}),
        );
    }
    client
}

#[test]
fn tool_messages_answer_the_calls_before_them() {
    let client = completions(Dialect::OpenAi, ["call_a", "call_b"]);
    assert!(client.send().is_ok());
    let open = "must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_b";
    type Change = fn(&mut Vec<Json>);
    let changes: [(Change, &str); 5] = [
        (|it| drop(it.pop()), open),
        (
            |it| it.insert(3, json!({"role": "user", "content": "Wait."})),
            open,
        ),
        (
            |it| drop(it.remove(1)),
            "must be a response to a preceeding message with 'tool_calls'",
        ),
        (
            |it| it.push(it[2].clone()),
            "must be a response to a preceeding message with 'tool_calls'",
        ),
        (
            |it| it[1]["tool_calls"][0]["function"]["arguments"] = json!("ls"),
            "expected a JSON object",
        ),
    ];
    for (change, why) in changes {
        let answered = client.send_changed(|body| change(body["messages"].as_array_mut().unwrap()));
        expect_refused(&answered, why);
    }
}

#[test]
fn ids_of_calls_fit_the_service() {
    let nine = ["Abc123XYZ", "Abc123XY1"];
    assert!(completions(Dialect::Mistral, nine).send().is_ok());
    for ids in [
        ["call_a", nine[1]],
        [nine[0], "Abc-23XYZ"],
        [nine[0], "Abc123XYZ1"],
    ] {
        let client = completions(Dialect::Mistral, ids);
        expect_refused(
            &client.send(),
            "but must be a-z, A-Z, 0-9, with a length of 9.",
        );
    }
    let long = "c".repeat(41);
    let client = completions(Dialect::OpenAi, [&long, "call_b"]);
    expect_refused(
        &client.send(),
        "maximum length 40, but got a string with length 41",
    );
}

#[test]
fn deepseek_needs_the_reasoning_before_a_call() {
    let client = completions(Dialect::DeepSeek, ["call_a", "call_b"]);
    let why = "The `reasoning_content` in the thinking mode must be passed back to the API.";
    expect_refused(&client.send(), why);
    let answered =
        client.send_changed(|body| body["messages"][1]["reasoning_content"] = json!("Hm."));
    assert!(answered.is_ok(), "{answered:?}");
    let answered =
        client.send_changed(|body| body["messages"][1]["reasoning_content"] = json!("Hm"));
    expect_refused(&answered, why);
}

#[test]
fn models_of_openai_refuse_old_parameters() {
    let client = completions(Dialect::OpenAi, ["call_a", "call_b"]);
    for (name, value, why) in [
        (
            "max_tokens",
            json!(10),
            "Use 'max_completion_tokens' instead.",
        ),
        (
            "temperature",
            json!(0.5),
            "'temperature' does not support 0.5 with this model.",
        ),
    ] {
        let answered = client.send_changed(|body| {
            body["model"] = json!("gpt-6.1-sol");
            body[name] = value;
        });
        expect_refused(&answered, why);
    }
}
