//! Tools, results, and files that are not as a provider wants them. They block nothing: each is
//! adapted, left out by name, or reported before anything is sent.

use harness::{Answer, Provider};
use serde_json::{Value as Json, json};

use crate::shell::{Ran, Shell};
use crate::stage::QUESTION;

/// A shell whose MCP server has these tools, which run without asking.
fn serving(provider: &Provider, server: &str, tools: &Json) -> Shell {
    let shell = Shell::new(provider);
    shell.write("tools.json", &tools.to_string());
    let script = harness::repository().join("tests/mcp/odd.py");
    let names = tools.as_object().unwrap().keys();
    let approved: Vec<String> = names.map(|name| format!("{server}__{name}")).collect();
    shell.configure(&format!(
        "provider = {:?}\n[tools]\nauto_approve = {approved:?}\n\n[mcp.servers.{server}]\ncommand = {:?}\n",
        provider.name(),
        ["python3", &script.to_string_lossy(), "tools.json"]
    ));
    shell.write("question.chat", QUESTION);
    shell
}

#[track_caller]
fn send(shell: &Shell) -> Ran {
    let ran = shell.run(&["send", "question.chat", "-m", "Go on."]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

#[test]
fn a_call_of_an_adapted_tool_reaches_the_server_as_the_server_defined_it() {
    let tools = json!({
        "list": {
            "schema": {"type": "object", "properties": {
                "$top": {"type": "integer"}, "at": {"type": "array", "items": [{"type": "integer"}]},
            }},
            "result": {"content": [{"type": "text", "text": "listed"}]},
        },
        "remote": {"schema": {"properties": {"a": {"$ref": "https://h/s.json"}}}},
    });
    let provider = Provider::gemini([Answer::says("Well.")]);
    let shell = serving(&provider, "7zip", &tools);

    let ran = send(&shell);
    assert!(
        ran.err
            .contains("7zip__remote, because its schema refers to"),
        "{ran:?}"
    );
    let declared = |request: usize| {
        let body = &provider.requests()[request].body;
        let declared = body["tools"][0]["functionDeclarations"].clone();
        let all = declared.as_array().unwrap().clone();
        let odd = all
            .iter()
            .find(|it| it["name"].as_str().unwrap().contains("7zip"));
        odd.unwrap().clone()
    };
    let wire = declared(0)["name"].as_str().unwrap().to_owned();
    assert_ne!(wire, "7zip__list");
    assert!(declared(0)["parametersJsonSchema"]["properties"]["_top"].is_object());

    let arguments = json!({"_top": 10.0, "at": [9_007_199_254_740_993_u64]});
    provider.then(Answer::new().tool_use("t_1", &wire, &arguments));
    provider.then(Answer::says("Done."));
    send(&shell);
    assert_eq!(
        shell.read("tools.json.log"),
        "{\"$top\": 10, \"at\": [9007199254740993]}\n"
    );
    let chat = shell.read("question.chat");
    assert!(
        chat.contains("**Tool Use:** `7zip__list` (`t_1`)"),
        "{chat}"
    );
    assert!(chat.contains("\"$top\""), "{chat}");
    // In later requests, the call has the names that the provider knows.
    let again = provider.requests()[2].body.to_string();
    assert!(again.contains(&format!("\"name\":\"{wire}\"")), "{again}");
    assert!(!again.contains("$top"), "{again}");
    assert_eq!(declared(2), declared(0));
}

#[test]
fn structured_content_is_kept_beside_a_summary_and_nothing_is_said_in_words() {
    let tools = json!({
        "find": {"schema": {"type": "object"}, "result": {
            "content": [{"type": "text", "text": "Found 1 record."}],
            "structuredContent": {"rows": [{"id": 41}]},
        }},
        "quiet": {"schema": {}},
    });
    let calls = Answer::new()
        .tool_use_raw("t_1", "odd__find", "null")
        .tool_use_raw("t_2", "odd__quiet", "{}");
    let provider = Provider::anthropic([calls, Answer::says("Done.")]);
    let shell = serving(&provider, "odd", &tools);

    send(&shell);

    let results = &provider.requests()[1].body["messages"][2]["content"];
    let found = results[0]["content"].as_str().unwrap();
    let rows = found.strip_prefix("Found 1 record.\n").unwrap();
    assert_eq!(
        serde_json::from_str::<Json>(rows).unwrap(),
        json!({"rows": [{"id": 41}]})
    );
    assert_eq!(results[1]["content"], "(The tool gave no text.)");
    assert_eq!(results[1].get("is_error"), None);
}

#[test]
fn a_server_with_a_bad_name_does_not_fail_a_complete_answer() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    shell.configure("[mcp.servers.\"größe\"]\ncommand = [\"true\"]\n");
    shell.write("question.chat", QUESTION);

    let ran = send(&shell);

    assert_eq!(ran.out, "Well.\n");
    assert!(
        ran.err.contains("The MCP server \"größe\" is not used"),
        "{ran:?}"
    );
}

/// The beginning of a PNG of 32 x 16 pixels, filled to this size.
fn picture(bytes: usize) -> Vec<u8> {
    let mut picture = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x20\0\0\0\x10\x08\x02\0\0\0".to_vec();
    picture.resize(bytes, 7);
    picture
}

#[test]
fn a_large_image_is_named_before_anything_is_sent() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    std::fs::write(shell.path("shot.png"), picture(6_000_000)).unwrap();
    shell.write("question.chat", "@You:\nWhat is @./shot.png\n");

    let ran = shell.run(&["send", "question.chat"]);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    let expected = "@./shot.png has 5.72 MB. Anthropic accepts at most 3.75 MB per image";
    assert!(ran.err.contains(expected), "{ran:?}");
    assert!(provider.requests().is_empty());

    std::fs::write(shell.path("shot.png"), picture(1000)).unwrap();
    let ran = shell.run(&["send", "question.chat"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "Well.\n"),
        "{ran:?}"
    );
}

#[test]
fn a_gateways_page_is_quoted_with_the_size_of_the_request_and_its_files() {
    let page = "<html><head><title>413 Request Entity Too Large</title></head></html>";
    let refusal = Answer::status(413, page).header("content-type", "text/html");
    let provider = Provider::anthropic([refusal]);
    let shell = Shell::new(&provider);
    std::fs::write(shell.path("a.png"), picture(3_000_000)).unwrap();
    shell.write("question.chat", "@You:\nWhat is @./a.png\n");

    let ran = shell.run(&["send", "question.chat"]);

    assert_eq!(ran.code, Some(1), "{ran:?}");
    for said in [
        "answered 413 with a web page that says \"413 Request Entity Too Large\"",
        "MB, with @./a.png (2.86 MB).",
    ] {
        assert!(ran.err.contains(said), "{ran:?}");
    }
    assert!(!ran.err.contains("too long for the model"), "{ran:?}");
}

#[test]
fn an_error_that_names_a_position_names_the_tool() {
    let body = r#"{"error":{"message":"tools.0.custom.input_schema: odd"}}"#;
    let provider = Provider::anthropic([Answer::status(400, body)]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);

    let ran = shell.run(&["send", "question.chat"]);

    let name = provider.requests()[0].body["tools"][0]["name"].clone();
    let named = format!("tools.0 is the tool {name}.");
    assert!(ran.err.contains(&named), "{ran:?}");
}
