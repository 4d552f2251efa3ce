//! Logins at MCP servers, from Neovim and from a shell. The server is `tests/mcp/oauth.py`, which
//! requires one; the browser is a program that follows its redirects.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use harness::{Answer, Provider};
use serde_json::json;

use crate::shell::{Shell, end, wait};
use crate::stage::*;

/// A server that requires a login, and its URL.
struct Double(Child, String);

impl Double {
    fn start() -> Self {
        let script = harness::repository().join("tests/mcp/oauth.py");
        let mut python = Command::new("python3");
        let child = python.arg(script).stdout(Stdio::piped()).spawn();
        let mut child = child.unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let url = format!("{}/mcp", lines.next().unwrap().unwrap());
        // What it prints later must not fill the pipe.
        std::thread::spawn(move || lines.for_each(drop));
        Self(child, url)
    }
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Opens a page as a user who agrees at once.
fn browse(url: &str) {
    let code = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1])";
    let opened = Command::new("python3").args(["-c", code, url]).status();
    assert!(opened.unwrap().success(), "{url}");
}

#[test]
fn a_key_command_opens_the_page_of_a_login() {
    let double = Double::start();
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let servers = json!({"docs": {"url": double.1}});
    let editor = ask_with(&provider, json!({"mcp": {"servers": servers}}));
    editor.lua(
        "vim.ui.open = function(url) _G.opened = url end",
        &json!([]),
    );
    editor.keys("<C-]>");
    wait_message(&editor, "The MCP server \"docs\" requires a login.");
    assert_eq!(
        editor.lua("return _G.opened == nil", &json!([])),
        json!(true)
    );
    editor.command("Flemma mcp");
    editor.wait_screen("the state", |rows| {
        rows.iter().any(|it| it.contains("needs login"))
    });
    editor.command("Flemma mcp:login docs");
    let opened = || editor.lua("return _G.opened or ''", &json!([]));
    editor.wait_for("the page", |_| opened() != json!(""));
    browse(opened().as_str().unwrap());
    wait_message(&editor, "You are logged in to the MCP server \"docs\".");
    let logins = editor.dir().join("../state/nvim/flemma/mcp-logins.json");
    assert!(logins.exists());
    editor.command("Flemma mcp:logout docs");
    wait_message(
        &editor,
        "You are no longer logged in to the MCP server \"docs\".",
    );
    let stored = std::fs::read_to_string(logins).unwrap();
    assert!(!stored.contains("access_token"), "{stored}");
}

#[test]
fn the_command_line_prints_the_address_of_a_login() {
    let double = Double::start();
    let shell = Shell::offline();
    shell.configure(&format!("[mcp.servers.docs]\nurl = \"{}\"\n", double.1));
    let ran = shell.run(&["mcp", "list", "docs", "--start"]);
    assert!(ran.out.contains("It requires a login"), "{ran:?}");
    let mut command = shell.command(&["mcp", "login", "docs"]);
    let mut child = command
        .stderr(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    let address = lines.find_map(|line| line.ok().filter(|it| it.starts_with("http")));
    browse(&address.unwrap());
    let ran = end(child);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(
        ran.out
            .contains("You are logged in to the MCP server \"docs\"."),
        "{ran:?}"
    );
    wait("the tools", || {
        let ran = shell.run(&["mcp", "list", "docs", "--start"]);
        ran.out.contains("docs__hello")
    });
}
