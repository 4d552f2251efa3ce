//! Status of a placeholder, with tolerant parsing.
//!
//! A typo can delay a call but never run it: only the exact word `approved` approves, and
//! of two statuses the stricter one counts.

use crate::suggest;

/// Approval status of a call.
///
/// Ordered by strictness: of two, the greater one counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Status {
    /// Will run.
    Approved,
    /// Awaits review.
    Pending,
    /// The user refused it.
    Rejected,
    /// A policy refused it.
    Denied,
}

impl Status {
    const ALL: [Status; 4] = [
        Status::Approved,
        Status::Pending,
        Status::Rejected,
        Status::Denied,
    ];

    /// The status as the host writes it.
    pub fn as_str(self) -> &'static str {
        match self {
            Status::Approved => "approved",
            Status::Pending => "pending",
            Status::Rejected => "rejected",
            Status::Denied => "denied",
        }
    }

    /// Parses exactly the four words and the two short forms that only make it stricter.
    pub fn from_word(word: &str) -> Option<Self> {
        match word {
            "deny" => Some(Status::Denied),
            "reject" => Some(Status::Rejected),
            _ => Self::ALL.into_iter().find(|status| status.as_str() == word),
        }
    }

    /// Returns the status that `word` misspells.
    fn nearest(word: &str) -> Option<Self> {
        suggest(word, Self::ALL.map(Self::as_str)).and_then(Self::from_word)
    }
}

/// A parsed status, and what was wrong with it.
#[derive(Debug, PartialEq, Eq)]
pub struct StatusReading {
    /// The status that applies.
    pub status: Status,
    /// A sentence for the user if the text was not exactly a status.
    pub problem: Option<String>,
    /// The status probably meant.
    pub suggestion: Option<Status>,
}

/// Returns the text after `flemma:tool` in a fence's info string, if it is the first word.
pub fn placeholder_words(info: &str) -> Option<&str> {
    info.strip_prefix("flemma:tool")
        // `flemma:tools` is another word.
        .filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t']))
}

/// Parses the text after `flemma:tool` in a fence's info string.
pub fn read_status(info: &str) -> StatusReading {
    let words = key_values(info);
    let mut found = words
        .iter()
        .filter(|(key, _)| key == "status")
        .map(|(_, value)| value.as_str());
    // A missing status is read as an empty word, which is reported.
    let first = read_word(found.next().unwrap_or_default());
    // All statuses count, because a repeated one may contradict the first.
    found.fold(first, |reading, word| stricter(reading, &read_word(word)))
}

/// Returns the stricter of two statuses of one call.
pub fn stricter(one: StatusReading, other: &StatusReading) -> StatusReading {
    if one.status == other.status {
        // Both say the same, so there is nothing to report but the first one's own problem.
        return one;
    }
    let status = one.status.max(other.status);
    StatusReading {
        status,
        problem: Some(format!(
            "There are two statuses; the stricter one, \"{}\", counts.",
            status.as_str()
        )),
        suggestion: None,
    }
}

/// Parses one status word, as after `status=` or in a header's parentheses.
pub fn read_word(word: &str) -> StatusReading {
    match Status::from_word(word) {
        Some(status) => StatusReading {
            status,
            problem: None,
            suggestion: None,
        },
        None if word.is_empty() => unreadable(
            "The status is missing, so the call is pending.".to_owned(),
            None,
        ),
        None => unreadable(
            format!("\"{word}\" is not a status, so the call is pending."),
            Status::nearest(word),
        ),
    }
}

fn unreadable(problem: String, suggestion: Option<Status>) -> StatusReading {
    StatusReading {
        status: Status::Pending,
        problem: Some(problem),
        suggestion,
    }
}

/// Replaces the status in an info string, keeping all other words.
pub fn with_status(info: &str, status: Status) -> String {
    let others = key_values(info)
        .into_iter()
        // Drops repeated statuses too.
        .filter(|(key, _)| key != "status");
    let mut text = format!("flemma:tool status={}", status.as_str());
    for (key, value) in others {
        text.push(' ');
        text.push_str(&key);
        if !value.is_empty() {
            text.push('=');
            text.push_str(&value);
        }
    }
    text
}

/// Splits an info string into keys and values; blanks around `=` are allowed. A value ends
/// at the next blank, so that `==` or `a=b=c` can't produce a meaningful word.
fn key_values(info: &str) -> Vec<(String, String)> {
    let mut joined = String::new();
    for word in info.split_ascii_whitespace() {
        let after_equals = joined.ends_with('=') || word.starts_with('=');
        if !joined.is_empty() && !after_equals {
            joined.push(' ');
        }
        joined.push_str(word);
    }
    joined
        .split(' ')
        .filter(|word| !word.is_empty())
        .map(|word| match word.split_once('=') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (word.to_owned(), String::new()),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_word_approves() {
        for (info, status) in [
            ("status=approved", Status::Approved),
            (" status = approved  note=x", Status::Approved),
            ("status=Approved", Status::Pending),
            ("status=APPROVED", Status::Pending),
            ("status=approve", Status::Pending),
            ("status=approvedx", Status::Pending),
            ("status=", Status::Pending),
            ("", Status::Pending),
            ("approved", Status::Pending),
            ("status=deny", Status::Denied),
            ("status=reject", Status::Rejected),
            ("status=approved status=denied", Status::Denied),
            ("status=pending status=approved", Status::Pending),
            ("status=approved status=approved", Status::Approved),
            ("status=approved status=foo", Status::Pending),
            ("status==approved", Status::Pending),
            ("status=approved=x", Status::Pending),
            ("note=status=approved", Status::Pending),
            ("status=\u{a0}approved", Status::Pending),
        ] {
            assert_eq!(read_status(info).status, status, "{info:?}");
        }
    }

    #[test]
    fn a_typo_gets_a_suggestion() {
        let reading = read_status("status=aproved");
        assert_eq!(reading.suggestion, Some(Status::Approved));
        assert_eq!(
            reading.problem.as_deref(),
            Some("\"aproved\" is not a status, so the call is pending.")
        );
    }

    #[test]
    fn a_new_status_keeps_the_other_words() {
        assert_eq!(
            with_status("status = approved note=mine a=b=c x", Status::Pending),
            "flemma:tool status=pending note=mine a=b=c x"
        );
    }
}
