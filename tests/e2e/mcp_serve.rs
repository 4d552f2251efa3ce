//! `flemma mcp serve`: Flemma's tools for other programs, over standard streams and HTTP,
//! in both versions of the protocol.

mod http;

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout};

use serde_json::{Value, json};

pub use self::http::{CURL, Http};
use crate::processes::is_running;
use crate::shell::{Shell, end, wait};

/// The metadata of a request in the newer version of the protocol.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn initialize(version: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": version,
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }})
}

pub fn call(id: u64, name: &str, arguments: &Value) -> Value {
    let params = json!({"name": name, "arguments": arguments});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

/// A client of `flemma mcp serve`.
pub struct Client {
    child: Child,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
}

impl Client {
    fn start(shell: &Shell, arguments: &[&str]) -> Self {
        let arguments = [&["mcp", "serve"], arguments].concat();
        let mut command = shell.command(&arguments);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
        Self {
            stdin: child.stdin.take().unwrap(),
            stdout: BufReader::new(child.stdout.take().unwrap()),
            child,
        }
    }

    /// A client that has initialized in the older version of the protocol.
    pub fn greeted(shell: &Shell, arguments: &[&str]) -> Self {
        let mut client = Self::start(shell, arguments);
        client.send(&initialize("2025-06-18"));
        let greeting = client.receive();
        assert_eq!(greeting["result"]["protocolVersion"], "2025-06-18");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    /// Reads the next line, which must be JSON.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.stdout.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{line:?}: {error}"))
    }

    /// Closes the input and waits for the end. Returns the exit code and the remaining output.
    pub fn leave(mut self) -> (Option<i32>, String) {
        drop(self.stdin);
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code(), rest)
    }
}

#[test]
fn a_client_of_the_older_version_initializes_lists_and_calls() {
    let shell = Shell::offline();
    let mut client = Client::greeted(&shell, &[]);
    client.send(&json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"}));
    let listed = client.receive();
    let tools = listed["result"]["tools"].as_array().unwrap().clone();
    let names: Vec<&str> = tools.iter().filter_map(|it| it["name"].as_str()).collect();
    assert!(
        names.is_sorted() && names.contains(&"calculator"),
        "{names:?}"
    );
    assert!(!names.contains(&"execute_code") && !names.contains(&"calculator_async"));
    assert!(tools.iter().all(|it| it["inputSchema"]["type"] == "object"));
    client.send(&call(3, "calculator", &json!({"expression": "7*8"})));
    let called = client.receive();
    assert_eq!(called["id"], 3);
    assert_eq!(
        called["result"],
        json!({"content": [{"type": "text", "text": "56"}], "isError": false})
    );
    assert_eq!(client.leave(), (Some(0), String::new()));
}

#[test]
fn a_client_of_the_newer_version_does_not_initialize() {
    let shell = Shell::offline();
    let mut client = Client::start(&shell, &[]);
    let params = json!({"_meta": meta()});
    client.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "server/discover", "params": params}));
    let discovered = client.receive();
    let versions = discovered["result"]["supportedVersions"]
        .as_array()
        .unwrap();
    assert!(versions.contains(&json!("2026-07-28")), "{discovered}");
    let mut request = call(2, "calculator", &json!({"expression": "7*8"}));
    request["params"]["_meta"] = meta();
    client.send(&request);
    let called = client.receive();
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    assert_eq!(called["result"]["content"][0]["text"], "56");
    assert_eq!(client.leave(), (Some(0), String::new()));
}

