//! Endpoint of requests: address, key, and protocol.
//!
//! Knows neither a protocol's body nor the environment; the caller resolves key and URL.

use std::fmt;
use std::path::PathBuf;

use chat::Problem;

/// Wire format of requests and streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    /// Anthropic's Messages API, version 2023-06-01.
    AnthropicMessages,
    /// OpenAI's Chat Completions, also served by llama.cpp, Ollama, and others.
    ChatCompletions,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// OpenAI's Responses, also served by llama.cpp and others.
    Responses,
}

/// Address, key, and protocol of requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Endpoint {
    /// The provider's name in the configuration, such as `anthropic`.
    pub provider: String,
    /// The wire format.
    pub protocol: Protocol,
    /// Without `/v1` for Anthropic (`https://api.anthropic.com`), with it for Chat
    /// Completions and Responses (`http://127.0.0.1:8080/v1`), without `/v1beta` for
    /// Gemini, and including `/publishers/google` for Vertex AI.
    pub base_url: String,
    /// The key, if the provider needs one.
    pub api_key: Option<Secret>,
    /// Source of the key, for messages: `$ANTHROPIC_API_KEY`.
    pub key_source: String,
    /// A PEM file of certificate authorities trusted for this address.
    pub ca_file: Option<PathBuf>,
}

impl Endpoint {
    /// Removes the key from `problem`, in case a server echoed it.
    ///
    /// [`crate::explain`] does this itself; an error inside a stream needs it because a
    /// [`crate::Decoder`] knows no key.
    #[must_use]
    pub fn redact(&self, problem: &Problem) -> Problem {
        Problem::new(
            self.redact_text(&problem.what),
            self.redact_text(&problem.fix),
        )
    }

    /// Replaces every occurrence of the key in `text`, including a cut one at its end.
    pub(crate) fn redact_text(&self, text: &str) -> String {
        let key = self.api_key.as_ref().map_or("", Secret::expose);
        // A shorter key could be part of any word.
        if key.len() < MIN_SECRET_BYTES {
            return text.to_owned();
        }
        let redacted = text.replace(key, REDACTED);
        // Excerpts may have cut the key, so its beginnings are redacted too, the longest
        // first.
        let prefixes = (MIN_SECRET_BYTES..key.len())
            .rev()
            .filter_map(|end| key.get(..end));
        prefixes.fold(redacted, |text, prefix| {
            text.replace(&format!("{prefix}…"), &format!("{REDACTED}…"))
        })
    }

    /// Returns the base URL without trailing slashes.
    ///
    /// # Errors
    ///
    /// It is not an `http://` or `https://` address.
    pub(crate) fn base(&self) -> Result<&str, Problem> {
        let base = self.base_url.trim().trim_end_matches('/');
        let is_url = base.starts_with("http://") || base.starts_with("https://");
        if is_url && !base.contains(char::is_whitespace) {
            return Ok(base);
        }
        Err(Problem::new(
            format!(
                "The base URL of {} is \"{}\", which is not an http:// or https:// address, so nothing was sent.",
                self.provider, self.base_url
            ),
            format!("Correct parameters.{}.base_url.", self.provider),
        ))
    }

    /// Returns the base URL for messages, without user name and password.
    pub fn shown_base(&self) -> String {
        let Some((scheme, rest)) = self.base_url.split_once("://") else {
            return self.base_url.clone();
        };
        // Behind the host, an `@` is part of the path. A password may contain one.
        let host_end = rest.find('/').unwrap_or(rest.len());
        match rest[..host_end].rfind('@') {
            Some(at) => format!("{scheme}://{}", &rest[at + 1..]),
            None => self.base_url.clone(),
        }
    }

    /// Returns the host in the base URL, without the port.
    pub(crate) fn host(&self) -> String {
        let shown = self.shown_base();
        let rest = shown.split_once("://").map_or(&*shown, |(_, rest)| rest);
        let end = rest.find(['/', ':']).unwrap_or(rest.len());
        rest[..end].to_ascii_lowercase()
    }

