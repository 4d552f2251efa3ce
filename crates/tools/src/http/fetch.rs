//! One page, fetched: every hop looked at before it is connected to, and what is
//! connected to is what was looked at.
//!
//! The name is resolved here, once, and the connection is made to the addresses that
//! were checked, so a name cannot lead elsewhere in between. Proxies are not used:
//! they would resolve the name a second time.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};
use tokio::net::lookup_host;
use url::{Host, Url};

use crate::address::HttpAllow;
use crate::error::ToolError;

/// Most redirects that are followed.
const HOPS: usize = 10;
/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(10);

/// What came back.
#[derive(Debug)]
pub(super) struct Fetched {
    /// Where from, in the end.
    pub url: Url,
    /// The status line's words, such as `200 OK`.
    pub status: String,
    /// Whether the status is a success.
    pub is_success: bool,
    /// What the server says it is.
    pub kind: String,
    /// The body, as far as it was fetched.
    pub body: Vec<u8>,
    /// Whether there is more of it.
    pub is_cut: bool,
    /// Where it wants to lead, when that is not followed.
    pub leads: Option<Url>,
}

/// Fetches a page.
///
/// # Errors
///
/// It may not be reached, or cannot be; nothing near was connected to.
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
        // Nobody was asked about a listed host; about another somebody has to be.
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

/// What no address may have, whatever it leads to.
///
/// # Errors
///
/// It has it.
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
    let client = client(&host, &addresses).map_err(|error| failed(url, &error))?;
    let sent = client.get(url.clone()).send().await;
    sent.map_err(|error| failed(url, &error))
}

/// The host and its addresses, each of them looked at.
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
    // A provider that was installed before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .no_proxy()
        .connect_timeout(CONNECT)
        .user_agent(concat!("flemma/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .referer(false)
        .resolve_to_addrs(host, addresses)
        .build()
}

fn redirect(response: &Response, url: &Url) -> Option<Url> {
    // Servers write other letters than those of ASCII as they are; the address has them
    // as escapes.
    let location = String::from_utf8_lossy(response.headers().get(LOCATION)?.as_bytes());
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    is_redirect.then(|| url.join(location.trim()).ok())?
}

/// What came back, without its body.
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

/// The innermost reason: the outer ones say that a request failed.
fn failed(url: &Url, error: &reqwest::Error) -> ToolError {
    let mut reason: &dyn std::error::Error = error;
    while let Some(inner) = reason.source() {
        reason = inner;
    }
    ToolError::Failed(format!("{url} could not be fetched: {reason}."))
}
