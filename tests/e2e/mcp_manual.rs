//! The manual's examples about the Model Context Protocol, word for word. Stand-in
//! programs replace those that would download a server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use harness::{Answer, Provider};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::mcp_client::{offered, script};
use crate::mcp_serve::{CURL, Client, Http};
use crate::shell::Shell;
use crate::stage::*;

fn with_uvx() -> (TempDir, String) {
    with_program("uvx", "mcp-server-time")
}

/// A folder with a program that runs the fake server if it gets these arguments, and a `$PATH` that
/// starts with that folder.
fn with_program(name: &str, arguments: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join(name);
    let text = format!(
        "#!/bin/sh\n[ \"$*\" = '{arguments}' ] && exec python3 '{}'\n",
        script()
    );
    fs::write(&program, text).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var("PATH").unwrap();
    let path = format!("{}:{path}", Path::new(folder.path()).display());
    (folder, path)
}

#[test]
fn the_manuals_server_works() {
    let (_folder, path) = with_uvx();
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = offline().provider(&provider).env("PATH", path);
    let setup = setup.init(&manual_snippet("flemma-mcp-servers"));
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert!(offered(&provider, 0).contains(&"time__echo".to_owned()));
}

#[test]
fn the_manuals_options_of_the_command_line_name_the_same_server() {
    let (_folder, path) = with_uvx();
    let shell = Shell::offline();
    shell.configure(&manual_text("flemma-mcp-servers", "toml"));
    let mut list = shell.command(&["mcp", "list", "--start"]);
    let ran = list.env("PATH", path).output().unwrap();
    let out = String::from_utf8_lossy(&ran.stdout);
    assert!(out.contains("time") && out.contains("running"), "{out}");
}

#[test]
fn the_manuals_client_configuration_works() {
    let configuration: Value =
        serde_json::from_str(&manual_text("flemma-mcp-serve", "json")).unwrap();
    let server = json!({"command": "flemma", "args": ["mcp", "serve"]});
    assert_eq!(configuration, json!({"mcpServers": {"flemma": server}}));
    let shell = Shell::offline();
    let mut client = Client::greeted(&shell, &[]);
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    assert!(client.receive()["result"]["tools"].is_array());
    client.leave();
}

#[test]
fn the_manuals_request_is_answered() {
    let printed = manual_text("flemma-mcp-serve", "sh");
    let body = printed.split("-d '").nth(1).unwrap();
    let body: Value = serde_json::from_str(body.trim_end().trim_end_matches('\'')).unwrap();
    let shell = Shell::offline();
    let http = Http::start(&shell, None);
    let (status, answer) = http.post(&CURL, &body);
    assert_eq!(status, 200, "{answer}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "56");
}

#[test]
fn the_manuals_example_of_the_option_works_and_reports_missing_variables() {
    let arguments = "-y @modelcontextprotocol/server-filesystem .";
    let (_folder, path) = with_program("npx", arguments);
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = with_lua_options(&provider, &manual_snippet("flemma-mcp.servers"));
    let editor = setup
        .env("PATH", path)
        .file("question.chat", QUESTION)
        .start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert!(offered(&provider, 0).contains(&"files__echo".to_owned()));
    wait_message(&editor, "the variable DOCS_TOKEN is not set");
}
