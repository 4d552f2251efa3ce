//! The editor's view of a chat, and when its next frame is due.

mod cursor;
mod diagnostics;
mod fields;
mod folding;
mod folds;
mod marks;
mod outcomes;
mod queued;
mod spans;
mod statusline;
mod tasks;

use std::time::Duration;

use chat::approval::CallKey;
use chat::outcome::CallRun;
use chat::text::Lines;
use serde_json::Value;
use tokio::time::Instant;

pub(super) use self::diagnostics::diagnostic_items;
use self::fields::FieldCache;
use self::folding::Folding;
pub(super) use self::folds::must_be_seen;
use self::outcomes::Outcomes;
pub(super) use self::queued::{list_queued, queued_count};
pub(super) use self::statusline::Activity;
use self::statusline::Progress;
use self::tasks::Tasks;
use super::{FRAME, Gate};
use crate::protocol::*;

/// Lines around the visible ones that are highlighted too, so that short scrolling shows no
/// plain text.
const MARGIN: usize = 60;
/// Minimum time between two drawings of live output. Commands may print thousands of times a
/// second, and the user reads only a few lines.
const OUTPUT_EVERY: Duration = Duration::from_millis(100);
/// Width that is assumed until a window shows the chat.
const DEFAULT_WIDTH: usize = 80;

/// The state of a chat's display.
#[derive(Default)]
pub(super) struct View {
    timing: Timing,
    /// The visible lines; empty while no window shows the chat.
    visible: Lines,
    /// Width of the window in columns; 0 while it is unknown.
    width: usize,
    shown: Shown,
    outcomes: Outcomes,
    fields: FieldCache,
    tasks: Tasks,
    folds: Folding,
    last_key: LastKey,
    progress: Progress,
}

/// When the next frame is drawn.
#[derive(Default)]
struct Timing {
    /// True if something that is shown may have changed.
    is_stale: bool,
    /// The next time at which something is drawn without an input.
    draw_at: Option<Instant>,
    /// When the last frame was drawn.
    drawn: Option<Instant>,
}

/// The messages that were shown last.
#[derive(Default)]
struct Shown {
    marks: Vec<MarkItem>,
    spans: Option<Spans>,
    diagnostics: Vec<DiagnosticItem>,
    request: Option<RequestDisplay>,
    locked: bool,
    statusline: Option<Statusline>,
    queued: Option<Queued>,
    sent: Vec<SentItem>,
}

/// The place where the user last pressed one of our keys.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LastKey {
    pub(super) window: Option<WindowId>,
    pub(super) is_insert: bool,
}

impl View {
    /// Marks what is shown as stale.
    pub(super) fn redraw(&mut self) {
        self.timing.is_stale = true;
    }

    /// Draws before the next frame is due, because the text contains what the user waits for,
    /// such as calls to decide on. The pace of edits limits how often this happens.
    pub(super) fn redraw_now(&mut self) {
        self.timing.is_stale = true;
        // Then the next draw does not wait for its frame.
        self.timing.drawn = None;
    }

    /// Schedules live output, which changes all the time.
    pub(super) fn redraw_soon(&mut self) {
        self.timing
            .draw_at
            .get_or_insert_with(|| Instant::now() + OUTPUT_EVERY);
    }

    /// Delays drawing by a frame, or until what is scheduled before: what begins now may have
    /// ended by then.
    pub(super) fn wait_a_frame(&mut self) {
        let next = Instant::now() + FRAME;
        let next = self.timing.draw_at.map_or(next, |at| at.min(next));
        self.timing.drawn = next.checked_sub(FRAME);
    }

    /// Begins a frame if it may be drawn now; otherwise schedules it.
    pub(super) fn begin_frame(&mut self) -> Gate {
        let now = Instant::now();
        let next = self.timing.drawn.map(|at| at + FRAME);
        // Without a window nothing is drawn, so no later frame has to wait.
        if self.visible.end > 0 {
            if let Some(next) = next.filter(|next| *next > now) {
                self.redraw_at(next);
                return Gate::Waiting;
            }
            self.timing.drawn = Some(now);
        }
        self.timing.is_stale = false;
        Gate::Ready
    }

