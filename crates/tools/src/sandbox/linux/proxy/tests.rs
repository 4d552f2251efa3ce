//! The proxy between real sockets of this machine, with name servers that say what a test wants.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::*;

/// Name servers with one answer for all names.
struct Answers {
    addresses: Vec<IpAddr>,
    asked: Arc<AtomicUsize>,
}

#[async_trait]
impl Resolver for Answers {
    async fn addresses(&self, _name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::Relaxed);
        Ok(self.addresses.clone())
    }
}

/// A proxy, and a server of this machine that says what it was asked.
struct World {
    proxy: Arc<Proxy>,
    at: SocketAddr,
    /// The port of the server.
    port: u16,
    /// How often it was connected to.
    visits: Arc<AtomicUsize>,
    /// How often the name servers were asked.
    asked: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl World {
    /// In `list`, PORT stands for that of the server.
    async fn new(list: &[&str], addresses: &[&str]) -> Self {
        Self::idle(list, addresses, IDLE).await
    }

    async fn idle(list: &[&str], addresses: &[&str], idle: Duration) -> Self {
        let server = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = server.local_addr().unwrap().port();
        let list: Vec<String> = list
            .iter()
            .map(|it| it.replace("PORT", &port.to_string()))
            .collect();
        let (asked, visits) = (Arc::<AtomicUsize>::default(), Arc::<AtomicUsize>::default());
        let resolver = Answers {
            addresses: addresses.iter().map(|it| it.parse().unwrap()).collect(),
            asked: asked.clone(),
        };
        let proxy = Proxy::new(HostList::read(&list).unwrap(), Box::new(resolver));
        let proxy = Arc::new(Proxy { idle, ..proxy });
        let own = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = own.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(proxy.clone().serve(own.into()));
        tasks.spawn(echo(server, visits.clone()));
        Self {
            proxy,
            at,
            port,
            visits,
            asked,
            _tasks: tasks,
        }
    }

    /// What the proxy, or the server behind it, answers to these bytes until it closes the connection. PORT
    /// stands for that of the server.
    async fn says(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.at).await.unwrap();
        let bytes = bytes.replace("PORT", &self.port.to_string());
        // Fails if the proxy has closed the connection already.
        let _ = stream.write_all(bytes.as_bytes()).await;
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said).await;
        String::from_utf8_lossy(&said).into_owned()
    }

    fn visits(&self) -> usize {
        self.visits.load(Ordering::Relaxed)
    }
}

/// Answers each connection with the head that it sent, as the body of a response.
async fn echo(server: TcpListener, visits: Arc<AtomicUsize>) {
    while let Ok((mut stream, _)) = server.accept().await {
        visits.fetch_add(1, Ordering::Relaxed);
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") && stream.read_buf(&mut head).await.unwrap() > 0 {}
        let length = head.len();
        let first = format!(
            "HTTP/1.1 200 OK\r\nconnection: close, x-hop\r\nx-hop: 1\r\ncontent-length: {length}\r\n\r\n"
        );
        let _ = stream.write_all(&[first.as_bytes(), &head].concat()).await;
    }
}

const GET: &str = "GET /page HTTP/1.1\r\nHost: x.example\r\n\r\n";

#[test]
fn a_target_is_a_name_or_an_address_and_a_port() {
    for (text, expected) in [
        ("docs.rs:443", "docs.rs"),
        ("DOCS.rs.:443", "docs.rs"),
        ("docs.rs:8443", "docs.rs:8443"),
        ("xn--bcher-kva.example:443", "xn--bcher-kva.example"),
        ("a_b.example:443", "a_b.example"),
        ("127.0.0.1:443", "127.0.0.1"),
        ("0x7f.1:443", "127.0.0.1"),
        ("017700000001:443", "127.0.0.1"),
        ("2130706433:443", "127.0.0.1"),
        ("127.1.:443", "127.0.0.1"),
        ("[::1]:8443", "[::1]:8443"),
        ("[::ffff:7f00:1]:443", "[::ffff:127.0.0.1]"),
    ] {
        let target = Target::read(text, TUNNELLED).unwrap();
        assert_eq!(
            target.to_string().replace("7f00:1", "127.0.0.1"),
            expected,
            "{text}"
        );
    }
    let long = format!("{}:443", "a.".repeat(127) + "a");
    let label = format!("{}.example:443", "a".repeat(64));
    for text in [
        "docs.rs:",
        "docs.rs:0",
        "docs.rs:65536",
        "docs.rs:+443",
        "docs.rs:443x",
        ":443",
        ".:443",
        "..:443",
        "docs..rs:443",
        "docs.rs..:443",
        ".docs.rs:443",
        "docs.rs\0:443",
        "docs.rs\0.evil.example:443",
        "evil.example\tdocs.rs:443",
        "evil.example docs.rs:443",
        "evil.example\r\ndocs.rs:443",
        "docs.rs@evil.example:443",
        "user:word@docs.rs:443",
        "docs%2ers:443",
        "%64ocs.rs:443",
        "docs.rs%00:443",
        "docs.rs/:443",
        "docs.rs\\:443",
        "docs.rs#:443",
        "docs.rs?:443",
        "*.rs:443",
        "::1:443",
        "[::1:443",
        "[fe80::1%eth0]:443",
        "256.256.256.256:443",
        "1.2.3.4.5:443",
        "docs.rs:443:443",
        &long,
        &label,
    ] {
        assert_eq!(Target::read(text, TUNNELLED), None, "{text:?}");
    }
    assert_eq!(Target::read("docs.rs", PLAIN).unwrap().port, 80);
    assert_eq!(Target::read("[::1]", PLAIN).unwrap().port, 80);
}

