//! Malformed answers of HTTP servers: repaired if possible; otherwise the call fails at once. And the
//! reasons that users see if a server refuses a connection.
#![allow(clippy::unwrap_used)]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp::{Called, Caller, Http, PinnedTools, Reach, Server, ServerSpec};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;
use tools::{NoElicitation, Progress};

const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

/// The answer to each tool call.
#[derive(Clone)]
struct CannedResponse {
    kind: &'static str,
    /// The body; `ID` is replaced with the request's ID.
    bytes: Vec<u8>,
    /// True if the response stays open.
    stays: bool,
}

struct Fake {
    server: Arc<Server>,
    answer: Arc<Mutex<CannedResponse>>,
}

/// Starts a fake server.
async fn fake() -> Fake {
    let answer = CannedResponse {
        kind: JSON,
        bytes: Vec::new(),
        stays: false,
    };
    let answer = Arc::new(Mutex::new(answer));
    let given = answer.clone();
    let server = serve(move |stream| respond(stream, given.clone())).await;
    Fake { server, answer }
}

/// Returns a server at whose address `respond` answers each connection.
async fn serve<F: Future<Output = ()> + Send + 'static>(
    respond: impl Fn(TcpStream) -> F + Send + 'static,
) -> Arc<Server> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(respond(stream));
        }
    });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let headers = Default::default();
    let spec = ServerSpec::new(
        "test",
        "docs",
        Reach::Http {
            url,
            headers,
            oauth: Default::default(),
        },
    );
    let http = |_: &str| {
        let client = reqwest::Client::builder().build();
        client.map_err(|error| error.to_string())
    };
    Server::new(spec, PinnedTools::Never, Http::new(http), |_| {})
}

/// Returns the reason why a server can't be used that answers every request with `answer`.
async fn refusal(answer: &'static str) -> String {
    let server = serve(move |stream| async move {
        let mut stream = BufReader::new(stream);
        if request(&mut stream).await.is_some() {
            let (status, rest) = answer.split_once("\r\n").unwrap();
            let answer = format!("HTTP/1.1 {status}\r\nConnection: close\r\n{rest}");
            let _ = stream.write_all(answer.as_bytes()).await;
        }
    });
    server.await.start().await.unwrap_err()
}

impl Fake {
    /// Calls a tool with a time limit of an hour.
    async fn call(&self, kind: &'static str, bytes: impl Into<Vec<u8>>, stays: bool) -> Called {
        *self.answer.lock().unwrap() = CannedResponse {
            kind,
            bytes: bytes.into(),
            stays,
        };
        let caller = Caller {
            progress: Progress::default(),
            elicitation: Arc::new(NoElicitation),
            cancel: CancellationToken::new(),
            limit: Duration::from_secs(3600),
        };
        self.server.call("say", Map::new(), &caller).await
    }
}

/// Reads one request: true if it was posted, and its body. `None` if there is none.
async fn request(stream: &mut BufReader<TcpStream>) -> Option<(bool, Value)> {
    let (mut length, mut posted) = (0, true);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await.unwrap_or_default() == 0 {
            return None;
        }
        posted &= !line.starts_with("GET") && !line.starts_with("DELETE");
        let line = line.to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.unwrap();
    Some((posted, serde_json::from_slice(&body).unwrap_or_default()))
}

