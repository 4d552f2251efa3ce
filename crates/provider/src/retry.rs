//! Decides whether to retry a request that failed before its answer began, and after what
//! delay.
//!
//! A pure table: clock and random numbers are supplied by the caller. Once a word of an
//! answer has arrived, nothing is retried; a broken answer is kept.
//!
//! A server may also report an error inside a stream that began well.

pub(crate) mod limits;
mod when;

use core::time::Duration;

/// The first delay; each later one is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(500);

/// Maximum delay of our own.
const LAST_WAIT: Duration = Duration::from_secs(16);

/// The user's limits for waiting and retrying.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// Time limit for connecting, and for all delays while a server is unreachable.
    pub connect: Duration,
    /// Idle time limit.
    pub idle: Duration,
    /// Maximum number of retries.
    pub retries: u32,
    /// Maximum delay that a server may request.
    pub longest_wait: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(120),
            retries: 5,
            longest_wait: Duration::from_secs(60),
        }
    }
}

/// A failure before the answer began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// No connection: refused, unknown host, no route, or timeout.
    Unreachable,
    /// The connection or the answer ended before its first word.
    Broken,
    /// The server answered with an error status.
    Status {
        /// The HTTP status.
        code: u16,
        /// Delay requested in headers, in the error, or in its message.
        retry_after: Option<Duration>,
        /// Value of `x-should-retry`, which overrides the status.
        should_retry: Option<bool>,
    },
    /// A failure that a retry can't fix.
    Final,
}

/// Attempts so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Tries {
    /// Number of failed requests.
    pub made: u32,
    /// Sum of the delays.
    pub waited: Duration,
}

/// Reaction to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryDecision {
    /// Report the failure.
    GiveUp,
    /// Report it, and that the server requests a longer delay than allowed.
    TooLong(Duration),
    /// Retry after this delay.
    Wait(Duration),
}

impl Patience {
    /// Decides about a retry. `dice` is a random number from 0 to 1, which spreads the
    /// retries of many clients.
    pub fn decide(&self, failure: Failure, tries: Tries, dice: f64) -> RetryDecision {
        if !failure.may_pass() || tries.made > self.retries {
            return RetryDecision::GiveUp;
        }
        if let Failure::Status {
            retry_after: Some(asked),
            ..
        } = failure
        {
            // A little more than requested, so that waiting clients do not return all at
            // once.
            return if asked > self.longest_wait {
                RetryDecision::TooLong(asked)
            } else {
                RetryDecision::Wait(asked + FIRST_WAIT.mul_f64(share(dice) / 2.0))
            };
        }
        // More doublings would exceed `LAST_WAIT` and could overflow.
        let doublings = tries.made.saturating_sub(1).min(8);
        let full = (FIRST_WAIT * 2_u32.pow(doublings)).min(LAST_WAIT);
        let wait = full.mul_f64(0.5 + share(dice) / 2.0);
        // An unreachable server counts against the connect timeout, however many tries are
        // left.
        let is_over = failure == Failure::Unreachable && tries.waited + wait > self.connect;
        if is_over {
            RetryDecision::GiveUp
        } else {
            RetryDecision::Wait(wait)
        }
    }
}

impl Failure {
    /// Classifies an error response by its status, its headers by name, and the beginning
    /// of its body. `now` is our clock in seconds since 1970, for servers without a `Date`.
    pub fn of_answer<'a>(
        code: u16,
        header: impl Fn(&str) -> Option<&'a str>,
        body: &[u8],
        now: u64,
    ) -> Self {
        let body = String::from_utf8_lossy(body);
        // Servers report an exhausted quota with the retryable status 429, but only time or the
        // user can restore it.
        if is_limit(code) && limits::spent_quota(&body).is_some() {
            return Self::Final;
        }
        // A header of 0 says nothing that our own delay does not.
        let asked = limits::in_headers(&header, now).filter(|wait| !wait.is_zero());
        let asked = asked.or_else(|| limits::wait_in(&body, now));
        let asked = asked.or_else(|| limits::reset(&header, now).filter(|_| code == 429));
        Self::Status {
            code,
            retry_after: asked,
            should_retry: header("x-should-retry").and_then(|it| it.trim().parse().ok()),
        }
    }

    /// Returns true if waiting may help.
    fn may_pass(self) -> bool {
        match self {
            Self::Unreachable | Self::Broken => true,
            Self::Final => false,
            Self::Status {
                should_retry: Some(should_retry),
                ..
            } => should_retry,
            // 501 and 505 mean that the server lacks a feature.
            Self::Status { code, .. } => {
                matches!(code, 408 | 409 | 425 | 429) || (code >= 500 && !matches!(code, 501 | 505))
            }
        }
    }
}

fn share(dice: f64) -> f64 {
    // `mul_f64` panics on NaN.
    if dice.is_finite() {
        dice.clamp(0.0, 1.0)
    } else {
        0.0
    }
}

/// Returns true for statuses of limits: too many requests, and no credit.
pub(crate) fn is_limit(code: u16) -> bool {
    matches!(code, 402 | 403 | 429)
}

