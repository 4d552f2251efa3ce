//! How an answer gets into the buffer while it arrives.
//!
//! One write at a time and one a frame at most. The answer grows at an anchor that
//! the editor keeps, so the user may type anywhere meanwhile.

mod writing;

use std::time::Duration;

use agent::answer::{self, AnswerBuilder, AnswerEvent, Ids};
use chat::Problem;
use chat::cycle::{AnswerEnd, Event, Level, Notice, Options};
use provider::StreamEvent;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::usage::Meter;
use super::{FRAME, Session};
use crate::frontend::{RequestStatus, SessionEvent};
use crate::protocol::ReleaseAnchor;

/// An answer of which nothing arrives for so long is reported: models pause for a second
/// or two, and users wonder after five.
const STALLED: Duration = Duration::from_secs(5);
/// Most bytes in one write, some 100 lines, which Neovim takes in 1 or 2 ms: a key that
/// is typed meanwhile waits for no larger one.
const PIECE: usize = 8 * 1024;

/// A request and the answer that is being written.
pub(super) struct Open {
    pub(super) number: u64,
    cancel: CancellationToken,
    /// Who is asked, for the spinner and for signatures.
    pub(super) label: String,
    answer: AnswerBuilder,
    /// Text that was decided on and is not in the buffer.
    unwritten: String,
    /// What it takes.
    pub(super) meter: Meter,
    /// The editor's anchor, once the marker line stands.
    anchor: Option<u64>,
    /// What stands before the anchor.
    column: usize,
    tail: String,
    last_write: Option<Instant>,
    /// Whether the last write had no room for all that was there.
    hurries: bool,
    /// How it ended, when it has.
    end: Option<AnswerEnd>,
    /// Whether it lost its place in the chat.
    lost: bool,
    /// The line of the anchor, and whether the user changed the text since it was checked.
    line: usize,
    pub(super) is_touched: bool,
    /// What it waits for, when that is more than the answer.
    pub(super) note: Option<String>,
    /// What the spinner says it is doing.
    pub(super) doing: Doing,
    /// When something of the answer arrived last.
    heard: Instant,
}

/// What a request is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Doing {
    /// Nothing has come yet.
    Waiting,
    /// The model thinks; characters so far.
    Thinking(usize),
    /// The model writes a call of this tool.
    Calling(String),
    /// Text arrives.
    Streaming,
}

impl Open {
    /// A request of which nothing is known yet.
    pub(super) fn new(number: u64, cancel: CancellationToken, answer: AnswerBuilder) -> Self {
        Self {
            number,
            cancel,
            label: String::new(),
            answer,
            unwritten: String::new(),
            meter: Meter::start(),
            anchor: None,
            column: 0,
            tail: String::new(),
            last_write: None,
            hurries: false,
            end: None,
            lost: false,
            line: 0,
            is_touched: false,
            note: None,
            doing: Doing::Waiting,
            heard: Instant::now(),
        }
    }

    /// When an answer that has begun counts as stalled, unless more of it arrives.
    pub(super) fn stalls_at(&self) -> Option<Instant> {
        let begun = self.doing != Doing::Waiting && self.end.is_none();
        begun.then(|| self.heard + STALLED)
    }

    /// How long nothing has arrived.
    pub(super) fn silence(&self) -> Duration {
        self.heard.elapsed()
    }

    /// Says who is asked: the provider's name, a blank, and more.
    pub(super) fn set_label(&mut self, label: String) {
        let provider = label.split(' ').next().unwrap_or_default();
        self.answer.set_provider(provider);
        self.label = label;
    }

    /// Says which ids the calls of the chat have.
    pub(super) fn set_ids(&mut self, ids: Ids) {
        self.answer.set_ids(ids);
    }

