//! Separates thinking that a model marks with tags in its text, such as `<think>`.
//!
//! A tag counts outside of code: an answer about tags writes them in backticks or fences. A
//! closing tag without an opening one shows that the text before it was thinking, because
//! some chat templates begin inside the thinking.

use crate::{
    StreamEvent,
    content::MAX_HELD_BYTES,
    tag_spellings::{FIRST, TagFound, begins_with, tag_at},
    text_tools,
};

/// Separates the thinking in the text of one answer.
#[derive(Debug, Default)]
pub(crate) struct ThinkingTags {
    state: TagState,
    /// Received text that is not decided yet.
    buffered: String,
    /// Decided text that is not returned yet.
    text: String,
    /// True if the current line has more than blanks.
    in_line: bool,
    /// Length of the backticks that opened a code span on this line.
    span: Option<usize>,
    /// Mark and length of the open fence.
    fence: Option<(char, usize)>,
    /// True if a tag came right before, so that line ends are not part of the text.
    is_behind_tag: bool,
    /// True if text was returned since the last event of another kind.
    has_text: bool,
}

#[derive(Debug, Default)]
enum TagState {
    /// In the text of the answer.
    #[default]
    Text,
    /// In a call that is written as text, whose arguments may contain tags.
    Call,
    Thinking(OpenTag),
}

/// Thinking that is not closed yet.
#[derive(Debug)]
struct OpenTag {
    closing: &'static str,
    opening: String,
    /// Number of further tags that were opened inside.
    depth: usize,
    /// True if any thinking was returned.
    shown: bool,
    /// True if the current line has more than blanks.
    in_line: bool,
    /// Blanks that are dropped unless more thinking follows.
    blanks: String,
}

impl ThinkingTags {
    /// Handles an event and adds what it became to `events`.
    pub(crate) fn accept(&mut self, event: StreamEvent, events: &mut Vec<StreamEvent>) {
        match event {
            StreamEvent::Text(text) => {
                self.buffered.push_str(&text);
                while self.step(false, events) {}
                self.say(events);
            }
            // They may come between two pieces of a text.
            StreamEvent::Usage(_) | StreamEvent::Remark(_) => events.push(event),
            other => {
                self.finish(events);
                events.push(other);
            }
        }
    }

    /// Ends the text, because an event of another kind follows.
    fn finish(&mut self, events: &mut Vec<StreamEvent>) {
        while self.step(true, events) {}
        self.say(events);
        if let TagState::Thinking(open) = std::mem::take(&mut self.state) {
            open.close(events);
        }
        self.begin_block();
    }

    fn begin_block(&mut self) {
        self.in_line = false;
        self.span = None;
        self.fence = None;
        self.is_behind_tag = false;
        self.has_text = false;
    }

    /// Returns the decided text.
    fn say(&mut self, events: &mut Vec<StreamEvent>) {
        if !self.text.is_empty() {
            self.has_text = true;
            events.push(StreamEvent::Text(std::mem::take(&mut self.text)));
        }
    }

    /// Decides the beginning of the buffered text; `is_last` if no more follows. Returns true if
    /// there may be more to decide.
    fn step(&mut self, is_last: bool, events: &mut Vec<StreamEvent>) -> bool {
        if self.buffered.is_empty() {
            return false;
        }
        match &mut self.state {
            TagState::Text => self.text_step(is_last, events),
            TagState::Call => self.call_step(is_last),
            TagState::Thinking(open) => {
                let is_closed = open.step(&mut self.buffered, is_last, events);
                if is_closed {
                    self.state = TagState::Text;
                    self.begin_block();
                    self.is_behind_tag = true;
                }
                is_closed
            }
        }
    }

    fn text_step(&mut self, is_last: bool, events: &mut Vec<StreamEvent>) -> bool {
        if self.is_behind_tag {
            let length = self.buffered.len() - self.buffered.trim_start_matches(['\n', '\r']).len();
            self.buffered.drain(..length);
            self.is_behind_tag = self.buffered.is_empty();
        }
        let is_special = |c: char| FIRST.contains(&c) || matches!(c, '`' | '~' | '\n');
        let plain = self
            .buffered
            .find(is_special)
            .unwrap_or(self.buffered.len());
        self.pass(plain);
        match self.buffered.chars().next() {
            None => false,
            Some('\n') => {
                self.pass(1);
                self.in_line = false;
                self.span = None;
                true
            }
            Some(mark @ ('`' | '~')) => self.code_step(mark, is_last),
            Some(first) if self.fence.is_some() || self.span.is_some() => {
                self.pass(first.len_utf8());
                true
            }
            Some(first) => self.tag_step(first, is_last, events),
        }
    }

    /// Moves the first `length` buffered bytes to the decided text.
    fn pass(&mut self, length: usize) {
        let text = &self.buffered[..length];
        self.in_line |= !text.trim().is_empty();
        self.text.push_str(text);
        self.buffered.drain(..length);
    }

