//! Highlights of the visible lines.

use chat::document::Document;

use crate::protocol::{Display, Spans};
use crate::session::Session;

impl Session {
    /// Returns the highlights of the visible lines, each relative to its line.
    pub(super) fn visible_spans(&self, document: &Document<'_>) -> Spans {
        let visible = self.view.lines().unwrap_or_default();
        let (first, last) = (
            visible.start,
            visible.end.min(self.buffer.text().line_count()),
        );
        let mut lines = vec![Vec::new(); last.saturating_sub(first)];
        for span in chat::spans::spans(document, first..last) {
            let end = span.end.map_or(-1, |end| i64::try_from(end).unwrap_or(-1));
            lines[span.line - first].push((span.start, end, span.group));
        }
        let is_tool = |name: &str| self.shared.registry.get(name).is_some();
        for mention in chat::address::mentions(document, &(first..last), is_tool) {
            let end = i64::try_from(mention.columns.end).unwrap_or(-1);
            lines[mention.line - first].push((mention.columns.start, end, "FlemmaToolName"));
        }
        Spans {
            buffer: self.buffer.id(),
            seq: self.buffer.seq(),
            first,
            last,
            lines,
        }
    }

    /// Sends highlights that differ from those that were sent.
    pub(super) fn show_spans(&mut self, spans: Spans) {
        let is_same = |shown: &Spans| {
            shown.first == spans.first && shown.last == spans.last && shown.lines == spans.lines
        };
        if self.view.visible.end == 0 || self.view.shown.spans.as_ref().is_some_and(is_same) {
            return;
        }
        self.editor.show(Display::Spans(spans.clone()));
        self.view.shown.spans = Some(spans);
    }
}
