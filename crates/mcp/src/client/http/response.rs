//! Reads a response's metadata: content type, session, and errors.

use futures::StreamExt;
use http::StatusCode;
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use reqwest::Response;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, StreamableHttpError,
};

use super::{Failure, SESSION};

/// Fails if the server requires a login.
pub(super) fn wants_login(response: &Response) -> Result<(), Failure> {
    let challenge = response.headers().get(WWW_AUTHENTICATE);
    match (response.status(), challenge) {
        // 403 without a challenge is an ordinary refusal.
        (StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN, Some(challenge)) => {
            let challenge = String::from_utf8_lossy(challenge.as_bytes()).into_owned();
            let error = AuthRequiredError::new(challenge);
            Err(StreamableHttpError::AuthRequired(error))
        }
        _ => Ok(()),
    }
}

/// Returns the error of an overloaded or broken server.
pub(super) fn busy(response: &Response) -> Option<HttpStatusError> {
    let status = response.status();
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let after = response.headers().get(RETRY_AFTER);
    let after = after.and_then(|it| it.to_str().ok()).map(str::to_owned);
    Some(HttpStatusError::new(status.as_u16(), after))
}

/// Returns the content type.
pub(super) fn kind(response: &Response) -> Option<String> {
    let kind = response.headers().get(CONTENT_TYPE)?;
    Some(String::from_utf8_lossy(kind.as_bytes()).into_owned())
}

/// Returns the session ID.
pub(super) fn session(response: &Response) -> Option<String> {
    let session = response.headers().get(SESSION)?;
    session.to_str().ok().map(str::to_owned)
}

/// Reads a body of at most `most` bytes.
pub(super) async fn body(response: Response, most: usize) -> Result<Vec<u8>, Failure> {
    let too_large = || StreamableHttpError::ResponseBodyTooLarge { max_size: most };
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    // Counted while reading, because `Content-Length` may be missing or wrong.
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk?);
        if body.len() > most {
            return Err(too_large());
        }
    }
    Ok(body)
}
