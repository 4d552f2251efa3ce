//! Finds calls in the text of an answer, delta by delta.
//!
//! Text that may become a call is held; all other text passes at once until the first call.
//! Calls wait for the end of the answer, because a tag after them may show that they are
//! part of the model's thinking. An answer that was cut off inside a call yields no call.

use chat::tool::ToolDefinition;

use super::{CLOSE, OPEN, call_length};
use super::{Extent, extent, in_json, malformed};
use crate::content::MAX_HELD_BYTES;
use crate::tag_spellings::has_opening;
use crate::{StopReason, StreamEvent, ToolUse};

/// The start of a block of XML.
const XML_FENCE: &str = "```xml";

/// Parses the calls in the text of an answer whose prompt was sent with
/// [`Parameters::text_tools`](crate::Parameters::text_tools).
#[derive(Debug)]
pub struct TextCalls {
    tools: Vec<ToolDefinition>,
    state: ScanState,
    /// Held text: the start of a line or of a call.
    held: String,
    /// Offset up to which `held` was searched for the end of its call.
    searched: usize,
    /// Number of calls so far.
    count: usize,
    /// The first call and everything after it.
    waiting: Vec<StreamEvent>,
    /// The text of `waiting` as the model wrote it.
    raw: String,
    /// The current line, outside any fence and call.
    line: String,
    /// True if a line before contains a tag that opens thinking. Then no later call counts,
    /// although the tag may only be mentioned.
    may_think: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScanState {
    /// At the start of a line, outside any fence.
    Start,
    /// In a line that is not a call, outside any fence.
    Line,
    /// In a fence of this mark and length.
    Fence(char, usize),
    /// In a line of such a fence that does not close it.
    FencedLine(char, usize),
    /// In a JSON call.
    Call,
    /// In an XML fence that may contain calls.
    Xml,
}

impl TextCalls {
    /// Creates a parser for the answer of a model that was offered `tools`.
    pub fn new(tools: Vec<ToolDefinition>) -> Self {
        Self {
            tools,
            state: ScanState::Start,
            held: String::new(),
            searched: 0,
            count: 0,
            waiting: Vec::new(),
            raw: String::new(),
            line: String::new(),
            may_think: false,
        }
    }

    /// Returns the events, with calls in place of their text. Text that may become a call
    /// is held.
    pub fn read(&mut self, received: Vec<StreamEvent>) -> Vec<StreamEvent> {
        let mut events = Vec::with_capacity(received.len());
        for event in received {
            self.accept(event, &mut events);
        }
        events
    }

    fn accept(&mut self, event: StreamEvent, events: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::Text(text) => {
                self.held.push_str(&text);
                while self.step(events) {}
            }
            StreamEvent::Stop(reason) => self.stop(reason, events),
            StreamEvent::Error(_) => {
                // An answer that broke off yields no call; what was held is shown as text.
                self.release(events);
                events.append(&mut self.waiting);
                events.push(event);
            }
            StreamEvent::TextWasThinking => {
                self.release(events);
                self.take_back(events);
                events.push(event);
                self.begin_block();
            }
            // They may come between two deltas of one line.
            StreamEvent::Usage(_) | StreamEvent::Remark(_) => events.push(event),
            other => {
                // Thinking between two texts ends the first one.
                self.release(events);
                self.begin_block();
                if let StreamEvent::Thinking(text) = &other {
                    self.raw.push_str(text);
                }
                self.say(other, events);
            }
        }
    }

    fn stop(&mut self, reason: StopReason, events: &mut Vec<StreamEvent>) {
        let is_whole = matches!(reason, StopReason::EndTurn | StopReason::ToolUse);
        self.end(is_whole, events);
        let has_calls = self.waiting.iter().any(is_call);
        events.append(&mut self.waiting);
        events.push(StreamEvent::Stop(match reason {
            // The server ended the turn, but the calls in its text need results.
            StopReason::EndTurn if has_calls => StopReason::ToolUse,
            reason => reason,
        }));
    }

    fn begin_block(&mut self) {
        self.state = ScanState::Start;
        self.line.clear();
        self.may_think = false;
    }

    /// Returns an event, or keeps it until the calls before it are certain.
    fn say(&mut self, event: StreamEvent, events: &mut Vec<StreamEvent>) {
        if self.waiting.is_empty() && !is_call(&event) {
            self.raw.clear();
            return events.push(event);
        }
        self.waiting.push(event);
    }

