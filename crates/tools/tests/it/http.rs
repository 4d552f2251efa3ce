//! The `http_get` tool: what it fetches, and which addresses it refuses. The tests only connect to
//! their own server on the loopback.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tools::HostList;

use crate::fixture::TestFolder;

/// A server that always sends the same response and counts connections.
struct Server {
    port: u16,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server that sends `answer`, which includes the head.
    async fn start(answer: impl Into<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (answer, connections) = (answer.into(), Arc::new(AtomicUsize::new(0)));
        let count = connections.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                let mut head = [0; 2048];
                let _ = stream.read(&mut head).await;
                let _ = stream.write_all(&answer).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { port, connections }
    }

    fn url(&self, host: &str) -> String {
        format!("http://{host}:{}/x", self.port)
    }
}

fn response(head: &str, body: impl AsRef<[u8]>) -> Vec<u8> {
    let mut bytes = format!("HTTP/1.1 {head}\r\nconnection: close\r\n\r\n").into_bytes();
    bytes.extend_from_slice(body.as_ref());
    bytes
}

fn get(url: &str) -> Value {
    json!({"label": "", "url": url, "max_size": null})
}

fn place(allow: &[&str]) -> TestFolder {
    let mut place = TestFolder::new();
    let allow: Vec<String> = allow.iter().map(|it| (*it).to_owned()).collect();
    place.ctx.exec.http = HostList::read(&allow).unwrap();
    place
}

#[tokio::test]
async fn a_result_starts_with_status_type_and_address() {
    let server = Server::start(response("200 OK\r\ncontent-type: text/html", "<p>Hällo\n")).await;
    let url = server.url("127.0.0.1");
    let said = place(&["127.0.0.1"]).done("http_get", get(&url)).await;
    assert_eq!(
        said,
        format!("HTTP 200 OK, text/html, from {url}\n\n<p>Hällo")
    );
}

#[tokio::test]
async fn an_error_page_is_an_error_with_its_status_and_text() {
    for (status, code) in [
        ("404 Not Found", 404),
        ("500 Internal Server Error", 500),
        ("403 Forbidden", 403),
    ] {
        let page = response(&format!("{status}\r\ncontent-type: text/plain"), "no");
        let server = Server::start(page).await;
        let url = server.url("127.0.0.1");
        let said = place(&["127.0.0.1"]).failed("http_get", get(&url)).await;
        assert_eq!(
            said,
            format!("HTTP {status}, text/plain, from {url}\n\nno"),
            "{code}"
        );
    }
}

#[tokio::test]
async fn a_page_is_read_in_its_own_encoding() {
    let head = "200 OK\r\ncontent-type: text/plain; charset=iso-8859-1";
    let server = Server::start(response(head, b"caf\xe9")).await;
    let said = place(&["127.0.0.1"])
        .done("http_get", get(&server.url("127.0.0.1")))
        .await;
    assert!(said.ends_with("\n\ncafé"), "{said}");
}

#[tokio::test]
async fn a_redirect_may_be_written_in_utf_8() {
    let page = Server::start(response("200 OK", "there")).await;
    let target = page.url("127.0.0.1").replace("/x", "/straße");
    let head = format!("302 Found\r\nlocation: {target}");
    let server = Server::start(response(&head, "")).await;
    let said = place(&["127.0.0.1"])
        .done("http_get", get(&server.url("127.0.0.1")))
        .await;
    assert!(
        said.contains("/stra%C3%9Fe") && said.ends_with("there"),
        "{said}"
    );
}

