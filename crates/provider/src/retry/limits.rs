//! When to ask again after a request exceeded a limit.
//!
//! Servers say so in headers, in fields of the error, or only in its message.
//!
//! A quota that a short wait does not restore is named.

use core::time::Duration;

use serde_json::Value;

use super::when::{self, LONGEST};
use crate::error_body::{MAX_EXCERPT_BYTES, excerpt};

/// Headers with the time at which a limit is reset, and those with what is left of it
/// (November 2026).
const RESETS: &[(&str, &str, &str)] = &[
    (
        "x-ratelimit-reset-requests",
        "x-ratelimit-remaining-requests",
        "OpenAI, Groq",
    ),
    (
        "x-ratelimit-reset-tokens",
        "x-ratelimit-remaining-tokens",
        "OpenAI, Groq",
    ),
    (
        "x-ratelimit-reset-tokens-minute",
        "x-ratelimit-remaining-tokens-minute",
        "Cerebras",
    ),
    (
        "x-ratelimit-reset-requests-day",
        "x-ratelimit-remaining-requests-day",
        "Cerebras",
    ),
    (
        "anthropic-ratelimit-requests-reset",
        "anthropic-ratelimit-requests-remaining",
        "Anthropic",
    ),
    (
        "anthropic-ratelimit-tokens-reset",
        "anthropic-ratelimit-tokens-remaining",
        "Anthropic",
    ),
    (
        "anthropic-ratelimit-input-tokens-reset",
        "anthropic-ratelimit-input-tokens-remaining",
        "Anthropic",
    ),
    (
        "anthropic-ratelimit-output-tokens-reset",
        "anthropic-ratelimit-output-tokens-remaining",
        "Anthropic",
    ),
    (
        "x-ratelimit-reset",
        "x-ratelimit-remaining",
        "OpenRouter, Together",
    ),
    (
        "ratelimit-reset",
        "ratelimit-remaining",
        "the IETF draft, Mistral",
    ),
];

/// Fields of an error with the time to wait, in lower case, and whether the number is in
/// milliseconds.
const FIELDS: &[(&str, bool, &str)] = &[
    ("retrydelay", false, "google.rpc.RetryInfo"),
    (
        "quotaresetdelay",
        false,
        "Google's gateway for coding assistants",
    ),
    ("retry_after", false, "Cloudflare, LiteLLM"),
    ("retry-after", false, "OpenRouter, which quotes headers"),
    ("retryafter", false, "Azure"),
    ("retry_after_seconds", false, "OpenRouter"),
    ("retry_after_ms", true, "OpenAI"),
    (
        "x-ratelimit-reset",
        false,
        "OpenRouter, which quotes headers",
    ),
];

/// Phrases before the time to wait in messages, in lower case.
const PHRASES: [&str; 9] = [
    "try again in ",
    "retry in ",
    "retry after ",
    "again after ",
    "resets after ",
    "reset after ",
    "resets in ",
    "reset in ",
    "wait ",
];

/// Returns how long the headers ask to wait. `now` is our clock in seconds since 1970.
pub(super) fn in_headers<'a>(
    header: &impl Fn(&str) -> Option<&'a str>,
    now: u64,
) -> Option<Duration> {
    // OpenAI sends a more precise header in addition to the standard one.
    let exact = header("retry-after-ms").and_then(when::retry_after_ms);
    let standard = || when::retry_after(header("retry-after")?, header("date"), now);
    exact.or_else(standard)
}

/// Returns when a spent limit is reset, for servers that do not say how long to wait.
pub(super) fn reset<'a>(header: &impl Fn(&str) -> Option<&'a str>, now: u64) -> Option<Duration> {
    let resets = RESETS.iter().filter_map(|(reset, left, _)| {
        let left = header(left).and_then(|left| left.trim().parse::<f64>().ok());
        Some((when::time(header(reset)?, header("date"), now)?, left))
    });
    let resets: Vec<(Duration, Option<f64>)> = resets.collect();
    let spent = resets
        .iter()
        .filter(|(_, left)| left.is_some_and(|left| left <= 0.0));
    // If no limit is spent, the request needs more of one than is left; the first to be
    // reset is the one that is counted per minute.
    let first = || resets.iter().map(|(wait, _)| *wait).min();
    spent.map(|(wait, _)| *wait).max().or_else(first)
}

/// Returns how long the text of an error asks to wait.
pub(crate) fn wait_in(text: &str, now: u64) -> Option<Duration> {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let field = field_in(&json, 8, now);
    field.or_else(|| wait_in_message(text))
}