/// Reads one request and answers it.
async fn respond(stream: TcpStream, answer: Arc<Mutex<CannedResponse>>) {
    let mut stream = BufReader::new(stream);
    let Some((posted, request)) = request(&mut stream).await else {
        return;
    };
    let result = match request["method"].as_str() {
        _ if !posted => return say(&mut stream, "405 Method Not Allowed", JSON, b"").await,
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "fake", "version": "1"},
        }),
        Some("tools/list") => json!({"tools": [{
            "name": "say",
            "inputSchema": {"type": "object"},
        }]}),
        Some("ping") => json!({}),
        Some("tools/call") => {
            let answer = answer.lock().unwrap().clone();
            let id = request["id"].to_string();
            let at = answer.bytes.windows(2).position(|it| it == b"ID").unwrap();
            let bytes = [&answer.bytes[..at], id.as_bytes(), &answer.bytes[at + 2..]].concat();
            say(&mut stream, "200 OK", answer.kind, &bytes).await;
            if answer.stays {
                // Wait until the client disconnects.
                let _ = stream.read_u8().await;
            }
            return;
        }
        Some(method) if request["id"].is_null() || method == "server/discover" => {
            let status = if request["id"].is_null() {
                "202 Accepted"
            } else {
                "400 Bad Request"
            };
            return say(&mut stream, status, JSON, b"").await;
        }
        _ => return,
    };
    let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    say(&mut stream, "200 OK", JSON, answer.to_string().as_bytes()).await;
}

async fn say(stream: &mut BufReader<TcpStream>, status: &str, kind: &str, body: &[u8]) {
    let head = format!("HTTP/1.1 {status}\r\nConnection: close\r\nContent-Type: {kind}\r\n\r\n");
    let _ = stream.write_all(&[head.as_bytes(), body].concat()).await;
}

