//! Logins (OAuth) at a server that enforces what the standards ask of clients,
//! `tests/mcp/oauth.py`. The browser is a request that follows one redirect.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use mcp::configured::one;
use mcp::{
    Called, Caller, Commands, Http, Logins, MemoryLogins, OauthClient, PinnedTools, Reach, Server,
    ServerSpec, State,
};
use serde_json::Map;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tools::{NoElicitation, Progress};

/// A server that requires a login, and what its authorization server said.
struct Double {
    child: Child,
    url: String,
    said: mpsc::Receiver<String>,
    logins: Arc<MemoryLogins>,
}

impl Drop for Double {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn double(how: &[&str]) -> Double {
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/mcp/oauth.py");
    let mut python = Command::new("python3");
    let mut child = python
        .arg(script)
        .args(how)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let url = lines.next().unwrap().unwrap();
    let (send, said) = mpsc::channel();
    std::thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            let _ = send.send(line);
        }
    });
    Double {
        child,
        url: format!("{url}/mcp"),
        said,
        logins: Arc::default(),
    }
}

impl Double {
    fn server(&self) -> Arc<Server> {
        self.server_as(OauthClient::default())
    }

    /// The server as a new process would use it, with the stored logins.
    fn server_as(&self, oauth: OauthClient) -> Arc<Server> {
        let http = Http::new(|_| Ok(client())).with_logins(self.logins.clone());
        self.server_with(oauth, http)
    }

    fn server_with(&self, oauth: OauthClient, http: Http) -> Arc<Server> {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let reach = Reach::Http {
            url: self.url.clone(),
            headers: BTreeMap::new(),
            oauth,
        };
        let spec = ServerSpec::new("test", "docs", reach);
        Server::new(spec, PinnedTools::Never, http, |_| {})
    }

    /// Changes how the server behaves.
    async fn change(&self, how: &str) {
        let url = self.url.replace("/mcp", &format!("/change/{how}"));
        client().get(url).send().await.unwrap();
    }

    /// The lines that the authorization server printed so far.
    fn said(&self) -> Vec<String> {
        self.said.try_iter().collect()
    }
}

fn client() -> reqwest::Client {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.build().unwrap()
}

/// Opens an address as a browser does when the user agrees, or another one in its place.
fn browse(address: &str, change: fn(String) -> String) {
    let address = address.to_owned();
    tokio::spawn(async move {
        let page = client().get(&address).send().await.unwrap();
        let location = &page.headers()["location"];
        let answer = change(location.to_str().unwrap().to_owned());
        client().get(&answer).send().await.unwrap();
    });
}

async fn log_in(server: &Arc<Server>) -> Result<(), String> {
    server.log_in(&|address| browse(address, |it| it)).await
}

async fn call(server: &Arc<Server>, tool: &str) -> Called {
    let caller = Caller {
        progress: Progress::default(),
        elicitation: Arc::new(NoElicitation),
        cancel: CancellationToken::new(),
        limit: Duration::from_secs(60),
    };
    server.call(tool, Map::new(), &caller).await
}

fn hi() -> Called {
    Called::Answered {
        text: "hi".to_owned(),
        files: Vec::new(),
        is_error: false,
    }
}

#[tokio::test]
async fn a_login_is_needed_made_and_kept() {
    let double = double(&[]);
    let server = double.server();
    let why = server.start().await.unwrap_err();
    assert!(why.contains("it requires a login"), "{why}");
    assert_eq!(server.status().state, State::NeedsLogin);
    // Nothing was asked of the authorization server without the user.
    assert_eq!(double.said(), [""; 0]);
    log_in(&server).await.unwrap();
    server.start().await.unwrap();
    assert_eq!(server.status().state, State::Running);
    assert_eq!(call(&server, "hello").await, hi());
    // Another process has it, too.
    let later = double.server();
    assert_eq!(call(&later, "hello").await, hi());
    let said = double.said();
    assert_eq!(
        said,
        [
            "authorize client-1 read",
            "token authorization_code client-1"
        ]
    );
    assert!(later.log_out().await.unwrap());
    assert!(double.server().start().await.is_err());
}

#[tokio::test]
async fn a_token_that_expired_or_was_revoked_is_renewed_once_each() {
    for how in [&["short"][..], &["secret"]] {
        let double = double(how);
        let server = double.server();
        log_in(&server).await.unwrap();
        assert_eq!(call(&server, "hello").await, hi());
        assert_eq!(call(&server, "revoke").await, hi());
        assert_eq!(call(&server, "hello").await, hi());
        let later = double.server();
        assert_eq!(call(&later, "hello").await, hi());
        let said = double.said();
        assert!(
            said.contains(&"token refresh_token client-1".to_owned()),
            "{said:?}"
        );
        assert!(!said.iter().any(|it| it.starts_with("refused")), "{said:?}");
    }
}