fn field_in(json: &Value, depth: usize, now: u64) -> Option<Duration> {
    let depth = depth.checked_sub(1)?;
    match json {
        Value::Array(list) => list.iter().find_map(|it| field_in(it, depth, now)),
        Value::Object(fields) => {
            let own = fields.iter().find_map(|(name, value)| {
                let name = name.to_ascii_lowercase();
                let field = FIELDS.iter().find(|field| field.0 == name)?;
                field_value(value, field.1, now)
            });
            own.or_else(|| fields.values().find_map(|it| field_in(it, depth, now)))
        }
        // Proxies quote the body of the server behind them.
        Value::String(text) if text.trim_start().starts_with(['{', '[']) => {
            field_in(&serde_json::from_str(text).ok()?, depth, now)
        }
        _ => None,
    }
}

fn field_value(value: &Value, is_ms: bool, now: u64) -> Option<Duration> {
    let text = match value {
        Value::Number(number) => number.to_string(),
        Value::String(text) => text.clone(),
        // A duration of protobuf, spelled out.
        Value::Object(fields) => fields.get("seconds")?.to_string().replace('"', ""),
        _ => return None,
    };
    if is_ms {
        when::retry_after_ms(&text)
    } else {
        when::time(&text, None, now)
    }
}

fn wait_in_message(text: &str) -> Option<Duration> {
    let text = text.to_ascii_lowercase();
    PHRASES.iter().find_map(|phrase| {
        let mut places = text.match_indices(phrase);
        places.find_map(|(at, _)| when::duration(&text[at + phrase.len()..]))
    })
}

/// Returns a time to wait in whole seconds, rounded up, for messages.
pub(crate) fn seconds(wait: Duration) -> u64 {
    wait.as_secs_f64().ceil().min(LONGEST as f64) as u64
}

/// Words for a quota that a short wait does not restore, without blanks and signs, and the
/// period that they name.
const QUOTAS: [(&str, &str); 12] = [
    ("perday", "of the day"),
    ("daily", "of the day"),
    ("(rpd)", "of the day"),
    ("(tpd)", "of the day"),
    ("perweek", "of the week"),
    ("weekly", "of the week"),
    ("permonth", "of the month"),
    ("monthly", "of the month"),
    ("insufficientquota", "of this account"),
    ("insufficientbalance", "of this account"),
    ("creditbalanceistoolow", "of this account"),
    ("billinghardlimit", "of this account"),
];

/// Words of which one is in every message about a spent quota, in lower case.
const LIMITS: [&str; 6] = ["limit", "quota", "exceed", "balance", "billing", "credit"];

/// A quota that only time or the user restores.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SpentQuota {
    /// The period in which it counts, such as `of the day`.
    pub period: &'static str,
    /// Its name at the provider, its size, and the model; may be empty.
    pub name: String,
}

impl SpentQuota {
    /// Says that the quota is used up.
    pub(crate) fn sentence(&self) -> String {
        let name = match self.name.as_str() {
            "" => String::new(),
            name => format!(" ({})", excerpt(name, MAX_EXCERPT_BYTES)),
        };
        format!("The quota {}{name} is used up.", self.period)
    }
}

/// Returns the quota that an error names, unless it is one of a minute or an hour.
pub(crate) fn spent_quota(text: &str) -> Option<SpentQuota> {
    let json: Value = serde_json::from_str(text).unwrap_or_default();
    let json = json.get(0).unwrap_or(&json);
    let error = if json["error"].is_object() {
        &json["error"]
    } else {
        json
    };
    let details = error["details"].as_array().into_iter().flatten();
    let violations = details.flat_map(|it| it["violations"].as_array().into_iter().flatten());
    let named: Vec<&Value> = violations.filter(|it| it["quotaId"].is_string()).collect();
    let period = |text: &str| {
        let kept = |c: &char| !matches!(c, ' ' | '-' | '_' | '"' | '\\');
        let plain: String = text.to_ascii_lowercase().chars().filter(kept).collect();
        let found = QUOTAS.iter().find(|(word, _)| plain.contains(word));
        found.map(|(_, period)| *period)
    };
    // Google's message speaks of plan and billing for every quota; the ID tells which it is.
    if !named.is_empty() {
        return named.iter().find_map(|violation| {
            let id = violation["quotaId"].as_str()?;
            Some(SpentQuota {
                period: period(id)?,
                name: described(id, violation),
            })
        });
    }
    // "Daily" alone may be about anything.
    let lower = text.to_ascii_lowercase();
    let is_limit = LIMITS.iter().any(|word| lower.contains(word));
    let period = period(text).filter(|_| is_limit)?;
    Some(SpentQuota {
        period,
        name: String::new(),
    })
}

