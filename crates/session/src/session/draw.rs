//! Draws the marks, highlights, and messages around the text: has the parts compute them from the
//! document, and the view send those that changed.

use super::view::{Activity, diagnostic_items, must_be_seen};
use super::{Gate, Session};

impl Session {
    /// Sends everything that changed since the last frame, if one is due.
    pub(super) fn show(&mut self) {
        self.view.note_time();
        // While an edit is in flight, or pieces of the text are missing, the mirror is not
        // what the editor shows.
        if !self.view.is_stale() || self.ctx.buffer.is_loading() || self.ctx.buffer.is_busy() {
            return;
        }
        // The lock does not wait for a frame: until it is set, the user may type into the text.
        self.view.show_lock(&self.ctx, !self.calls.is_empty());
        // The text stays stale, and the frame that was scheduled draws it.
        if self.view.begin_frame() == Gate::Ready {
            self.draw();
        }
    }

    fn draw(&mut self) {
        // All is computed from one version of the text, before anything is sent.
        let folds_wait = self.view.schedule_folds() == Gate::Waiting;
        let is_idle = self.is_idle();
        let (ctx, view, calls) = (&self.ctx, &mut self.view, &mut self.calls);
        let document = ctx.buffer.document();
        let width = view.width();
        let visible = view.lines().unwrap_or_default();
        let (open, unexplained) = calls.open_calls(ctx, &document, width, &visible);
        let mut marks = view.mark_items(ctx, &document, open, |call| {
            !calls.changed_files(ctx, call, None).is_empty()
        });
        marks.extend(calls.changes_item(ctx, &document, width));
        view.follow_arguments(&marks);
        let spans = view.visible_spans(ctx, &document);
        let mut diagnostics = diagnostic_items(&document);
        diagnostics.extend(self.policy.remarks(ctx));
        diagnostics.extend(self.request.line_remarks(ctx));
        let is_answering = self.request.is_open();
        let seen = must_be_seen(&marks, &diagnostics, is_answering);
        let folds = (!folds_wait).then(|| view.fold_news(ctx, &document, &marks, &seen));
        view.show_marks(ctx, marks);
        view.show_sent(ctx, self.request.sent_marks());
        view.show_queued(ctx, is_idle);
        view.show_spans(ctx, spans);
        view.show_folds(ctx, folds.flatten());
        view.fold_above(ctx, self.request.current_summary());
        view.show_unfolded(ctx, seen, is_answering);
        // A partial answer is full of blocks that are not closed yet.
        if !is_answering {
            view.show_diagnostics(ctx, diagnostics);
        }
        // Last, because the status line makes the editor draw at once.
        view.show_activity(
            ctx,
            &Activity {
                request: self.request.progress(),
                sent_tokens: self.request.sent_tokens(),
                running: calls.running_count(),
                waits_for_tools: self.queue.is_waiting_for_tools(),
                is_elsewhere: self.disk.is_elsewhere(),
            },
        );
        calls.explain(ctx, unexplained);
    }
}
