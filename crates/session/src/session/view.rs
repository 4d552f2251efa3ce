//! What the editor was shown last, and when something is to be drawn next.

use std::time::Duration;

use chat::text::Lines;
use tokio::time::Instant;

use super::FRAME;
use super::folding::Folding;
use super::outcomes::Outcomes;
use super::tasks::Tasks;
use crate::protocol::*;

/// Lines around the visible ones that are highlighted as well, so that scrolling
/// a little shows no bare text.
const MARGIN: usize = 60;
/// Live output is drawn no more often than this.
const OUTPUT_EVERY: Duration = Duration::from_millis(100);

/// What the editor shows of a chat, and where.
#[derive(Default)]
pub(super) struct View {
    pub(super) timing: Timing,
    first: usize,
    last: usize,
    pub(super) width: usize,
    /// What was shown last.
    pub(super) shown: Shown,
    pub(super) outcomes: Outcomes,
    pub(super) tasks: Tasks,
    pub(super) folds: Folding,
    /// Where the user last pressed a key of ours.
    pub(super) cursor: LastKey,
}

/// When something is drawn.
#[derive(Default)]
pub(super) struct Timing {
    /// Whether something that is shown may have changed.
    pub(super) stale: bool,
    /// When something that has to wait is to be drawn.
    pub(super) draw_at: Option<Instant>,
    drawn: Option<Instant>,
}

/// What was shown last.
#[derive(Default)]
pub(super) struct Shown {
    pub(super) marks: Vec<MarkItem>,
    pub(super) spans: Option<Spans>,
    pub(super) diagnostics: Vec<DiagnosticItem>,
    pub(super) request: Option<Request>,
    pub(super) locked: bool,
    pub(super) statusline: Option<Statusline>,
    pub(super) queued: Option<Queued>,
}

/// The window of the last key, and whether it was in Insert mode.
#[derive(Default)]
pub(super) struct LastKey {
    pub(super) window: Option<WindowId>,
    pub(super) insert: bool,
}

impl View {
    /// Something that is shown may have changed.
    pub(super) fn redraw(&mut self) {
        self.timing.stale = true;
    }

    /// Has the text drawn without waiting for the next frame: it has what the user waits
    /// for, such as calls to decide on. [`super::pace`] limits how often this happens.
    pub(super) fn redraw_now(&mut self) {
        self.timing.stale = true;
        self.timing.drawn = None;
    }

    /// Something that changes all the time has changed.
    pub(super) fn redraw_soon(&mut self) {
        self.timing
            .draw_at
            .get_or_insert_with(|| Instant::now() + OUTPUT_EVERY);
    }

    /// What starts now may have ended within the frame: it is not drawn before that.
    pub(super) fn wait_a_frame(&mut self) {
        // One frame, however much else starts in it.
        if self.timing.draw_at.is_none() {
            self.timing.drawn = Some(Instant::now());
        }
    }

    /// Whether the frame is over in which was drawn last; else it is drawn then.
    pub(super) fn takes_its_turn(&mut self) -> bool {
        // What is shown in no window yet is not drawn, and so keeps no frame waiting.
        if self.last == 0 {
            return true;
        }
        let now = Instant::now();
        let Some(next) = self
            .timing
            .drawn
            .map(|at| at + FRAME)
            .filter(|at| *at > now)
        else {
            self.timing.drawn = Some(now);
            return true;
        };
        self.timing.draw_at = Some(self.timing.draw_at.map_or(next, |at| at.min(next)));
        false
    }

    /// There is more to draw than one frame is to hold.
    pub(super) fn redraw_next(&mut self) {
        self.redraw_at(Instant::now() + FRAME);
    }

    /// There is something to draw then.
    pub(super) fn redraw_at(&mut self, next: Instant) {
        self.timing.draw_at = Some(self.timing.draw_at.map_or(next, |at| at.min(next)));
    }

    pub(super) fn next_draw(&self) -> Option<Instant> {
        self.timing.draw_at
    }

    pub(super) fn set_width(&mut self, width: usize) {
        self.width = width;
        self.timing.stale = true;
    }

    pub(super) fn look_at(&mut self, viewport: Viewport) {
        self.first = viewport.first;
        self.last = viewport.last;
        self.set_width(viewport.width);
    }

    /// The visible lines and some round them; none while no window shows the chat.
    pub(super) fn lines(&self) -> Option<Lines> {
        (self.last > 0).then(|| self.first.saturating_sub(MARGIN)..self.last + MARGIN)
    }
}