    /// Stops the request itself; nothing is written any more.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
    }

    /// When the next write is due. Nothing is due while the editor has one to
    /// answer.
    pub(super) fn next_write(&self, busy: bool) -> Option<Instant> {
        let due = !busy && (self.end.is_some() || !self.unwritten.is_empty());
        let last = self.last_write.filter(|_| !self.hurries);
        due.then(|| last.map_or_else(Instant::now, |last| last + FRAME))
    }

    /// What of the text is written now: whole lines, where there are any.
    fn take_piece(&mut self) -> String {
        let mut end = self.unwritten.len().min(PIECE);
        self.hurries = end < self.unwritten.len();
        if self.hurries {
            while !self.unwritten.is_char_boundary(end) {
                end -= 1;
            }
            let piece = &self.unwritten[..end];
            // Not behind a blank, which an editor may trim when it saves.
            let word = piece.trim_end_matches([' ', '\t']).len();
            end = match piece.rfind('\n') {
                Some(at) => at + 1,
                None if word > 0 => word,
                None => end,
            };
        }
        let rest = self.unwritten.split_off(end);
        std::mem::replace(&mut self.unwritten, rest)
    }
}

impl Session {
    pub(super) fn stream(&mut self, number: u64, events: Vec<StreamEvent>) {
        for event in events {
            if self
                .request
                .open
                .as_ref()
                .is_none_or(|open| open.number != number || open.end.is_some())
            {
                return;
            }
            // What is counted is shown at the end, and what ends is seen to right away.
            if !matches!(event, StreamEvent::Usage(_) | StreamEvent::Stop(_)) {
                self.view.redraw();
            }
            self.stream_event(event);
        }
    }

    fn stream_event(&mut self, event: StreamEvent) {
        let Some(open) = &mut self.request.open else {
            return;
        };
        open.heard = Instant::now();
        if open.note.take().is_some() {
            self.view.redraw();
        }
        match &event {
            StreamEvent::Text(text) => {
                self.editor.emit(SessionEvent::AnswerText(text.clone()));
                open.doing = Doing::Streaming;
            }
            StreamEvent::ToolUseStart { name } => {
                open.doing = Doing::Calling(name.clone());
                prepare(&self.policy.rules().options, name);
            }
            StreamEvent::Usage(usage) => open.meter.read(*usage),
            _ => {}
        }
        let thinks = matches!(event, StreamEvent::Thinking(_));
        let said = open.answer.take(event);
        if thinks {
            open.doing = Doing::Thinking(open.answer.thinking_len());
        }
        match said {
            Some(AnswerEvent::Call(call)) => {
                let recorded = answer::key(&call).map(Event::Recorded);
                recorded.into_iter().for_each(|it| self.queue.push(it));
            }
            Some(AnswerEvent::Complete) => open.end = Some(AnswerEnd::Complete),
            Some(AnswerEvent::Limited(problem)) => {
                self.editor.notify(&Notice {
                    level: Level::Warning,
                    text: problem.to_string(),
                });
                self.end_request(&problem.what, AnswerEnd::Limited);
            }
            Some(AnswerEvent::Failed(problem)) => self.failed(&problem),
            None => {}
        }
        if let Some(open) = &mut self.request.open {
            open.unwritten.push_str(&open.answer.text());
        }
    }

    fn failed(&mut self, problem: &Problem) {
        self.editor.report_problem(problem);
        self.end_request(&problem.what, AnswerEnd::Failed);
    }

    /// What arrived stays, with the reason why there is no more.
    /// An answer whose end is known, and only not written yet, does not end again.
    fn end_request(&mut self, reason: &str, end: AnswerEnd) {
        let Some(open) = self.request.open.as_mut().filter(|open| open.end.is_none()) else {
            return;
        };
        open.stop();
        open.answer.break_off(reason);
        open.unwritten.push_str(&open.answer.text());
        open.end = Some(end);
    }

    pub(super) fn cancel_request(&mut self) {
        self.end_request("cancelled by the user", AnswerEnd::Cancelled);
        self.inform("Cancelled.");
    }

