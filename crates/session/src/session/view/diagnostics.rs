//! The problems of a document, and the lock of its text.

use chat::document::Document;
use chat::document::{Diagnostic, Severity};

use super::View;
use crate::protocol::{BufferLock, DiagnosticItem, Diagnostics, Display, SentItem, SentItems};
use crate::session::ctx::Ctx;

impl View {
    /// Sends the problems, if they changed.
    pub(in crate::session) fn show_diagnostics(&mut self, ctx: &Ctx, items: Vec<DiagnosticItem>) {
        if items != self.shown.diagnostics {
            let buffer = ctx.buffer.id();
            self.shown.diagnostics.clone_from(&items);
            ctx.editor
                .show(Display::Diagnostics(Diagnostics { buffer, items }));
        }
    }

    /// Shows at references what was sent.
    pub(in crate::session) fn show_sent(&mut self, ctx: &Ctx, items: &[SentItem]) {
        if self.shown.sent != items {
            let buffer = ctx.buffer.id();
            let items = items.to_vec();
            self.shown.sent.clone_from(&items);
            ctx.editor.show(Display::Sent(SentItems { buffer, items }));
        }
    }

    /// Locks the text while calls run, if the user wants that.
    pub(in crate::session) fn show_lock(&mut self, ctx: &Ctx, are_calls_running: bool) {
        let locked = ctx.rules().settings.tools.lock_buffer && are_calls_running;
        if locked != self.shown.locked {
            let buffer = ctx.buffer.id();
            ctx.editor
                .show(Display::Lock(BufferLock { buffer, locked }));
            self.shown.locked = locked;
        }
    }
}

/// Returns the problems of the document.
pub(in crate::session) fn diagnostic_items(document: &Document<'_>) -> Vec<DiagnosticItem> {
    let item = |it: &Diagnostic| DiagnosticItem {
        line: it.lines.start,
        end_line: it.lines.end,
        message: it.message.clone(),
        severity: match it.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        },
        fix: it.fix.as_ref().map(|fix| fix.title.clone()),
    };
    document.diagnostics.iter().map(item).collect()
}
