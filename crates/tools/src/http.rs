//! The `http_get` tool: fetches the text at an address that `address` allows.

use std::net::{IpAddr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use chat::tool::ToolUseId;
use chat::truncate::{MAX_BYTES, floor_char_boundary, format_size, truncate_head};
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};
use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::{Client, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::net::lookup_host;
use tokio::time::timeout;
use url::{Host, Url};

use crate::address::HostList;
use crate::builtin::{BuiltIn, TypedTool};
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::output::keep;
use crate::schema::count;
use crate::tool::{CallResult, ToolResult};

/// Default and maximum number of bytes fetched: 1 MB and 10 MB.
const SIZE: (usize, usize) = (1024 * 1024, 10 * 1024 * 1024);

/// Fetches a page.
pub(crate) struct HttpGet;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What the page is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The address, with http:// or https://.
    url: String,
    /// Most bytes to fetch, up to 10485760. Null for 1048576.
    max_size: Option<f64>,
}

/// The row of `http_get`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn::new("http_get", |_| Box::new(HttpGet));

impl TypedTool for HttpGet {
    type Arguments = Arguments;
    type Needs = ToolContext;

    const NAME: &'static str = "http_get";
    const LABEL: &'static str = "Fetch";
    const DESCRIPTION: &'static str = "Fetch the text of a web address with GET and follow redirects. HTML comes as it is. Of long \
        text only the start is returned (2000 lines or 50 KB), with the path of a file that has \
        what was fetched. What only this machine can reach is refused.";
    const SLACK: Duration = Duration::from_secs(5);

    fn summary(&self, asked: &Arguments) -> Option<String> {
        Some(format!(
            "{}{}",
            asked.url,
            crate::builtin::label(&asked.label)
        ))
    }

    async fn call(&self, arguments: Arguments, id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let url = Url::parse(arguments.url.trim()).map_err(|error| {
            ToolError::InvalidInput(format!(
                "\"{}\" is not a valid address: {error}. Nothing was fetched.",
                arguments.url
            ))
        })?;
        check(&url)?;
        let most = count(arguments.max_size, SIZE.0, SIZE.1);
        let fetched = tokio::select! {
            fetched = timeout(ctx.timeout, fetch(url, &ctx.exec.http, most)) => fetched,
            () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let fetched = fetched.map_err(|_| {
            let seconds = ctx.timeout.as_secs_f64();
            ToolError::Failed(format!(
                "Nothing was fetched: it took longer than {seconds} seconds."
            ))
        })??;
        let page = page(&fetched, most, id, &ctx.output_dir);
        // A redirect that was not followed is a result that the model can act on; an error page
        // is an error.
        if fetched.is_success || fetched.leads.is_some() {
            return Ok(ToolResult::text(page));
        }
        Err(ToolError::Failed(page))
    }
}

// Decodes a page as browsers do: by byte order mark, then the header's `charset`, then the
// page's own declaration, else as UTF-8.

/// How many bytes of a page are searched for its declaration, as in browsers.
const SNIFFED: usize = 1024;

/// Decodes a body whose `Content-Type` is `kind`. Invalid bytes become U+FFFD.
fn decode(kind: &str, body: &[u8]) -> String {
    let named = charset(kind).and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named.or_else(|| own(body)).unwrap_or(UTF_8);
    // `decode` recognizes a byte order mark first.
    encoding.decode(body).0.into_owned()
}

/// Returns true if the body is UTF-16, in which text contains NULs.
fn is_wide(kind: &str, body: &[u8]) -> bool {
    let named = charset(kind).and_then(|label| Encoding::for_label(label.as_bytes()));
    let marked = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    let found = marked.or(named);
    found.is_some_and(|it| it == UTF_16LE || it == UTF_16BE)
}

/// The value of the parameter `charset`.
fn charset(kind: &str) -> Option<String> {
    let parameters = kind.split(';').skip(1);
    let mut pairs = parameters.filter_map(|it| it.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The encoding declared in `<meta charset=…>` or `<meta … content="…; charset=…">`.
fn own(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(SNIFFED)]).to_ascii_lowercase();
    let meta = start.split("<meta").skip(1).find(|it| {
        let tag = it.split('>').next().unwrap_or_default();
        tag.contains("charset")
    })?;
    let value = meta.split_once("charset")?.1.trim_start();
    let value = value
        .strip_prefix('=')?
        .trim_start()
        .trim_start_matches(['"', '\'']);
    let end = value.find(|it: char| !it.is_ascii_alphanumeric() && !"-_:.".contains(it));
    let encoding = Encoding::for_label(&value.as_bytes()[..end.unwrap_or(value.len())])?;
    // The declaration was readable as ASCII, so the page can't be UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else {
        encoding
    })
}

