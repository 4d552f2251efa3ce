//! The look-up of a server's first model.

use std::time::Duration;

use agent::transport::{client, first_model, get_list};
use provider::{Endpoint, Patience, Protocol, Secret, model_list};
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

/// Returns what is read of a list from a server that answers with this.
async fn list_from(answer: &[u8]) -> Option<Vec<u8>> {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let endpoint = Endpoint {
        provider: "openrouter".to_owned(),
        protocol: Protocol::ChatCompletions,
        base_url: format!("http://{}/v1", listener.local_addr().unwrap()),
        api_key: None,
        key_source: String::new(),
        ca_file: None,
    };
    let request = model_list::request(&endpoint).unwrap().unwrap();
    let patience = Patience::default();
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut vec![0; 4096]).await;
        // The client may leave before it has read everything.
        let _ = stream.write_all(answer).await;
    };
    let (list, ()) = tokio::join!(get_list(&request, &endpoint, &patience), serve);
    list
}

#[tokio::test]
async fn a_list_is_read_unless_it_is_refused_cut_off_or_too_long() {
    let ok = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(list_from(ok).await.as_deref(), Some(&b"{}"[..]));
    let refused = b"HTTP/1.1 404 Not Found\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(list_from(refused).await, None);
    let moved = b"HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n";
    assert_eq!(list_from(moved).await.filter(|it| !it.is_empty()), None);
    let cut = b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{}";
    assert_eq!(list_from(cut).await, None);
    let mut long = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
    long.resize(5 * 1024 * 1024, b' ');
    assert_eq!(list_from(&long).await, None);
}
