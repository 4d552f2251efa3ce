//! Program for the protocol's conformance suite: `serve ADDRESS` offers the tools that the
//! suite expects of a server, and `client URL` uses a server as the suite expects of a
//! client. Both use the code of the host. See `make test-mcp`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome};
use mcp::serve::{Guard, ServedCall, ToolServer, serve_http};
use mcp::{Called, Caller, Http, OauthClient, PinnedTools, Reach, Server, ServerSpec, State};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tools::{Elicitation, Form, FormReply, Progress};

#[tokio::main]
async fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.last()) {
        (Some("serve"), Some(address)) => serve(&address).await,
        (Some("client"), Some(url)) => client(url).await,
        _ => Err("Usage: `serve ADDRESS:PORT` or `client URL`.".to_owned()),
    }
}

async fn serve(address: &str) -> Result<(), String> {
    let listener = tokio::net::TcpListener::bind(address).await;
    let listener = listener.map_err(|error| error.to_string())?;
    eprintln!("Serving at http://{address}/mcp");
    let offer = Arc::new(Suite(watch::Sender::new(0)));
    let served = serve_http(offer, listener, Guard::default()).await;
    served.map_err(|error| error.to_string())
}

/// The tools that the suite calls and that text results can satisfy.
struct Suite(watch::Sender<u64>);

#[async_trait]
impl ToolServer for Suite {
    async fn look(&self) {}

    fn tools(&self) -> Vec<ToolDefinition> {
        let names = [
            "test_error_handling",
            "test_simple_text",
            "test_tool_with_progress",
        ];
        let tool = |name: &str| ToolDefinition {
            name: name.to_owned(),
            description: format!("What the suite expects of {name}."),
            input_schema: json!({"type": "object", "properties": {}}),
            strict: false,
            keywords: Vec::new(),
        };
        names.map(tool).into()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        self.0.subscribe()
    }

    async fn call(&self, call: ServedCall) -> ToolOutcome {
        match call.name.as_str() {
            "test_error_handling" => {
                ToolOutcome::Failed("This tool intentionally returns an error".to_owned())
            }
            "test_tool_with_progress" => {
                for step in ["first", "second", "third"] {
                    call.progress.output(step);
                }
                done("three steps")
            }
            _ => done("This is a simple text response for testing."),
        }
    }
}

fn done(content: &str) -> ToolOutcome {
    ToolOutcome::Done {
        content: content.to_owned(),
        marked_failed: false,
    }
}

/// Accepts the defaults of every question.
struct AcceptsDefaults;

#[async_trait]
impl Elicitation for AcceptsDefaults {
    async fn ask(&self, form: Form) -> FormReply {
        FormReply::Accepted(mcp::defaults(&form))
    }
}

fn caller() -> Caller {
    Caller {
        progress: Progress::default(),
        elicitation: Arc::new(AcceptsDefaults),
        cancel: CancellationToken::new(),
        limit: Duration::from_secs(20),
    }
}

/// The client that the suite has registered, or one with the suite's client metadata document.
fn oauth() -> OauthClient {
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context: Value = serde_json::from_str(&context).unwrap_or_default();
    let named = |name: &str| context[name].as_str().map(str::to_owned);
    OauthClient {
        id: named("client_id"),
        secret: named("client_secret").map(Into::into),
        metadata_url: Some("https://conformance-test.local/client-metadata.json".to_owned()),
        ..OauthClient::default()
    }
}

fn browser() -> Result<reqwest::Client, String> {
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none());
    client.build().map_err(|error| error.to_string())
}

/// Logs in as a user who agrees at once.
async fn log_in(server: &Server) -> Result<(), String> {
    if server.status().state != State::NeedsLogin {
        return Err("no login is needed".to_owned());
    }
    let visit = |address: &str| {
        let address = address.to_owned();
        tokio::spawn(async move {
            let browser = browser()?;
            let page = browser.get(&address).send().await;
            let page = page.map_err(|error| error.to_string())?;
            let location = page
                .headers()
                .get("location")
                .and_then(|it| it.to_str().ok());
            let answer = browser.get(location.unwrap_or_default()).send().await;
            answer.map(drop).map_err(|error| error.to_string())
        });
    };
    server.log_in(&visit).await
}

/// Connects to a server, logs in if it requires that, and calls each of its tools once.
async fn client(url: String) -> Result<(), String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let spec = ServerSpec::new(
        "test",
        "suite",
        Reach::Http {
            url,
            headers: Default::default(),
            oauth: oauth(),
        },
    );
    let http = Http::new(|_| browser());
    let server = Server::new(spec, PinnedTools::Never, http, |_| {});
    if let Err(why) = server.start().await {
        log_in(&server)
            .await
            .map_err(|error| format!("{why}; {error}"))?;
        server.start().await?;
    }
    for tool in server.status().agreed.unwrap_or_default() {
        let arguments = match tool.name.as_str() {
            "add_numbers" => json!({"a": 5, "b": 3}),
            _ => json!({}),
        };
        let Value::Object(arguments) = arguments else {
            continue;
        };
        let mut called = server.call(&tool.name, arguments.clone(), &caller()).await;
        // A call may need more rights than the first login has.
        for _ in 0..2 {
            if matches!(called, Called::Failed(_)) && log_in(&server).await.is_ok() {
                called = server.call(&tool.name, arguments.clone(), &caller()).await;
            }
        }
        match called {
            Called::Answered { text, .. } => eprintln!("{}: {text}", tool.name),
            other => return Err(format!("{}: {other:?}", tool.name)),
        }
    }
    server.stop().await;
    Ok(())
}
