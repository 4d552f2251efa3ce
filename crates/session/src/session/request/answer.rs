//! An answer on its way into the buffer.
//!
//! At most one write is in flight, and at most one is made per frame. The answer grows at
//! an anchor that the editor keeps, so the user may type anywhere meanwhile.

mod writing;

use agent::answer::{self, AnswerBuilder, AnswerEvent, Ids};
use agent::transport::WaitNote;
use chat::Problem;
use chat::answer::ThinkingStart;
use chat::approval::CallKey;
use chat::cycle::AnswerEnd;
use chat::preview::one_line;
use chat::server_tools::ExactAnswer;
use chat::text::Lines;
use provider::StreamEvent;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(in crate::session) use self::writing::AnswerWrite;
use super::Request;
use super::progress::Doing;
use super::usage::Meter;
use crate::frontend::{RequestStatus, SessionEvent};
use crate::protocol::ReleaseAnchor;
use crate::sent::AnswerHasher;
use crate::session::FRAME;
use crate::session::buffer::moved;
use crate::session::ctx::Ctx;

/// Maximum bytes of one write: about 100 lines, which Neovim takes in 1 or 2 ms. A key that is
/// typed meanwhile waits that long.
const PIECE: usize = 8 * 1024;

/// Length of a line, in bytes, from which a write takes as long as the line is: the arguments of
/// a call are one line.
const LONG_LINE: usize = 64 * 1024;

/// Frames from one write of a growing answer to the next. Twice as many writes look the same and
/// cost the editor twice the time.
const FRAMES: usize = 2;

/// Maximum columns of what a server tool was asked.
const ASKED: usize = 60;

/// A request, and the answer that is being written.
pub(super) struct Open {
    pub(super) number: u64,
    cancel: CancellationToken,
    /// The provider and model, for the spinner and for signatures.
    pub(super) label: String,
    answer: AnswerBuilder,
    /// Text of the answer that is not in the buffer yet.
    unwritten: String,
    /// The text that was written, with the marker line: what the user edits meanwhile does not count.
    written: AnswerHasher,
    /// A text that was thinking, until its opening line is in the buffer.
    was_thinking: Option<ThinkingStart>,
    place: Place,
    pub(super) meter: Meter,
    last_write: Option<Instant>,
    /// True if there was more text than fitted into the last write.
    has_more: bool,
    /// Its outcome, once it has ended.
    pub(super) end: Option<AnswerEnd>,
    /// The complete answer in the provider's own form, if it must go back so.
    exact: Option<ExactAnswer>,
    /// The reason why it waits, if that is not the answer.
    pub(super) note: Option<WaitNote>,
    pub(super) doing: Doing,
    /// When a part of the answer last arrived.
    pub(super) heard: Instant,
}

/// The place where an answer grows.
#[derive(Default)]
struct Place {
    /// The editor's anchor, once the marker line is written.
    anchor: Option<u64>,
    /// Line of the anchor in the mirror.
    line: usize,
    /// Byte column of the anchor.
    column: usize,
    /// Text before the anchor, compared before each write.
    tail: String,
    /// True if the user changed the text since the line was last checked.
    is_touched: bool,
    /// True if the place is gone, so that no more can be written.
    is_lost: bool,
}

impl Open {
    /// Returns a request that was just sent.
    pub(super) fn new(number: u64, cancel: CancellationToken) -> Self {
        Self {
            number,
            cancel,
            label: String::new(),
            answer: AnswerBuilder::default(),
            unwritten: String::new(),
            written: AnswerHasher::default(),
            was_thinking: None,
            place: Place::default(),
            meter: Meter::start(),
            last_write: None,
            has_more: false,
            end: None,
            exact: None,
            note: None,
            doing: Doing::Waiting,
            heard: Instant::now(),
        }
    }

    /// Sets the provider's name and the model, separated by a space.
    pub(super) fn set_label(&mut self, label: String) {
        // Only the first word: the model or the server follows.
        let provider = label.split(' ').next().unwrap_or_default();
        self.answer.set_provider(provider);
        self.label = label;
    }

