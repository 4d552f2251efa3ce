//! Decides which HTTP requests are accepted, by address and headers. Pure.

use std::net::{IpAddr, SocketAddr};

use http::Method;
use sha2::{Digest, Sha256};

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

#[cfg(test)]
mod tests {
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
}
