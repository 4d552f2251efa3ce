//! Handles notifications and questions that a server sends. Servers get no files and no
//! models; their questions go to the user whose call is running.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

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
use serde_json::{Map, Value};
use tokio::sync::{Mutex, watch};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;
use tools::{Elicitation, Form, FormReply, Progress};

use crate::definition::clean;
use crate::elicit;

/// Maximum bytes of a server's text shown outside a call.
const SAID: usize = 300;

/// An event that a server caused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PeerEvent {
    /// Its tools changed.
    ToolsChanged,
    /// The list of its resources changed.
    ResourcesChanged,
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

    pub(super) fn name(&self) -> &str {
        &self.name
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

    async fn on_resource_list_changed(&self, _context: NotificationContext<RoleClient>) {
        (self.events)(PeerEvent::ResourcesChanged);
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

/// Maximum total time that the questions of one call wait for the user.
pub const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of questions per call.
const MOST: usize = 20;

/// The questions of one call.
pub(super) struct Questions {
    elicitation: Arc<dyn Elicitation>,
    asked: AtomicUsize,
    /// Remaining time; locked while a question is open.
    left: Mutex<Duration>,
    /// Number of open questions.
    open: watch::Sender<usize>,
    /// Cancelled when the call is over.
    over: CancellationToken,
}

impl Questions {
    pub(super) fn new(elicitation: Arc<dyn Elicitation>) -> Self {
        Self {
            elicitation,
            asked: AtomicUsize::new(0),
            left: Mutex::new(PATIENCE),
            open: watch::Sender::new(0),
            over: CancellationToken::new(),
        }
    }

    /// Closes all questions because the call is over.
    pub(super) fn end(&self) {
        self.over.cancel();
    }

    /// Asks the user. A question that is not answered in time counts as dismissed.
    pub(super) async fn ask(&self, form: Form) -> FormReply {
        // A server in a loop must not keep the user busy.
        if self.asked.fetch_add(1, Ordering::Relaxed) >= MOST {
            return FormReply::Declined;
        }
        let _open = OpenQuestion::new(&self.open);
        let mut left = self.left.lock().await;
        let began = Instant::now();
        let reply = tokio::select! {
            reply = timeout(*left, self.elicitation.ask(form)) => reply.unwrap_or(FormReply::Cancelled),
            () = self.over.cancelled() => FormReply::Cancelled,
        };
        *left = left.saturating_sub(began.elapsed());
        reply
    }

    /// Waits for a call's time limit, excluding the time when a question is open.
    pub(super) async fn time_out(&self, limit: Duration) {
        let mut open = self.open.subscribe();
        let mut left = limit;
        loop {
            // Can't fail: the sender is a field of `self`.
            drop(open.wait_for(|count| *count == 0).await);
            let began = Instant::now();
            tokio::select! {
                () = sleep(left) => return,
                _ = open.wait_for(|count| *count > 0) => {}
            }
            left = left.saturating_sub(began.elapsed());
        }
    }
}

/// Guard that counts an open question.
struct OpenQuestion<'a>(&'a watch::Sender<usize>);

impl<'a> OpenQuestion<'a> {
    fn new(open: &'a watch::Sender<usize>) -> Self {
        open.send_modify(|count| *count += 1);
        Self(open)
    }
}

impl Drop for OpenQuestion<'_> {
    fn drop(&mut self) {
        self.0.send_modify(|count| *count -= 1);
    }
}

/// The error's code.
const NEEDED: i32 = -32042;
/// Maximum number of addresses per error.
const MOST_VISITS: usize = 5;

/// Returns the addresses as parameters of `elicitation/create`; `None` for any other error
/// or without an address.
pub(super) fn wanted(error: &ServiceError) -> Option<Vec<Value>> {
    let ServiceError::McpError(error) = error else {
        return None;
    };
    let listed = error.data.as_ref()?["elicitations"].as_array()?;
    let is_needed = error.code.0 == NEEDED && !listed.is_empty();
    is_needed.then(|| listed.iter().take(MOST_VISITS).map(address).collect())
}

/// Builds the parameters of a question from a listed address. The mode is fixed, so that
/// the server can't ask for anything but a visit.
fn address(listed: &Value) -> Value {
    let mut asked: Map<String, Value> = listed.as_object().cloned().unwrap_or_default();
    asked.insert("mode".to_owned(), "url".into());
    Value::Object(asked)
}

/// Asks the user about each address.
///
/// # Errors
///
/// The user declined one of them; a phrase.
pub(super) async fn ask(peer: &Peer, all: &[Value], questions: &Questions) -> Result<(), String> {
    for asked in all {
        let why = match peer.ask(asked, questions).await {
            FormReply::Accepted(_) => continue,
            FormReply::Declined => "the user declined",
            FormReply::Cancelled => "the user dismissed the question",
            FormReply::Unavailable => "there is no user to ask",
        };
        let message = clean(&elicit::summary(asked), SAID);
        return Err(format!(
            "it requires the user to visit an address first, but {why}: {message}"
        ));
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use async_trait::async_trait;
    use rmcp::model::{ErrorCode, ErrorData};
    use serde_json::json;
    use tools::{FormContent, NoElicitation};

    use super::*;

    struct Slow(Duration);

    #[async_trait]
    impl Elicitation for Slow {
        async fn ask(&self, _form: Form) -> FormReply {
            sleep(self.0).await;
            FormReply::Declined
        }
    }

    fn form() -> Form {
        Form {
            by: "It".to_owned(),
            message: "?".to_owned(),
            wanted: FormContent::Fields(Vec::new()),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn the_time_of_a_question_does_not_count_for_the_call() {
        let questions = Questions::new(Arc::new(Slow(Duration::from_secs(100))));
        let began = Instant::now();
        tokio::join!(
            questions.time_out(Duration::from_secs(30)),
            questions.ask(form())
        );
        assert_eq!(began.elapsed().as_secs(), 130);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_has_a_time_limit() {
        let questions = Questions::new(Arc::new(Slow(PATIENCE * 2)));
        assert_eq!(questions.ask(form()).await, FormReply::Cancelled);
        assert_eq!(questions.ask(form()).await, FormReply::Cancelled);
    }

    #[tokio::test]
    async fn the_number_of_questions_is_limited() {
        let questions = Questions::new(Arc::new(NoElicitation));
        for _ in 0..MOST {
            assert_eq!(questions.ask(form()).await, FormReply::Unavailable);
        }
        assert_eq!(questions.ask(form()).await, FormReply::Declined);
    }

    fn error(code: i32, data: Value) -> ServiceError {
        ServiceError::McpError(ErrorData::new(ErrorCode(code), "Go there", Some(data)))
    }

    #[test]
    fn only_error_32042_with_addresses_is_a_question() {
        let one = json!({"url": "https://a.example", "message": "Log in", "mode": "form"});
        let found = wanted(&error(NEEDED, json!({"elicitations": [one, 5]}))).unwrap();
        assert_eq!(found[0]["mode"], "url");
        assert_eq!(found[1], json!({"mode": "url"}));
        let many = json!({"elicitations": vec![one.clone(); 100]});
        assert_eq!(wanted(&error(NEEDED, many)).unwrap().len(), MOST_VISITS);
        for (code, data) in [
            (-32600, json!({"elicitations": [one]})),
            (NEEDED, json!({"elicitations": []})),
            (NEEDED, json!({"elicitations": "https://a.example"})),
            (NEEDED, Value::Null),
        ] {
            assert_eq!(wanted(&error(code, data.clone())), None, "{code} {data}");
        }
        assert_eq!(wanted(&ServiceError::TransportClosed), None);
    }
}