fn described(id: &str, violation: &Value) -> String {
    let mut name = id.to_owned();
    if let Some(size) = violation["quotaValue"].as_str() {
        name.push_str(&format!(", {size}"));
    }
    if let Some(model) = violation["quotaDimensions"]["model"].as_str() {
        name.push_str(&format!(", {model}"));
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_764_170_000;

    #[track_caller]
    fn check(text: &str, ms: Option<u64>) {
        assert_eq!(wait_in(text, NOW), ms.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn the_time_to_wait_is_read_from_fields() {
        check(
            r#"{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"6.519s"}]}}"#,
            Some(6519),
        );
        check(
            r#"[{"error":{"details":[{"retryDelay":"118s"}]}}]"#,
            Some(118_000),
        );
        check(
            r#"{"error":{"details":[{"retryDelay":{"seconds":"7","nanos":1}}]}}"#,
            Some(7000),
        );
        check(
            r#"{"error":{"details":[{"metadata":{"quotaResetDelay":"5301.628ms"}}],"message":"It resets after 9s."}}"#,
            Some(5302),
        );
        check(r#"{"error":{"retry_after":2.5}}"#, Some(2500));
        check(r#"{"error":{"retry_after_ms":250}}"#, Some(250));
        check(
            r#"{"error":{"metadata":{"headers":{"X-RateLimit-Reset":"1764170030000"}}}}"#,
            Some(30_000),
        );
        check(
            r#"{"error":{"message":"{\"retry_after\": 3}"}}"#,
            Some(3000),
        );
    }

    #[test]
    fn the_time_to_wait_is_read_from_messages() {
        for (message, ms) in [
            ("Please try again in 11.054s.", 11_054),
            ("Please try again in 28ms. Visit", 28),
            ("Please try again in 1m30s", 90_000),
            ("Please try again in 1m30.5s", 90_500),
            ("Please try again in 2h3m", 7_380_000),
            ("Please retry in 21.4s.", 21_400),
            ("Try again in 20 seconds", 20_000),
            ("try again in 2 minutes.", 120_000),
            ("It resets after 5s.", 5000),
            ("retry after 20", 20_000),
            ("Please wait 3 sec and retry", 3000),
        ] {
            check(
                &format!(r#"{{"error":{{"message":"{message}"}}}}"#),
                Some(ms),
            );
            check(message, Some(ms));
        }
        for message in ["Try again in a moment", "Try again", "wait for it", ""] {
            check(message, None);
        }
    }

    fn of_headers(headers: &[(&str, &'static str)]) -> Option<u64> {
        let header = |name: &str| headers.iter().find(|it| it.0 == name).map(|it| it.1);
        reset(&header, NOW).map(|wait| wait.as_millis() as u64)
    }

    #[test]
    fn the_limit_that_is_spent_decides() {
        let requests = ("x-ratelimit-reset-requests", "6m0s");
        let tokens = ("x-ratelimit-reset-tokens", "7.66s");
        assert_eq!(of_headers(&[requests, tokens]), Some(7660));
        assert_eq!(
            of_headers(&[requests, tokens, ("x-ratelimit-remaining-requests", "0")]),
            Some(360_000)
        );
        assert_eq!(
            of_headers(&[("anthropic-ratelimit-tokens-reset", "2025-11-26T15:13:32Z")]),
            Some(12_000)
        );
        assert_eq!(
            of_headers(&[("x-ratelimit-reset", "1764170009000")]),
            Some(9000)
        );
        assert_eq!(
            of_headers(&[("x-ratelimit-reset", "1764170009")]),
            Some(9000)
        );
        assert_eq!(of_headers(&[("ratelimit-reset", "12")]), Some(12_000));
        assert_eq!(of_headers(&[]), None);
    }

    #[track_caller]
    fn check_quota(text: &str, expected: Option<(&str, &str)>) {
        let found = spent_quota(text);
        let found = found.as_ref().map(|it| (it.period, it.name.as_str()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn a_spent_quota_is_named() {
        let google = |id: &str| {
            format!(
                r#"{{"error":{{"message":"You exceeded your current quota, please check your plan and billing details.","details":[{{"violations":[{{"quotaId":"{id}","quotaValue":"250","quotaDimensions":{{"model":"m"}}}}]}}]}}}}"#
            )
        };
        check_quota(
            &google("GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
            Some((
                "of the day",
                "GenerateRequestsPerDayPerProjectPerModel-FreeTier, 250, m",
            )),
        );
        check_quota(
            &google("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"),
            None,
        );
        check_quota(
            &format!("[{}]", google("TokensPerDay")),
            Some(("of the day", "TokensPerDay, 250, m")),
        );
        for (message, period) in [
            (
                "Rate limit exceeded: free-models-per-day",
                Some("of the day"),
            ),
            (
                "Rate limit reached on tokens per day (TPD): Limit 1",
                Some("of the day"),
            ),
            ("Daily limit reached", Some("of the day")),
            ("Your credit balance is too low", Some("of this account")),
            ("Rate limit reached on tokens per min (TPM)", None),
            ("Quota exceeded.", None),
            ("Closed for daily maintenance.", None),
        ] {
            let text = format!(r#"{{"error":{{"message":"{message}"}}}}"#);
            check_quota(&text, period.map(|period| (period, "")));
        }
        check_quota(
            r#"{"error":{"code":"insufficient_quota"}}"#,
            Some(("of this account", "")),
        );
    }
}