    /// Turns the calls back into text.
    fn take_back(&mut self, events: &mut Vec<StreamEvent>) {
        let raw = std::mem::take(&mut self.raw);
        if !self.waiting.is_empty() {
            self.waiting.clear();
            events.push(StreamEvent::Text(raw));
        }
    }

    /// Handles the start of the held text. Returns true if there may be more to handle.
    fn step(&mut self, events: &mut Vec<StreamEvent>) -> bool {
        if self.held.is_empty() {
            return false;
        }
        match self.state {
            ScanState::Start => self.start_of_line(events),
            ScanState::Line => self.rest_of_line(ScanState::Start, events),
            ScanState::FencedLine(mark, length) => {
                self.rest_of_line(ScanState::Fence(mark, length), events)
            }
            ScanState::Fence(mark, length) => self.start_in_fence(mark, length, events),
            ScanState::Call => self.call(events),
            ScanState::Xml => self.xml(events),
        }
    }

    fn start_of_line(&mut self, events: &mut Vec<StreamEvent>) -> bool {
        if self.held.starts_with(OPEN) {
            self.state = ScanState::Call;
            self.searched = OPEN.len();
            return true;
        }
        let may_fence = self.held.starts_with(['`', '~']);
        match self.end_of_line() {
            Some(end) if may_fence => {
                let fence = fence(&self.held[..end]);
                if self.held[..end].trim_end() == XML_FENCE {
                    self.state = ScanState::Xml;
                    self.searched = 0;
                    return true;
                }
                let next = fence.map_or(ScanState::Start, |(mark, length, _)| {
                    ScanState::Fence(mark, length)
                });
                self.pass(end, next, events)
            }
            // Too short to tell, so wait for more of the line.
            None if may_fence || OPEN.starts_with(self.held.as_str()) => false,
            _ => {
                self.state = ScanState::Line;
                true
            }
        }
    }

    fn start_in_fence(&mut self, mark: char, length: usize, events: &mut Vec<StreamEvent>) -> bool {
        if !self.held.starts_with(mark) {
            self.state = ScanState::FencedLine(mark, length);
            return true;
        }
        let Some(end) = self.end_of_line() else {
            return false;
        };
        let closes = closes(&self.held[..end], mark, length);
        let next = if closes {
            ScanState::Start
        } else {
            ScanState::Fence(mark, length)
        };
        self.pass(end, next, events)
    }

    fn rest_of_line(&mut self, next: ScanState, events: &mut Vec<StreamEvent>) -> bool {
        let (end, next) = match self.end_of_line() {
            Some(end) => (end, next),
            None => (self.held.len(), self.state),
        };
        self.pass(end, next, events)
    }

    /// Returns the end of the first held line, including its line end.
    fn end_of_line(&self) -> Option<usize> {
        self.held.find('\n').map(|end| end + 1)
    }

    fn call(&mut self, events: &mut Vec<StreamEvent>) -> bool {
        // Only a new closing tag can complete the call.
        let mut from = self.searched.saturating_sub(CLOSE.len()).max(OPEN.len());
        while !self.held.is_char_boundary(from) {
            from -= 1;
        }
        self.searched = self.held.len();
        let has_end = self.held[from..].contains(CLOSE);
        let Some(length) = has_end.then(|| call_length(&self.held)).flatten() else {
            return self.give_up_if_large(events);
        };
        let text = &self.held[..length];
        let body = &text[OPEN.len()..length - CLOSE.len()];
        let calls = in_json(body, text, &self.tools);
        self.made(calls, length, events)
    }

    fn xml(&mut self, events: &mut Vec<StreamEvent>) -> bool {
        let start = self.end_of_line().unwrap_or(self.held.len());
        let body = self.held[start..].trim_start();
        // Another block, unless the text so far may become one of the tags.
        if ["<tools", "<tool"]
            .iter()
            .all(|tag| !body.starts_with(tag) && !tag.starts_with(body))
        {
            return self.pass(start, ScanState::Fence('`', 3), events);
        }
        while let Some(end) = self.held[self.searched..].find('\n') {
            let line = self.searched..self.searched + end;
            self.searched = line.end + 1;
            if closes(&self.held[line.clone()], '`', 3) {
                let calls = super::calls(
                    &self.held[start..line.start],
                    &self.held[..line.end],
                    &self.tools,
                );
                return self.made(calls, line.end, events);
            }
        }
        self.give_up_if_large(events)
    }