    /// Sets the ids of the chat's calls, which new calls must not repeat.
    pub(super) fn set_ids(&mut self, ids: Ids) {
        self.answer.set_ids(ids);
    }

    /// Cancels the request.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
    }

    /// Notes that the user changed the text, perhaps where the answer grows.
    pub(super) fn touch(&mut self) {
        self.place.is_touched = true;
    }

    /// Follows a change of the text: `count` lines replaced `lines`.
    pub(super) fn move_line(&mut self, lines: &Lines, count: usize) {
        self.place.line = moved(self.place.line, lines, count);
    }

    pub(super) fn anchor(&self) -> Option<u64> {
        self.place.anchor
    }

    /// Returns when the next write is due; never while the editor has an edit to answer.
    pub(super) fn next_write(&self, is_busy: bool) -> Option<Instant> {
        let has_more = !self.unwritten.is_empty() || self.was_thinking.is_some();
        let is_due = !is_busy && (self.end.is_some() || has_more);
        // Text that did not fit into the last write does not wait for a frame.
        let last = self.last_write.filter(|_| !self.has_more);
        // Otherwise an editor that grows a long line would do nothing else.
        let frames = if self.end.is_some() { 1 } else { FRAMES };
        let frames = frames + self.place.column / LONG_LINE;
        let frames = u32::try_from(frames).unwrap_or(u32::MAX);
        is_due.then(|| last.map_or_else(Instant::now, |last| last + FRAME.saturating_mul(frames)))
    }

    /// Takes the text of the next write: whole lines, if there are any.
    fn take_piece(&mut self) -> String {
        // In proportion to the line, so that all writes of a long one together take linear time.
        let most = PIECE.max(self.place.column / 4);
        self.has_more = self.unwritten.len() > most;
        if !self.has_more {
            return std::mem::take(&mut self.unwritten);
        }
        let mut end = most;
        // The limit counts bytes, and a character must not be split between two writes.
        while !self.unwritten.is_char_boundary(end) {
            end -= 1;
        }
        let piece = &self.unwritten[..end];
        // A piece does not end with a blank, which an editor may trim when it saves.
        let word = piece.trim_end_matches([' ', '\t']).len();
        let end = match piece.rfind('\n') {
            // Whole lines are preferred, because half a line can look like another kind of line.
            Some(at) => at + 1,
            None if word > 0 => word,
            // Only blanks: waiting for a word could last forever.
            None => end,
        };
        let rest = self.unwritten.split_off(end);
        std::mem::replace(&mut self.unwritten, rest)
    }

    /// Takes an event of the stream, and adds its text to the unwritten text.
    fn take(&mut self, event: StreamEvent) -> Option<AnswerEvent> {
        self.heard = Instant::now();
        let is_thinking = matches!(event, StreamEvent::Thinking(_));
        match &event {
            StreamEvent::Text(_) => self.doing = Doing::Streaming,
            StreamEvent::ToolUseStart { name } => self.doing = Doing::Calling(name.clone()),
            StreamEvent::ServerToolStart { name, asked } => {
                self.doing = Doing::Server(one_line(&format!("{name} {asked}"), ASKED));
            }
            StreamEvent::ServerTool(_) => self.doing = Doing::Streaming,
            StreamEvent::Usage(usage) => self.meter.read(*usage),
            StreamEvent::Paused => {
                self.meter.pause();
                self.doing = Doing::Waiting;
            }
            StreamEvent::TextEnd
            | StreamEvent::TextWasThinking
            | StreamEvent::Thinking(_)
            | StreamEvent::ThinkingEnd { .. }
            | StreamEvent::RedactedThinking(_)
            | StreamEvent::Summary(_)
            | StreamEvent::ToolUse(_)
            | StreamEvent::Exact(_)
            | StreamEvent::Remark(_)
            | StreamEvent::ThinkingRefused
            | StreamEvent::Stop(_)
            | StreamEvent::Error(_) => {}
        }
        let answer_event = self.answer.take(event);
        if is_thinking {
            self.doing = Doing::Thinking(self.answer.thinking_len());
        }
        self.add_text();
        if let Some(AnswerEvent::TextWasThinking(start)) = answer_event {
            self.was_thinking = Some(start);
        }
        answer_event
    }

    /// Adds the text that the builder has ready to the unwritten text.
    fn add_text(&mut self) {
        let text = self.answer.text();
        if let Some(start) = &mut self.was_thinking {
            start.line_ends += text.matches('\n').count();
        }
        self.unwritten.push_str(&text);
    }

    /// Ends the answer early. The reason is written after what has arrived.
    fn break_off(&mut self, reason: &str, end: AnswerEnd) {
        self.stop();
        self.answer.break_off(reason);
        self.add_text();
        self.end = Some(end);
    }
}

