//! One connection to a server: lists its tools and calls them, and reads its resources.
//!
//! Only this module and `client/` refer to the SDK for using servers. Knows no registry and
//! no user, and trusts nothing a server says.

mod callback;
mod http;
mod login;
mod mend;
mod peer;
mod reach;
mod resources;

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use chat::result_files::ResultFile;
use peer::Peer;
use peer::Questions;
use reach::Trouble;
use resources::{KnownResources, Reads};
use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputResponses, ListToolsRequest,
    PaginatedRequestParams, PingRequest, ServerCapabilities, ServerResult,
};
use rmcp::service::{ClientInitializeError, RequestHandle, RunningService, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};
use rmcp::transport::worker::WorkerQuitReason;
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tools::{Elicitation, Program, Progress};

use crate::content::ResultContent;
use crate::definition::{Definition, MOST_TOOLS, clean};
use crate::spec::ServerSpec;

pub(crate) use login::Login;
pub use login::{LOG_LIMIT, Logins, MemoryLogins};
pub use peer::PATIENCE;
pub use peer::PeerEvent;

/// Time limit for a server to become ready.
const READY: Duration = Duration::from_secs(30);
/// Time limit for a ping to a server that missed a call's time limit.
const ALIVE: Duration = Duration::from_secs(2);
/// Maximum rounds of questions before a result.
const ROUNDS: usize = 10;
/// Maximum bytes of a server's text quoted in our messages.
const SAID: usize = 500;

/// How servers at addresses are reached.
#[derive(Clone)]
pub struct Http {
    client: HttpClientOf,
    logins: Arc<dyn Logins>,
    /// The commands that messages name.
    pub(crate) commands: Commands,
}

/// The front end whose commands messages name. The other one may have another configuration, and not
/// know the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Commands {
    /// Neovim, as in `:Flemma mcp:login docs`.
    #[default]
    Neovim,
    /// A shell, as in `flemma mcp login docs`.
    Shell,
}

impl Commands {
    /// Returns the command that describes a server as it is now, in backticks.
    pub(crate) fn describing(self, server: &str) -> String {
        match self {
            Self::Neovim => format!("`:Flemma mcp {server}`"),
            Self::Shell => format!("`flemma mcp list --start {server}`"),
        }
    }

    /// Returns a command about a server, in backticks.
    pub(crate) fn named(self, verb: &str, server: &str) -> String {
        match self {
            Self::Neovim => format!("`:Flemma mcp:{verb} {server}`"),
            Self::Shell => format!("`flemma mcp {verb} {server}`"),
        }
    }
}

/// Returns the HTTP client for an address, created on first use. It follows no redirects.
type HttpClientOf = Arc<dyn Fn(&str) -> Result<reqwest::Client, String> + Send + Sync>;

impl Http {
    /// Reaches addresses with these clients, and keeps logins in memory.
    pub fn new(
        client: impl Fn(&str) -> Result<reqwest::Client, String> + Send + Sync + 'static,
    ) -> Self {
        Self {
            client: Arc::new(client),
            logins: Arc::new(MemoryLogins::default()),
            commands: Commands::default(),
        }
    }

    /// Keeps logins in a store.
    pub fn with_logins(self, logins: Arc<dyn Logins>) -> Self {
        Self { logins, ..self }
    }

    /// Names the commands of a front end in messages.
    pub fn with_commands(self, commands: Commands) -> Self {
        Self { commands, ..self }
    }
}

/// A connected server. Dropping it ends its program.
pub struct Connection {
    running: RunningService<RoleClient, Peer>,
    peer: Peer,
    trouble: Trouble,
    known: KnownResources,
    reads: Reads,
    login: Option<Arc<Login>>,
    _program: Option<Program>,
}

/// Reply to a call.
enum CallReply {
    /// A result, possibly an intermediate one with questions.
    Result(Value),
    /// Addresses the user must visit before the call is repeated.
    Visit(Vec<Value>),
}

