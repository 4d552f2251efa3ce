//! Messages to the user when an HTTP server refuses a connection.
#![allow(clippy::unwrap_used)]

use mcp::{Http, PinnedTools, Reach, Server, ServerSpec};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;

/// Returns the reason why a server can't be used that answers every request with `answer`.
async fn refusal(answer: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(respond(stream, answer));
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
        reqwest::Client::builder()
            .build()
            .map_err(|error| error.to_string())
    };
    let server = Server::new(spec, PinnedTools::Never, Http::new(http), |_| {});
    server.start().await.unwrap_err()
}

/// Reads one request and answers it.
async fn respond(stream: tokio::net::TcpStream, answer: &str) {
    let mut stream = BufReader::new(stream);
    let mut length = 0;
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).await.unwrap();
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
    let close = "Connection: close\r\n";
    let (status, rest) = answer.split_once("\r\n").unwrap();
    let answer = format!("HTTP/1.1 {status}\r\n{close}{rest}");
    let _ = stream.write_all(answer.as_bytes()).await;
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
