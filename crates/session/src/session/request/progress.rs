//! What an open request is doing, for the spinner.

use std::time::Duration;

use tokio::time::Instant;

use super::Request;
use super::answer::Open;
use crate::protocol::Phase;

/// Silence after which an answer counts as stalled. Models pause for a second or two, and users
/// wonder after five.
const STALLED: Duration = Duration::from_secs(5);

/// The activity of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing has arrived yet.
    Waiting,
    /// The model thinks; number of characters so far.
    Thinking(usize),
    /// The model writes a call of this tool.
    Calling(String),
    /// Text arrives.
    Streaming,
}

impl Open {
    /// When an answer that has begun counts as stalled, unless more of it arrives.
    pub(super) fn stalls_at(&self) -> Option<Instant> {
        // Models may think for minutes before their first word, which is not a stall.
        let has_begun = self.doing != Doing::Waiting && self.end.is_none();
        has_begun.then(|| self.heard + STALLED)
    }
}

impl Request {
    /// Returns the state of the open request, its label, and how long it has stalled in
    /// milliseconds.
    pub(crate) fn progress(&self) -> Option<(&'static str, String, Option<u64>)> {
        let open = self.open.as_ref()?;
        let label = &open.label;
        // A stall takes precedence, because what the model did before explains no silence.
        if open.stalls_at().is_some_and(|at| at <= Instant::now()) {
            let silence = u64::try_from(open.heard.elapsed().as_millis()).unwrap_or(u64::MAX);
            return Some((
                "stalled",
                format!("No data from {label} for"),
                Some(silence),
            ));
        }
        let (state, label) = match &open.doing {
            Doing::Waiting => {
                // A note, such as that of a retry, says more than the provider's name.
                let note = open.note.as_ref().map(|note| &note.text);
                ("waiting", note.unwrap_or(label).clone())
            }
            Doing::Thinking(count) => {
                let count = characters(*count);
                ("thinking", format!("{label} is thinking ({count})"))
            }
            Doing::Calling(name) => ("waiting", format!("{label} writes a call of {name}")),
            Doing::Streaming => ("streaming", label.clone()),
        };
        Some((state, label, None))
    }

    /// Returns the phase of the open request.
    pub(crate) fn phase(&self) -> Option<Phase> {
        let open = self.open.as_ref()?;
        if open.stalls_at().is_some_and(|at| at <= Instant::now()) {
            return Some(Phase::Stalled);
        }
        Some(match &open.doing {
            Doing::Waiting => match open.note.as_ref().and_then(|note| note.retry_in) {
                Some(seconds) => Phase::Retrying(seconds),
                None => Phase::Sending,
            },
            Doing::Thinking(_) => Phase::Thinking,
            Doing::Calling(_) => Phase::Calling,
            Doing::Streaming => Phase::Streaming,
        })
    }
}

/// Formats a count in steps, so that it is not drawn again for each character.
fn characters(count: usize) -> String {
    match count {
        // Rounded, so that the line does not flicker with each word.
        0..1000 => format!("{} characters", count / 50 * 50),
        _ => format!("{:.1}k characters", count as f64 / 1000.0),
    }
}