#[tokio::test]
async fn local_addresses_are_refused_in_every_spelling() {
    let server = Server::start(response("200 OK", "secret")).await;
    let port = server.port;
    for host in [
        "127.0.0.1",
        "localhost",
        "2130706433",
        "0x7f.1",
        "127.1",
        "0.0.0.0",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "localhost.",
    ] {
        let url = format!("http://{host}:{port}/");
        // With an empty list, and with one that lists other hosts.
        for allow in [&[][..], &["*.example.org", "evil.example"]] {
            let said = place(allow).failed("http_get", get(&url)).await;
            assert!(
                said.contains("refused") || said.contains("no host"),
                "{url}: {said}"
            );
        }
    }
    for url in [
        "http://169.254.169.254/latest/",
        "http://10.0.0.1/",
        "http://[fd00:ec2::254]/",
    ] {
        let said = place(&[]).failed("http_get", get(url)).await;
        assert!(
            said.contains("only this machine or its network can reach"),
            "{said}"
        );
    }
    assert_eq!(server.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn other_schemes_passwords_and_ports_are_refused() {
    for (url, why) in [
        ("ftp://example.com/", "only http and https"),
        ("file:///etc/passwd", "only http and https"),
        ("gopher://example.com/", "only http and https"),
        ("data:text/plain,x", "only http and https"),
        ("javascript:alert(1)", "only http and https"),
        ("http://me:pw@example.com/", "a name and a password"),
        ("http://example.com:22/", "something else than HTTP"),
        ("http://example.com:6379/", "something else than HTTP"),
        ("example.com", "is not a valid address"),
        ("", "is not a valid address"),
        ("http://", "is not a valid address"),
    ] {
        let said = place(&[]).failed("http_get", get(url)).await;
        assert!(
            said.contains(why) && said.contains("Nothing was fetched"),
            "{url}: {said}"
        );
        assert!(!said.contains("pw"), "{said}");
    }
}

#[tokio::test]
async fn every_redirect_is_checked() {
    let hidden = Server::start(response("200 OK", "secret")).await;
    for to in [
        "http://169.254.169.254/latest/meta-data".to_owned(),
        "file:///etc/passwd".to_owned(),
        hidden.url("localhost"),
    ] {
        let first = Server::start(response(&format!("302 Found\r\nlocation: {to}"), "")).await;
        let allow = format!("127.0.0.1:{}", first.port);
        let said = place(&[&allow])
            .call("http_get", get(&first.url("127.0.0.1")))
            .await;
        let said = format!("{said:?}");
        let is_kept = said.contains("refused") || said.contains("was not followed");
        assert!(is_kept && !said.contains("secret"), "{to}: {said}");
    }
    assert_eq!(hidden.connections.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_redirect_to_an_allowed_host_is_followed() {
    let last = Server::start(response("200 OK\r\ncontent-type: text/plain", "there")).await;
    let to = last.url("127.0.0.1");
    let first = Server::start(response(&format!("301 Moved\r\nlocation: {to}"), "")).await;
    let said = place(&["127.0.0.1"])
        .done("http_get", get(&first.url("127.0.0.1")))
        .await;
    assert_eq!(said, format!("HTTP 200 OK, text/plain, from {to}\n\nthere"));
    let round = Server::start(response("302 Found\r\nlocation: /x", "")).await;
    let said = place(&["127.0.0.1"])
        .failed("http_get", get(&round.url("127.0.0.1")))
        .await;
    assert!(said.contains("more than 10 redirects"), "{said}");
}

#[tokio::test]
async fn a_listed_host_cannot_redirect_to_an_unlisted_one() {
    let first = Server::start(response(
        "302 Found\r\nlocation: http://example.com/?q=x",
        "",
    ))
    .await;
    let said = place(&["127.0.0.1"])
        .done("http_get", get(&first.url("127.0.0.1")))
        .await;
    assert!(
        said.contains("It leads to another host: http://example.com/?q=x"),
        "{said}"
    );
}

#[tokio::test]
async fn long_and_binary_bodies_are_cut_and_kept() {
    let body = "line\n".repeat(5000);
    let server = Server::start(response("200 OK\r\ncontent-type: text/plain", &body)).await;
    let place = place(&["127.0.0.1"]);
    let url = server.url("127.0.0.1");
    let said = place.done("http_get", get(&url)).await;
    assert!(
        said.contains("[Showing the first 2000 of 5000 lines. What was fetched: "),
        "{said}"
    );
    let path = said
        .rsplit("What was fetched: ")
        .next()
        .unwrap()
        .trim_end_matches(']');
    assert_eq!(std::fs::read_to_string(path).unwrap(), body);
    let few = json!({"label": "", "url": url, "max_size": 7});
    let said = place.done("http_get", few).await;
    assert!(said.ends_with("\n\nline\nli\n\n[Only the first 7 B were fetched. Set max_size for more, at most 10485760.]"), "{said}");
    let server = Server::start(response(
        "200 OK\r\ncontent-type: image/png",
        b"\x89PNG\0\0",
    ))
    .await;
    let said = place.done("http_get", get(&server.url("127.0.0.1"))).await;
    assert!(
        said.contains("image/png") && said.contains("(no text: 6 B of binary data)"),
        "{said}"
    );
    let long = "x".repeat(100_000);
    let server = Server::start(response("200 OK", &long)).await;
    let said = place.done("http_get", get(&server.url("127.0.0.1"))).await;
    assert!(
        said.contains("xxx") && said.contains("the first 50.0 KB of a line"),
        "{}",
        said.len()
    );
}

#[tokio::test]
async fn a_request_without_a_response_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!(
        "http://127.0.0.1:{}/",
        listener.local_addr().unwrap().port()
    );
    let mut place = place(&["127.0.0.1"]);
    place.ctx.timeout = std::time::Duration::from_millis(50);
    let said = place.failed("http_get", get(&url)).await;
    assert!(said.contains("it took longer than 0.05 seconds"), "{said}");
    place.ctx.timeout = std::time::Duration::from_secs(60);
    let cancel = place.ctx.cancel.clone();
    let (said, ()) = tokio::join!(place.call("http_get", get(&url)), async {
        let (_stream, _) = listener.accept().await.unwrap();
        let (_stream, _) = listener.accept().await.unwrap();
        cancel.cancel();
    });
    assert!(
        matches!(said, chat::tool::ToolOutcome::Cancelled(_)),
        "{said:?}"
    );
}

#[tokio::test]
async fn a_header_stays_on_its_line() {
    let head = "200 OK\r\ncontent-type: text/plain\t@You:";
    let server = Server::start(response(head, "x")).await;
    let said = place(&["127.0.0.1"])
        .done("http_get", get(&server.url("127.0.0.1")))
        .await;
    assert_eq!(said.lines().count(), 3, "{said}");
}
