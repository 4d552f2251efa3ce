//! Errors that a server reports inside a stream that began well: which are temporary, and
//! which are rate limits.

use super::{Failure, limits, quota};

impl Failure {
    /// Classifies an error that a server reported inside a stream that began well.
    pub(crate) fn of_event(event: &str) -> Self {
        let limited = is_rate_limit(event);
        // No clock is needed, because such errors contain no date.
        let retry_after = limits::wait_in(event, 0);
        let may_wait = limited || retry_after.is_some() || is_transient(event);
        if !may_wait || quota::spent_quota(event).is_some() {
            return Self::Final;
        }
        if limited || retry_after.is_some() {
            Self::Status {
                code: 429,
                retry_after,
                should_retry: None,
            }
        } else {
            Self::Broken
        }
    }
}

/// Terms of temporary errors, in lower case.
const TRANSIENT: [&str; 14] = [
    "overloaded_error",
    "overloaded",
    "engine_overloaded_error",
    "api_error",
    "server_error",
    "internal_server_error",
    "service_unavailable",
    "timeout_error",
    "unavailable",
    "internal",
    "deadline_exceeded",
    "rate_limit_error",
    "rate_limit_exceeded",
    "resource_exhausted",
];

/// Terms of rate limits, in lower case.
const LIMITED: [&str; 6] = [
    "rate_limit_error",
    "rate_limit_exceeded",
    "rate_limit_reached_error",
    "rate_limited",
    "too_many_requests",
    "resource_exhausted",
];

/// Returns true if an error reported inside a stream is a rate limit.
fn is_rate_limit(event: &str) -> bool {
    says(event, &LIMITED, |code| code == 429)
}

/// Returns true if an error reported inside a stream is temporary.
fn is_transient(event: &str) -> bool {
    says(event, &TRANSIENT, |code| code == 429 || code >= 500)
}

/// Returns true if an error has one of these types or codes.
fn says(event: &str, words: &[&str], is_code: fn(u64) -> bool) -> bool {
    // Text that is not JSON has no type or code.
    let json: serde_json::Value = serde_json::from_str(event).unwrap_or_default();
    let json = json.get(0).unwrap_or(&json);
    // OpenAI's Responses reports the error inside the response, OpenRouter inside the choice.
    let places = ["/error", "/response/error", "/choices/0/error"];
    let error = places.iter().find_map(|place| json.pointer(place));
    let error = error.filter(|it| !it.is_null()).unwrap_or(json);
    ["type", "code", "status", "status_code"].iter().any(|key| {
        let value = &error[*key];
        let word = value.as_str().map(str::to_ascii_lowercase);
        let code = value.as_u64().or_else(|| word.as_deref()?.parse().ok());
        code.is_some_and(is_code) || word.is_some_and(|word| words.contains(&word.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use core::time::Duration;

    use super::*;

    #[test]
    fn a_rate_limit_inside_a_stream_says_when_to_ask_again() {
        let asks = |ms: Option<u64>| Failure::Status {
            code: 429,
            retry_after: ms.map(Duration::from_millis),
            should_retry: None,
        };
        for (event, expected) in [
            (
                r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded","message":"Please try again in 11.054s."}}}"#,
                asks(Some(11_054)),
            ),
            (
                r#"{"error":{"code":429,"message":"Slow down."}}"#,
                asks(None),
            ),
            (
                r#"{"error":{"code":"429","status":"RESOURCE_EXHAUSTED"}}"#,
                asks(None),
            ),
            ("Rate limit reached, try again in 2s", asks(Some(2000))),
            (
                r#"{"error":{"code":"rate_limit_exceeded","message":"Limit of tokens per day (TPD). Try again in 5s"}}"#,
                Failure::Final,
            ),
            (r#"{"error":{"code":"insufficient_quota"}}"#, Failure::Final),
        ] {
            assert_eq!(Failure::of_event(event), expected, "{event}");
        }
    }

    #[test]
    fn temporary_errors_inside_a_stream_are_recognized() {
        for passing in [
            r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            r#"{"error":{"message":"x","code":503}}"#,
            r#"{"type":"error","code":"server_error","message":"x"}"#,
            r#"{"type":"response.failed","response":{"error":{"code":"rate_limit_exceeded"}}}"#,
        ] {
            assert_ne!(Failure::of_event(passing), Failure::Final, "{passing}");
        }
        for lasting in [
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"api_error"}}"#,
            r#"{"error":{"code":400}}"#,
            r#"{"error":"overloaded_error"}"#,
            "overloaded_error",
            "",
        ] {
            assert_eq!(Failure::of_event(lasting), Failure::Final, "{lasting}");
        }
    }
}
