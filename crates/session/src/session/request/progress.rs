//! The state of an open request, for the spinner.

use std::time::Duration;

use provider::Usage;
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
    /// The provider runs one of its own tools, with these words.
    Server(String),
    /// Text arrives.
    Streaming,
}

impl Open {
    /// When an answer that has begun counts as stalled, unless more of it arrives.
    pub(super) fn stalls_at(&self) -> Option<Instant> {
        // Models may think for minutes before their first word, and tools may run as long, which
        // is not a stall.
        let is_waiting = matches!(self.doing, Doing::Waiting | Doing::Server(_));
        let has_begun = !is_waiting && self.end.is_none();
        has_begun.then(|| self.heard + STALLED)
    }
}

/// The progress of the open request, as the spinner and the status line show it.
pub(in crate::session) struct RequestProgress {
    pub(in crate::session) state: &'static str,
    pub(in crate::session) label: String,
    /// How long it has stalled.
    pub(in crate::session) stalled_ms: Option<u64>,
    /// When it counts as stalled, unless more of the answer arrives.
    pub(in crate::session) stalls_at: Option<Instant>,
    pub(in crate::session) phase: Phase,
    /// Its usage, once it is known how long its prompt is.
    pub(in crate::session) usage: Option<Usage>,
}

impl Request {
    /// Returns the progress of the open request.
    pub(in crate::session) fn progress(&self) -> Option<RequestProgress> {
        let open = self.open.as_ref()?;
        let label = &open.label;
        let progress = |state, label, phase| RequestProgress {
            state,
            label,
            stalled_ms: None,
            stalls_at: open.stalls_at(),
            phase,
            usage: open.meter.usage(),
        };
        // A stall takes precedence, because what the model did before explains no silence.
        if open.stalls_at().is_some_and(|at| at <= Instant::now()) {
            let silence = u64::try_from(open.heard.elapsed().as_millis()).unwrap_or(u64::MAX);
            let label = format!("No data from {label} for");
            return Some(RequestProgress {
                stalled_ms: Some(silence),
                ..progress("stalled", label, Phase::Stalled)
            });
        }
        Some(match &open.doing {
            Doing::Waiting => {
                // A note, such as that of a retry, says more than the provider's name.
                let note = open.note.as_ref();
                let text = note.map_or(label, |note| &note.text);
                let phase = note
                    .and_then(|note| note.retry_in)
                    .map_or(Phase::Sending, Phase::Retrying);
                progress("waiting", text.clone(), phase)
            }
            Doing::Thinking(count) => {
                let count = characters(*count);
                let label = format!("{label} is thinking ({count})");
                progress("thinking", label, Phase::Thinking)
            }
            Doing::Calling(name) => {
                let label = format!("{label} writes a call of {name}");
                progress("waiting", label, Phase::Calling)
            }
            Doing::Server(words) => {
                let label = format!("{label} runs {words}");
                progress("waiting", label, Phase::Calling)
            }
            Doing::Streaming => progress("streaming", label.clone(), Phase::Streaming),
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