// Formats a response for the model: status, text, and notices about missing parts. If the text
// is cut, everything fetched is kept in a file.

/// A NUL in this many first bytes marks a body as binary, as for `read`.
const SNIFFED_FOR_BINARY: usize = 8 * 1024;

/// Formats a response of which at most `most` bytes were requested.
fn page(fetched: &Fetched, most: usize, id: &ToolUseId, folder: &Path) -> String {
    let head = head(fetched);
    if let Some(next) = &fetched.leads {
        return format!(
            "{head}\n\n[It leads to another host: {next}. That was not followed, because the rule that let this call \
             run doesn't cover it. Call http_get with that address.]"
        );
    }
    if fetched.body.is_empty() {
        return format!("{head}\n\n(empty)");
    }
    if is_binary(fetched) {
        let size = format_size(fetched.body.len() as u64);
        let file = kept(fetched, id, folder);
        return format!("{head}\n\n(no text: {size} of binary data)\n\n[{file}]");
    }
    let text = decode(&fetched.kind, &fetched.body).replace('\0', "␀");
    let (content, mut notices) = start(&text, || kept(fetched, id, folder));
    if fetched.is_cut {
        notices.push(format!(
            "[Only the first {} were fetched. Set max_size for more, at most {}.]",
            format_size(most as u64),
            SIZE.1
        ));
    }
    if notices.is_empty() {
        return format!("{head}\n\n{content}");
    }
    format!("{head}\n\n{content}\n\n{}", notices.join("\n"))
}

/// The start of the text that is shown, and a notice if it is not everything. `file` keeps
/// the rest and says where.
fn start(text: &str, file: impl FnOnce() -> String) -> (&str, Vec<String>) {
    let shown = truncate_head(text);
    if shown.truncated_by.is_none() {
        return (shown.content, Vec::new());
    }
    // One long line, as in minified scripts, is cut within the line.
    let (content, lines) = if shown.first_line_exceeds_limit {
        (
            &text[..floor_char_boundary(text, MAX_BYTES)],
            format!("the first {} of a line", format_size(MAX_BYTES as u64)),
        )
    } else {
        (
            shown.content,
            format!(
                "the first {} of {} lines",
                shown.output_lines, shown.total_lines
            ),
        )
    };
    (content, vec![format!("[Showing {lines}. {}]", file())])
}

/// Status and type on one line. Removes control characters, which could break the line.
fn head(fetched: &Fetched) -> String {
    let kind = match fetched.kind.as_str() {
        "" => "of no type",
        kind => kind,
    };
    let kind: String = kind
        .chars()
        .filter(|it| !it.is_control())
        // A server may send a type of any length.
        .take(80)
        .collect();
    format!("HTTP {}, {kind}, from {}", fetched.status, fetched.url)
}

fn is_binary(fetched: &Fetched) -> bool {
    let kind = fetched.kind.split('/').next().unwrap_or_default();
    let start = &fetched.body[..fetched.body.len().min(SNIFFED_FOR_BINARY)];
    // The sample may end within a character, which is not an error.
    let is_broken = std::str::from_utf8(start).is_err_and(|it| it.error_len().is_some());
    (start.contains(&0) && !is_wide(&fetched.kind, start))
        // A declared charset explains bytes that are not UTF-8.
        || (is_broken && !matches!(kind, "text") && !fetched.kind.contains("charset"))
        // An SVG image is text.
        || (matches!(kind, "image" | "audio" | "video" | "font") && !fetched.kind.contains("xml"))
}

