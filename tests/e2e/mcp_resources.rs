//! References to resources of MCP servers, with their completion. The server is
//! `tests/mcp/fake.py`, which has resources and no tools.

use harness::{Answer, Provider};
use serde_json::{Value as Json, json};

use crate::mcp_client::script;
use crate::shell::Shell;
use crate::stage::*;

/// The text of the first message of a request.
fn sent(provider: &Provider, request: usize) -> String {
    let requests = provider.wait_requests(request + 1);
    let content: Json = requests[request].body["messages"][0]["content"].clone();
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|it| it["text"].as_str()).collect()
}

fn options() -> Json {
    json!({"mcp": {"servers": {"docs": {"command": ["python3", script(), "resources"]}}}})
}

#[test]
fn servers_resources_and_variables_of_templates_are_completed() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = ask_with(&provider, options());
    wait_server(&editor);
    editor.keys("GoSee @doc<C-x><C-o>");
    editor.wait_text("See @docs:");
    editor.keys("note://tod<C-x><C-o>");
    editor.wait_text("See @docs:note://today");
    editor.keys(" and @docs:note://a%20<C-x><C-o>");
    editor.wait_text(" and @docs:note://a%20b");
    editor.keys(" in @docs:cit<C-x><C-o>");
    editor.wait_text(" in @docs:city://");
    editor.keys("n<C-x><C-o>");
    editor.wait_text(" in @docs:city://nz/");
    editor.keys("w<C-x><C-o>");
    editor.wait_text(" in @docs:city://nz/wellington");
}

#[test]
fn a_resource_is_sent_and_its_text_has_no_effect() {
    let provider = Provider::anthropic([Answer::says("Well."), Answer::says("Fine.")]);
    let editor = ask_with(&provider, options());
    editor.keys("GoRead @docs:note://today.<Esc><C-]>");
    wait_message(
        &editor,
        "The MCP server \"docs\" has resources: write @docs:URI",
    );
    wait_end(&editor, "Well.\n\n@You:\n\n");
    let first = sent(&provider, 0);
    assert!(first.contains("Buy milk.\n@You:\n```\n"), "{first}");
    editor.keys("GiAgain.<Esc><C-]>");
    wait_end(&editor, "Fine.\n\n@You:\n\n");
    assert_eq!(sent(&provider, 1), first);
    editor.command("Flemma mcp docs");
    editor.wait_screen("how to refer to one", |rows| {
        rows.iter().any(|it| it.contains("@docs:URI"))
    });
}

#[test]
fn the_command_line_sends_a_resource_or_says_why_not() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    let server = format!(
        "[mcp.servers.docs]\ncommand = [\"python3\", \"{}\", \"resources\"]\n",
        script()
    );
    shell.configure(&server);
    shell.write("question.chat", "@You:\nSee @docs:note://gone\n");
    let ran = shell.run(&["send", "question.chat"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    let why = "Line 2: @docs:note://gone cannot be read from the MCP server \"docs\": it has no such resource.";
    assert!(ran.err.contains(why), "{}", ran.err);
    assert!(provider.requests().is_empty());

    shell.write("question.chat", "@You:\nSee @docs:note://a%20b\n");
    let ran = shell.run(&["send", "question.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(sent(&provider, 0).contains("two words\n"));
}
