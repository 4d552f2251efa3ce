//! Marks beside calls: previews, spinners, live output, and questions.

use chat::approval::CallKey;
use chat::document::Document;

use super::View;
use crate::protocol::{Display, MarkItem, Marks};
use crate::session::calls::OpenCall;
use crate::session::ctx::Ctx;

impl View {
    /// Returns the marks of calls without a result, with their fields, and those of visible calls and
    /// results. `changes_files` tells of a call whether its diff will follow.
    pub(in crate::session) fn mark_items(
        &self,
        ctx: &Ctx,
        document: &Document<'_>,
        open: Vec<OpenCall>,
        changes_files: impl Fn(&CallKey) -> bool,
    ) -> Vec<MarkItem> {
        let open = open.into_iter().map(|call| {
            let mut item = call.item;
            // What was shown stays so, also out of sight: its fold may be closed.
            let mut shown = self.shown.marks.iter();
            if call.is_visible || shown.any(|it| it.id == item.id && it.json.is_some()) {
                self.add_fields(ctx, &mut item, &call.mark, &changes_files);
            }
            item
        });
        let mut items: Vec<MarkItem> = open.collect();
        items.extend(self.outcome_items(ctx, document));
        items.extend(self.field_items(ctx, document));
        items
    }

    /// Sends the marks, if they differ from those that were sent.
    pub(in crate::session) fn show_marks(&mut self, ctx: &Ctx, items: Vec<MarkItem>) {
        // The editor counts the time itself, so a change of the time alone sends nothing.
        let untimed = |item: &MarkItem| MarkItem {
            elapsed_ms: None,
            ..item.clone()
        };
        let is_same = |(a, b): (&MarkItem, &MarkItem)| untimed(a) == untimed(b);
        let shown = &self.shown.marks;
        if shown.len() == items.len() && shown.iter().zip(&items).all(is_same) {
            return;
        }
        let buffer = ctx.buffer.id();
        self.shown.marks.clone_from(&items);
        ctx.editor.show(Display::Marks(Marks { buffer, items }));
    }
}
