//! What a server says and asks by itself. Nothing is given to it: no file, no model,
//! no answer of the user's.

use std::collections::HashMap;
use std::sync::Arc;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, ClientRequest, ElicitRequestParams, ElicitResult,
    ElicitationAction, ErrorData, Implementation, ProgressNotificationParam, ProgressToken,
    ProtocolVersion,
};
use rmcp::service::{
    NotificationContext, PeerRequestOptions, RequestContext, RequestHandle, RoleClient,
    ServiceError,
};
use serde_json::Value;
use tokio::sync::Mutex;
use tools::Progress;

use crate::definition::clean;

/// Longest text that a server can show by itself, in bytes.
const SAID: usize = 300;

/// What a server did by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Its tools are others now.
    ToolsChanged,
    /// It asked the user for something, and got no for an answer. What it asked.
    Declined(String),
}

/// Our side of a connection.
#[derive(Clone)]
pub(super) struct Peer {
    events: Arc<dyn Fn(Event) + Send + Sync>,
    /// Who hears of the progress of calls that run.
    listeners: Arc<Mutex<HashMap<String, Progress>>>,
}

impl Peer {
    pub(super) fn new(events: Arc<dyn Fn(Event) + Send + Sync>) -> Self {
        Self {
            events,
            listeners: Arc::default(),
        }
    }

    /// Sends a request whose progress `progress` hears of.
    pub(super) async fn follow(
        &self,
        server: &rmcp::service::Peer<RoleClient>,
        request: ClientRequest,
        progress: &Progress,
    ) -> Result<RequestHandle<RoleClient>, ServiceError> {
        // Held until the token is known: what the server says of it waits that long.
        let mut listeners = self.listeners.lock().await;
        let options = PeerRequestOptions::no_options();
        let handle = server.send_cancellable_request(request, options).await?;
        listeners.insert(key(&handle.progress_token), progress.clone());
        Ok(handle)
    }

    /// The call is over.
    pub(super) async fn forget(&self, token: &ProgressToken) {
        self.listeners.lock().await.remove(&key(token));
    }

    /// A question of the server's to the user was answered with no.
    pub(super) fn declined(&self, asked: &str) {
        (self.events)(Event::Declined(asked.to_owned()));
    }
}

fn key(token: &ProgressToken) -> String {
    format!("{token:?}")
}

/// What an unfinished result asks for, in words.
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
        // No abilities: neither files, nor models, nor questions to the user.
        let us = Implementation::new("flemma", env!("CARGO_PKG_VERSION"));
        let config = ClientConfig::new(ClientCapabilities::default(), us);
        // What a server is greeted with that is only greeted in the older way.
        config.with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        let asked = serde_json::to_value(&request).unwrap_or_default();
        self.declined(&clean(asked["message"].as_str().unwrap_or_default(), SAID));
        Ok(ElicitResult::new(ElicitationAction::Decline))
    }

    async fn on_progress(
        &self,
        params: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) {
        let listener = self.listeners.lock().await;
        if let Some(progress) = listener.get(&key(&params.progress_token)) {
            progress.output(&progress_line(&params));
        }
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        (self.events)(Event::ToolsChanged);
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