/// The result of applying a part of the stream.
#[derive(Default)]
pub(in crate::session) struct Streamed {
    /// Calls of the answer. They are recorded before they are in the text, so that they are known as
    /// those of this session.
    pub(in crate::session) calls: Vec<CallKey>,
    /// True if the chat looks different.
    pub(in crate::session) is_visible: bool,
}

/// An answer that is in the buffer.
pub(in crate::session) struct Answered {
    pub(in crate::session) end: AnswerEnd,
    /// Its last words; `None` if it lost its place, or never had one.
    pub(in crate::session) tail: Option<String>,
    /// In dollars, if prices are known.
    pub(in crate::session) cost: Option<f64>,
}

impl Request {
    /// Takes events of the stream that answers the request with this number.
    pub(in crate::session) fn stream(
        &mut self,
        ctx: &Ctx,
        number: u64,
        events: Vec<StreamEvent>,
    ) -> Streamed {
        let mut streamed = Streamed::default();
        for event in events {
            let open = self.open_as(number);
            // After a cancel or a failure the stream may still deliver events.
            if open.is_none_or(|open| open.end.is_some()) {
                break;
            }
            // Usage is shown at the end, and the end redraws anyway.
            streamed.is_visible |= !matches!(event, StreamEvent::Usage(_) | StreamEvent::Stop(_));
            self.stream_event(ctx, event, &mut streamed);
        }
        streamed
    }

    /// Prepares a call while the model still writes its arguments: compiles the schema, and tests
    /// the sandbox if the call starts commands.
    fn prepare_call(&self, ctx: &Ctx, tool: &str) {
        let open = self.open.as_ref();
        if open.is_some_and(|it| matches!(&it.doing, Doing::Calling(before) if before == tool)) {
            // The call before has prepared the same.
            return;
        }
        let rules = ctx.rules();
        let sandbox = &rules.settings.sandbox;
        let backend = (sandbox.enabled && ctx.is_held(tool)).then(|| sandbox.backend());
        let tool = rules.options.tools.get(tool).cloned();
        let checks = rules.options.checks.clone();
        tokio::task::spawn_blocking(move || {
            if let Some(tool) = tool {
                checks.prepare(&tool.name, &tool.input_schema);
            }
            // The result is kept, and asked for when the call is decided.
            backend.map(|it| tools::find_out(&it))
        });
    }

