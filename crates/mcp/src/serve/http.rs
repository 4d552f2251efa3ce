//! HTTP transport: one path that takes requests and answers with JSON, or with an event
//! stream if there is progress to report.
//!
//! A request outside a session is answered on its own, so a single `curl` command can use a
//! tool.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use http::header::{ACCEPT, ALLOW, AUTHORIZATION, CONTENT_TYPE, HeaderValue, WWW_AUTHENTICATE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::tower::StreamableHttpService;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::admission::{Guard, Refusal, check_method, hosts, origins};
use super::connections::{Answering, Connections, Slot};
use super::handler::Handler;
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
    let served = Arc::new(Served::new(offer, &listener, guard)?);
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
    fn new(offer: Arc<dyn ToolServer>, listener: &TcpListener, guard: Guard) -> io::Result<Self> {
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
