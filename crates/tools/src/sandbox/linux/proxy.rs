//! The proxy through which sandboxed commands reach listed hosts, and no others.
//!
//! It tunnels (`CONNECT`) and forwards plain HTTP, which servers on this machine and mirrors of packages
//! speak. A target is read once, as a [`Target`], which the decision and the connection both use; a `Host`
//! header counts for neither. Names are resolved here, once, and the connection goes to an address that
//! was checked, so a name server can't lead elsewhere in between. Sources: RFC 9110, RFC 9112.

use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::service::service_fn;
use hyper::upgrade::OnUpgrade;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::io::{InspectReader, InspectWriter};
use url::Host;

use crate::address::{HostList, read_host, read_port};

/// Ports of hosts that are listed without one: of tunnels, and of plain HTTP.
const TUNNELLED: u16 = 443;
const PLAIN: u16 = 80;
/// Most connections of a call at a time, each of which takes two descriptors. Others wait.
const CONNECTIONS: usize = 64;
/// Most bytes of the head of a request.
const HEAD: usize = 16 * 1024;
/// How long a head may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How long a lookup, and each attempt to connect, may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long a connection may carry nothing.
const IDLE: Duration = Duration::from_secs(600);
/// Most addresses of a name that are tried.
const ADDRESSES: usize = 4;
/// Most problems that are remembered, and that are named.
const PROBLEMS: (usize, usize) = (1000, 10);
/// Interval between attempts to accept, after an error such as too many open files.
const RETRY: Duration = Duration::from_millis(100);

/// Finds the addresses of names.
#[async_trait]
pub(super) trait Resolver: Send + Sync {
    /// The addresses of a name.
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// The name servers of the machine.
pub(super) struct NameServers;

#[async_trait]
impl Resolver for NameServers {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = lookup_host((name, TUNNELLED)).await?;
        Ok(found.map(|it| it.ip()).collect())
    }
}

/// A proxy for the commands of one call.
pub(super) struct Proxy {
    /// The hosts that it lets through.
    pub hosts: HostList,
    resolver: Box<dyn Resolver>,
    /// Each host that was refused, or could not be reached, once: clauses.
    problems: Mutex<Vec<String>>,
    slots: Arc<Semaphore>,
    idle: Duration,
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Proxy").field(&self.hosts).finish()
    }
}

/// A host and port that a request names.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    host: Host,
    port: u16,
    /// The port of such requests to hosts that are listed without one.
    usual: u16,
}

impl Target {
    /// Reads `host:port`, or a host alone, which has the usual port.
    fn read(text: &str, usual: u16) -> Option<Self> {
        // The colons of an IPv6 address are in brackets.
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => (host, read_port(port)?),
            _ => (text, usual),
        };
        read_host(host).map(|host| Self { host, port, usual })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.host.fmt(f)?;
        if self.port != self.usual {
            write!(f, ":{}", self.port)?;
        }
        Ok(())
    }
}

type Body = Either<Full<Bytes>, Incoming>;

/// Why a request has no answer from its target.
enum Problem {
    /// It names no target.
    NoTarget,
    /// The target is refused: a clause.
    Refused(String),
    /// The target can't be reached: a clause.
    Unreachable(String),
}

impl Problem {
    fn answer(self) -> Response<Body> {
        let (status, text) = match self {
            Self::NoTarget => (
                StatusCode::BAD_REQUEST,
                "This proxy takes CONNECT host:port, and requests for http:// addresses".to_owned(),
            ),
            Self::Refused(why) => (StatusCode::FORBIDDEN, why),
            Self::Unreachable(why) => (StatusCode::BAD_GATEWAY, why),
        };
        let mut answer = Response::new(Either::Left(Full::from(format!("{text}.\n"))));
        *answer.status_mut() = status;
        answer
    }
}

/// The far side of one connection of a command.
#[derive(Default)]
struct FarSide {
    /// A tunnel that begins once its request is answered.
    tunnel: Mutex<Option<(OnUpgrade, TcpStream)>>,
    /// The connection of a plain request.
    plain: Mutex<JoinSet<()>>,
}

