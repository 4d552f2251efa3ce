//! One connection to a server: lists its tools and calls them.
//!
//! Only this module and `client/` refer to the SDK for using servers. Knows no registry and
//! no user, and trusts nothing a server says.

mod explain;
mod http;
mod limited;
mod listing;
mod mend;
mod peer;
mod questions;
mod reach;
mod visits;

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, ClientRequest, InputResponses, PingRequest,
    ServerResult,
};
use rmcp::service::{RequestHandle, RunningService, ServiceError};
use serde_json::{Map, Value};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tools::{Elicitation, Program, Progress};

use crate::definition::clean;
use crate::spec::ServerSpec;
use limited::Trouble;
use peer::Peer;
pub use peer::PeerEvent;
pub use questions::PATIENCE;
use questions::Questions;

/// Time limit for a server to become ready.
const READY: Duration = Duration::from_secs(30);
/// Time limit for a ping to a server that missed a call's time limit.
const ALIVE: Duration = Duration::from_secs(2);
/// Maximum rounds of questions before a result.
const ROUNDS: usize = 10;
/// Maximum bytes of a server's text quoted in our messages.
const SAID: usize = 500;

/// Returns the HTTP client, created on first use.
pub type Http = Arc<dyn Fn() -> Result<reqwest::Client, String> + Send + Sync>;

/// A connected server. Dropping it ends its program.
pub struct Connection {
    running: RunningService<RoleClient, Peer>,
    peer: Peer,
    trouble: Trouble,
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
        /// Its text.
        text: String,
        /// Whether the server marked it as an error.
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
        events: impl Fn(PeerEvent) + Send + Sync + 'static,
    ) -> Result<Self, String> {
        let peer = Peer::new(&spec.name, Arc::new(events));
        let trouble = Trouble::new();
        let opened = reach::open(spec, http, peer.clone(), trouble.clone());
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
                    return answered(&result);
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
            Err(error) => match visits::wanted(&error) {
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
                visits::ask(&self.peer, &addresses, questions).await?;
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
            ServiceError::TransportSend(error) => explain::sending(error),
            error => clean(&error.to_string(), SAID),
        }
    }
}

fn answered(result: &Value) -> Called {
    let parts = match &result["content"] {
        Value::Array(parts) => parts.as_slice(),
        // Some servers leave an empty result out, or send one part without a list.
        Value::Null => &[],
        part => std::slice::from_ref(part),
    };
    Called::Answered {
        text: crate::content::text(parts, result.get("structuredContent")),
        is_error: result["isError"] == true,
    }
}

/// Returns the result as sent, even if the SDK parsed it as another type.
fn value(result: Result<ServerResult, ServiceError>) -> Result<Value, ServiceError> {
    serde_json::to_value(result?).map_err(|_| ServiceError::UnexpectedResponse)
}
