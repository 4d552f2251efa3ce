//! HTTP transport that repairs a server's messages, as for programs.
//!
//! The SDK's client skips an event that it can't parse. The call that the event answers
//! would then wait for its time limit. Everything else works as in the SDK.

mod events;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures::StreamExt;
use futures::stream::BoxStream;
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use reqwest::{RequestBuilder, Response};
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, ClientRequest, ErrorCode, ErrorData, JsonRpcError,
    RequestId, ServerJsonRpcMessage,
};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpClient,
    StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::login::Login;
use super::mend::{self, Line};
use super::reach::LONGEST;

type Failure = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

const SESSION: &str = "mcp-session-id";
const LAST_EVENT: &str = "last-event-id";
pub(super) const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";
/// The error of a login with too few rights (RFC 6750).
const TOO_FEW: &str = "insufficient_scope";
/// Maximum size of an error body in bytes.
const REFUSAL: usize = 64 * 1024;

/// HTTP client that repairs messages.
#[derive(Clone)]
pub(super) struct MendingClient {
    http: reqwest::Client,
    /// The user's login, which hears what the server says about it.
    login: Option<Arc<Login>>,
    unanswered: Unanswered,
}

impl MendingClient {
    pub(super) fn new(http: reqwest::Client, login: Option<Arc<Login>>) -> Self {
        Self {
            http,
            login,
            unanswered: Unanswered::default(),
        }
    }
}

/// Requests without an answer.
#[derive(Clone, Default)]
struct Unanswered(Arc<Mutex<Vec<RequestId>>>);

impl Unanswered {
    fn add(&self, id: RequestId) {
        self.lock().push(id);
    }

    /// Returns true if the request had no answer yet.
    fn remove(&self, id: &RequestId) -> bool {
        let mut ids = self.lock();
        let count = ids.len();
        ids.retain(|it| it != id);
        ids.len() < count
    }

