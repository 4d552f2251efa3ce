//! Formats records for display: one line each, without control characters.

use std::time::{SystemTime, UNIX_EPOCH};

use chat::diff::Counts;

use super::record::{Act, CallEnd, Record, Word};

/// Formats records, one per line.
pub fn lines(records: &[Record]) -> Vec<String> {
    if records.is_empty() {
        return vec!["Nothing was decided and nothing ran so far.".to_owned()];
    }
    records.iter().map(line).collect()
}

fn line(record: &Record) -> String {
    let what = match &record.act {
        Act::Decided {
            decision,
            by,
            reason,
        } => {
            let reason = reason.as_ref().map(|reason| format!(" ({reason})"));
            let by = by.strip_prefix("urn:flemma:approval:").unwrap_or(by);
            format!("{}{by}{}", word(*decision), reason.unwrap_or_default())
        }
        Act::Tried { by } => {
            format!(
                "tried by {}",
                by.strip_prefix("urn:flemma:approval:").unwrap_or(by)
            )
        }
        Act::Started { sandbox } => format!("started, sandbox {sandbox}"),
        Act::Changed { added, removed, .. } => {
            let (added, removed) = (*added, *removed);
            format!("changed {}", Counts { added, removed })
        }
        Act::Ended { outcome, bytes, .. } => {
            let how = match outcome {
                CallEnd::Done => "done",
                CallEnd::Failed => "failed",
                CallEnd::Cancelled => "cancelled",
            };
            format!("{how}, {bytes} bytes")
        }
        Act::JobEnded { job, how } => format!("{job} ended: {how}"),
    };
    let document = record.document.as_deref().unwrap_or("(no name)");
    plain(&format!(
        "{}  {}  {}  {what}  {document}",
        date(record.time),
        record.tool,
        record.call
    ))
}

/// Returns a decision with the words that lead to its author.
fn word(decision: Word) -> &'static str {
    match decision {
        Word::Approved => "approved by ",
        Word::Waits => "waits, by ",
        Word::Denied => "denied by ",
        Word::Rejected => "rejected, ",
        Word::Answered => "answered by hand, ",
        Word::Unfit => "cannot run, by ",
        Word::Cancelled => "cancelled by ",
    }
}

fn plain(text: &str) -> String {
    let visible = |c: char| -> String {
        match c {
            // Names of tools and files come from documents, and a terminal would obey control
            // characters.
            c if c.is_control() => c.escape_debug().to_string(),
            c => c.to_string(),
        }
    };
    text.chars().map(visible).collect()
}

/// Returns the date in UTC, as `2026-01-31`.
pub fn today() -> String {
    let mut today = now();
    today.truncate(10);
    today
}

/// Returns the date and time in UTC, as `2026-01-31 12:00:00Z`.
pub fn now() -> String {
    // A clock before 1970 must not end the host.
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.unwrap_or_default().as_millis();
    date(u64::try_from(millis).unwrap_or(u64::MAX))
}

/// Formats a time in milliseconds since 1970 as `2026-01-31 12:00:00Z`. The calendar by Howard
/// Hinnant's days-to-civil formula: eras of 400 years that begin in March.
pub fn date(milliseconds: u64) -> String {
    let seconds = milliseconds / 1000;
    // Days since March 1 of the year 0: with the leap day last, all months have a fixed start.
    let (days, second) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (year, month) = match month {
        0..=9 => (era * 400 + year, month + 3),
        _ => (era * 400 + year + 1, month - 9),
    };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_follow_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01 00:00:00Z"),
            (951_782_399, "2000-02-28 23:59:59Z"),
            (951_782_400, "2000-02-29 00:00:00Z"),
            (951_868_800, "2000-03-01 00:00:00Z"),
            (1_704_067_199, "2023-12-31 23:59:59Z"),
            (4_107_542_400, "2100-03-01 00:00:00Z"),
        ] {
            assert_eq!(date(seconds * 1000), expected);
        }
    }
}
