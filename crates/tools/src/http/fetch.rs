//! Fetches a page. Each redirect is checked before connecting.
//!
//! Host names are resolved here once, and the connection uses the addresses that were checked,
//! so a name can't lead elsewhere in between. Proxies are not used because they would resolve
//! the name again.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};
use tokio::net::lookup_host;
use url::{Host, Url};

use crate::address::HttpAllow;
use crate::error::ToolError;

/// Maximum number of redirects.
const HOPS: usize = 10;
/// Time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A response.
#[derive(Debug)]
pub(super) struct Fetched {
    /// The final address.
    pub url: Url,
    /// The status line, such as `200 OK`.
    pub status: String,
    /// Whether the status is a success.
    pub is_success: bool,
    /// The `Content-Type`.
    pub kind: String,
    /// The body, up to the maximum size.
    pub body: Vec<u8>,
    /// Whether the body was longer.
    pub is_cut: bool,
    /// The target of a redirect that was not followed.
    pub leads: Option<Url>,
}

/// Fetches a page.
///
/// # Errors
///
/// An address is refused or unreachable.
pub(super) async fn fetch(
    first: Url,
    allow: &HttpAllow,
    most: usize,
) -> Result<Fetched, ToolError> {
    let is_listed = allow.names(&first);
    let mut url = first;
    for _ in 0..=HOPS {
        let response = get(&url, allow).await?;
        let Some(next) = redirect(&response, &url) else {
            return receive(response, url, most).await;
        };
        check(&next)?;
        // The rule approved only the listed hosts, so another host needs its own approval.
        if is_listed && !allow.names(&next) {
            let mut fetched = described(&response, url);
            fetched.leads = Some(next);
            return Ok(fetched);
        }
        url = next;
    }
    Err(ToolError::Failed(format!(
        "{url} was not fetched: there were more than {HOPS} redirects."
    )))
}

/// Checks the parts of an address that don't depend on the host.
///
/// # Errors
///
/// The scheme is not HTTP, or the address contains a password.
pub(super) fn check(url: &Url) -> Result<(), ToolError> {
    let refused = |why: String| Err(ToolError::InvalidInput(why));
    if !matches!(url.scheme(), "http" | "https") {
        return refused(format!(
            "\"{}:\" is refused: only http and https are fetched. Nothing was fetched.",
            url.scheme()
        ));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return refused(
            "An address with a name and a password in it is refused. Nothing was fetched."
                .to_owned(),
        );
    }
    Ok(())
}

async fn get(url: &Url, allow: &HttpAllow) -> Result<Response, ToolError> {
    let (host, addresses) = reachable(url, allow).await?;
    // A client for each request, because it is bound to the addresses that were checked.
    let client = client(&host, &addresses).map_err(|error| failed(url, &error))?;
    let sent = client.get(url.clone()).send().await;
    sent.map_err(|error| failed(url, &error))
}

/// Resolves the host and checks the port and each address.
async fn reachable(url: &Url, allow: &HttpAllow) -> Result<(String, Vec<SocketAddr>), ToolError> {
    let no_host = || ToolError::InvalidInput(format!("{url} names no host."));
    let port = url.port_or_known_default().ok_or_else(no_host)?;
    if !allow.speaks(url, port) {
        return Err(ToolError::InvalidInput(format!(
            "{url} is refused: something else than HTTP is spoken at port {port}. The user can allow \
             it in tools.http_get.allow, with the port. Nothing was fetched."
        )));
    }
    let (host, addresses) = match url.host().ok_or_else(no_host)? {
        Host::Ipv4(ip) => (ip.to_string(), vec![SocketAddr::new(IpAddr::V4(ip), port)]),
        Host::Ipv6(ip) => (ip.to_string(), vec![SocketAddr::new(IpAddr::V6(ip), port)]),
        Host::Domain(name) => {
            let found = lookup_host((name, port)).await.map_err(|_| {
                ToolError::NotFound(format!("There is no host \"{name}\". Nothing was fetched."))
            })?;
            (name.to_owned(), found.collect())
        }
    };
    match addresses.iter().find(|it| !allow.reaches(it.ip(), port)) {
        Some(near) => Err(ToolError::InvalidInput(format!(
            "{url} is refused: it leads to {}, which only this machine or its network can reach. The \
             user can allow that address in tools.http_get.allow. Nothing was fetched.",
            near.ip()
        ))),
        None if addresses.is_empty() => Err(ToolError::NotFound(format!(
            "\"{host}\" has no address. Nothing was fetched."
        ))),
        None => Ok((host, addresses)),
    }
}

fn client(host: &str, addresses: &[SocketAddr]) -> reqwest::Result<Client> {
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .connect_timeout(CONNECT)
        .user_agent(concat!("flemma/", env!("CARGO_PKG_VERSION")))
        // Each redirect is checked before it is followed.
        .redirect(reqwest::redirect::Policy::none())
        // Other sites need not learn the address.
        .referer(false)
        .resolve_to_addrs(host, addresses)
        .build()
}

fn redirect(response: &Response, url: &Url) -> Option<Url> {
    // Some servers send non-ASCII characters unescaped; `join` escapes them.
    let location = String::from_utf8_lossy(response.headers().get(LOCATION)?.as_bytes());
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    // An invalid target is not followed, and the response itself is the result.
    is_redirect.then(|| url.join(location.trim()).ok())?
}

/// The response without its body.
fn described(response: &Response, url: Url) -> Fetched {
    let kind = response.headers().get(CONTENT_TYPE);
    let kind = kind.and_then(|it| it.to_str().ok()).unwrap_or_default();
    Fetched {
        status: response.status().to_string(),
        is_success: response.status().is_success(),
        kind: kind.to_owned(),
        url,
        body: Vec::new(),
        is_cut: false,
        leads: None,
    }
}

async fn receive(mut response: Response, url: Url, most: usize) -> Result<Fetched, ToolError> {
    let mut fetched = described(&response, url);
    loop {
        let chunk = response.chunk().await;
        let Some(chunk) = chunk.map_err(|error| failed(&fetched.url, &error))? else {
            return Ok(fetched);
        };
        let room = most - fetched.body.len();
        fetched
            .body
            .extend_from_slice(&chunk[..chunk.len().min(room)]);
        if chunk.len() > room {
            fetched.is_cut = true;
            return Ok(fetched);
        }
    }
}

/// Words an error by its innermost cause, because the outer ones only say that a request
/// failed.
fn failed(url: &Url, error: &reqwest::Error) -> ToolError {
    let mut reason: &dyn std::error::Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    ToolError::Failed(format!("{url} could not be fetched: {reason}."))
}