/// The context of a call.
#[derive(Clone)]
pub struct Caller {
    /// Receives progress.
    pub progress: Progress,
    /// Answers the server's questions to the user.
    pub elicitation: Arc<dyn Elicitation>,
    /// Cancels the call.
    pub cancel: CancellationToken,
    /// Time limit, excluding the time the user takes to answer.
    pub limit: Duration,
}

/// How a call ended.
#[derive(Debug, PartialEq)]
pub enum Called {
    /// The server gave a result.
    Answered {
        /// Its text, with a line about each image.
        text: String,
        /// Its images.
        files: Vec<ResultFile>,
        /// True if the server marked it as an error.
        is_error: bool,
    },
    /// There is no result; the text is the reason.
    Failed(String),
    /// It was cancelled.
    Cancelled,
}

impl Connection {
    /// Connects to a server and negotiates a protocol version. `events` receives what the
    /// server reports on its own.
    ///
    /// # Errors
    ///
    /// The server can't be reached or is not ready after 30 seconds; a phrase.
    pub async fn open(
        spec: &ServerSpec,
        http: &Http,
        login: Option<&Arc<Login>>,
        events: impl Fn(PeerEvent) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let peer = Peer::new(&spec.name, Arc::new(events));
        let trouble = Trouble::new();
        let opened = reach::open(spec, http, login, peer.clone(), trouble.clone());
        // On a timeout the future is dropped, which also ends the program that it started.
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
            known: KnownResources::default(),
            reads: Reads::default(),
            login: login.cloned(),
            _program: program,
        })
    }

    /// Returns true if the connection is closed.
    pub fn is_closed(&self) -> bool {
        self.running.is_closed() || self.running.peer().is_transport_closed()
    }

    /// Calls a tool with the time limit `caller.limit`. Reports cancellation and timeout to
    /// the server, and closes the connection if the server then does not respond.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>, caller: &Caller) -> Called {
        let questions = Arc::new(Questions::new(caller.elicitation.clone()));
        let called = self.call_and_answer(tool, arguments, caller, &questions);
        let called = called.await;
        // Closes forms that are still open, because nothing waits for their answers any more.
        questions.end();
        called
    }

    async fn call_and_answer(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        caller: &Caller,
        questions: &Arc<Questions>,
    ) -> Called {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        for _ in 0..ROUNDS {
            let reply = match self.try_call(params.clone(), caller, questions).await {
                // Anything else is final.
                Ok(CallReply::Result(result)) if result["resultType"] != "input_required" => {
                    return answered(result).await;
                }
                Ok(reply) => reply,
                Err(called) => return called,
            };
            let next = self.next_round(reply, params, questions);
            // Without a time limit, because `Questions` limits how long the user may take.
            params = tokio::select! {
                () = caller.cancel.cancelled() => return Called::Cancelled,
                next = next => match next {
                    Ok(next) => next,
                    Err(why) => return Called::Failed(why),
                },
            };
        }
        Called::Failed(format!(
            "it asked {ROUNDS} times instead of giving a result"
        ))
    }

    /// Makes one call and returns the reply, which may be intermediate.
    async fn try_call(
        &self,
        params: CallToolRequestParams,
        caller: &Caller,
        questions: &Arc<Questions>,
    ) -> Result<CallReply, Called> {
        let request = ClientRequest::CallToolRequest(CallToolRequest::new(params));
        let (server, progress) = (self.running.peer(), &caller.progress);
        let sent = self.peer.follow(server, request, progress, questions);
        let (number, handle) = match sent.await {
            Ok(sent) => sent,
            Err(error) => return Err(Called::Failed(self.explain(&error).await)),
        };
        let called = self.wait(handle, caller, questions).await;
        self.peer.forget(number).await;
        called
    }

    async fn wait(
        &self,
        mut handle: RequestHandle<RoleClient>,
        caller: &Caller,
        questions: &Questions,
    ) -> Result<CallReply, Called> {
        let (why, called) = tokio::select! {
            // Prefer an answer that arrived together with the cancellation or the timeout.
            biased;
            answer = &mut handle.rx => {
                return self.reply(answer.unwrap_or(Err(ServiceError::TransportClosed))).await;
            }
            () = caller.cancel.cancelled() => ("the user cancelled it", Called::Cancelled),
            () = questions.time_out(caller.limit) => {
                let limit = caller.limit.as_secs();
                let late = format!("it gave no result within {limit} seconds, its time limit");
                ("it takes too long", Called::Failed(late))
            }
        };
        let notified = handle.cancel(Some(why.to_owned()));
        // A server that no longer reads its input would block this notification forever.
        let is_notified = timeout(ALIVE, notified).await.is_ok_and(|it| it.is_ok());
        // After a timeout, a server that answers a ping is only slow, and other calls may
        // use it. A cancelled call says nothing about the server.
        if !is_notified || (called != Called::Cancelled && !self.lives().await) {
            self.running.cancellation_token().cancel();
        }
        Err(called)
    }

    async fn reply(&self, answer: Result<ServerResult, ServiceError>) -> Result<CallReply, Called> {
        match value(answer) {
            Ok(result) => Ok(CallReply::Result(result)),
            // A server asks for a visit to a page in the form of an error.
            Err(error) => match peer::wanted(&error) {
                Some(addresses) => Ok(CallReply::Visit(addresses)),
                None => Err(Called::Failed(self.explain(&error).await)),
            },
        }
    }

    /// Answers what the server asked, and returns the parameters of the next round.
    async fn next_round(
        &self,
        reply: CallReply,
        params: CallToolRequestParams,
        questions: &Questions,
    ) -> Result<CallToolRequestParams, String> {
        match reply {
            CallReply::Visit(addresses) => {
                peer::ask(&self.peer, &addresses, questions).await?;
                // The same arguments again: the visit changed the server's state, not the call.
                Ok(params)
            }
            CallReply::Result(result) => self.answer(&result, params, questions).await,
        }
    }

    /// Returns the parameters of the next round, with the user's answers.
    async fn answer(
        &self,
        result: &Value,
        params: CallToolRequestParams,
        questions: &Questions,
    ) -> Result<CallToolRequestParams, String> {
        let requests = &result["inputRequests"];
        let mut responses = InputResponses::new();
        for (id, request) in requests.as_object().into_iter().flatten() {
            // The other requests are for files and models, which servers don't get.
            if request["method"] != "elicitation/create" {
                let asked = peer::asked_for(requests);
                self.peer.declined(&asked);
                return Err(format!(
                    "it asks for something that servers do not get: {asked}"
                ));
            }
            let params = &request["params"];
            let reply = self.peer.ask(params, questions).await;
            responses.insert(id.clone(), crate::elicit::result(reply, params));
        }
        let again = params.with_input_responses(responses);
        // The state is opaque to clients, which must send it back unchanged.
        Ok(match result["requestState"].as_str() {
            Some(state) => again.with_request_state(state),
            None => again,
        })
    }

    async fn lives(&self) -> bool {
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let answer = timeout(ALIVE, self.running.peer().send_request(ping)).await;
        // Version 2026-07-28 has no `ping`. An error response shows that the server is alive.
        !matches!(
            answer,
            Err(_)
                | Ok(Err(
                    ServiceError::TransportClosed | ServiceError::TransportSend(_)
                ))
        )
    }

    /// Describes an error as a phrase.
    async fn explain(&self, error: &ServiceError) -> String {
        match error {
            ServiceError::McpError(error) => {
                let said = clean(&error.message, SAID);
                format!("it refused: {said} ({})", error.code.0)
            }
            ServiceError::TransportClosed => {
                self.trouble.known("it ended before it answered").await
            }
            ServiceError::TransportSend(error) => sending(error, self.login.as_deref()),
            error => clean(&error.to_string(), SAID),
        }
    }
}