    /// Replaces the first `length` held bytes with calls.
    fn made(&mut self, calls: Vec<ToolUse>, length: usize, events: &mut Vec<StreamEvent>) -> bool {
        if self.may_think {
            return self.pass(length, ScanState::Line, events);
        }
        for mut call in calls {
            self.count += 1;
            call.id = format!("call_{}", self.count);
            let name = call.name.clone();
            events.push(StreamEvent::ToolUseStart { name });
            self.say(StreamEvent::ToolUse(call), events);
        }
        self.raw.extend(self.held.drain(..length));
        // The line of the closing tag continues, so nothing on it can begin a call.
        self.state = ScanState::Line;
        true
    }

    fn give_up_if_large(&mut self, events: &mut Vec<StreamEvent>) -> bool {
        // Text this long is hardly a call, so it is shown.
        if self.held.len() > MAX_HELD_BYTES {
            self.release(events);
            self.state = ScanState::Line;
        }
        false
    }

    /// Returns the first `length` held bytes as text.
    fn pass(&mut self, length: usize, next: ScanState, events: &mut Vec<StreamEvent>) -> bool {
        let text: String = self.held.drain(..length).collect();
        if !text.is_empty() {
            if matches!(self.state, ScanState::Start | ScanState::Line) {
                self.line.push_str(&text);
            }
            // Only a whole line shows which parts of it are code.
            if text.ends_with('\n') {
                self.may_think |= has_opening(&without_code_spans(&self.line));
                self.line.clear();
            }
            self.raw.push_str(&text);
            self.say(StreamEvent::Text(text), events);
        }
        self.state = next;
        !self.held.is_empty()
    }

    /// Returns all held text.
    fn release(&mut self, events: &mut Vec<StreamEvent>) {
        self.pass(self.held.len(), self.state, events);
    }

    /// Ends the answer. A complete one may lack the closing tag or fence, which many models
    /// omit.
    fn end(&mut self, whole: bool, events: &mut Vec<StreamEvent>) {
        let calls = match self.state {
            ScanState::Call if whole => {
                let body = &self.held[OPEN.len()..];
                match extent(body) {
                    Extent::Whole => in_json(body, &self.held, &self.tools),
                    _ => vec![malformed(&format!("it has no {CLOSE}"), &self.held)],
                }
            }
            ScanState::Xml if whole => {
                let start = self.end_of_line().unwrap_or(self.held.len());
                let body = self.held[start..].trim_end();
                // The closing fence may be the last line, without a line end.
                let body = body.strip_suffix("```").unwrap_or(body);
                if !body.trim_start().starts_with("<tool") {
                    return self.release(events);
                }
                super::calls(body, &self.held, &self.tools)
            }
            _ => return self.release(events),
        };
        let length = self.held.len();
        self.made(calls, length, events);
    }
}

fn is_call(event: &StreamEvent) -> bool {
    matches!(event, StreamEvent::ToolUse(_))
}

/// Returns a line without its code spans. A backtick without a partner is a character.
fn without_code_spans(line: &str) -> String {
    let mut prose = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        prose.push_str(before);
        let inner = from.trim_start_matches('`');
        let marks = &from[..from.len() - inner.len()];
        rest = match end_of_span(inner, marks.len()) {
            Some(end) => &inner[end..],
            None => {
                prose.push_str(marks);
                inner
            }
        };
    }
    prose + rest
}

/// Returns the offset after the run of exactly `length` backticks that closes a code span.
fn end_of_span(text: &str, length: usize) -> Option<usize> {
    let mut from = 0;
    while let Some(found) = text[from..].find('`') {
        let start = from + found;
        let run = text[start..].len() - text[start..].trim_start_matches('`').len();
        from = start + run;
        if run == length {
            return Some(from);
        }
    }
    None
}

/// Parses a line that opens a fence: its mark, its length, and the text after it.
fn fence(line: &str) -> Option<(char, usize, &str)> {
    let mark = line
        .chars()
        .next()
        .filter(|mark| matches!(mark, '`' | '~'))?;
    let rest = line.trim_start_matches(mark);
    let length = line.len() - rest.len();
    (length >= 3 && (mark == '~' || !rest.contains('`'))).then_some((mark, length, rest.trim()))
}

fn closes(line: &str, mark: char, length: usize) -> bool {
    let found = fence(line);
    found.is_some_and(|(it, count, info)| it == mark && count >= length && info.is_empty())
}