#[tokio::test]
async fn a_listed_server_is_reached_by_tunnels_and_by_plain_requests() {
    let world = World::new(&["127.0.0.1:PORT"], &[]).await;
    let said = world
        .says(&format!("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n{GET}"))
        .await;
    let (answer, rest) = said.split_once("\r\n\r\n").unwrap();
    assert!(answer.starts_with("HTTP/1.1 200"), "{said}");
    assert!(
        rest.starts_with("HTTP/1.1 200") && rest.ends_with(GET),
        "{said}"
    );
    let plain = "GET http://127.0.0.1:PORT/page?q=1 HTTP/1.1\r\nHost: evil.example\r\nHost: x.example\r\n\
                 Proxy-Authorization: Basic x\r\nConnection: x-own\r\nX-Own: 1\r\nX-Kept: 1\r\n\r\n";
    let said = world.says(plain).await;
    let (answer, request) = said.split_once("\r\n\r\n").unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && !answer.contains("x-hop"),
        "{said}"
    );
    let mut lines: Vec<&str> = request.trim_end().lines().collect();
    lines.sort_unstable();
    let host = format!("host: 127.0.0.1:{}", world.port);
    assert_eq!(
        lines,
        ["GET /page?q=1 HTTP/1.1", &host, "x-kept: 1"],
        "{said}"
    );
    assert!(world.proxy.notes().is_empty());
}

#[tokio::test]
async fn a_host_that_is_not_listed_is_refused_and_named_once() {
    let world = World::new(&["docs.rs", "*.example.org", "localhost:PORT"], &[]).await;
    for (head, host) in [
        (
            "CONNECT docs.rs.evil.example:443 HTTP/1.1\r\nHost: docs.rs",
            "docs.rs.evil.example",
        ),
        (
            "CONNECT example.org:443 HTTP/1.1\r\nHost: a.example.org",
            "example.org",
        ),
        (
            "CONNECT badexample.org:443 HTTP/1.1\r\nHost: docs.rs\r\nHost: docs.rs",
            "badexample.org",
        ),
        ("CONNECT docs.rs:22 HTTP/1.1", "docs.rs:22"),
        ("CONNECT docs.rs:80 HTTP/1.1", "docs.rs:80"),
        ("GET http://docs.rs:443/ HTTP/1.1", "docs.rs:443"),
        (
            "GET http://x.example/ HTTP/1.1\r\nHost: docs.rs",
            "x.example",
        ),
        ("CONNECT x.example:443 HTTP/1.1", "x.example"),
        ("CONNECT 127.0.0.1:443 HTTP/1.1", "127.0.0.1"),
        ("CONNECT [::1]:22 HTTP/1.1", "[::1]:22"),
        ("CONNECT 0xa9fea9fe:443 HTTP/1.1", "169.254.169.254"),
    ] {
        let said = world.says(&format!("{head}\r\n\r\n")).await;
        let why =
            format!("{host} was refused, because sandbox.policy.network.allow does not name it.");
        assert!(said.starts_with("HTTP/1.1 403"), "{head}: {said}");
        assert!(
            said.ends_with(&format!("\r\n\r\n{why}\n")),
            "{head}: {said}"
        );
        let notes = world.proxy.notes();
        let named = notes
            .iter()
            .filter(|it| **it == format!("[Network: {}]", why))
            .count();
        assert_eq!(named, 1, "{notes:?}");
    }
    assert_eq!(world.asked.load(Ordering::Relaxed) + world.visits(), 0);
}

