//! The same over HTTP: one path that takes requests and answers with JSON, or with a
//! stream when there is something to say on the way.
//!
//! A request that names no session and does not begin one is answered by itself, so
//! that one `curl` is enough to use a tool.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

use super::Offer;
use super::admission::{Guard, Refusal, hosts, origins};
use super::handler::Handler;

/// Largest request, in bytes.
const LARGEST: usize = 4 * 1024 * 1024;
/// Most connections at a time; more wait.
const CONNECTIONS: usize = 256;
/// How long a program may take to say what it wants.
const HEADERS: Duration = Duration::from_secs(30);

type Service = StreamableHttpService<Handler, LocalSessionManager>;
type Answer = <Service as tower_service::Service<Request<Full<Bytes>>>>::Response;

/// Serves whoever connects, until the listener fails.
///
/// # Errors
///
/// The listener does not know its address.
pub async fn serve_http(
    offer: Arc<dyn Offer>,
    listener: TcpListener,
    guard: Guard,
) -> io::Result<()> {
    let served = Arc::new(Served::new(offer, &listener, guard)?);
    let connections = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let Ok(place) = connections.clone().acquire_owned().await else {
            return Ok(());
        };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // One that left before it was accepted, or too many open files.
                tracing::warn!(%error, "a connection was not accepted");
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let served = served.clone();
        tokio::spawn(async move {
            serve_connection(served, stream).await;
            drop(place);
        });
    }
}

async fn serve_connection(served: Arc<Served>, stream: TcpStream) {
    let answer = service_fn(move |request| {
        let served = served.clone();
        async move { Ok::<_, std::convert::Infallible>(served.answer(request).await) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADERS)
        .serve_connection(TokioIo::new(stream), answer);
    if let Err(error) = connection.await {
        tracing::debug!(%error, "a connection ended");
    }
}

/// What answers requests.
struct Served {
    guard: Guard,
    /// Those that belong to a session, or say themselves which version they speak.
    proper: Service,
    /// Those that do neither.
    plain: Service,
}

impl Served {
    fn new(offer: Arc<dyn Offer>, listener: &TcpListener, guard: Guard) -> io::Result<Self> {
        let config = StreamableHttpServerConfig::default()
            .with_allowed_hosts(hosts(listener.local_addr()?))
            .with_allowed_origins(origins())
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

    async fn answer(&self, request: Request<Incoming>) -> Answer {
        let authorization = request.headers().get(AUTHORIZATION);
        let authorization = authorization.and_then(|it| it.to_str().ok());
        if let Err(refusal) = self.guard.admit(request.uri().path(), authorization) {
            return refused(&refusal);
        }
        let (mut parts, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LARGEST).collect().await else {
            return refused(&Refusal {
                status: 413,
                why: "The request is cut, or larger than 4 MB.",
            });
        };
        let body = body.to_bytes();
        let is_plain = parts.method == Method::POST
            && !parts.headers.contains_key("mcp-session-id")
            && !parts.headers.contains_key("mcp-protocol-version")
            && !begins_session(&body);
        if is_plain {
            // Nothing is streamed that was not asked for, so any program can read it.
            let both = HeaderValue::from_static("application/json, text/event-stream");
            parts.headers.insert(ACCEPT, both);
        }
        let service = if is_plain { &self.plain } else { &self.proper };
        let request = Request::from_parts(parts, Full::new(body));
        let answered = tower_service::Service::call(&mut service.clone(), request);
        answered.await.unwrap_or_else(|never| match never {})
    }
}

/// Whether a body is the request that a session begins with.
fn begins_session(body: &[u8]) -> bool {
    serde_json::from_slice::<Value>(body).is_ok_and(|it| it["method"] == "initialize")
}

fn refused(refusal: &Refusal) -> Answer {
    let body = Full::new(Bytes::from_static(refusal.why.as_bytes())).boxed();
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(refusal.status).unwrap_or(http::StatusCode::FORBIDDEN);
    let headers = response.headers_mut();
    let text = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, text);
    if refusal.status == 401 {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    response
}