async fn answered(result: Value) -> Called {
    // Decoding images takes a while.
    let read = tokio::task::spawn_blocking(move || answer(&result)).await;
    read.unwrap_or_else(|error| Called::Failed(format!("its result cannot be read: {error}")))
}

fn answer(result: &Value) -> Called {
    let is_error = result["isError"] == true;
    let parts = match &result["content"] {
        Value::Array(parts) => parts.as_slice(),
        // Some servers leave an empty result out, or send one part without a list.
        Value::Null => &[],
        part => std::slice::from_ref(part),
    };
    let content = ResultContent::of(parts, result.get("structuredContent"), is_error);
    Called::Answered {
        text: content.text,
        files: content.files,
        is_error,
    }
}

/// Returns the result as sent, even if the SDK parsed it as another type.
fn value(result: Result<ServerResult, ServiceError>) -> Result<Value, ServiceError> {
    serde_json::to_value(result?).map_err(|_| ServiceError::UnexpectedResponse)
}

type HttpError = StreamableHttpError<reqwest::Error>;

/// Explains a failed request as a phrase. `login` is the server's.
fn sending(error: &(dyn Error + 'static), login: Option<&Login>) -> String {
    let mut shown = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // Skip wrappers, whose text consists of type names.
        if let Some(wrapper) = error.downcast_ref::<DynamicTransportError>() {
            next = Some(wrapper.error.as_ref());
            continue;
        }
        if let Some(WorkerQuitReason::Fatal { error, .. }) =
            error.downcast_ref::<WorkerQuitReason<HttpError>>()
        {
            next = Some(error);
            continue;
        }
        if wants_rights(error) || wants_login(error) {
            let rights = if wants_rights(error) {
                " with more rights"
            } else {
                ""
            };
            return match login.map(Login::command) {
                Some(command) => format!(
                    "it requires a login{rights} (OAuth): {command}, or a valid token in its headers, for example \
                     Authorization = \"Bearer ${{TOKEN}}\""
                ),
                None => format!("it requires another token{rights} in its header Authorization"),
            };
        }
        let said = said(error);
        // Errors often repeat the text of their source.
        if !shown.ends_with(&said) {
            let separator = if shown.is_empty() { "" } else { ": " };
            shown = format!("{shown}{separator}{said}");
        }
        next = error.source();
    }
    format!("it cannot be reached: {}", clean(&shown, SAID))
}