    /// The answer has no place any more: tells the user why, and marks what is there of it
    /// with the reason.
    pub(super) fn lose_request(&mut self, why: &str, reason: &'static str) {
        if let Some(open) = &mut self.request.open
            && !(open.end == Some(AnswerEnd::Failed) && open.unwritten.is_empty())
        {
            open.stop();
            open.unwritten.clear();
            open.end = Some(AnswerEnd::Failed);
            open.lost = true;
            self.editor.notify(&Notice {
                level: Level::Warning,
                text: why.to_owned(),
            });
            self.mark_cut(reason);
        }
    }

    /// Ends an answer that lost its place, before the mark that says so: a key that the
    /// user presses on seeing the mark must not find a request. Whether there was one.
    pub(super) fn ends_lost_answer(&mut self) -> bool {
        let is_lost = self.request.open.as_ref().is_some_and(|open| open.lost);
        if is_lost {
            self.end_answer();
            self.queue.last_first();
        }
        is_lost
    }

    fn end_answer(&mut self) {
        let Some(open) = self.request.open.take() else {
            return;
        };
        let end = open.end.unwrap_or(AnswerEnd::Failed);
        if open.anchor.is_some() && !open.lost {
            self.note_answer_end(&open.tail);
        }
        let status = match end {
            AnswerEnd::Complete => RequestStatus::Success,
            AnswerEnd::Failed => RequestStatus::Error,
            AnswerEnd::Limited => RequestStatus::Limit,
            AnswerEnd::Cancelled => RequestStatus::Cancelled,
        };
        let buffer = self.buffer.id;
        if let Some(anchor) = open.anchor {
            self.editor
                .frontend()
                .release_anchor(ReleaseAnchor { buffer, anchor });
        }
        self.note_usage(open.meter);
        self.editor
            .emit(SessionEvent::RequestFinished { buffer, status });
        self.view.redraw();
        self.queue.push(Event::AnswerEnded(end));
    }
}

/// Makes ready what a call of this tool is checked by, while its arguments arrive.
fn prepare(options: &Options, tool: &str) {
    if let Some(tool) = options.tools.get(tool) {
        let (checks, tool) = (options.checks.clone(), tool.clone());
        tokio::task::spawn_blocking(move || checks.prepare(&tool.name, &tool.input_schema));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pieces(text: &str) -> Vec<String> {
        let mut open = Open::new(1, CancellationToken::new(), AnswerBuilder::default());
        open.unwritten = text.to_owned();
        let piece = std::iter::from_fn(|| Some(open.take_piece()).filter(|it| !it.is_empty()));
        piece.collect()
    }

    #[test]
    fn much_text_is_written_in_pieces_that_end_with_a_line() {
        let text = "a line of an answer\n".repeat(2_000);
        let pieces = pieces(&text);
        assert_eq!(pieces.concat(), text);
        assert_eq!(pieces.len(), 5);
        let fits = |piece: &String| piece.len() <= PIECE && piece.ends_with('\n');
        assert!(pieces.iter().all(fits));
    }

    #[test]
    fn a_line_that_is_longer_is_cut_between_characters() {
        let text = "é".repeat(PIECE);
        let pieces = pieces(&format!("x{text}"));
        assert_eq!(pieces.concat(), format!("x{text}"));
        assert_eq!(pieces[0].len(), PIECE - 1);
    }

    #[test]
    fn the_next_piece_of_much_text_waits_for_no_frame() {
        let mut open = Open::new(1, CancellationToken::new(), AnswerBuilder::default());
        open.unwritten = "line\n".repeat(PIECE / 4);
        open.last_write = Some(Instant::now());
        open.take_piece();
        let now = Instant::now() + FRAME / 4;
        assert!(open.next_write(false).is_some_and(|due| due < now));
        open.take_piece();
        open.unwritten.push('x');
        assert!(open.next_write(false).is_some_and(|due| due > now));
    }
}