#[tokio::test]
async fn two_processes_share_one_login_that_rotates() {
    let double = double(&[]);
    let first = double.server();
    log_in(&first).await.unwrap();
    let second = double.server();
    assert_eq!(call(&second, "hello").await, hi());
    // Both tokens end; each process renews with the latest refresh token.
    for server in [&first, &second, &first] {
        assert_eq!(call(server, "revoke").await, hi());
        assert_eq!(call(server, "hello").await, hi());
    }
    let said = double.said();
    assert!(!said.iter().any(|it| it.starts_with("refused")), "{said:?}");
}

#[tokio::test]
async fn the_configured_client_comes_first_then_its_document_then_registration() {
    let known = OauthClient {
        id: Some("known".to_owned()),
        secret: Some("s3cret".to_owned().into()),
        ..OauthClient::default()
    };
    let document = OauthClient {
        metadata_url: Some("https://flemma.example/client.json".to_owned()),
        ..OauthClient::default()
    };
    for (how, oauth, id) in [
        (&["documents"][..], &known, "known"),
        (
            &["documents"],
            &document,
            "https://flemma.example/client.json",
        ),
        (&[], &document, "client-1"),
    ] {
        let double = double(how);
        let server = double.server_as(oauth.clone());
        log_in(&server).await.unwrap();
        // With a secret, the renewal is authenticated as well, also in another process.
        let later = double.server_as(oauth.clone());
        assert_eq!(call(&later, "revoke").await, hi());
        assert_eq!(call(&later, "hello").await, hi());
        let said = double.said();
        assert_eq!(said[0], format!("authorize {id} read"));
        assert_eq!(said[2], format!("token refresh_token {id}"));
    }
    let double = double(&["no-registration"]);
    let why = log_in(&double.server()).await.unwrap_err();
    assert!(
        why.contains("put client_id into its table `oauth`"),
        "{why}"
    );
}

#[tokio::test]
async fn a_server_that_breaks_the_rules_gets_no_token() {
    for (how, why) in [
        ("wrong-issuer", "other.example"),
        ("iss-of-another", "the issuer should be http://127.0.0.1"),
        ("no-iss", "the issuer is missing"),
        ("no-pkce", "does not support PKCE with S256"),
        ("plain-pkce", "does not support PKCE with S256"),
        (
            "denies",
            "the authorization server refused: access_denied The user said no.",
        ),
        (
            "plain-endpoint",
            "http://as.example/token, which is not encrypted",
        ),
    ] {
        let double = double(&[how]);
        let server = double.server();
        let said = log_in(&server).await.unwrap_err();
        assert!(said.contains(why), "{how}: {said}");
        assert!(
            !double.said().iter().any(|it| it.starts_with("token")),
            "{how}"
        );
        assert_eq!(server.log_out().await, Ok(false), "{how}");
    }
}

#[tokio::test]
async fn an_answer_without_the_secret_of_the_login_does_not_count() {
    let double = double(&[]);
    let server = double.server();
    let forged = server.log_in(&|address| {
        browse(address, |it| it.replace("state=", "state=x"));
        // The true answer still counts afterwards.
        browse(address, |it| it);
    });
    forged.await.unwrap();
    let said = double.said();
    let tokens = said.iter().filter(|it| it.starts_with("token")).count();
    assert_eq!(tokens, 1, "{said:?}");
}

#[tokio::test]
async fn missing_rights_need_another_login_that_asks_for_them() {
    let double = double(&[]);
    let server = double.server();
    log_in(&server).await.unwrap();
    let Called::Failed(why) = call(&server, "write").await else {
        panic!("it had the rights");
    };
    assert!(
        why.contains("it requires a login with more rights"),
        "{why}"
    );
    assert_eq!(server.status().state, State::NeedsLogin);
    // Also if the login is renewed before, and another process logs in.
    let other = double.server();
    assert_eq!(call(&other, "revoke").await, hi());
    assert_eq!(call(&other, "hello").await, hi());
    log_in(&double.server()).await.unwrap();
    assert_eq!(call(&server, "write").await, hi());
    // A later login asks for the rights that the server names then.
    log_in(&double.server()).await.unwrap();
    let said = double.said();
    let asked = said.iter().filter(|it| it.starts_with("authorize"));
    let asked: Vec<&str> = asked.map(String::as_str).collect();
    assert_eq!(
        asked,
        [
            "authorize client-1 read",
            "authorize client-2 read write",
            "authorize client-3 read"
        ]
    );
}

