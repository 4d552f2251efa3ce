//! Ignores a key that comes before a call can have been read, because it was meant for
//! something else. The same key pressed again is meant for the call; a key that is held is not.

use std::time::{Duration, Instant};

use chat::approval::CallKey;
use chat::document::{Document, PairedCall};
use chat::marks::{self, Mark};

use super::Calls;
use super::covers;
use crate::protocol::{Action, Choice, EditorCommand};
use crate::session::ctx::Ctx;

/// Longest time between two repetitions of a held key: 10 per second. Usual are 25 or more.
const REPETITION: Duration = Duration::from_millis(100);
/// Longest time until a held key is repeated for the first time: 660 ms in X11, less elsewhere.
const HELD: Duration = Duration::from_millis(700);

/// The last key that came too early, and when the last answer ended.
#[derive(Debug, Default)]
pub(super) struct FirstLook {
    /// When a key that decides was pressed or repeated last.
    pressed: Option<Instant>,
    /// How many times in a row it was repeated.
    repetitions: usize,
    /// True if the last press may have been the first repetition of one that came too early.
    may_be_held: bool,
    /// The calls that the key would have run.
    refused: Vec<CallKey>,
    /// When the calls without a placeholder appeared.
    answered: Option<Instant>,
}

impl FirstLook {
    /// Notes a key that decides; `unread` are the calls that it would run and that could not be
    /// read yet. Returns true if it does not count.
    fn press(&mut self, unread: Vec<CallKey>, now: Instant) -> bool {
        let gap = self.pressed.replace(now).map(|before| now - before);
        let since = |time: Duration| gap.is_some_and(|gap| gap < time);
        self.repetitions = if since(REPETITION) {
            self.repetitions + 1
        } else {
            0
        };
        if unread.is_empty() {
            (self.may_be_held, self.refused) = (false, unread);
            // Two quick presses may be about two calls.
            return self.repetitions > 1;
        }
        if self.repetitions > 0 {
            self.may_be_held = false;
            return true;
        }
        // Calls for which a press before was ignored count as read.
        let is_second = unread.iter().all(|call| self.refused.contains(call));
        if is_second && (self.may_be_held || !since(HELD)) {
            (self.may_be_held, self.refused) = (false, Vec::new());
            return false;
        }
        self.may_be_held = is_second;
        self.refused = unread;
        true
    }

    /// Notes that an answer ended: its calls can be read from now on.
    pub(super) fn answered(&mut self) {
        self.answered = Some(Instant::now());
    }
}

impl Calls {
    /// Holds back a key that came before the calls that it would run could be read, or is held. A
    /// second press counts, but it needs to be told from the repetitions of a held key: if it comes
    /// as soon as the first of these may, the third one counts.
    pub(crate) fn hold_back(&mut self, ctx: &Ctx, command: &EditorCommand) -> bool {
        let delay = ctx.shared.settings.tools.review_delay;
        if delay == 0 || ctx.editor.is_headless() {
            return false;
        }
        let document = ctx.buffer.document();
        let marks = marks::marks(&document, &ctx.cycle, &(), 1);
        let answered = self.first_look.answered;
        let is_unread = |call: &CallKey| match marks.iter().find(|it| it.call == *call) {
            // A status that the user typed is already a decision.
            Some(mark) if !mark.pending => false,
            Some(mark) => {
                let drawn = command.drawn_ms.get(&mark.key);
                drawn.is_none_or(|ms| *ms < delay)
            }
            // Nothing is drawn without a placeholder; the call can be read in the answer.
            None => answered.is_some_and(|at| at.elapsed() < Duration::from_millis(delay)),
        };
        let mut unread = meant(command, &document, &marks);
        if unread.is_empty() {
            return false;
        }
        unread.retain(is_unread);
        self.first_look.press(unread, Instant::now())
    }
}

/// Returns the calls that a key would run as the user's own decision.
fn meant(command: &EditorCommand, document: &Document<'_>, marks: &[Mark]) -> Vec<CallKey> {
    let pending = || {
        let pending = marks.iter().filter(|it| it.pending);
        pending.map(|it| it.call.clone()).collect()
    };
    match &command.action {
        Action::Approve(Some(word)) if word == "all" => pending(),
        // The window shows one of them, and takes no key before that can be read.
        Action::Decide(_, Choice::RunAll) => pending(),
        Action::Resolve | Action::Approve(_) => match call_at(document, command.line) {
            Some(call) => vec![call],
            None => pending(),
        },
        _ => Vec::new(),
    }
}

/// Returns the unanswered call whose blocks cover a line.
fn call_at(document: &Document<'_>, line: usize) -> Option<CallKey> {
    let turn = document.turn_at(line)?;
    let is_here = |call: &&PairedCall<'_>| !call.is_answered() && covers(call, line);
    let call = turn.calls.iter().find(is_here)?;
    Some(chat::cycle::key(document, call.tool_use))
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat::tool::ToolUseId;

    /// Returns which of these presses count, given the milliseconds before each of them and
    /// whether the call could be read by then.
    fn presses(presses: &[(u64, bool)]) -> Vec<bool> {
        let mut look = FirstLook::default();
        let call = CallKey {
            id: ToolUseId::new("t_1"),
            name: "bash".to_owned(),
            input: "{}".to_owned(),
        };
        let mut now = Instant::now();
        let press = |(gap, is_read): &(u64, bool)| {
            now += Duration::from_millis(*gap);
            let unread = if *is_read { vec![] } else { vec![call.clone()] };
            !look.press(unread, now)
        };
        presses.iter().map(press).collect()
    }

    #[test]
    fn a_held_key_never_counts_and_another_press_does() {
        let held = [
            (0, false),
            (500, false),
            (33, false),
            (33, true),
            (33, true),
        ];
        assert_eq!(presses(&held), [false; 5]);
        let fast = [(0, false), (250, false), (30, false), (800, false)];
        assert_eq!(presses(&fast), [false, false, false, true]);
        assert_eq!(presses(&[(0, false), (900, false)]), [false, true]);
        assert_eq!(
            presses(&[(0, false), (300, false), (300, false)]),
            [false, false, true]
        );
        assert_eq!(presses(&[(0, true), (200, true)]), [true, true]);
        let many = [(0, true), (33, true), (33, true), (33, true)];
        assert_eq!(presses(&many), [true, true, false, false]);
    }
}