impl Proxy {
    pub(super) fn new(hosts: HostList, resolver: Box<dyn Resolver>) -> Self {
        Self {
            hosts,
            resolver,
            problems: Mutex::default(),
            slots: Arc::new(Semaphore::new(CONNECTIONS)),
            idle: IDLE,
        }
    }

    /// Serves the connections of a listening socket, all of which end when this is dropped.
    pub(super) async fn serve(self: Arc<Self>, socket: OwnedFd) {
        let listener = std::net::TcpListener::from(socket);
        let listener = listener
            .set_nonblocking(true)
            .and_then(|()| TcpListener::from_std(listener));
        let Ok(listener) = listener else { return };
        let mut connections = JoinSet::new();
        loop {
            while connections.try_join_next().is_some() {}
            let Ok((client, _)) = listener.accept().await else {
                sleep(RETRY).await;
                continue;
            };
            let slot = self.slots.clone().acquire_owned().await;
            let proxy = self.clone();
            connections.spawn(async move {
                proxy.connection(client).await;
                drop(slot);
            });
        }
    }

    /// Serves one request, and the tunnel that it asks for.
    async fn connection(&self, client: TcpStream) {
        let seen = Arc::new(Mutex::new(Instant::now()));
        let touch = {
            let seen = seen.clone();
            move |_: &[u8]| *locked(&seen) = Instant::now()
        };
        // What the command sends and gets passes here, in a tunnel too.
        let client = InspectWriter::new(InspectReader::new(client, touch.clone()), touch);
        let far = FarSide::default();
        let served = hyper::server::conn::http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEAD_TIME)
            .max_buf_size(HEAD)
            // So that each request is checked separately.
            .keep_alive(false)
            .serve_connection(
                TokioIo::new(client),
                service_fn(|request| self.answer(request, &far)),
            )
            .with_upgrades();
        let whole = async {
            // An error is the client's, which has gone or says something else than HTTP.
            let _ = served.await;
            let Some((upgrade, mut target)) = locked(&far.tunnel).take() else {
                return;
            };
            if let Ok(client) = upgrade.await {
                let _ = copy_bidirectional(&mut TokioIo::new(client), &mut target).await;
            }
        };
        tokio::select! {
            () = whole => {}
            () = until_idle(&seen, self.idle) => {}
        }
    }

    async fn answer(
        &self,
        request: Request<Incoming>,
        far: &FarSide,
    ) -> Result<Response<Body>, Infallible> {
        let answer = match *request.method() {
            Method::CONNECT => self.tunnel(request, far).await,
            _ => self.forward(request, far).await,
        };
        Ok(answer.unwrap_or_else(Problem::answer))
    }

    async fn tunnel(
        &self,
        request: Request<Incoming>,
        far: &FarSide,
    ) -> Result<Response<Body>, Problem> {
        let uri = request.uri();
        let authority = uri.authority().filter(|_| uri.scheme().is_none());
        let target = authority.and_then(|it| Target::read(it.as_str(), TUNNELLED));
        let target = target.ok_or(Problem::NoTarget)?;
        let stream = self.connect(&target).await?;
        *locked(&far.tunnel) = Some((hyper::upgrade::on(request), stream));
        Ok(Response::new(Either::Left(Full::default())))
    }

    async fn forward(
        &self,
        mut request: Request<Incoming>,
        far: &FarSide,
    ) -> Result<Response<Body>, Problem> {
        let uri = request.uri();
        let authority = uri.authority().filter(|_| uri.scheme_str() == Some("http"));
        let target = authority.and_then(|it| Target::read(it.as_str(), PLAIN));
        let target = target.ok_or(Problem::NoTarget)?;
        let path = uri.path_and_query().cloned();
        let stream = self.connect(&target).await?;
        let lost = |error: hyper::Error| self.unreachable(&target, &error.to_string());
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(lost)?;
        locked(&far.plain).spawn(async move { drop(connection.await) });
        *request.uri_mut() = path.map_or_else(Uri::default, Uri::from);
        *request.version_mut() = Version::HTTP_11;
        let headers = request.headers_mut();
        remove_own(headers);
        // It replaces whatever the request says (RFC 9112, section 3.2.2).
        let host = HeaderValue::try_from(target.to_string()).map_err(|_| Problem::NoTarget)?;
        headers.insert(HOST, host);
        let mut response = sender.send_request(request).await.map_err(lost)?;
        remove_own(response.headers_mut());
        Ok(response.map(Either::Right))
    }

    /// Checks a target, and connects to it.
    async fn connect(&self, target: &Target) -> Result<TcpStream, Problem> {
        let Target { host, port, usual } = target;
        if !self.hosts.lists(host, *port, *usual) {
            return Err(self.refuse(format!(
                "{target} was refused, because sandbox.policy.network.allow does not name it"
            )));
        }
        let addresses = match host {
            Host::Ipv4(ip) => vec![(*ip).into()],
            Host::Ipv6(ip) => vec![(*ip).into()],
            Host::Domain(name) => self.addresses(target, name).await?,
        };
        if let Some(near) = addresses
            .iter()
            .find(|ip| !self.hosts.opens(**ip, *port, *usual))
        {
            return Err(self.refuse(format!(
                "{target} was refused, because it leads to {near}, an address of this machine or its network that \
                 sandbox.policy.network.allow does not name"
            )));
        }
        let mut why = "it has no address".to_owned();
        for ip in addresses.into_iter().take(ADDRESSES) {
            match timeout(CONNECT, TcpStream::connect(SocketAddr::new(ip, *port))).await {
                Ok(Ok(stream)) => return Ok(stream),
                Ok(Err(error)) => why = error.to_string(),
                Err(_) => why = late(),
            }
        }
        Err(self.unreachable(target, &why))
    }

    async fn addresses(&self, target: &Target, name: &str) -> Result<Vec<IpAddr>, Problem> {
        let found = timeout(CONNECT, self.resolver.addresses(name)).await;
        let found = found.map_err(|_| late());
        let found = found.and_then(|it| it.map_err(|error| error.to_string()));
        found.map_err(|why| self.unreachable(target, &why))
    }

    fn refuse(&self, why: String) -> Problem {
        self.remember(&why);
        Problem::Refused(why)
    }

    fn unreachable(&self, target: &Target, why: &str) -> Problem {
        let why = format!("{target} could not be reached: {why}");
        self.remember(&why);
        Problem::Unreachable(why)
    }

    /// Remembers a problem for the result of the call, because most programs print only the status of
    /// the proxy's answer.
    fn remember(&self, why: &str) {
        let mut problems = locked(&self.problems);
        if problems.len() < PROBLEMS.0 && !problems.iter().any(|it| it == why) {
            problems.push(why.to_owned());
        }
    }

    /// Notes about the hosts that were refused, or could not be reached.
    pub(super) fn notes(&self) -> Vec<String> {
        let problems = locked(&self.problems);
        let (named, others) = problems.split_at(problems.len().min(PROBLEMS.1));
        let mut notes: Vec<String> = named
            .iter()
            .map(|why| format!("[Network: {why}.]"))
            .collect();
        if !others.is_empty() {
            notes.push(format!(
                "[Network: {} more problems like these.]",
                others.len()
            ));
        }
        notes
    }
}

/// Headers that are for this connection only (RFC 9110, section 7.6.1).
const OWN: [&str; 9] = [
    "connection",
    "expect",
    "keep-alive",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Removes the headers that are for one connection, also those that `Connection` names.
fn remove_own(headers: &mut HeaderMap) {
    let named = headers.get_all(CONNECTION).iter();
    let named = named
        .filter_map(|it| it.to_str().ok())
        .flat_map(|it| it.split(','));
    let named: Vec<HeaderName> = named.filter_map(|it| it.trim().parse().ok()).collect();
    for name in named.into_iter().chain(OWN.map(HeaderName::from_static)) {
        headers.remove(name);
    }
}

/// Waits until nothing was seen for `limit`.
async fn until_idle(seen: &Mutex<Instant>, limit: Duration) {
    loop {
        let due = *locked(seen) + limit;
        if due <= Instant::now() {
            return;
        }
        sleep_until(due).await;
    }
}

fn late() -> String {
    format!("no answer within {} seconds", CONNECT.as_secs())
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