    /// Schedules the rest of what is stale for the next frame.
    fn redraw_next(&mut self) {
        self.redraw_at(Instant::now() + FRAME);
    }

    /// Schedules a drawing for `next` at the latest.
    fn redraw_at(&mut self, next: Instant) {
        // The earlier of two times, so that a later wish delays nothing.
        let at = self.timing.draw_at.map_or(next, |at| at.min(next));
        self.timing.draw_at = Some(at);
    }

    /// Returns when something is drawn without an input.
    pub(super) fn next_draw(&self) -> Option<Instant> {
        self.timing.draw_at
    }

    /// Marks what is shown as stale if a scheduled drawing is due.
    pub(super) fn note_time(&mut self) {
        let due = &mut self.timing.draw_at;
        if due.take_if(|at| *at <= Instant::now()).is_some() {
            self.redraw();
        }
    }

    /// Returns true if what is shown may have changed.
    pub(super) fn is_stale(&self) -> bool {
        self.timing.is_stale
    }

    pub(super) fn set_width(&mut self, width: usize) {
        self.width = width;
        self.redraw();
    }

    /// Returns the width that previews are made for.
    pub(super) fn width(&self) -> usize {
        match self.width {
            // No window has shown the chat so far.
            0 => DEFAULT_WIDTH,
            width => width,
        }
    }

    pub(super) fn set_viewport(&mut self, viewport: &Viewport) {
        self.visible = viewport.first..viewport.last;
        self.set_width(viewport.width);
    }

    /// Returns the visible lines and some around them; `None` while no window shows the
    /// chat.
    pub(super) fn lines(&self) -> Option<Lines> {
        let Lines { start, end } = self.visible;
        // Some lines more, so that scrolling a little shows no unmarked text.
        // The lower margin may exceed the text; those who use the lines cut it off.
        (end > 0).then(|| start.saturating_sub(MARGIN)..end + MARGIN)
    }

    /// Remembers where a key was pressed, so that the cursor moves only there.
    pub(super) fn set_last_key(&mut self, window: WindowId, is_insert: bool) {
        self.last_key = LastKey {
            window: Some(window),
            is_insert,
        };
    }

    pub(super) fn last_key(&self) -> LastKey {
        self.last_key
    }

    /// Follows a change of the text: `count` lines replaced `lines`.
    pub(super) fn follow_change(&mut self, lines: &Lines, count: usize) {
        self.folds.changed(lines, count);
    }

    /// Forgets all folds, because the whole text was replaced.
    pub(super) fn forget_folds(&mut self) {
        // The new state counts as never sent, so all folds are sent again.
        self.folds = Folding::default();
    }

    /// Requests that all folds are sent again, because their options changed.
    pub(super) fn resend_folds(&mut self) {
        self.folds.begin_again();
    }

    /// Notes how a call ended, and the task list in its details.
    pub(super) fn call_ended(&mut self, call: &CallKey, run: CallRun, details: Option<&Value>) {
        self.outcomes.ended(call, run);
        self.tasks.update(details);
        self.redraw();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_begins_delays_a_drawing_by_one_frame_at_most() {
        let mut view = View {
            visible: 0..10,
            ..View::default()
        };
        view.redraw_now();
        view.wait_a_frame();
        assert_eq!(view.begin_frame(), Gate::Waiting);
        advance(FRAME / 2).await;
        view.redraw_now();
        view.wait_a_frame();
        assert_eq!(view.begin_frame(), Gate::Waiting);
        advance(FRAME / 2).await;
        view.note_time();
        assert!(view.is_stale());
        assert_eq!(view.begin_frame(), Gate::Ready);
    }
}