/// Returns the text of an error, without type names.
fn said(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<HttpError>() {
        Some(HttpError::UnexpectedContentType(kind)) => {
            let kind = kind.as_deref().unwrap_or("no content type");
            format!("it answered with {kind} instead of JSON")
        }
        // The SDK's own text about invalid JSON. Texts of `http::refused` begin with `HTTP `
        // and name the status.
        Some(HttpError::UnexpectedServerResponse(said)) if !said.starts_with("HTTP ") => {
            "its answer is not a message of the protocol".to_owned()
        }
        _ => error.to_string(),
    }
}

fn wants_rights(error: &(dyn Error + 'static)) -> bool {
    let is_refused = |error: &HttpError| matches!(error, HttpError::InsufficientScope(_));
    error.is::<InsufficientScopeError>()
        || error.downcast_ref::<HttpError>().is_some_and(is_refused)
}

fn wants_login(error: &(dyn Error + 'static)) -> bool {
    let is_refused = |error: &HttpError| matches!(error, HttpError::AuthRequired(_));
    error.is::<AuthRequiredError>() || error.downcast_ref::<HttpError>().is_some_and(is_refused)
}

/// Explains a failed handshake as a phrase; `None` if the error's own text is clear.
fn greeting(error: &ClientInitializeError) -> Option<&'static str> {
    use ClientInitializeError as E;
    match error {
        E::ExpectedInitResponse(_)
        | E::ExpectedInitResult(_)
        | E::ConflictInitResponseId(..)
        | E::UncorrelatedErrorResponse { .. } => Some("its answer to the handshake is invalid"),
        E::NoCompatibleProtocolVersion { .. } => {
            Some("it supports no version of the protocol that Flemma supports")
        }
        _ => None,
    }
}

/// Maximum pages of a list.
const PAGES: usize = 100;

/// Tools of a server.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    /// The tools, sorted by name.
    pub definitions: Vec<Definition>,
    /// Tools that can't be offered, one sentence each.
    pub left_out: Vec<String>,
}

