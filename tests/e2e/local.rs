//! The provider `local`: a server that the host starts on demand, shares between chats,
//! and ends. Here, the server is a script that answers as llama.cpp does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use harness::{Editor, Setup};
use serde_json::json;
use tempfile::TempDir;

use crate::stage::*;

/// A server that records its arguments and process id, responds that it is loading while the file
/// `slow` exists, and then answers "From PORT.".
const SERVER: &str = r#"#!/usr/bin/env python3
import http.server, json, os, sys
here = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(here, "started"), "a") as f:
    f.write(json.dumps({"pid": os.getpid(), "arguments": sys.argv[1:], "keys": [k for k in os.environ if k.endswith(("_API_KEY", "_ACCESS_TOKEN"))]}) + "\n")
if os.path.exists(os.path.join(here, "broken")):
    sys.exit("error: failed to load model: not a GGUF")
port = int(sys.argv[sys.argv.index("--port") + 1])
class Server(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_): print("x" * 2000, file=sys.stderr)
    def reply(self, code, kind, body):
        self.send_response(code); self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body))); self.end_headers(); self.wfile.write(body)
    def do_GET(self):
        slow = os.path.exists(os.path.join(here, "slow"))
        body = {"data": [{"id": "tiny"}]} if self.path.endswith("/models") else {}
        self.reply(503 if slow else 200, "application/json", json.dumps(body).encode())
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        chunk = {"choices": [{"index": 0, "delta": {"content": f"From {port}."}, "finish_reason": None}]}
        end = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
        self.reply(200, "text/event-stream", f"data: {json.dumps(chunk)}\n\ndata: {json.dumps(end)}\n\ndata: [DONE]\n\n".encode())
http.server.ThreadingHTTPServer(("127.0.0.1", port), Server).serve_forever()
"#;

/// A folder with a server and a model.
fn machine() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let server = folder.path().join("llama-server");
    fs::write(&server, SERVER).unwrap();
    fs::set_permissions(&server, fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(folder.path().join("tiny.gguf"), "GGUF").unwrap();
    folder
}

fn setup_on(machine: &Path) -> Setup {
    let local = json!({
        "server": machine.join("llama-server"),
        "model_path": machine.join("tiny.gguf"),
        "extra_args": ["--ctx-size", "4096"],
    });
    offline()
        .env("ANTHROPIC_API_KEY", "not-for-it")
        .env("VERTEX_AI_ACCESS_TOKEN", "not-for-it")
        .options(json!({"provider": "local", "parameters": {"local": local}}))
        .file("question.chat", QUESTION)
        .with("other.chat", QUESTION)
}

fn start(machine: &Path) -> Editor {
    let editor = setup_on(machine).start();
    watch(&editor);
    editor
}

/// The records of the servers that were started.
fn started(machine: &Path) -> Vec<serde_json::Value> {
    let text = fs::read_to_string(machine.join("started")).unwrap_or_default();
    let lines = text
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.collect()
}

fn lives(server: &serde_json::Value) -> bool {
    let stat = fs::read_to_string(format!("/proc/{}/stat", server["pid"])).unwrap_or_default();
    // A zombie has ended, too.
    !stat.is_empty() && !stat.contains(") Z ")
}

#[test]
fn one_server_serves_all_chats_and_ends_with_neovim() {
    let machine = machine();
    let editor = start(machine.path());
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nFrom ");
    wait_end(&editor, "@You:\n\n");
    editor.command("edit other.chat");
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nFrom ");
    let servers = started(machine.path());
    assert_eq!(servers.len(), 1, "{servers:?}");
    let arguments = servers[0]["arguments"].to_string();
    for part in [r#""--jinja""#, r#""127.0.0.1""#, r#""--ctx-size","4096""#] {
        assert!(arguments.contains(part), "{part} in {arguments}");
    }
    assert_eq!(servers[0]["keys"], json!([]));
    assert!(lives(&servers[0]));
    drop(editor);
    let deadline = std::time::Instant::now() + harness::PATIENCE;
    while lives(&servers[0]) {
        assert!(std::time::Instant::now() < deadline, "it outlived Neovim");
        std::thread::yield_now();
    }
}

#[test]
fn loading_a_model_is_shown_and_awaited() {
    let machine = machine();
    fs::write(machine.path().join("slow"), "").unwrap();
    let editor = start(machine.path());
    editor.keys("<C-]>");
    editor.wait_screen("what is loaded", |rows| {
        let note = "local: llama-server loads tiny.gguf, 1 s";
        rows.iter().any(|row| row.contains(note))
    });
    fs::remove_file(machine.path().join("slow")).unwrap();
    editor.wait_text("@Assistant:\nFrom ");
}

#[test]
fn cancelling_while_the_model_loads_ends_the_server() {
    let machine = machine();
    fs::write(machine.path().join("slow"), "").unwrap();
    let editor = start(machine.path());
    editor.keys("<C-]>");
    editor.wait_for("a server", |_| !started(machine.path()).is_empty());
    crate::traces::press_cancel(&editor, "a cancelled request", |editor| {
        events(editor).contains(&"FlemmaRequestFinished cancelled".to_owned())
    });
    let server = &started(machine.path())[0];
    editor.wait_for("the end of the server", |_| !lives(server));
    assert_eq!(editor.text(), QUESTION);
}

#[test]
fn a_server_that_died_is_started_again() {
    let machine = machine();
    let editor = start(machine.path());
    editor.keys("<C-]>");
    wait_end(&editor, "@You:\n\n");
    let first = &started(machine.path())[0];
    let pid = first["pid"].to_string();
    let killed = std::process::Command::new("kill")
        .args(["-9", &pid])
        .status();
    assert!(killed.unwrap().success());
    editor.wait_for("its end", |_| !lives(first));
    editor.keys("GiMore.<Esc><C-]>");
    editor.wait_for("a second server", |_| started(machine.path()).len() == 2);
    editor.wait_for("a second answer", |editor| {
        editor.text().matches("@Assistant:\nFrom ").count() == 2
    });
}

#[test]
fn missing_files_are_reported_with_where_to_get_them() {
    let machine = machine();
    for (file, message) in [
        (
            "llama-server",
            "llama-server is not installed, so nothing was sent.",
        ),
        ("tiny.gguf", "tiny.gguf, so nothing was sent."),
    ] {
        fs::remove_file(machine.path().join(file)).unwrap();
        let editor = start(machine.path());
        editor.keys("<C-]>");
        let messages = wait_message(&editor, message);
        assert!(messages.contains("`flemma local` says how"), "{messages}");
        assert_eq!(editor.text(), QUESTION);
    }
    let none = offline().options(json!({"provider": "local"}));
    let editor = none.file("question.chat", QUESTION).start();
    editor.keys("<C-]>");
    wait_message(
        &editor,
        "No model is set for the provider local, so nothing was sent.",
    );
}

#[test]
fn a_server_that_cannot_load_its_model_says_why() {
    let machine = machine();
    fs::write(machine.path().join("broken"), "").unwrap();
    let editor = start(machine.path());
    editor.keys("<C-]>");
    wait_message(
        &editor,
        "ended before it had loaded tiny.gguf: error: failed to load model: not a GGUF",
    );
    assert_eq!(editor.text(), QUESTION);
}

#[test]
fn the_guide_names_the_options() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_flemma"))
        .arg("local")
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    for part in ["llama-server", "model_path", "extra_args", "GGUF"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