    fn stream_event(&mut self, ctx: &Ctx, event: StreamEvent, streamed: &mut Streamed) {
        if event == StreamEvent::ThinkingRefused {
            return self.note_thinking_refused(ctx);
        }
        if let StreamEvent::Text(text) = &event {
            ctx.editor.emit(SessionEvent::AnswerText(text.clone()));
        }
        if let StreamEvent::ToolUseStart { name } = &event {
            self.prepare_call(ctx, name);
        }
        if let StreamEvent::ServerToolStart { name, asked } = &event
            && let Some(open) = &self.open
        {
            let words = one_line(&format!("{name} {asked}"), ASKED);
            let note = format!("{} runs {words}", open.label);
            ctx.editor.emit(SessionEvent::RequestNote(note));
        }
        let Some(open) = &mut self.open else {
            return;
        };
        // The first event of the answer ends the waiting, but not the end of a paused part of it,
        // after which it waits again.
        let is_pause = matches!(event, StreamEvent::Exact(_) | StreamEvent::Paused);
        if !is_pause && open.note.take().is_some() {
            streamed.is_visible = true;
        }
        // The builder decides what the event means, so that every provider's answer ends alike.
        match open.take(event) {
            Some(AnswerEvent::Call(call)) => {
                streamed.calls.extend(answer::key(&call));
            }
            Some(AnswerEvent::Remark(text)) => self.remark(ctx, text),
            // `take_write` inserts its opening line.
            Some(AnswerEvent::TextWasThinking(_)) => {}
            Some(AnswerEvent::Complete(exact)) => {
                open.end = Some(AnswerEnd::Complete);
                open.exact = exact;
            }
            Some(AnswerEvent::Limited(problem)) => {
                ctx.warn(problem.to_string());
                self.end(&problem.what, AnswerEnd::Limited);
            }
            Some(AnswerEvent::Failed(problem)) => self.fail_request(ctx, &problem),
            None => {}
        }
    }

    fn fail_request(&mut self, ctx: &Ctx, problem: &Problem) {
        ctx.editor.report_problem(problem);
        self.end(&problem.what, AnswerEnd::Failed);
    }

    /// Ends the open request early. An answer that has ended, and is only not written yet,
    /// does not end again.
    pub(in crate::session) fn end(&mut self, reason: &str, end: AnswerEnd) {
        let open = self.open.as_mut();
        if let Some(open) = open.filter(|open| open.end.is_none()) {
            open.break_off(reason, end);
        }
    }

    /// Ends an answer that has no place in the text any more; `why` is the message. Returns true if
    /// something of it is lost.
    pub(in crate::session) fn lose(&mut self, ctx: &Ctx, why: &str) -> bool {
        let Some(open) = &mut self.open else {
            return false;
        };
        // The failure was reported, and nothing is left to write.
        if open.end == Some(AnswerEnd::Failed) && open.unwritten.is_empty() {
            return false;
        }
        open.stop();
        // There is no place left where this text could go.
        open.unwritten.clear();
        open.was_thinking = None;
        open.end = Some(AnswerEnd::Failed);
        open.place.is_lost = true;
        ctx.warn(why.to_owned());
        true
    }

    /// Returns true if the open answer lost its place.
    pub(in crate::session) fn is_lost(&self) -> bool {
        self.open.as_ref().is_some_and(|open| open.place.is_lost)
    }

    /// Ends the request, whose answer is in the buffer.
    pub(in crate::session) fn finish(&mut self, ctx: &Ctx) -> Option<Answered> {
        let open = self.open.take()?;
        // Set in every case that leads here. If not, the answer must not count as complete,
        // because its calls would then run.
        let end = open.end.unwrap_or(AnswerEnd::Failed);
        let buffer = ctx.buffer.id();
        if let Some(anchor) = open.place.anchor {
            // Neovim updates the anchor at each edit until it is released.
            let anchor = ReleaseAnchor { buffer, anchor };
            ctx.editor.frontend().release_anchor(anchor);
        }
        let has_place = open.place.anchor.is_some() && !open.place.is_lost;
        if let Some(exact) = open.exact.filter(|_| has_place) {
            self.keep_exact(ctx, open.place.line, &exact, open.written.finish());
        }
        let cost = self.note_usage(ctx, open.meter);
        let status = match end {
            AnswerEnd::Complete => RequestStatus::Success,
            AnswerEnd::Failed => RequestStatus::Error,
            AnswerEnd::Limited => RequestStatus::Limit,
            AnswerEnd::Cancelled => RequestStatus::Cancelled,
        };
        ctx.editor
            .emit(SessionEvent::RequestFinished { buffer, status });
        Some(Answered {
            end,
            tail: has_place.then_some(open.place.tail),
            cost,
        })
    }
}

#[cfg(test)]
mod tests;