impl Connection {
    /// Requests the list of tools.
    ///
    /// # Errors
    ///
    /// The list can't be read; a phrase.
    pub async fn definitions(&self) -> Result<Offered, String> {
        // One limit for all pages, because a server could stretch each of them.
        let listed = timeout(READY, self.list_tools()).await;
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
        // Servers may list their tools in any order, and `Server::learn` compares lists.
        offered.definitions.sort_by(|a, b| a.name.cmp(&b.name));
        // The list is sorted, so duplicates are adjacent. The protocol requires unique
        // names.
        offered.definitions.dedup_by(|a, b| a.name == b.name);
        Ok(offered)
    }

    async fn list_tools(&self) -> Result<Vec<Value>, String> {
        // A server with resources need not have tools. Some servers have tools and don't say so.
        if self.has_resources() && !self.abilities(|it| it.tools.is_some()) {
            return Ok(Vec::new());
        }
        let tools = PagedList {
            key: "tools",
            what: "tools",
            most: MOST_TOOLS,
            request: |page| ClientRequest::ListToolsRequest(ListToolsRequest::with_param(page)),
        };
        self.list(&tools).await
    }

    /// Requests all pages of a list.
    async fn list(&self, list: &PagedList) -> Result<Vec<Value>, String> {
        let PagedList {
            key, what, most, ..
        } = *list;
        let mut all = Vec::new();
        let mut cursor = None;
        // The limits on pages and entries end a list whose cursors run in circles.
        for _ in 0..PAGES {
            let page = PaginatedRequestParams::default().with_cursor(cursor);
            let result = self.running.peer().send_request((list.request)(page)).await;
            let mut page = match value(result) {
                Ok(page) => page,
                Err(error) => return Err(self.explain(&error).await),
            };
            let Value::Array(listed) = page[key].take() else {
                return Err(format!("its list of {what} cannot be read"));
            };
            all.extend(listed);
            // Checked on each page, so that a server can't fill the memory with all of them.
            if all.len() > most {
                return Err(format!("it has more than {most} {what}"));
            }
            // Some servers send an empty cursor with the last page.
            let next = page["nextCursor"].as_str().filter(|it| !it.is_empty());
            cursor = next.map(str::to_owned);
            if cursor.is_none() {
                return Ok(all);
            }
        }
        Err(format!("its list of {what} has more than {PAGES} pages"))
    }

    /// Returns true if the server has resources.
    pub fn has_resources(&self) -> bool {
        self.abilities(|it| it.resources.is_some())
    }

    /// Returns a property of what the server announced.
    fn abilities(&self, has: impl Fn(&ServerCapabilities) -> bool) -> bool {
        let server = self.running.peer().peer_info();
        server.is_some_and(|it| has(&it.capabilities))
    }
}

/// A list that a server sends in pages.
struct PagedList {
    /// The field of a page that holds the entries.
    key: &'static str,
    /// The entries, for messages.
    what: &'static str,
    /// Maximum number of entries.
    most: usize,
    /// Makes the request for a page.
    request: fn(PaginatedRequestParams) -> ClientRequest,
}

fn definition(name: &str, tool: &Value) -> Result<Definition, String> {
    let schema = tool["inputSchema"].as_object().cloned();
    let schema = schema.ok_or_else(|| "it has no schema of its arguments".to_owned())?;
    Definition::new(
        name,
        // The description is optional in the protocol.
        tool["description"].as_str().unwrap_or_default(),
        schema,
    )
}
