//! HTTP transport: one path that takes requests and answers with JSON, or with an event
//! stream if there is progress to report.
//!
//! A request outside a session is answered on its own, so a single `curl` command can use a
//! tool.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use http::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::Handler;
use super::{ToolServer, messages};

/// Header with the session ID.
const SESSION: &str = "mcp-session-id";
/// Maximum size of a request in bytes.
const LARGEST: usize = 4 * 1024 * 1024;
/// Maximum number of connections.
const CONNECTIONS: usize = 256;
/// Time limit for a request's headers, and again for its body.
const RECEIVE: Duration = Duration::from_secs(30);

type Service = StreamableHttpService<Handler, LocalSessionManager>;
type Sent = Answering<Infallible>;
type HttpResponse = <Service as tower_service::Service<Request<Full<Bytes>>>>::Response;

/// Serves connections until the listener fails.
///
/// # Errors
///
/// The listener does not know its address.
pub async fn serve_http(
    offer: Arc<dyn ToolServer>,
    listener: TcpListener,
    guard: Guard,
) -> io::Result<()> {
    let served = Arc::new(Served::new(&offer, &listener, guard)?);
    let connections = Connections::new(CONNECTIONS);
    loop {
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // The client disconnected early, or too many files are open. Wait a moment
                // so that the second case doesn't loop.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let slot = connections.slot().await;
        tokio::spawn(serve_connection(served.clone(), stream, slot));
    }
}

