//! Draws the marks, highlights, and messages around the text: computes them from the document
//! and sends those that changed.

use chat::diagnostic::{Diagnostic, Severity};
use chat::document::Document;

use crate::protocol::*;
use crate::session::Session;

impl Session {
    /// Sends everything that changed since the last frame, if one is due.
    pub(crate) fn show(&mut self) {
        // While an edit is in flight, or pieces of the text are missing, the mirror is not
        // what the editor shows.
        if !self.view.is_due() || self.buffer.is_loading() || self.buffer.is_busy() {
            return;
        }
        // The lock does not wait for a frame: until it is set, the user may type into the text.
        self.show_lock();
        // The text stays stale, and the frame that was scheduled draws it.
        if !self.view.takes_its_turn() {
            return;
        }
        self.view.timing.is_stale = false;
        self.draw();
    }

    fn draw(&mut self) {
        // All is computed from one version of the text, before anything is sent.
        let folds_wait = self.folds_wait();
        let document = self.buffer.document();
        let (marks, unexplained) = self.mark_items(&document);
        self.view.folds.follow_arguments(&marks);
        let spans = self.visible_spans(&document);
        let diagnostics = self.diagnostic_items(&document);
        let seen = self.must_be_seen(&marks, &diagnostics);
        let folds = (!folds_wait).then(|| self.fold_news(&document, &marks, &seen));
        self.show_marks(marks);
        self.show_sent();
        self.show_queued();
        self.show_spans(spans);
        self.show_folds(folds.flatten());
        self.show_unfolded(seen);
        // A partial answer is full of blocks that are not closed yet.
        if !self.request.is_open() {
            self.show_diagnostics(diagnostics);
        }
        // Last, because the status line makes the editor draw at once.
        let request = self.show_request();
        self.show_statusline(&request);
        self.explain(unexplained);
    }

    /// Returns the problems of the document, the frontmatter, and references.
    fn diagnostic_items(&self, document: &Document<'_>) -> Vec<DiagnosticItem> {
        let mut items: Vec<_> = document.diagnostics.iter().map(diagnostic_item).collect();
        items.extend(self.frontmatter_remarks());
        items.extend(self.reference_remarks());
        items.extend(self.sent_remark());
        items
    }

    fn show_diagnostics(&mut self, items: Vec<DiagnosticItem>) {
        if items != self.view.shown.diagnostics {
            let buffer = self.buffer.id();
            self.view.shown.diagnostics.clone_from(&items);
            self.editor
                .show(Display::Diagnostics(Diagnostics { buffer, items }));
        }
    }

    /// Locks the text while calls run, if the user wants that.
    fn show_lock(&mut self) {
        let locked = self.policy.rules().settings.tools.lock_buffer && !self.calls.is_empty();
        if locked != self.view.shown.locked {
            let buffer = self.buffer.id();
            self.editor
                .show(Display::Lock(BufferLock { buffer, locked }));
            self.view.shown.locked = locked;
        }
    }
}

fn diagnostic_item(diagnostic: &Diagnostic) -> DiagnosticItem {
    DiagnosticItem {
        line: diagnostic.lines.start,
        end_line: diagnostic.lines.end,
        message: diagnostic.message.clone(),
        severity: match diagnostic.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        fix: diagnostic.fix.as_ref().map(|fix| fix.title.clone()),
    }
}