#[tokio::test]
async fn what_is_no_request_for_a_proxy_is_refused() {
    let world = World::new(&["docs.rs"], &[]).await;
    let long = format!("CONNECT docs.rs:443 HTTP/1.1\r\nX: {}", "x".repeat(HEAD));
    for head in [
        "GET / HTTP/1.1\r\nHost: docs.rs",
        "GET https://docs.rs/ HTTP/1.1",
        "GET ftp://docs.rs/ HTTP/1.1",
        "CONNECT http://docs.rs:443/ HTTP/1.1",
        "CONNECT docs.rs@evil.example:443 HTTP/1.1",
        "CONNECT evil.example\tdocs.rs:443 HTTP/1.1",
        "CONNECT docs.rs\0:443 HTTP/1.1",
        "CONNECT docs%2ers:443 HTTP/1.1",
        "CONNECT b\u{fc}cher.example:443 HTTP/1.1",
        "no request",
        &long,
    ] {
        let said = world.says(&format!("{head}\r\n\r\n")).await;
        assert!(
            said.is_empty() || said.starts_with("HTTP/1.1 4"),
            "{head}: {said}"
        );
        assert!(!said.starts_with("HTTP/1.1 403"), "{head}: {said}");
    }
    assert!(world.proxy.notes().is_empty());
    assert_eq!(world.asked.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_listed_name_does_not_lead_to_this_machine_or_its_network() {
    for near in [
        "127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
        "100.64.0.1",
        "0.0.0.0",
        "224.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "fd00:ec2::254",
        "fe80::1",
    ] {
        // A public address among them does not help.
        let world = World::new(&["docs.rs:PORT", "127.0.0.1:1"], &["1.1.1.1", near]).await;
        let said = world.says("CONNECT docs.rs:PORT HTTP/1.1\r\n\r\n").await;
        let port = world.port;
        let why = format!(
            "docs.rs:{port} was refused, because it leads to {near}, an address of this machine"
        );
        assert!(said.contains(&why), "{said}");
        assert_eq!(world.visits(), 0);
    }
}

#[tokio::test]
async fn a_name_is_resolved_once_and_leads_to_a_listed_address() {
    let world = World::new(&["docs.rs:PORT", "127.0.0.1:PORT"], &["127.0.0.1"]).await;
    let said = world
        .says(&format!("CONNECT docs.rs:PORT HTTP/1.1\r\n\r\n{GET}"))
        .await;
    assert!(said.ends_with(GET), "{said}");
    assert_eq!(
        (world.asked.load(Ordering::Relaxed), world.visits()),
        (1, 1)
    );
}

#[tokio::test]
async fn what_does_not_answer_is_an_error_and_not_a_wait() {
    let world = World::new(&["docs.rs", "127.0.0.1:1"], &[]).await;
    for (head, why) in [
        (
            "CONNECT docs.rs:443 HTTP/1.1",
            "docs.rs could not be reached: it has no address",
        ),
        (
            "CONNECT 127.0.0.1:1 HTTP/1.1",
            "127.0.0.1:1 could not be reached: Connection refused",
        ),
    ] {
        let said = world.says(&format!("{head}\r\n\r\n")).await;
        assert!(
            said.starts_with("HTTP/1.1 502") && said.contains(why),
            "{said}"
        );
        assert!(world.proxy.notes().iter().any(|it| it.contains(why)));
    }
}

#[tokio::test]
async fn a_connection_that_carries_nothing_ends() {
    let idle = Duration::from_millis(50);
    let world = World::idle(&["127.0.0.1:PORT"], &[], idle).await;
    let said = world.says("CONNECT 127.0.0.1:PORT HTTP/1.1\r\n\r\n").await;
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert_eq!(world.says("").await, "");
}

#[tokio::test]
async fn only_some_of_many_refused_hosts_are_named() {
    let world = World::new(&[], &[]).await;
    for number in 0..12 {
        world
            .says(&format!("CONNECT h{number}.example:443 HTTP/1.1\r\n\r\n"))
            .await;
    }
    let notes = world.proxy.notes();
    assert_eq!(
        (notes.len(), notes[10].as_str()),
        (11, "[Network: 2 more problems like these.]")
    );
}