    /// Decides about a run of backticks or tildes.
    fn code_step(&mut self, mark: char, is_last: bool) -> bool {
        let length = self.buffered.len() - self.buffered.trim_start_matches(mark).len();
        let line = self.buffered.find('\n');
        let may_fence = !self.in_line;
        // More of the run may follow, and the rest of the line decides about a fence.
        let is_open = length == self.buffered.len() || may_fence && length >= 3 && line.is_none();
        if is_open && !is_last {
            return false;
        }
        let rest = &self.buffered[length..line.unwrap_or(self.buffered.len())];
        match self.fence {
            Some(open)
                if may_fence && open.0 == mark && length >= open.1 && rest.trim().is_empty() =>
            {
                self.fence = None;
            }
            Some(_) => {}
            None if may_fence && length >= 3 && (mark == '~' || !rest.contains('`')) => {
                self.fence = Some((mark, length));
            }
            None if mark == '`' => {
                self.span = match self.span {
                    None => Some(length),
                    Some(open) => Some(open).filter(|open| *open != length),
                };
            }
            None => {}
        }
        self.pass(length);
        true
    }

    /// Decides about a character that may begin a tag, outside of code.
    fn tag_step(&mut self, first: char, is_last: bool, events: &mut Vec<StreamEvent>) -> bool {
        if !self.in_line {
            match begins_with(&self.buffered, text_tools::OPEN) {
                Some(true) => {
                    self.state = TagState::Call;
                    return true;
                }
                Some(false) if !is_last => return false,
                Some(false) | None => {}
            }
        }
        match tag_at(&self.buffered) {
            TagFound::Partial if !is_last => return false,
            TagFound::Partial | TagFound::Nothing => self.pass(first.len_utf8()),
            TagFound::Dropped(length) => drop(self.buffered.drain(..length)),
            TagFound::Closing(length) => {
                self.buffered.drain(..length);
                self.say(events);
                if self.has_text {
                    events.push(StreamEvent::TextWasThinking);
                }
                self.begin_block();
                self.is_behind_tag = true;
            }
            TagFound::Opening(length, closing) => match self.opens(length, closing, is_last) {
                None => return false,
                Some(false) => self.pass(length),
                Some(true) => self.open(length, closing, events),
            },
        }
        true
    }

    /// Returns true if an opening tag begins thinking, and `None` if that is not known yet.
    /// In the middle of a line it does if the line ends there, or the thinking does.
    fn opens(&self, length: usize, closing: &str, is_last: bool) -> Option<bool> {
        if !self.in_line {
            return Some(true);
        }
        let behind = &self.buffered[length..];
        match behind.split_once('\n') {
            Some((line, _)) => Some(line.trim().is_empty() || find(line, closing).is_some()),
            None if find(behind, closing).is_some() => Some(true),
            None => is_last.then_some(false),
        }
    }

    fn open(&mut self, length: usize, closing: &'static str, events: &mut Vec<StreamEvent>) {
        self.say(events);
        self.state = TagState::Thinking(OpenTag {
            closing,
            opening: self.buffered.drain(..length).collect(),
            depth: 0,
            shown: false,
            in_line: false,
            blanks: String::new(),
        });
    }

    /// Passes a call on as a whole.
    fn call_step(&mut self, is_last: bool) -> bool {
        let length = text_tools::call_length(&self.buffered);
        let is_large = self.buffered.len() > MAX_HELD_BYTES;
        let Some(length) = length.or((is_last || is_large).then_some(self.buffered.len())) else {
            return false;
        };
        self.state = TagState::Text;
        self.pass(length);
        true
    }
}

impl OpenTag {
    /// Returns the thinking in `buffered` up to the closing tag; true if it was found.
    fn step(
        &mut self,
        buffered: &mut String,
        is_last: bool,
        events: &mut Vec<StreamEvent>,
    ) -> bool {
        while !buffered.is_empty() {
            let plain = buffered.find(FIRST).unwrap_or(buffered.len());
            self.think(&buffered[..plain], events);
            buffered.drain(..plain);
            let closes = begins_with(buffered, self.closing);
            // A mention in the middle of a line opens nothing.
            let opens = begins_with(buffered, &self.opening).filter(|_| !self.in_line);
            match (closes, opens) {
                (Some(true), _) => {
                    buffered.drain(..self.closing.len());
                    if self.depth == 0 {
                        self.close(events);
                        return true;
                    }
                    self.depth -= 1;
                }
                (_, Some(true)) => {
                    buffered.drain(..self.opening.len());
                    self.depth += 1;
                }
                // The rest may be a tag.
                (Some(false), _) | (_, Some(false)) if !is_last => return false,
                _ => {
                    let first: String = buffered.drain(..first_length(buffered)).collect();
                    self.think(&first, events);
                }
            }
        }
        false
    }

    fn think(&mut self, text: &str, events: &mut Vec<StreamEvent>) {
        self.in_line = match text.rsplit_once('\n') {
            Some((_, line)) => !line.trim().is_empty(),
            None => self.in_line || !text.trim().is_empty(),
        };
        let text = if self.shown {
            text
        } else {
            // Blanks before the first word are not part of the thinking.
            text.trim_start()
        };
        let words = text.trim_end();
        if !words.is_empty() {
            self.shown = true;
            let blanks = std::mem::take(&mut self.blanks);
            events.push(StreamEvent::Thinking(blanks + words));
        }
        self.blanks.push_str(&text[words.len()..]);
    }

    fn close(&self, events: &mut Vec<StreamEvent>) {
        if self.shown {
            events.push(StreamEvent::ThinkingEnd { signature: None });
        }
    }
}

/// Returns the length of the first character.
fn first_length(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Finds a tag, whatever the case of its letters.
fn find(text: &str, tag: &str) -> Option<usize> {
    let mut starts = text.match_indices(FIRST).map(|(at, _)| at);
    starts.find(|at| begins_with(&text[*at..], tag) == Some(true))
}