#[tokio::test]
async fn metadata_that_only_a_challenge_names_is_found_before_and_after_a_login() {
    let double = double(&["hidden"]);
    let server = double.server();
    // Nothing has reached the server before.
    log_in(&server).await.unwrap();
    for server in [server, double.server()] {
        assert_eq!(call(&server, "hello").await, hi());
        assert_eq!(call(&server, "revoke").await, hi());
        assert_eq!(call(&server, "hello").await, hi());
    }
    // The address that is stored with the login may be gone.
    double.change("moved").await;
    let later = double.server();
    assert!(later.start().await.is_err());
    log_in(&later).await.unwrap();
    assert_eq!(call(&later, "hello").await, hi());
}

#[tokio::test]
async fn a_login_goes_to_no_other_authorization_server() {
    for (how, why, needs_login) in [
        (
            "without-metadata",
            "its authorization server is now the server itself, but the login is from http://127.0.0.1",
            true,
        ),
        (
            "moved",
            "its authorization server is now http://localhost",
            true,
        ),
        ("plain-endpoint", "which is not encrypted", false),
        ("no-pkce", "does not support PKCE", false),
    ] {
        let double = double(&["short"]);
        log_in(&double.server()).await.unwrap();
        double.change(how).await;
        let later = double.server();
        let said = later.start().await.unwrap_err();
        assert!(said.contains(why), "{how}: {said}");
        assert_eq!(later.status().state == State::NeedsLogin, needs_login);
        let asked = double.said();
        assert!(!asked.iter().any(|it| it.contains("refresh")), "{asked:?}");
        if how == "moved" {
            log_in(&later).await.unwrap();
            assert_eq!(call(&later, "hello").await, hi());
        }
    }
}

#[tokio::test]
async fn a_login_of_another_process_counts_at_once() {
    let double = double(&[]);
    let (first, second) = (double.server(), double.server());
    assert!(first.start().await.is_err());
    log_in(&second).await.unwrap();
    assert_eq!(call(&first, "hello").await, hi());
    assert_eq!(first.status().state, State::Running);
    // One with more rights.
    assert!(matches!(call(&first, "write").await, Called::Failed(_)));
    assert!(matches!(call(&second, "write").await, Called::Failed(_)));
    log_in(&second).await.unwrap();
    assert_eq!(call(&first, "write").await, hi());
    assert_eq!(call(&first, "revoke").await, hi());
    assert_eq!(call(&first, "hello").await, hi());
    // One at another authorization server.
    double.change("moved").await;
    let third = double.server();
    assert!(third.start().await.is_err());
    log_in(&third).await.unwrap();
    assert_eq!(call(&first, "hello").await, hi());
    let said = double.said();
    assert!(!said.iter().any(|it| it.starts_with("refused")), "{said:?}");
    assert_eq!(second.log_out().await, Ok(true));
    let Called::Failed(why) = call(&first, "hello").await else {
        panic!("it had a login");
    };
    assert!(why.contains("it requires a login"), "{why}");
}

#[tokio::test]
async fn messages_name_the_commands_of_the_front_end() {
    for (commands, command) in [
        (Commands::Neovim, "`:Flemma mcp:login docs`"),
        (Commands::Shell, "`flemma mcp login docs`"),
    ] {
        let double = double(&[]);
        let http = Http::new(|_| Ok(client())).with_commands(commands);
        let server = double.server_with(OauthClient::default(), http);
        let why = server.start().await.unwrap_err();
        assert!(why.contains(command), "{why}");
        let lines = one(&server.spec, &server.status());
        assert!(lines.iter().any(|it| it.contains(command)), "{lines:?}");
        let said = format!("{why} {lines:?}");
        assert_eq!(said.matches("login docs").count(), 2, "{said}");
    }
}

#[tokio::test]
async fn a_stream_of_events_at_the_servers_address_does_not_stop_a_login() {
    let double = double(&["endless"]);
    let server = double.server();
    let done = timeout(Duration::from_secs(20), log_in(&server)).await;
    assert_eq!(done, Ok(Ok(())));
}

/// A store in which another process renews a login all the time.
struct Locked;

impl Logins for Locked {
    fn load(&self, _key: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn store(&self, key: &str, _login: Option<&str>) -> Result<(), String> {
        panic!("{key} was changed during a renewal");
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        Err("another process takes too long".to_owned())
    }
}

#[tokio::test]
async fn a_login_is_made_and_removed_after_the_renewals_of_others() {
    let double = double(&[]);
    let http = Http::new(|_| Ok(client())).with_logins(Arc::new(Locked));
    let server = double.server_with(OauthClient::default(), http);
    for done in [log_in(&server).await, server.log_out().await.map(drop)] {
        assert_eq!(done.unwrap_err(), "another process takes too long");
    }
}