impl Failure {
    /// Classifies an error that a server reported inside a stream that began well.
    pub(crate) fn of_event(event: &str) -> Self {
        let limited = is_rate_limit(event);
        // No clock is needed, because such errors contain no date.
        let retry_after = limits::wait_in(event, 0);
        let may_wait = limited || retry_after.is_some() || is_transient(event);
        if !may_wait || limits::spent_quota(event).is_some() {
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

    const POLICY: Patience = Patience {
        connect: Duration::from_secs(2),
        idle: Duration::from_secs(120),
        retries: 3,
        longest_wait: Duration::from_secs(60),
    };

    fn status(code: u16) -> Failure {
        Failure::Status {
            code,
            retry_after: None,
            should_retry: None,
        }
    }

    fn asks(seconds: u64) -> Failure {
        Failure::Status {
            code: 429,
            retry_after: Some(Duration::from_secs(seconds)),
            should_retry: None,
        }
    }

    fn after(made: u32, waited_ms: u64) -> Tries {
        Tries {
            made,
            waited: Duration::from_millis(waited_ms),
        }
    }

    fn wait(ms: u64) -> RetryDecision {
        RetryDecision::Wait(Duration::from_millis(ms))
    }

    #[test]
    fn temporary_failures_are_retried_and_others_are_not() {
        for code in [408, 409, 425, 429, 500, 502, 503, 504, 520, 529] {
            assert_eq!(
                POLICY.decide(status(code), after(1, 0), 1.0),
                wait(500),
                "{code}"
            );
        }
        for code in [301, 400, 401, 402, 403, 404, 405, 413, 422, 501, 505] {
            let verdict = POLICY.decide(status(code), after(1, 0), 1.0);
            assert_eq!(verdict, RetryDecision::GiveUp, "{code}");
        }
        assert_eq!(POLICY.decide(Failure::Broken, after(1, 0), 1.0), wait(500));
        assert_eq!(
            POLICY.decide(Failure::Final, after(1, 0), 1.0),
            RetryDecision::GiveUp
        );
    }

    #[test]
    fn delays_double_and_are_randomly_shortened_by_up_to_half() {
        let waits =
            |dice: f64| [1, 2, 3].map(|made| POLICY.decide(status(529), after(made, 0), dice));
        assert_eq!(waits(1.0), [wait(500), wait(1000), wait(2000)]);
        assert_eq!(waits(0.0), [wait(250), wait(500), wait(1000)]);
    }

    #[test]
    fn delays_have_a_maximum() {
        let patient = Patience {
            retries: u32::MAX,
            ..POLICY
        };
        assert_eq!(
            patient.decide(status(500), after(4000, 0), 1.0),
            wait(16_000)
        );
    }

    #[test]
    fn the_number_of_retries_is_limited() {
        assert_eq!(
            POLICY.decide(status(500), after(4, 0), 0.0),
            RetryDecision::GiveUp
        );
        assert_eq!(
            POLICY.decide(status(500), after(3, 0), 1.0),
            wait(2000),
            "the last one"
        );
        let never = Patience {
            retries: 0,
            ..POLICY
        };
        assert_eq!(
            never.decide(status(500), after(1, 0), 0.0),
            RetryDecision::GiveUp
        );
    }

    #[test]
    fn a_requested_delay_is_used_up_to_the_users_limit() {
        assert_eq!(POLICY.decide(asks(7), after(1, 0), 0.0), wait(7000));
        assert_eq!(POLICY.decide(asks(7), after(1, 0), 1.0), wait(7250));
        assert_eq!(POLICY.decide(asks(60), after(1, 0), 0.0), wait(60_000));
        assert_eq!(
            POLICY.decide(asks(61), after(1, 0), 0.0),
            RetryDecision::TooLong(Duration::from_secs(61))
        );
    }

    #[test]
    fn should_retry_overrides_the_status() {
        let says = |code, should_retry| Failure::Status {
            code,
            retry_after: None,
            should_retry: Some(should_retry),
        };
        assert_eq!(POLICY.decide(says(400, true), after(1, 0), 1.0), wait(500));
        assert_eq!(
            POLICY.decide(says(500, false), after(1, 0), 1.0),
            RetryDecision::GiveUp
        );
    }

    #[test]
    fn retry_headers_are_read_and_a_spent_quota_is_final() {
        let of = |body: &[u8]| {
            let header = |name: &str| match name {
                "retry-after" => Some("2"),
                "x-should-retry" => Some("true"),
                _ => None,
            };
            Failure::of_answer(429, header, body, 0)
        };
        let expected = Failure::Status {
            code: 429,
            retry_after: Some(Duration::from_secs(2)),
            should_retry: Some(true),
        };
        assert_eq!(of(b"slow down"), expected);
        assert_eq!(
            of(br#"{"error":{"code":"insufficient_quota"}}"#),
            Failure::Final
        );
    }

    #[test]
    fn milliseconds_take_precedence_over_seconds() {
        let of = |ms: &'static str, seconds: Option<&'static str>| {
            let header = |name: &str| match name {
                "retry-after-ms" => Some(ms),
                "retry-after" => seconds,
                _ => None,
            };
            match Failure::of_answer(429, header, b"", 0) {
                Failure::Status { retry_after, .. } => retry_after,
                other => panic!("{other:?}"),
            }
        };
        let ms = |ms| Some(Duration::from_millis(ms));
        assert_eq!(of("1500", Some("2")), ms(1500));
        assert_eq!(of(" 250.5 ", None), Some(Duration::from_micros(250_500)));
        assert_eq!(of("soon", Some("2")), ms(2000));
        assert_eq!(of("-1", None), None);
    }

    #[test]
    fn delays_for_an_unreachable_server_are_limited_by_connect() {
        let at = |made, waited| POLICY.decide(Failure::Unreachable, after(made, waited), 1.0);
        assert_eq!(at(1, 0), wait(500));
        assert_eq!(at(2, 500), wait(1000));
        assert_eq!(at(2, 1000), wait(1000));
        assert_eq!(at(2, 1001), RetryDecision::GiveUp);
        assert_eq!(at(3, 1500), RetryDecision::GiveUp);
    }

    #[test]
    fn invalid_dice_are_tolerated() {
        assert_eq!(POLICY.decide(status(500), after(1, 0), f64::NAN), wait(250));
        assert_eq!(POLICY.decide(status(500), after(1, 0), 9.0), wait(500));
    }

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
