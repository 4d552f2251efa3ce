//! Handles notifications and questions that a server sends. Servers get no files and no
//! models; their questions go to the user whose call is running.

use std::collections::BTreeMap;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams, ElicitResult,
    ElicitationCapability, ErrorData, FormElicitationCapability, Implementation,
    ProgressNotificationParam, ProgressToken, ProtocolVersion, UrlElicitationCapability,
};
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RequestContext, RequestHandle, RoleClient,
    ServiceError,
};
use serde_json::Value;
use tokio::sync::Mutex;
use tools::{FormReply, Progress};

use super::questions::Questions;
use crate::definition::clean;
use crate::elicit;

/// Maximum bytes of a server's text shown outside a call.
const SAID: usize = 300;

/// An event that a server caused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// Its tools changed.
    ToolsChanged,
    /// The user declined a question; its summary.
    Declined(String),
}

/// Our side of a connection.
#[derive(Clone)]
pub(super) struct Peer {
    /// The server's name.
    name: String,
    events: Arc<dyn Fn(PeerEvent) + Send + Sync>,
    /// Running calls by number; the last one is the newest.
    calls: Arc<Mutex<BTreeMap<u64, Running>>>,
}

/// A running call.
struct Running {
    token: String,
    progress: Progress,
    questions: Arc<Questions>,
}

impl Peer {
    pub(super) fn new(name: &str, events: Arc<dyn Fn(PeerEvent) + Send + Sync>) -> Self {
        Self {
            name: name.to_owned(),
            events,
            calls: Arc::default(),
        }
    }

    /// Sends a request and registers its progress and questions. Returns its number too.
    pub(super) async fn follow(
        &self,
        server: &rmcp::service::Peer<RoleClient>,
        request: ClientRequest,
        progress: &Progress,
        questions: &Arc<Questions>,
    ) -> Result<(u64, RequestHandle<RoleClient>), ServiceError> {
        // Hold the lock until the progress token is known: progress may arrive before that.
        let mut calls = self.calls.lock().await;
        let options = PeerRequestOptions::no_options();
        let handle = server.send_cancellable_request(request, options).await?;
        let number = calls.last_key_value().map_or(0, |(last, _)| last + 1);
        let running = Running {
            token: key(&handle.progress_token),
            progress: progress.clone(),
            questions: questions.clone(),
        };
        calls.insert(number, running);
        Ok((number, handle))
    }

    /// Unregisters a call.
    pub(super) async fn forget(&self, number: u64) {
        self.calls.lock().await.remove(&number);
    }

    /// Asks the user a server's question.
    pub(super) async fn ask(&self, params: &Value, questions: &Questions) -> FormReply {
        let reply = match elicit::form(&self.name, params) {
            Ok(form) => questions.ask(form).await,
            // The user sees what was asked, but can't answer a form that we can't show.
            Err(why) => {
                self.declined(&format!("{} ({why})", elicit::summary(params)));
                return FormReply::Declined;
            }
        };
        if reply == FormReply::Unavailable {
            self.declined(&elicit::summary(params));
        }
        reply
    }

    /// Reports that a question was declined.
    pub(super) fn declined(&self, asked: &str) {
        (self.events)(PeerEvent::Declined(asked.to_owned()));
    }

    /// Returns the questions of the newest call. The protocol does not say which of several
    /// calls a question belongs to.
    async fn newest(&self) -> Option<Arc<Questions>> {
        let calls = self.calls.lock().await;
        calls.last_key_value().map(|(_, it)| it.questions.clone())
    }
}

fn key(token: &ProgressToken) -> String {
    format!("{token:?}")
}

/// Summarizes what an intermediate result asks for.
pub(super) fn asked_for(requests: &Value) -> String {
    let requests = requests.as_object().into_iter().flatten();
    let words: Vec<String> = requests
        .map(|(_, request)| {
            let method = request["method"].as_str().unwrap_or("something");
            let message = request["params"]["message"].as_str().unwrap_or_default();
            clean(format!("{method} {message}").trim(), SAID)
        })
        .collect();
    words.join("; ")
}

impl ClientHandler for Peer {
    fn get_info(&self) -> ClientConfig {
        let us = Implementation::new("flemma", env!("CARGO_PKG_VERSION"));
        // Offer no files and no models. Offer questions even without a user, so that
        // servers describe the same tools everywhere.
        let mut abilities = ClientCapabilities::default();
        let elicitation = ElicitationCapability::new()
            .with_form(FormElicitationCapability::new())
            .with_url(UrlElicitationCapability::new());
        abilities.elicitation = Some(elicitation);
        let config = ClientConfig::new(abilities, us);
        // Version offered to servers that support only the older handshake.
        config.with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let params = serde_json::to_value(&request).unwrap_or_default();
        let reply = match self.newest().await {
            Some(questions) => tokio::select! {
                reply = self.ask(&params, &questions) => reply,
                () = context.ct.cancelled() => FormReply::Cancelled,
            },
            // Only a running call has a user.
            None => {
                self.declined(&elicit::summary(&params));
                FormReply::Declined
            }
        };
        serde_json::from_value(elicit::result(reply, &params))
            .map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let token = key(&params.progress_token);
        let calls = self.calls.lock().await;
        // A token that is not found belongs to a call that has ended.
        if let Some(call) = calls.values().find(|it| it.token == token) {
            call.progress.output(&progress_line(&params));
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        (self.events)(PeerEvent::ToolsChanged);
    }
}

fn progress_line(params: &ProgressNotificationParam) -> String {
    let mut line = match params.total {
        Some(total) => format!("{}/{total}", params.progress),
        None => params.progress.to_string(),
    };
    if let Some(message) = &params.message {
        line = format!("{line} {}", clean(message, SAID));
    }
    line + "\n"
}