/// Keeps the body in a file and says where it is.
fn kept(fetched: &Fetched, id: &ToolUseId, folder: &Path) -> String {
    match keep(folder, "http", id.as_str(), &fetched.body) {
        Ok(path) => format!("What was fetched: {}", path.display()),
        Err(error) => format!("The fetched page could not be kept: {error}."),
    }
}

// Fetches a page. Each redirect is checked before connecting.
//
// Host names are resolved here once, and the connection uses the addresses that were checked,
// so a name can't lead elsewhere in between. Proxies are not used because they would resolve
// the name again.

/// Maximum number of redirects.
const HOPS: usize = 10;
/// Time limit for establishing a connection.
const CONNECT: Duration = Duration::from_secs(10);

/// A response.
#[derive(Debug)]
struct Fetched {
    /// The final address.
    pub url: Url,
    /// The status line, such as `200 OK`.
    pub status: String,
    /// True if the status is a success.
    pub is_success: bool,
    /// The `Content-Type`.
    pub kind: String,
    /// The body, up to the maximum size.
    pub body: Vec<u8>,
    /// True if the body was longer.
    pub is_cut: bool,
    /// The target of a redirect that was not followed.
    pub leads: Option<Url>,
}

/// Fetches a page.
///
/// # Errors
///
/// An address is refused or unreachable.
async fn fetch(first: Url, allow: &HostList, most: usize) -> Result<Fetched, ToolError> {
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
fn check(url: &Url) -> Result<(), ToolError> {
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

async fn get(url: &Url, allow: &HostList) -> Result<Response, ToolError> {
    let (host, addresses) = reachable(url, allow).await?;
    // A client for each request, because it is bound to the addresses that were checked.
    let client = client(&host, &addresses).map_err(|error| failed(url, &error))?;
    let sent = client.get(url.clone()).send().await;
    sent.map_err(|error| failed(url, &error))
}

/// Resolves the host and checks the port and each address.
async fn reachable(url: &Url, allow: &HostList) -> Result<(String, Vec<SocketAddr>), ToolError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, body: &[u8], text: &str) {
        assert_eq!(decode(kind, body), text, "{kind}");
    }

    #[test]
    fn the_header_names_the_encoding() {
        check("text/plain; charset=iso-8859-1", b"caf\xe9", "café");
        check("text/html;Charset=\"Windows-1252\"", b"\x93a\x94", "“a”");
        check("text/plain; charset=shift_jis", b"\x93\xfa\x96{", "日本");
        check("text/plain; charset=utf-16le", b"h\0i\0", "hi");
        check("text/plain; charset=nonsense", "café".as_bytes(), "café");
        check("text/plain", b"caf\xe9", "caf\u{fffd}");
        check("", "café".as_bytes(), "café");
    }

    #[test]
    fn a_byte_order_mark_wins_and_is_no_text() {
        check(
            "text/plain; charset=iso-8859-1",
            b"\xef\xbb\xbfcaf\xc3\xa9",
            "café",
        );
        check("text/plain", b"\xff\xfeh\0i\0", "hi");
        assert!(is_wide("text/plain", b"\xff\xfeh\0i\0"));
        assert!(!is_wide("text/plain", b"h\0i\0"));
    }

    #[test]
    fn a_page_says_it_itself() {
        check(
            "text/html",
            b"<meta charset=latin1>caf\xe9",
            "<meta charset=latin1>café",
        );
        let old = b"<META http-equiv=Content-Type content='text/html; charset=ISO-8859-1'>\xe9";
        assert!(decode("text/html", old).ends_with('é'));
        check(
            "text/html; charset=utf-8",
            b"<meta charset=latin1>\xc3\xa9",
            "<meta charset=latin1>é",
        );
        check(
            "text/html",
            b"<meta charset=utf-16>\xc3\xa9",
            "<meta charset=utf-16>é",
        );
    }
}
