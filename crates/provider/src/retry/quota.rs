//! Which quota a request exceeded, if a short wait does not restore it.

use serde_json::Value;

use crate::error_body::{MAX_EXCERPT_BYTES, excerpt};

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
