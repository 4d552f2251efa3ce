//! Explains to the user why a server can't be reached.

use std::error::Error;

use rmcp::service::ClientInitializeError;
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, InsufficientScopeError, StreamableHttpError,
};
use rmcp::transport::worker::WorkerQuitReason;

use crate::definition::clean;

/// Longest text of an error, in bytes.
const SAID: usize = 500;
/// The message for a server that requires a login.
const LOGIN: &str = "it requires a login (OAuth), which Flemma doesn't support. Put a token into its \
                     headers, for example Authorization = \"Bearer ${TOKEN}\"";

type Http = StreamableHttpError<reqwest::Error>;

/// Explains a failed request as a phrase.
pub(super) fn sending(error: &(dyn Error + 'static)) -> String {
    let mut shown = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        // Skip wrappers, whose text consists of type names.
        if let Some(wrapper) = error.downcast_ref::<DynamicTransportError>() {
            next = Some(wrapper.error.as_ref());
            continue;
        }
        if let Some(WorkerQuitReason::Fatal { error, .. }) =
            error.downcast_ref::<WorkerQuitReason<Http>>()
        {
            next = Some(error);
            continue;
        }
        if wants_login(error) {
            return LOGIN.to_owned();
        }
        let said = said(error);
        // Errors often repeat the text of their source.
        if !shown.ends_with(&said) {
            let separator = if shown.is_empty() { "" } else { ": " };
            shown = format!("{shown}{separator}{said}");
        }
        next = error.source();
    }
    format!("it cannot be reached: {}", clean(&shown, SAID))
}

/// Returns the text of an error, without type names.
fn said(error: &(dyn Error + 'static)) -> String {
    match error.downcast_ref::<Http>() {
        Some(Http::UnexpectedContentType(kind)) => {
            let kind = kind.as_deref().unwrap_or("no content type");
            format!("it answered with {kind} instead of JSON")
        }
        // The SDK's own text about invalid JSON. Texts of `http::refused` begin with `HTTP `
        // and name the status.
        Some(Http::UnexpectedServerResponse(said)) if !said.starts_with("HTTP ") => {
            "its answer is not a message of the protocol".to_owned()
        }
        _ => error.to_string(),
    }
}

fn wants_login(error: &(dyn Error + 'static)) -> bool {
    let is_refused = |error: &Http| match error {
        Http::AuthRequired(_) | Http::InsufficientScope(_) => true,
        // A 401 without `WWW-Authenticate`, so the SDK reports it as any other error.
        Http::UnexpectedServerResponse(said) => said.starts_with("HTTP 401"),
        _ => false,
    };
    error.is::<AuthRequiredError>()
        || error.is::<InsufficientScopeError>()
        || error.downcast_ref::<Http>().is_some_and(is_refused)
}

/// Explains a failed handshake as a phrase; `None` if the error's own text is clear.
pub(super) fn greeting(error: &ClientInitializeError) -> Option<&'static str> {
    use ClientInitializeError as E;
    match error {
        E::ExpectedInitResponse(_)
        | E::ExpectedInitResult(_)
        | E::ConflictInitResponseId(..)
        | E::UncorrelatedErrorResponse { .. } => Some("its answer to the handshake is invalid"),
        E::NoCompatibleProtocolVersion { .. } => {
            Some("it supports no version of the protocol that Flemma supports")
        }
        _ => None,
    }
}