    /// Returns the key as a header's value, after `prefix`.
    ///
    /// # Errors
    ///
    /// The key contains a character that is invalid in a header, such as a line break.
    pub(crate) fn key_header(&self, prefix: &str) -> Result<Option<HeaderValue>, Problem> {
        // An empty variable counts as no key.
        let Some(key) = self.api_key.as_ref().filter(|key| !key.expose().is_empty()) else {
            return Ok(None);
        };
        // A line break would begin another header.
        if key.expose().bytes().all(|byte| byte.is_ascii_graphic()) {
            let value = Secret::new(format!("{prefix}{}", key.expose()));
            return Ok(Some(HeaderValue::Secret(value)));
        }
        Err(Problem::new(
            format!(
                "The key from {} contains a space, a line break, or another invalid character, so nothing was sent.",
                self.key_source
            ),
            format!("Correct {} and press Ctrl-] again.", self.key_source),
        ))
    }
}

const REDACTED: &str = "[redacted]";
/// Minimum length of a key that is redacted. Shorter keys are placeholders for servers
/// without keys, such as `x`; redacting them would make messages unreadable.
const MIN_SECRET_BYTES: usize = 4;

/// A key, which `Debug` does not print; it has no `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a key.
    pub fn new(key: impl Into<String>) -> Self {
        Self(key.into())
    }

    /// Returns the key, only for the request header.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Wherever a request or endpoint is logged, the key must not appear.
        f.write_str(REDACTED)
    }
}

/// A header's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HeaderValue {
    /// May be logged.
    Plain(String),
    /// Holds the key.
    Secret(Secret),
}

impl HeaderValue {
    /// Returns the value, only for sending it.
    pub fn expose(&self) -> &str {
        match self {
            Self::Plain(value) => value,
            Self::Secret(value) => value.expose(),
        }
    }
}

/// Returns the headers of every request.
pub(crate) fn stream_headers() -> Vec<(String, HeaderValue)> {
    let plain = |value: &str| HeaderValue::Plain(value.to_owned());
    vec![
        ("content-type".to_owned(), plain("application/json")),
        ("accept".to_owned(), plain("text/event-stream")),
    ]
}

/// Serializes a request body.
///
/// # Errors
///
/// A tool's schema can't be serialized, which only a bug can cause.
pub(crate) fn to_json(body: &impl serde::Serialize) -> Result<Vec<u8>, Problem> {
    serde_json::to_vec(body).map_err(|error| {
        Problem::new(
            format!("The request could not be written as JSON ({error}), so nothing was sent."),
            "This is a bug in Flemma; the conversation is unchanged.",
        )
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn endpoint(base_url: &str, key: &str) -> Endpoint {
        Endpoint {
            provider: "anthropic".to_owned(),
            protocol: Protocol::AnthropicMessages,
            base_url: base_url.to_owned(),
            api_key: Some(Secret::new(key)),
            key_source: "$ANTHROPIC_API_KEY".to_owned(),
            ca_file: None,
        }
    }

    #[test]
    fn a_key_is_never_printed() {
        let endpoint = endpoint("https://api.anthropic.com", "sk-secret");
        let header = endpoint.key_header("Bearer ").unwrap().unwrap();

        let printed = format!("{endpoint:?} {header:?}");
        assert!(!printed.contains("sk-secret"), "{printed}");
        assert_eq!(printed.matches("[redacted]").count(), 2, "{printed}");
        assert_eq!(header.expose(), "Bearer sk-secret");
    }

    #[test]
    fn a_key_with_a_line_break_is_rejected_and_not_quoted() {
        let problem = endpoint("https://h", "sk-secret\n")
            .key_header("")
            .unwrap_err()
            .to_string();

        assert!(problem.contains("$ANTHROPIC_API_KEY"), "{problem}");
        assert!(!problem.contains("sk-secret"), "{problem}");
    }

    #[test]
    fn a_truncated_key_is_redacted_too() {
        let endpoint = endpoint("https://h", "sk-secret-123");

        let problem = endpoint.redact(&Problem::new(
            "no: sk-secret-123, sk-secr…",
            "key sk-secret-123",
        ));

        assert_eq!(
            problem,
            Problem::new("no: [redacted], [redacted]…", "key [redacted]")
        );
    }

    #[test]
    fn a_base_url_is_shown_without_its_password() {
        assert_eq!(
            endpoint("http://me:pw@box:1/v1", "").shown_base(),
            "http://box:1/v1"
        );
        assert_eq!(
            endpoint("http://box/a@b", "").shown_base(),
            "http://box/a@b"
        );
    }

    #[test]
    fn a_base_url_without_a_scheme_is_rejected() {
        assert!(endpoint("localhost:8080", "").base().is_err());
        assert_eq!(
            endpoint("http://localhost:8080/", "").base().unwrap(),
            "http://localhost:8080"
        );
    }
}