fn result(text: &[u8]) -> Vec<u8> {
    let before = br#"{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":""#;
    [&before[..], text, br#""}]}}"#].concat()
}

fn event(message: &[u8]) -> Vec<u8> {
    [b"data: ", message, b"\n\n"].concat()
}

fn answered(text: &str) -> Called {
    Called::Answered {
        text: text.to_owned(),
        files: Vec::new(),
        is_error: false,
    }
}

#[tokio::test]
async fn lone_surrogates_and_invalid_utf_8_are_repaired() {
    let fake = fake().await;
    for (written, read) in [
        (&br"a\ud83db"[..], "a\u{fffd}b"),
        (br"\ude00\ud83d\ude00", "\u{fffd}😀"),
        (b"a\xffb", "a\u{fffd}b"),
        ("a\u{e4}b".as_bytes(), "aäb"),
    ] {
        let message = result(written);
        assert_eq!(
            fake.call(JSON, message.clone(), false).await,
            answered(read)
        );
        let called = fake.call(EVENTS, event(&message), true).await;
        assert_eq!(called, answered(read));
    }
}

#[tokio::test]
async fn an_unreadable_answer_fails_its_call() {
    let fake = fake().await;
    for (message, said) in [
        (
            &br#"{"jsonrpc":"2.0","id":ID,"result":{"content":[}}"#[..],
            "that is not JSON",
        ),
        (
            br#"{"jsonrpc":"2.0","id":ID,"result":{"n":1e999}}"#,
            "that is not JSON",
        ),
        (br#"{"jsonrpc":"2.0","id":ID,"resu"#, "that is not JSON"),
        (
            br#"{"jsonrpc":"2.0","id":ID,"result":null}"#,
            "its result is not an object",
        ),
        (
            br#"{"jsonrpc":"2.0","id":ID}"#,
            "neither a result nor an error",
        ),
        (
            br#"{"jsonrpc":"2.0","id":ID,"error":"out of order"}"#,
            "out of order",
        ),
    ] {
        for (kind, bytes, stays) in [
            (JSON, message.to_vec(), false),
            (EVENTS, event(message), true),
            // The client could try to resume after an event that has an ID.
            (EVENTS, [b"id: 1\n", &event(message)[..]].concat(), true),
        ] {
            let called = fake.call(kind, bytes, stays).await;
            let Called::Failed(why) = called else {
                panic!("{said}, {kind}: {called:?}");
            };
            assert!(why.contains(said), "{said}, {kind}: {why}");
        }
    }
    // The server is still usable.
    assert_eq!(
        fake.call(JSON, result(b"well"), false).await,
        answered("well")
    );
}

/// The response to a request can only be its answer, whatever its ID is.
#[tokio::test]
async fn an_answer_with_another_id_fails_its_call() {
    let fake = fake().await;
    // The request's ID occurs only in other places than the field `id`.
    for message in [
        &br#"{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"ID unread"}}"#[..],
        br#"{"jsonrpc":"2.0","error":{"code":-32700,"message":"ID unread"}}"#,
    ] {
        for (kind, bytes) in [(JSON, message.to_vec()), (EVENTS, event(message))] {
            let called = fake.call(kind, bytes, kind == EVENTS).await;
            let Called::Failed(why) = called else {
                panic!("{kind}: {called:?}");
            };
            assert!(why.contains("unread"), "{kind}: {why}");
        }
    }
    for message in [
        &br#"{"jsonrpc":"2.0","id":"x","result":{"content":[],"_meta":{"x":ID}}}"#[..],
        br#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":ID}}"#,
        b"ID",
        b"null, ID",
    ] {
        let called = fake.call(JSON, message, false).await;
        assert!(matches!(called, Called::Failed(_)), "{called:?}");
    }
    for message in [
        &b"ID"[..],
        b"this is not JSON: ID",
        b"sult\":{}, \"id\": ID}",
    ] {
        let called = fake.call(EVENTS, event(message), true).await;
        assert!(matches!(called, Called::Failed(_)), "{called:?}");
    }
    assert_eq!(
        fake.call(JSON, result(b"well"), false).await,
        answered("well")
    );
}

#[tokio::test]
async fn other_events_and_comments_are_skipped() {
    let fake = fake().await;
    let stream = [
        &b": ID\n\ndata: ping\n\ndata:\n\nevent: other\ndata: {\n\n"[..],
        b"data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",",
        b"\"params\":{\"level\":\"info\",\"data\":\"\\ud83d\"}}\n\n",
    ]
    .concat();
    // The comment contains the call's ID.
    let called = fake.call(EVENTS, stream.clone(), false).await;
    assert!(matches!(called, Called::Failed(_)), "{called:?}");
    let answer =
        b"data: {\"jsonrpc\":\"2.0\",\"id\":ID,\r\ndata: \"result\":{\"content\":[]}}\r\n\r\n";
    let stream = [&stream[6..], answer].concat();
    let called = fake.call(EVENTS, stream, true).await;
    assert_eq!(called, answered("(The tool gave no text.)"));
}

#[tokio::test]
async fn a_required_login_is_explained() {
    for answer in [
        "401 Unauthorized\r\nWWW-Authenticate: Bearer resource_metadata=\"https://a.example/x\"\r\nContent-Length: 0\r\n\r\n",
        "401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
        "401 Unauthorized\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
    ] {
        let why = refusal(answer).await;
        assert!(
            why.contains("it requires a login (OAuth)"),
            "{answer}: {why}"
        );
        assert!(why.contains("Authorization"), "{why}");
    }
    let answer = "403 Forbidden\r\nWWW-Authenticate: Bearer error=\"insufficient_scope\"\r\nContent-Length: 0\r\n\r\n";
    let why = refusal(answer).await;
    assert!(
        why.contains("it requires a login with more rights"),
        "{why}"
    );
}

#[tokio::test]
async fn no_message_names_rust_types() {
    for answer in [
        "404 Not Found\r\nContent-Length: 0\r\n\r\n",
        "403 Forbidden\r\nContent-Length: 2\r\n\r\nno",
        "500 Internal Server Error\r\nContent-Length: 0\r\n\r\n",
        "429 Too Many Requests\r\nContent-Length: 0\r\n\r\n",
        "200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\n<html>",
        "200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        "200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n{",
    ] {
        let why = refusal(answer).await;
        for name in ["::", "rmcp", "Some(", "Worker", "JsonRpc"] {
            assert!(!why.contains(name), "{answer}: {why}");
        }
    }
}
