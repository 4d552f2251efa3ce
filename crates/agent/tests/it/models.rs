//! The look-up of a server's first model.

use std::time::Duration;

use agent::transport::{client, first_model};
use provider::Secret;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

/// Answers one request with a list of one model, and returns the request's head.
async fn serve(listener: TcpListener) -> String {
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut head = vec![0; 4096];
    let read = stream.read(&mut head).await.unwrap();
    let body = r#"{"data":[{"id":"m-1"}]}"#;
    let answer = format!(
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(answer.as_bytes()).await.unwrap();
    String::from_utf8_lossy(&head[..read]).to_lowercase()
}

#[tokio::test]
async fn the_first_model_is_requested_with_the_key() {
    for key in [None, Some(Secret::new("k-1"))] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1/", listener.local_addr().unwrap());
        let patience = Duration::from_secs(10);
        let client = client(&base_url, None, patience).unwrap();
        let asked = first_model(&client, &base_url, key.as_ref(), patience);
        let (model, head) = tokio::join!(asked, serve(listener));
        assert_eq!(model.as_deref(), Some("m-1"));
        assert!(head.starts_with("get /v1/models "), "{head}");
        assert_eq!(
            head.contains("authorization: bearer k-1"),
            key.is_some(),
            "{head}"
        );
    }
}
