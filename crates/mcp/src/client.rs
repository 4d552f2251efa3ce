//! One connection to a server: its tools, and calls of them.
//!
//! Together with `client/` the only place that names the SDK for using servers. Knows
//! no registry and no user; a server is believed in nothing.

mod limited;
mod peer;
mod reach;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, ListToolsRequest,
    PaginatedRequestParams, PingRequest, ServerResult,
};
use rmcp::service::{RequestHandle, RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tools::{Program, Progress};

use crate::definition::{Definition, MOST_TOOLS, clean};
use crate::spec::Spec;
use limited::Trouble;
pub use peer::Event;
use peer::Peer;

/// How long a server may take until it is ready: RELIABILITY F136.
const READY: Duration = Duration::from_secs(30);
/// How long one may take that did not end a call in time, to show that it lives.
const ALIVE: Duration = Duration::from_secs(2);
/// Most pages of a list of tools.
const PAGES: usize = 100;
/// Longest text of a server in a message of ours, in bytes.
const SAID: usize = 500;

/// Gives the client for HTTP, made when it is first needed.
pub type Http = Arc<dyn Fn() -> Result<reqwest::Client, String> + Send + Sync>;

/// A server that answers. Dropping it ends its program.
pub struct Connection {
    running: RunningService<RoleClient, Peer>,
    peer: Peer,
    trouble: Trouble,
    _program: Option<Program>,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub enum Called {
    /// The server gave a result.
    Answered {
        /// Its text.
        text: String,
        /// Whether the server says that it failed.
        is_error: bool,
    },
    /// There is no result; the text says why.
    Failed(String),
    /// It was cancelled.
    Cancelled,
}

/// What a server offers, and what of it cannot be offered on, a sentence each.
#[derive(Debug, Default)]
pub struct Offered {
    /// The tools, sorted by name.
    pub definitions: Vec<Definition>,
    /// Tools that are left out, and why.
    pub left_out: Vec<String>,
}

impl Connection {
    /// Reaches a server and agrees with it on a version. `events` hears what it says by
    /// itself.
    ///
    /// # Errors
    ///
    /// It cannot be reached, or it is not ready after 30 seconds; a part of a sentence.
    pub async fn open(
        spec: &Spec,
        http: &Http,
        events: impl Fn(Event) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let peer = Peer::new(Arc::new(events));
        let trouble = Trouble::new();
        let opened = reach::open(spec, http, peer.clone(), trouble.clone());
        let Ok(opened) = timeout(READY, opened).await else {
            return Err(format!(
                "it did not answer within {} seconds",
                READY.as_secs()
            ));
        };
        let (running, program) = opened?;
        Ok(Self {
            running,
            peer,
            trouble,
            _program: program,
        })
    }

    /// Whether nothing can be asked any more.
    pub fn is_closed(&self) -> bool {
        self.running.is_closed() || self.running.peer().is_transport_closed()
    }

    /// Asks for the tools.
    ///
    /// # Errors
    ///
    /// There is no list that can be read; a part of a sentence.
    pub async fn definitions(&self) -> Result<Offered, String> {
        let listed = timeout(READY, self.list()).await;
        let tools =
            listed.unwrap_or_else(|_| Err("it did not list its tools in time".to_owned()))?;
        let mut offered = Offered::default();
        for tool in &tools {
            let name = tool["name"].as_str().unwrap_or_default();
            match definition(name, tool) {
                Ok(definition) => offered.definitions.push(definition),
                Err(why) => {
                    let name = clean(name, 100);
                    offered
                        .left_out
                        .push(format!("The tool \"{name}\" is left out: {why}."));
                }
            }
        }
        offered.definitions.sort_by(|a, b| a.name.cmp(&b.name));
        offered.definitions.dedup_by(|a, b| a.name == b.name);
        Ok(offered)
    }

    async fn list(&self) -> Result<Vec<Value>, String> {
        let mut tools = Vec::new();
        let mut cursor = None;
        for _ in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ListToolsRequest::with_param(params);
            let request = ClientRequest::ListToolsRequest(request);
            let result = self.running.peer().send_request(request).await;
            let mut page = match value(result) {
                Ok(page) => page,
                Err(error) => return Err(self.explain(&error).await),
            };
            let Value::Array(listed) = page["tools"].take() else {
                return Err("its list of tools cannot be read".to_owned());
            };
            tools.extend(listed);
            if tools.len() > MOST_TOOLS {
                return Err(format!("it has more than {MOST_TOOLS} tools"));
            }
            cursor = page["nextCursor"].as_str().map(str::to_owned);
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(format!("its list of tools has more than {PAGES} pages"))
    }

    /// Calls a tool and waits for at most `limit`. A call that is cancelled or takes
    /// too long is told to the server, and one that then shows no sign of life is
    /// closed.
    pub async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        progress: &Progress,
        cancel: &CancellationToken,
        limit: Duration,
    ) -> Called {
        let params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let handle = match self
            .peer
            .follow(self.running.peer(), request, progress)
            .await
        {
            Ok(handle) => handle,
            Err(error) => return Called::Failed(self.explain(&error).await),
        };
        let token = handle.progress_token.clone();
        let called = self.wait(handle, cancel, limit).await;
        self.peer.forget(&token).await;
        called
    }

    async fn wait(
        &self,
        mut handle: RequestHandle<RoleClient>,
        cancel: &CancellationToken,
        limit: Duration,
    ) -> Called {
        let (why, called) = tokio::select! {
            biased;
            answer = &mut handle.rx => {
                let answer = answer.unwrap_or(Err(ServiceError::TransportClosed));
                return self.answered(value(answer)).await;
            }
            () = cancel.cancelled() => ("the user cancelled it", Called::Cancelled),
            () = tokio::time::sleep(limit) => {
                let limit = limit.as_secs();
                let late = format!("it gave no result within {limit} seconds, its time limit");
                ("it takes too long", Called::Failed(late))
            }
        };
        let told = handle.cancel(Some(why.to_owned()));
        // One that reads nothing cannot be told.
        let is_told = timeout(ALIVE, told).await.is_ok_and(|it| it.is_ok());
        if !is_told || (called != Called::Cancelled && !self.lives().await) {
            self.running.cancellation_token().cancel();
        }
        called
    }

    async fn lives(&self) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answer = timeout(ALIVE, self.running.peer().send_request(ping)).await;
        // An error is a sign of life as well.
        !matches!(
            answer,
            Err(_)
                | Ok(Err(
                    ServiceError::TransportClosed | ServiceError::TransportSend(_)
                ))
        )
    }

    async fn answered(&self, answer: Result<Value, ServiceError>) -> Called {
        let result = match answer {
            Ok(result) => result,
            Err(error) => return Called::Failed(self.explain(&error).await),
        };
        if result["resultType"] == "input_required" {
            let asked = peer::asked_for(&result["inputRequests"]);
            self.peer.declined(&asked);
            return Called::Failed(format!(
                "it asks the user for something, which is declined here: {asked}"
            ));
        }
        let Some(parts) = result["content"].as_array() else {
            return Called::Failed("its result has no content and cannot be read".to_owned());
        };
        Called::Answered {
            text: crate::content::text(parts, result.get("structuredContent")),
            is_error: result["isError"] == true,
        }
    }

    /// What went wrong, as a part of a sentence.
    async fn explain(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => {
                let said = clean(&error.message, SAID);
                format!("it refused: {said} ({})", error.code.0)
            }
            ServiceError::TransportClosed => {
                self.trouble.known("it ended before it answered").await
            }
            ServiceError::TransportSend(error) => reach::sending(error),
            error => clean(&error.to_string(), SAID),
        }
    }
}

/// A result as it came, whatever the SDK takes it for.
fn value(result: Result<ServerResult, ServiceError>) -> Result<Value, ServiceError> {
    serde_json::to_value(result?).map_err(|_| ServiceError::UnexpectedResponse)
}

fn definition(name: &str, tool: &Value) -> Result<Definition, String> {
    let schema = tool["inputSchema"].as_object().cloned();
    let schema = schema.ok_or_else(|| "it has no schema of its arguments".to_owned())?;
    Definition::new(
        name,
        tool["description"].as_str().unwrap_or_default(),
        schema,
    )
}
