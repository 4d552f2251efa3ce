//! What the editor is told behind the edits of a moment: autocommands, figures, the lock.
//!
//! Nothing waits for these, and Neovim takes what it is sent in order, a turn of its loop
//! and a drawn screen at a time: in front of an edit, or just behind one, they would keep
//! the text waiting.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;

use super::Session;
use super::usage::Meter;
use crate::protocol::ReleaseAnchor;

/// A call that reads a file has ended after so long: until then nothing is said of it but
/// its result. Longer than that the lock shall not take.
const QUICK: Duration = Duration::from_millis(2);
/// Calls that start within so long of each other are in a row.
const ROW: Duration = Duration::from_millis(100);

/// What is to be told, in order.
#[derive(Default)]
pub(super) struct Later {
    news: Vec<News>,
    /// Until when calls that just started are given time to end.
    quick_until: Option<Instant>,
    /// When calls started last.
    started: Option<Instant>,
}

enum News {
    /// A `User` autocommand and its data.
    Event(&'static str, Value),
    /// A request ended.
    RequestEnded {
        anchor: Option<u64>,
        meter: Meter,
        status: &'static str,
    },
}

impl Later {
    /// Fires a `User` autocommand.
    pub(super) fn event(&mut self, name: &'static str, data: Value) {
        self.news.push(News::Event(name, data));
    }

    /// An answer ended, as it says in autocommands; it was written at the anchor.
    pub(super) fn request_ended(
        &mut self,
        anchor: Option<u64>,
        meter: Meter,
        status: &'static str,
    ) {
        self.news.push(News::RequestEnded {
            anchor,
            meter,
            status,
        });
    }

    /// Calls start that may end at once. In a row of calls only the first is given the
    /// time: the lock is there for the others.
    pub(super) fn started(&mut self, now: Instant) {
        if self.started.is_none_or(|at| now - at > ROW) {
            self.quick_until = Some(now + QUICK);
        }
        self.started = Some(now);
    }

    /// When what waits for calls that may end at once is told in any case.
    pub(super) fn next(&self) -> Option<Instant> {
        self.quick_until
    }

    /// Whether calls that just started are given time to end.
    pub(super) fn waits(&self) -> bool {
        self.quick_until.is_some()
    }

    /// What is to be told now. Nothing is kept back any more once an edit is on its way,
    /// or no call runs.
    fn take(&mut self, now: Instant, writes: bool, runs: bool) -> Vec<News> {
        self.quick_until
            .take_if(|until| *until <= now || writes || !runs);
        match self.waits() {
            true => Vec::new(),
            false => std::mem::take(&mut self.news),
        }
    }
}

impl Session {
    /// Tells what is to be told, once the edits of the moment are on their way.
    pub(super) fn tell_later(&mut self) {
        let waited = self.later.waits();
        let (writes, runs) = (self.edit.is_some(), !self.running.is_empty());
        let news = self.later.take(Instant::now(), writes, runs);
        if waited && !self.later.waits() {
            // The lock was kept back as well.
            self.view.redraw();
        }
        for news in news {
            match news {
                News::Event(name, data) => self.editor.event(name, data),
                News::RequestEnded {
                    anchor,
                    meter,
                    status,
                } => self.tell_request_ended(anchor, meter, status),
            }
        }
    }

    fn tell_request_ended(&self, anchor: Option<u64>, meter: Meter, status: &str) {
        if let Some(anchor) = anchor {
            let buffer = self.buffer;
            self.editor
                .send("release_anchor", &ReleaseAnchor { buffer, anchor });
        }
        self.note_usage(meter);
        self.editor.event(
            "FlemmaRequestFinished",
            json!({"bufnr": self.buffer, "status": status}),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(news: Vec<News>) -> Vec<&'static str> {
        let name = |it| match it {
            News::Event(name, _) => name,
            News::RequestEnded { .. } => "request ended",
        };
        news.into_iter().map(name).collect()
    }

    #[test]
    fn of_a_call_that_ends_at_once_is_told_with_its_result() {
        let (mut later, now) = (Later::default(), Instant::now());
        later.started(now);
        later.event("started", json!({}));
        assert!(names(later.take(now, false, true)).is_empty());
        later.event("ended", json!({}));
        assert_eq!(names(later.take(now, true, false)), ["started", "ended"]);
        assert!(!later.waits() && later.take(now, false, false).is_empty());
    }

    #[test]
    fn of_a_call_that_takes_its_time_is_told_when_it_did_not_end_at_once() {
        let (mut later, now) = (Later::default(), Instant::now());
        later.started(now);
        later.event("started", json!({}));
        let over = now + QUICK + QUICK;
        assert_eq!(names(later.take(over, false, true)), ["started"]);
        assert!(!later.waits());
    }

    #[test]
    fn in_a_row_of_calls_only_the_first_is_given_time() {
        let (mut later, now) = (Later::default(), Instant::now());
        later.started(now);
        later.take(now + QUICK, true, false);
        later.started(now + QUICK);
        assert!(!later.waits());
        later.started(now + QUICK + ROW + QUICK);
        assert!(later.waits());
    }

    #[test]
    fn what_happens_while_no_call_starts_is_told_at_once() {
        let mut later = Later::default();
        later.request_ended(None, Meter::default(), "success");
        later.event("rested", json!({}));
        let news = later.take(Instant::now(), false, false);
        assert_eq!(names(news), ["request ended", "rested"]);
    }
}