#[test]
fn a_denied_call_says_how_to_allow_it() {
    let shell = Shell::offline();
    let command = json!({"command": "touch ran; echo out"});
    let mut client = Client::greeted(&shell, &[]);
    client.send(&call(2, "bash", &command));
    let refused = client.receive();
    assert_eq!(refused["result"]["isError"], true);
    let text = refused["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.contains("flemma mcp serve --approve bash"), "{text}");
    assert!(!shell.path("ran").exists());
    client.leave();

    let mut client = Client::greeted(&shell, &["--approve", "bash"]);
    client.send(&call(2, "bash", &command));
    assert_eq!(client.receive()["result"]["content"][0]["text"], "out");
    client.leave();
    let log = shell.run(&["log"]);
    assert!(log.out.contains("bash"), "{log:?}");
}

#[test]
fn what_calls_changed_is_restored_by_flemma_undo() {
    let shell = Shell::offline();
    shell.write("a.txt", "one\n");
    let mut client = Client::greeted(&shell, &["--approve", "write", "--approve", "bash"]);
    let write = json!({"label": "", "path": "a.txt", "content": "two\n"});
    client.send(&call(2, "write", &write));
    assert_eq!(client.receive()["result"]["isError"], false);
    client.send(&call(
        3,
        "bash",
        &json!({"command": "echo three > a.txt; echo x > b.txt"}),
    ));
    assert_eq!(client.receive()["result"]["isError"], false);
    client.leave();
    let ran = shell.run(&["undo", "--yes"]);
    assert!(ran.err.contains("remove   b.txt"), "{ran:?}");
    assert_eq!(shell.read("a.txt"), "two\n");
    assert!(!shell.path("b.txt").exists());
    assert_eq!(shell.run(&["undo", "--yes"]).code, Some(0));
    assert_eq!(shell.read("a.txt"), "one\n");
}

#[test]
fn a_wrong_call_and_a_failed_call_have_different_errors() {
    let shell = Shell::offline();
    let mut client = Client::greeted(&shell, &[]);
    client.send(&call(2, "clculator", &json!({})));
    assert_eq!(client.receive()["error"]["code"], -32602);
    client.send(&call(3, "calculator", &json!({"expression": 7})));
    let unfit = client.receive();
    assert_eq!(unfit["result"]["isError"], true, "{unfit}");
    client.send(&call(4, "read", &json!({"path": "missing.txt"})));
    assert_eq!(client.receive()["result"]["isError"], true);
    client.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "no/such"}));
    assert_eq!(client.receive()["error"]["code"], -32601);
    client.send(&json!({"jsonrpc": "2.0", "id": 5, "method": "tools/call"}));
    assert_eq!(client.receive()["error"]["code"], -32602);
    writeln!(client.stdin, "{{").unwrap();
    let unread = client.receive();
    assert_eq!(
        (&unread["id"], &unread["error"]["code"]),
        (&Value::Null, &json!(-32700))
    );
    client.send(&json!({"jsonrpc": "2.0", "id": 6, "method": "ping"}));
    assert_eq!(client.receive()["result"], json!({}));
    client.leave();
}

/// A client whose request 2 runs an endless command, and the process id of that command.
fn with_an_endless_command(shell: &Shell) -> (Client, u32) {
    let mut client = Client::greeted(shell, &["--approve", "bash"]);
    client.send(&call(
        2,
        "bash",
        &json!({"command": "echo $$ > pid; sleep 600"}),
    ));
    shell.wait_file("pid", "\n");
    let pid = shell.read("pid").trim().parse().unwrap();
    (client, pid)
}

#[test]
fn a_cancelled_request_ends_what_it_started() {
    let shell = Shell::offline();
    let (mut client, pid) = with_an_endless_command(&shell);
    let params = json!({"requestId": 2, "reason": "enough"});
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}));
    wait("the command's end", || !is_running(pid));
    client.send(&call(3, "calculator", &json!({"expression": "1+1"})));
    assert_eq!(client.receive()["id"], 3);
    client.leave();
}

#[test]
fn commands_end_with_their_client() {
    let shell = Shell::offline();
    let (client, pid) = with_an_endless_command(&shell);
    client.leave();
    assert!(!is_running(pid));
}

#[test]
fn progress_is_sent_to_clients_that_ask_for_it() {
    let shell = Shell::offline();
    let mut client = Client::greeted(&shell, &["--approve", "bash"]);
    let mut request = call(
        2,
        "bash",
        &json!({"command": "echo first; until [ -e go ]; do sleep 0.01; done"}),
    );
    request["params"]["_meta"] = json!({"progressToken": "p"});
    client.send(&request);
    let progress = client.receive();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["progressToken"], "p");
    assert_eq!(progress["params"]["message"], "first\n");
    shell.write("go", "");
    assert_eq!(client.receive()["result"]["content"][0]["text"], "first");
    client.leave();
}

#[test]
fn a_reading_command_runs_read_only_and_the_log_names_the_sandbox() {
    let name = "a_reading_command_runs_read_only_and_the_log_names_the_sandbox";
    if !crate::sandbox::holds(name) {
        return;
    }
    let asked = json!({"command": "test -w . && echo writes || echo reads"});
    for enabled in [true, false] {
        let shell = Shell::offline();
        shell.configure(&format!("[sandbox]\nenabled = {enabled}\n"));
        let held = |arguments: &[&str]| {
            let mut client = Client::greeted(&shell, arguments);
            client.send(&call(2, "bash", &asked));
            let text = client.receive()["result"]["content"][0]["text"].clone();
            client.leave();
            let log = shell.run(&["log", "1000"]).out;
            let started = log.lines().rfind(|it| it.contains("started, sandbox "));
            let started = started.unwrap_or_else(|| panic!("{log}")).to_owned();
            (text, started)
        };
        let (text, started) = held(&[]);
        assert_eq!(text, "reads", "enabled = {enabled}");
        assert!(started.contains("sandbox bwrap"), "{enabled}: {started}");
        // Approved by name, it has all permissions of the sandbox.
        let (text, started) = held(&["--approve", "bash"]);
        assert_eq!(text, "writes", "enabled = {enabled}");
        let by = if enabled { "bwrap" } else { "none" };
        assert!(
            started.contains(&format!("sandbox {by}")),
            "{enabled}: {started}"
        );
    }
}