    fn remove_all(&self) -> Vec<RequestId> {
        std::mem::take(&mut self.lock())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<RequestId>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns an error answer for an unreadable one; `wrong` is a phrase.
fn unreadable(id: RequestId, wrong: &str) -> ServerJsonRpcMessage {
    let said = format!("it sent a message {wrong}");
    let error = ErrorData::new(ErrorCode::INTERNAL_ERROR, said, None);
    ServerJsonRpcMessage::error(error, Some(id))
}

/// Returns a message as the answer to the request `id`. Servers often omit the ID of
/// errors; with any other ID the request would never be answered.
fn answer_to(id: RequestId, message: ServerJsonRpcMessage) -> ServerJsonRpcMessage {
    match message {
        ServerJsonRpcMessage::Response(it) if it.id == id => ServerJsonRpcMessage::Response(it),
        ServerJsonRpcMessage::Error(it) => ServerJsonRpcMessage::error(it.error, Some(id)),
        ServerJsonRpcMessage::Response(_) => unreadable(id, "with the ID of another request"),
        _ => unreadable(id, "that is not an answer"),
    }
}

// The variants of these methods that take an event limit keep their defaults, which call
// these: the limit is the same for everything a server sends.
impl StreamableHttpClient for MendingClient {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let sent = Sent::new(&message, session_id.is_some());
        let request = self.http.post(uri.as_ref()).json(&message);
        let request = with_headers(request, session_id.as_deref(), auth_header, custom_headers)?;
        // Before the request is sent, so that no answer can arrive first.
        if let Some(id) = &sent.id {
            self.unanswered.add(id.clone());
        }
        // A server must not answer a cancelled request, so don't keep its ID.
        if let ClientJsonRpcMessage::Notification(it) = &message
            && let ClientNotification::CancelledNotification(it) = &it.notification
        {
            it.params.request_id.iter().for_each(|id| {
                self.unanswered.remove(id);
            });
        }
        let answer = match request.send().await {
            Ok(response) => self.read(response, &sent).await,
            Err(error) => Err(error.into()),
        };
        // An answer on a stream is removed by `events` when it arrives.
        if !matches!(answer, Ok(StreamableHttpPostResponse::Sse(..)))
            && let Some(id) = &sent.id
        {
            self.unanswered.remove(id);
        }
        answer
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failure> {
        // The SDK's own, because no message comes back that needs a repair.
        let deleted = self
            .http
            .delete_session(uri, session_id, auth_header, custom_headers);
        deleted.await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, Failure> {
        let mut request = self.http.get(uri.as_ref());
        if let Some(id) = last_event_id {
            request = request.header(LAST_EVENT, id);
        }
        let request = with_headers(request, session_id.as_deref(), auth_header, custom_headers)?;
        let response = request.send().await?;
        // Servers may support only answers, not a stream of their own.
        if response.status() == StatusCode::METHOD_NOT_ALLOWED {
            return Err(StreamableHttpError::ServerDoesNotSupportSse);
        }
        self.check_login(&response).await?;
        // Keeps `Retry-After`, which `error_for_status` would drop.
        if let Some(error) = busy(&response) {
            return Err(error.into());
        }
        let response = response.error_for_status()?;
        match kind(&response) {
            Some(kind) if kind.starts_with(EVENTS) || kind.starts_with(JSON) => {}
            kind => return Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
        // This stream may answer any request.
        let unanswered = self.unanswered.clone();
        Ok(events::read(response, LONGEST, unanswered, None))
    }
}

/// Properties of the sent message that affect its answer.
struct Sent {
    /// ID of a request; other messages get no answer.
    id: Option<RequestId>,
    asks_for_versions: bool,
    in_session: bool,
}

impl Sent {
    fn new(message: &ClientJsonRpcMessage, in_session: bool) -> Self {
        let ClientJsonRpcMessage::Request(request) = message else {
            return Self {
                id: None,
                asks_for_versions: false,
                in_session,
            };
        };
        Self {
            id: Some(request.id.clone()),
            asks_for_versions: matches!(request.request, ClientRequest::DiscoverRequest(_)),
            in_session,
        }
    }
}

impl MendingClient {
    /// Fails if the server requires a login, or one with more rights.
    async fn check_login(&self, response: &Response) -> Result<(), Failure> {
        let challenge = response.headers().get(WWW_AUTHENTICATE);
        let challenge = challenge.map(|it| String::from_utf8_lossy(it.as_bytes()).into_owned());
        let error = match (response.status(), challenge) {
            (StatusCode::UNAUTHORIZED, challenge) => {
                let error = AuthRequiredError::new(challenge.unwrap_or_default());
                Failure::AuthRequired(error)
            }
            // 403 without a challenge is an ordinary refusal.
            (StatusCode::FORBIDDEN, Some(challenge)) if challenge.contains(TOO_FEW) => {
                Failure::InsufficientScope(InsufficientScopeError::new(challenge, None))
            }
            (StatusCode::FORBIDDEN, Some(challenge)) => {
                Failure::AuthRequired(AuthRequiredError::new(challenge))
            }
            (status, _) => {
                if let Some(login) = self.login.as_ref().filter(|_| status.is_success()) {
                    login.accepted();
                }
                return Ok(());
            }
        };
        if let (Some(login), Some(challenge)) = (&self.login, error.auth_challenge()) {
            login.refused(challenge).await;
        }
        Err(error)
    }

    /// Reads the answer to a message.
    async fn read(
        &self,
        response: Response,
        sent: &Sent,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        self.check_login(&response).await?;
        let status = response.status();
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        // In the protocol, 404 with a session ID means that the session expired.
        if status == StatusCode::NOT_FOUND && sent.in_session {
            return Err(StreamableHttpError::SessionExpired);
        }
        if !status.is_success() {
            return refused(response, sent).await;
        }
        // Notifications should get 202, but some servers send an empty 200.
        if sent.id.is_none() && response.content_length() == Some(0) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        self.answer(response, sent).await
    }

    /// Reads the body of a successful response by its content type.
    async fn answer(
        &self,
        response: Response,
        sent: &Sent,
    ) -> Result<StreamableHttpPostResponse, Failure> {
        let session = session(&response);
        match kind(&response) {
            Some(kind) if kind.starts_with(EVENTS) => {
                let (unanswered, id) = (self.unanswered.clone(), sent.id.clone());
                let events = events::read(response, LONGEST, unanswered, id);
                Ok(StreamableHttpPostResponse::Sse(events, session))
            }
            Some(kind) if kind.starts_with(JSON) => {
                let body = body(response, LONGEST).await?;
                // JSON-RPC has no answer to a notification, whatever a server sends.
                let Some(id) = sent.id.clone() else {
                    return Ok(StreamableHttpPostResponse::Accepted);
                };
                let message = json_answer(id, &body)?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            kind => Err(StreamableHttpError::UnexpectedContentType(kind)),
        }
    }
}

/// Reads the JSON body that answers the request `id`.
fn json_answer(id: RequestId, body: &[u8]) -> Result<ServerJsonRpcMessage, Failure> {
    let message = match mend::line(body.trim_ascii()) {
        Line::Mended(text) => serde_json::from_str(&text),
        Line::Unreadable(wrong) => Ok(unreadable(id.clone(), &wrong)),
        // Parsed even if it is not JSON, for the parser's error.
        Line::Whole | Line::Foreign => serde_json::from_slice(body),
    };
    let message = message.map_err(|error| {
        let said = format!("not a message of the protocol: {error}");
        StreamableHttpError::UnexpectedServerResponse(said.into())
    })?;
    Ok(answer_to(id, message))
}

/// Returns the text of an error body, and the error if it is a JSON-RPC message.
fn error_of(body: &[u8]) -> (String, Option<JsonRpcError>) {
    let text = match mend::line(body.trim_ascii()) {
        Line::Mended(text) => text,
        _ => String::from_utf8_lossy(body).into_owned(),
    };
    let error = match serde_json::from_str(&text) {
        Ok(ServerJsonRpcMessage::Error(error)) => Some(error),
        _ => None,
    };
    (text, error)
}

/// Reads an error response.
async fn refused(response: Response, sent: &Sent) -> Result<StreamableHttpPostResponse, Failure> {
    let status = response.status();
    let is_json = kind(&response).is_some_and(|it| it.starts_with(JSON));
    let busy = busy(&response);
    // A JSON body may explain a server error better than its status. After 429, the time to
    // wait matters more than the body.
    if let Some(error) = busy
        .as_ref()
        .filter(|_| !is_json || status == StatusCode::TOO_MANY_REQUESTS)
    {
        return Err(HttpStatusError::new(error.status, error.retry_after.clone()).into());
    }
    let session = session(&response);
    // Without a readable body, the message has only the status.
    let body = body(response, REFUSAL).await.unwrap_or_default();
    let (text, said) = error_of(&body);
    let is_login = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    // The server supports only the older handshake. The SDK tries that next, but only after
    // an error with the request's ID, which not all servers send.
    if sent.asks_for_versions && !sent.in_session && status.is_client_error() && !is_login {
        let error = match said {
            Some(said) => said.error,
            None => ErrorData::invalid_request(format!("HTTP {status}: {text}"), None),
        };
        let message = ServerJsonRpcMessage::error(error, sent.id.clone());
        return Ok(StreamableHttpPostResponse::Json(message, None));
    }
    // A refused login stays an HTTP error, by which `explain` recognizes it.
    if let Some(said) = said.filter(|_| is_json && !is_login) {
        let message = ServerJsonRpcMessage::error(said.error, sent.id.clone().or(said.id));
        return Ok(StreamableHttpPostResponse::Json(message, session));
    }
    Err(busy.map_or_else(
        || StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {text}").into()),
        Into::into,
    ))
}

fn with_headers(
    mut request: RequestBuilder,
    session: Option<&str>,
    token: Option<String>,
    headers: HashMap<HeaderName, HeaderValue>,
) -> Result<RequestBuilder, Failure> {
    // These headers belong to the transport; a user's value would break the session.
    let ours = |name: &HeaderName| name == ACCEPT || name == SESSION || name == LAST_EVENT;
    if let Some(name) = headers.keys().find(|name| ours(name)) {
        return Err(StreamableHttpError::ReservedHeaderConflict(
            name.to_string(),
        ));
    }
    // The protocol requires clients to accept both types, even if they expect one.
    request = request
        .headers(HeaderMap::from_iter(headers))
        .header(ACCEPT, format!("{EVENTS}, {JSON}"));
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    Ok(request)
}

/// Returns the error of an overloaded or broken server.
fn busy(response: &Response) -> Option<HttpStatusError> {
    let status = response.status();
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let after = response.headers().get(RETRY_AFTER);
    let after = after.and_then(|it| it.to_str().ok()).map(str::to_owned);
    Some(HttpStatusError::new(status.as_u16(), after))
}

/// Returns the content type.
fn kind(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(kind.as_bytes()).into_owned())
}

/// Returns the session ID.
fn session(response: &Response) -> Option<String> {
    let session = response.headers().get(SESSION)?;
    session.to_str().ok().map(str::to_owned)
}

/// Reads a body of at most `most` bytes.
async fn body(response: Response, most: usize) -> Result<Vec<u8>, Failure> {
    let too_large = || StreamableHttpError::ResponseBodyTooLarge { max_size: most };
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    // Counted while reading, because `Content-Length` may be missing or wrong.
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk?);
        if body.len() > most {
            return Err(too_large());
        }
    }
    Ok(body)
}
