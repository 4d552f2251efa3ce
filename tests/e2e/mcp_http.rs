//! `flemma mcp serve --http` and malformed requests: bad messages, other methods,
//! requests without an end.

use std::io::Write;

use serde_json::{Value, json};

use crate::mcp_serve::{CURL, Client, Http, call};
use crate::shell::Shell;

fn post(host: &str, headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\
         Content-Type: application/json\r\n{headers}Content-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

#[test]
fn bad_json_and_missing_parameters_have_codes_of_their_own() {
    let shell = Shell::offline();
    let http = Http::start(&shell, None);
    for (body, status, id, code) in [
        ("{", 400, json!(null), -32700),
        ("[]", 400, json!(null), -32600),
        (
            r#"{"jsonrpc":"2.0","id":7,"method":"tools/call"}"#,
            200,
            json!(7),
            -32602,
        ),
        (
            r#"{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{}}"#,
            200,
            json!(8),
            -32602,
        ),
    ] {
        let (found, answer) = http.request(&post("localhost", "", body));
        assert_eq!(found, status, "{body}: {answer}");
        let answer = answer.split_once("\r\n\r\n").unwrap().1;
        let answer: Value = serde_json::from_str(answer).unwrap();
        assert_eq!(
            (&answer["id"], &answer["error"]["code"]),
            (&id, &json!(code)),
            "{body}"
        );
    }
}

#[test]
fn get_and_delete_need_a_session() {
    let shell = Shell::offline();
    let http = Http::start(&shell, None);
    for method in ["GET", "DELETE", "PUT"] {
        let request =
            format!("{method} /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        let (status, answer) = http.request(&request);
        assert_eq!(status, 405, "{method}: {answer}");
        assert!(answer.to_lowercase().contains("allow: post"), "{answer}");
    }
}

#[test]
fn with_the_token_any_host_name_is_accepted() {
    let shell = Shell::offline();
    let body = call(1, "calculator", &json!({"expression": "7*8"})).to_string();
    let token = "Authorization: Bearer s3cret\r\n";
    let http = Http::start(&shell, Some("s3cret"));
    for host in ["machine.example:12345", "192.168.1.20", "[fd00::1]:80"] {
        let (status, answer) = http.request(&post(host, token, &body));
        assert_eq!(status, 200, "{host}: {answer}");
    }
    assert_eq!(http.request(&post("machine.example", "", &body)).0, 401);
    drop(http);
    let http = Http::start(&shell, None);
    assert_eq!(http.request(&post("machine.example", "", &body)).0, 403);
}

#[test]
fn endless_requests_block_no_other_client() {
    let shell = Shell::offline();
    let http = Http::start(&shell, None);
    let unfinished = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                      Content-Length: 100\r\n\r\n{";
    let held: Vec<_> = (0..300)
        .map(|number| {
            let mut stream = http.connect();
            // Some are incomplete in the headers, and some have sent nothing.
            let sent = [unfinished, &unfinished[..20], ""][number % 3];
            stream.write_all(sent.as_bytes()).unwrap();
            stream
        })
        .collect();
    let request = call(1, "calculator", &json!({"expression": "7*8"}));
    assert_eq!(http.post(&CURL, &request).0, 200);
    drop(held);
}

#[test]
fn tools_of_a_folder_are_served_when_it_is_named() {
    let shell = Shell::offline();
    shell.write(
        "more/hello/tool.toml",
        "description = \"Says hello\"\nscript = \"hello.py\"\n",
    );
    shell.write("more/hello/hello.py", "print(\"hello\")\n");
    let mut client = Client::greeted(&shell, &["--tools-dir", "more", "--approve", "hello"]);
    client.send(&call(2, "hello", &json!({})));
    let answer = client.receive();
    let text = &answer["result"]["content"][0]["text"];
    assert_eq!(text.as_str().map(str::trim), Some("hello"), "{answer}");
    client.leave();
}
