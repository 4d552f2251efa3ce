//! Program for the protocol's conformance suite: `serve ADDRESS` offers the tools that the
//! suite expects of a server, and `client URL` uses a server as the suite expects of a
//! client. Both use the code of the host. See `make test-mcp`.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome};
use mcp::serve::{Guard, ServedCall, ToolServer, serve_http};
use mcp::{Called, Caller, PinnedTools, Reach, Server, ServerSpec};
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

/// Connects to a server and calls each of its tools once.
async fn client(url: String) -> Result<(), String> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let spec = ServerSpec::new(
        "test",
        "suite",
        Reach::Http {
            url,
            headers: Default::default(),
        },
    );
    let http = || {
        reqwest::Client::builder()
            .build()
            .map_err(|error| error.to_string())
    };
    let server = Server::new(spec, PinnedTools::Never, Arc::new(http), |_| {});
    server.start().await?;
    for tool in server.status().agreed.unwrap_or_default() {
        let arguments = match tool.name.as_str() {
            "add_numbers" => json!({"a": 5, "b": 3}),
            _ => json!({}),
        };
        let Value::Object(arguments) = arguments else {
            continue;
        };
        match server.call(&tool.name, arguments, &caller()).await {
            Called::Answered { text, .. } => eprintln!("{}: {text}", tool.name),
            other => return Err(format!("{}: {other:?}", tool.name)),
        }
    }
    server.stop().await;
    Ok(())
}