async fn serve_connection(served: Arc<Served>, stream: TcpStream, slot: Arc<Slot>) {
    let of_requests = slot.clone();
    let answer = service_fn(move |request| {
        let (served, slot) = (served.clone(), of_requests.clone());
        async move { Ok::<_, Infallible>(served.answer(request, &slot).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        // Without this limit, clients that send nothing could occupy all connections. hyper
        // needs a timer for it.
        .header_read_timeout(RECEIVE)
        .serve_connection(TokioIo::new(stream), answer);
    tokio::select! {
        ended = connection => if let Err(error) = ended {
            tracing::debug!(%error, "a connection ended");
        },
        () = slot.ended.cancelled() => {
            tracing::debug!("a connection made room for another one");
        }
    }
}

/// The services that answer requests.
struct Served {
    guard: Guard,
    /// For requests that belong to a session or name a protocol version.
    proper: Service,
    /// For all other requests, because the SDK would require a session for them.
    plain: Service,
}

impl Served {
    fn new(offer: &Arc<dyn ToolServer>, listener: &TcpListener, guard: Guard) -> io::Result<Self> {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts(listener.local_addr()?, &guard))
            .with_allowed_origins(origins())
            // Browsers send the origin of a page. No page may call tools on the user's machine.
            .enforce_origin_validation()
            .with_max_request_body_bytes(LARGEST)
            .with_json_response(true);
        let service = |config| {
            let offer = offer.clone();
            let sessions = Arc::new(LocalSessionManager::default());
            Service::new(move || Ok(Handler(offer.clone())), sessions, config)
        };
        Ok(Self {
            guard,
            proper: service(config.clone()),
            plain: service(config.with_legacy_session_mode(false)),
        })
    }

    async fn answer(&self, request: Request<Incoming>, slot: &Arc<Slot>) -> Response<Sent> {
        let (answer, working) = match self.receive(request).await {
            Ok(request) => {
                let working = slot.works();
                (self.respond(request).await, Some(working))
            }
            Err(refusal) => (refused(&refusal), None),
        };
        answer.map(|body| Answering {
            body,
            _working: working,
        })
    }

    /// Receives and checks a whole request.
    async fn receive(&self, request: Request<Incoming>) -> Result<Request<Bytes>, Refusal> {
        let headers = request.headers();
        let authorization = headers.get(AUTHORIZATION).and_then(|it| it.to_str().ok());
        self.guard.admit(request.uri().path(), authorization)?;
        check_method(request.method(), headers.contains_key(SESSION))?;
        let (parts, body) = request.into_parts();
        match timeout(RECEIVE, Limited::new(body, LARGEST).collect()).await {
            Ok(Ok(body)) => Ok(Request::from_parts(parts, body.to_bytes())),
            Ok(Err(_)) => Err(Refusal {
                status: 413,
                why: "The request is incomplete or larger than 4 MB.",
            }),
            Err(_) => Err(Refusal {
                status: 408,
                why: "The request took longer than 30 seconds.",
            }),
        }
    }

    async fn respond(&self, request: Request<Bytes>) -> HttpResponse {
        let (mut parts, body) = request.into_parts();
        let mut begins_session = false;
        if parts.method == Method::POST {
            match messages::read(&body) {
                Ok(message) => begins_session = message["method"] == "initialize",
                Err(answer) => {
                    let status = messages::status(&answer);
                    return said(status, "application/json", answer.to_string());
                }
            }
        }
        let is_plain = parts.method == Method::POST
            && !parts.headers.contains_key(SESSION)
            && !parts.headers.contains_key("mcp-protocol-version")
            && !begins_session;
        if is_plain {
            // These clients often send no `Accept` header, but the SDK requires both types.
            // Any program can read the JSON answer.
            let both = HeaderValue::from_static("application/json, text/event-stream");
            parts.headers.insert(ACCEPT, both);
        }
        let service = if is_plain { &self.plain } else { &self.proper };
        let request = Request::from_parts(parts, Full::new(body));
        let answered = tower_service::Service::call(&mut service.clone(), request);
        answered.await.unwrap_or_else(|never| match never {})
    }
}

fn refused(refusal: &Refusal) -> HttpResponse {
    let mut response = said(
        refusal.status,
        "text/plain; charset=utf-8",
        refusal.why.to_owned(),
    );
    let headers = response.headers_mut();
    // RFC 9110 requires these headers with these statuses.
    match refusal.status {
        401 => drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"))),
        405 => drop(headers.insert(ALLOW, HeaderValue::from_static("POST"))),
        _ => {}
    }
    response
}

fn said(status: u16, kind: &'static str, body: String) -> HttpResponse {
    let mut response = Response::new(Full::new(Bytes::from(body)).boxed());
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::FORBIDDEN);
    let kind = HeaderValue::from_static(kind);
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

/// Path of the endpoint.
pub(super) const PATH: &str = "/mcp";

/// A secret that clients must send. Never printed.
#[derive(Clone)]
pub struct Token([u8; 32]);

impl Token {
    /// Creates a token; `None` for empty text, which would protect nothing.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        // A digest has a fixed length, so this also hides the length of the secret.
        (!text.is_empty()).then(|| Self(Sha256::digest(text).into()))
    }

    /// Compares digests, so that timing reveals nothing about the secret.
    fn is(&self, given: &str) -> bool {
        <[u8; 32]>::from(Sha256::digest(given)) == self.0
    }
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

/// Requirements for each request.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// Token required in `Authorization`, if any.
    pub token: Option<Token>,
}

/// Reason and HTTP status of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Refusal {
    pub(super) status: u16,
    pub(super) why: &'static str,
}

impl Guard {
    /// Checks a request before its body is read. `authorization` is the header's value.
    ///
    /// # Errors
    ///
    /// The path is wrong, or the token is missing or wrong.
    pub(super) fn admit(&self, path: &str, authorization: Option<&str>) -> Result<(), Refusal> {
        if path != PATH {
            return Err(Refusal {
                status: 404,
                why: "Not found. The path is /mcp.",
            });
        }
        let Some(token) = &self.token else {
            return Ok(());
        };
        let given = authorization.and_then(bearer);
        if given.is_some_and(|given| token.is(given)) {
            return Ok(());
        }
        Err(Refusal {
            status: 401,
            why: "The header `Authorization: Bearer TOKEN` is missing, or its token is wrong.",
        })
    }
}

fn bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    // Scheme names are case-insensitive (RFC 9110, section 11.1).
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// Checks the method.
///
/// # Errors
///
/// Outside a session there is nothing to get or delete.
pub(super) fn check_method(method: &Method, in_session: bool) -> Result<(), Refusal> {
    let is_fine = match *method {
        Method::POST => true,
        Method::GET | Method::DELETE => in_session,
        _ => false,
    };
    if is_fine {
        return Ok(());
    }
    Err(Refusal {
        status: 405,
        why: "Send messages with POST; GET and DELETE need the header Mcp-Session-Id.",
    })
}

/// Returns the host names allowed when listening on `address`; none means any.
///
/// This prevents DNS rebinding: a web page can point its own host name at this machine.
/// Pages don't know the token, so with a token any name is allowed; other machines use
/// names that are unknown here.
pub(super) fn hosts(address: SocketAddr, guard: &Guard) -> Vec<String> {
    if guard.token.is_some() {
        return Vec::new();
    }
    let mut hosts = vec![
        "localhost".to_owned(),
        "127.0.0.1".to_owned(),
        "::1".to_owned(),
    ];
    if !address.ip().is_loopback() {
        hosts.push(address.ip().to_string());
    }
    hosts
}

/// Returns the allowed origins: those of this machine.
pub(super) fn origins() -> [&'static str; 3] {
    ["http://localhost:*", "http://127.0.0.1:*", "http://[::1]:*"]
}

/// Checks that listening on this address is safe.
///
/// # Errors
///
/// Other machines could connect without a token; the text says what to do.
pub fn check_address(address: IpAddr, guard: &Guard) -> Result<(), String> {
    if address.is_loopback() || guard.token.is_some() {
        return Ok(());
    }
    Err(format!(
        "Other machines could reach {address} and run tools here, so nothing was started. \
         Name a loopback address such as 127.0.0.1, or put a token into $FLEMMA_MCP_TOKEN; \
         clients then send it as `Authorization: Bearer TOKEN`."
    ))
}

/// All connections of a server. Cheap to clone.
#[derive(Clone)]
pub(super) struct Connections {
    places: Arc<Semaphore>,
    waiting: Arc<Mutex<Waiting>>,
}

/// Idle connections, the longest idle first.
#[derive(Default)]
struct Waiting {
    next: u64,
    by_turn: BTreeMap<u64, CancellationToken>,
}

/// Slot of one connection, released when dropped.
pub(super) struct Slot {
    /// Ends the connection.
    pub(super) ended: CancellationToken,
    all: Connections,
    turn: Mutex<Option<u64>>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// Allows at most `most` connections.
    pub(super) fn new(most: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(most)),
            waiting: Arc::default(),
        }
    }

    /// Returns a slot for a new connection. If none is free, closes the longest idle
    /// connection; if all are busy, waits.
    pub(super) async fn slot(&self) -> Arc<Slot> {
        let places = self.places.clone();
        let permit = match places.clone().try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                // Its permit is released when its task ends, so the wait below is short.
                if let Some((_, longest)) = self.lock().by_turn.pop_first() {
                    longest.cancel();
                }
                #[expect(clippy::expect_used, reason = "the semaphore is never closed")]
                places.acquire_owned().await.expect("an open semaphore")
            }
        };
        let slot = Arc::new(Slot {
            ended: CancellationToken::new(),
            all: self.clone(),
            turn: Mutex::default(),
            _permit: permit,
        });
        slot.waits();
        slot
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    /// Marks the connection as busy until the guard is dropped.
    pub(super) fn works(self: &Arc<Self>) -> Working {
        self.leave();
        Working(self.clone())
    }

    fn waits(&self) {
        let mut waiting = self.all.lock();
        let turn = waiting.next;
        waiting.next += 1;
        waiting.by_turn.insert(turn, self.ended.clone());
        *self.turn() = Some(turn);
    }

    fn leave(&self) {
        // The guard is dropped at the end of this statement. `waits` takes this lock while it
        // holds the other one, so holding both here could deadlock.
        let turn = self.turn().take();
        if let Some(turn) = turn {
            self.all.lock().by_turn.remove(&turn);
        }
    }

    fn turn(&self) -> MutexGuard<'_, Option<u64>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.leave();
    }
}

