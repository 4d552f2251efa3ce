//! `flemma mcp serve --http`.

use std::net::TcpStream;

use super::*;

/// A server on its own port, and its standard error so far.
pub struct Http {
    child: Child,
    port: u16,
    /// Kept open, because the server still writes to it.
    _stderr: BufReader<std::process::ChildStderr>,
}

impl Http {
    pub fn start(shell: &Shell, token: Option<&str>) -> Self {
        let mut command = shell.command(&["mcp", "serve", "--http", "127.0.0.1:0"]);
        if let Some(token) = token {
            command.env("FLEMMA_MCP_TOKEN", token);
        }
        let mut child = command.spawn().unwrap();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        while !line.contains("Serving at") {
            line.clear();
            assert_ne!(stderr.read_line(&mut line).unwrap(), 0, "it ended");
        }
        let port = line
            .split("127.0.0.1:")
            .nth(1)
            .and_then(|it| it.split('/').next());
        let port = port.unwrap_or_else(|| panic!("{line:?}")).parse().unwrap();
        Self {
            child,
            port,
            _stderr: stderr,
        }
    }

    /// Sends a request that makes the server close the connection. Returns the status and the whole
    /// response.
    pub fn request(&self, request: &str) -> (u16, String) {
        let mut stream = self.connect();
        write!(stream, "{request}").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).and_then(|it| it.parse().ok());
        (status.unwrap_or_default(), answer)
    }

    pub fn connect(&self) -> TcpStream {
        TcpStream::connect(("127.0.0.1", self.port)).unwrap()
    }

    /// Posts a message. Returns the status and the body of the response.
    pub fn post(&self, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
        let body = body.to_string();
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let (status, answer) = self.request(&format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost:{}\r\nConnection: close\r\n\
             Content-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            self.port,
            body.len()
        ));
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status, body.to_owned())
    }
}

impl Drop for Http {
    fn drop(&mut self) {
        crate::processes::signal(self.child.id(), rustix::process::Signal::TERM);
        let _ = self.child.wait();
    }
}

/// The headers that `curl` sends.
pub const CURL: [(&str, &str); 1] = [("Accept", "*/*")];

#[test]
fn a_single_request_is_answered_with_json() {
    let shell = Shell::offline();
    let http = Http::start(&shell, None);
    let (status, body) = http.post(&CURL, &call(1, "calculator", &json!({"expression": "7*8"})));
    assert_eq!(status, 200, "{body}");
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["result"]["content"][0]["text"], "56");
    assert_eq!(answer["result"]["isError"], false);
}

#[test]
fn headers_of_the_newer_version_must_match_the_request() {
    let shell = Shell::offline();
    let http = Http::start(&shell, None);
    let mut request = call(1, "calculator", &json!({"expression": "7*8"}));
    request["params"]["_meta"] = meta();
    let headers = |name| {
        [
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", "tools/call"),
            ("Mcp-Name", name),
        ]
    };
    let (status, body) = http.post(&headers("calculator"), &request);
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("\"resultType\":\"complete\""), "{body}");
    let (status, body) = http.post(&headers("bash"), &request);
    assert_eq!(status, 400, "{body}");
    assert!(body.contains("-32020"), "{body}");
}

#[test]
fn a_session_over_http_begins_with_initialize() {
    let shell = Shell::offline();
    let http = Http::start(&shell, None);
    let accept = [("Accept", "application/json, text/event-stream")];
    let (status, body) = http.post(&accept, &initialize("2025-06-18"));
    assert_eq!(status, 200, "{body}");
    assert!(
        body.contains("\"protocolVersion\":\"2025-06-18\""),
        "{body}"
    );
}

#[test]
fn other_origins_and_clients_without_the_token_are_refused() {
    let shell = Shell::offline();
    let request = call(1, "calculator", &json!({"expression": "7*8"}));
    let http = Http::start(&shell, None);
    assert_eq!(
        http.post(&[("Origin", "https://evil.example")], &request).0,
        403
    );
    assert_eq!(
        http.post(&[("Origin", "http://localhost:5173")], &request)
            .0,
        200
    );
    drop(http);
    let http = Http::start(&shell, Some("s3cret"));
    assert_eq!(http.post(&CURL, &request).0, 401);
    assert_eq!(
        http.post(&[("Authorization", "Bearer other")], &request).0,
        401
    );
    assert_eq!(
        http.post(&[("Authorization", "Bearer s3cret")], &request).0,
        200
    );
}

#[test]
fn nothing_is_served_to_other_machines_without_a_token() {
    let shell = Shell::offline();
    let ran = end(shell.start(&["mcp", "serve", "--http", "0.0.0.0:0"]));
    assert_eq!(ran.code, Some(2), "{ran:?}");
    assert!(ran.err.contains("FLEMMA_MCP_TOKEN"), "{ran:?}");
}

#[test]
fn a_tool_is_served_as_soon_as_it_is_in_the_folder() {
    let shell = Shell::offline();
    shell.configure("[tools]\nauto_approve = [\"hello\"]\nscript_paths = [\"tools\"]\n");
    std::fs::create_dir_all(shell.path("tools")).unwrap();
    let http = Http::start(&shell, None);
    let request = call(1, "hello", &json!({}));
    let (_, body) = http.post(&CURL, &request);
    assert!(body.contains("-32602"), "{body}");
    shell.write(
        "tools/hello/tool.toml",
        "description = \"Says hello\"\nscript = \"hello.py\"\n",
    );
    shell.write("tools/hello/hello.py", "print(\"hello\")\n");
    let (_, body) = http.post(&CURL, &request);
    assert!(body.contains("\"text\":\"hello"), "{body}");
}