/// Guard that keeps a connection marked as busy.
pub(super) struct Working(Arc<Slot>);

impl Drop for Working {
    fn drop(&mut self) {
        self.0.waits();
    }
}

/// Response body that keeps its connection busy until it is sent.
pub(super) struct Answering<E> {
    pub(super) body: BoxBody<Bytes, E>,
    pub(super) _working: Option<Working>,
}

impl<E> Body for Answering<E> {
    type Data = Bytes;
    type Error = E;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, E>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;

    use super::*;

    fn with_token() -> Guard {
        Guard {
            token: Token::new("s3cret\n"),
        }
    }

    #[test]
    fn a_request_without_the_token_is_refused() {
        let guard = with_token();
        for authorization in [
            None,
            Some(""),
            Some("Bearer"),
            Some("Bearer wrong"),
            Some("Basic s3cret"),
        ] {
            let refused = guard.admit("/mcp", authorization);
            assert_eq!(refused.map_err(|it| it.status), Err(401));
        }
        assert_eq!(guard.admit("/mcp", Some("bearer s3cret")), Ok(()));
        assert_eq!(Guard::default().admit("/mcp", None), Ok(()));
        assert_eq!(
            guard
                .admit("/", Some("bearer s3cret"))
                .map_err(|it| it.status),
            Err(404)
        );
    }

    #[test]
    fn only_this_machine_is_served_without_a_token() {
        let anywhere: IpAddr = [0, 0, 0, 0].into();
        let here: IpAddr = [127, 0, 0, 1].into();
        assert!(check_address(here, &Guard::default()).is_ok());
        assert!(
            check_address(anywhere, &Guard::default())
                .is_err_and(|it| it.contains("FLEMMA_MCP_TOKEN"))
        );
        assert!(check_address(anywhere, &with_token()).is_ok());
        assert!(Token::new("  \n").is_none());
    }

    #[test]
    fn host_names_are_checked_only_without_a_token() {
        let here: SocketAddr = ([127, 0, 0, 1], 80).into();
        assert!(hosts(here, &Guard::default()).contains(&"localhost".to_owned()));
        let everywhere: SocketAddr = ([0, 0, 0, 0], 80).into();
        assert_eq!(hosts(everywhere, &with_token()), [""; 0]);
    }

    #[test]
    fn only_posts_are_answered_outside_a_session() {
        for (method, outside, inside) in [
            (Method::POST, true, true),
            (Method::GET, false, true),
            (Method::DELETE, false, true),
            (Method::PUT, false, false),
            (Method::OPTIONS, false, false),
        ] {
            assert_eq!(check_method(&method, false).is_ok(), outside, "{method}");
            assert_eq!(check_method(&method, true).is_ok(), inside, "{method}");
        }
    }

    #[test]
    fn a_token_is_not_printed() {
        assert_eq!(format!("{:?}", with_token()).matches("s3cret").count(), 0);
    }

    #[tokio::test]
    async fn a_new_connection_replaces_the_longest_idle_one() {
        let all = Connections::new(2);
        let (first, second) = (all.slot().await, all.slot().await);
        let mut third = Box::pin(all.slot());
        assert!((&mut third).now_or_never().is_none());
        assert!(first.ended.is_cancelled() && !second.ended.is_cancelled());
        drop(first);
        third.await;
    }

    #[tokio::test]
    async fn a_busy_connection_stays_until_its_answer_is_sent() {
        let all = Connections::new(2);
        let (first, second) = (all.slot().await, all.slot().await);
        let working = first.works();
        let mut third = Box::pin(all.slot());
        assert!((&mut third).now_or_never().is_none());
        assert!(second.ended.is_cancelled() && !first.ended.is_cancelled());
        drop(second);
        let third = third.await;
        let both = third.works();
        assert!(all.slot().now_or_never().is_none());
        assert!(!first.ended.is_cancelled() && !third.ended.is_cancelled());
        drop((working, both));
        assert!(all.slot().now_or_never().is_none());
        assert!(first.ended.is_cancelled());
    }
}
