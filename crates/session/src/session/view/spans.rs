//! Highlights of the visible lines.

use chat::document::{Document, ToolResultBlock};
use chat::preview::Describe;
use chat::spans::{Language, Region, regions};
use chat::text::Lines;

use super::View;
use crate::protocol::{Display, Spans};
use crate::session::ctx::Ctx;

/// Maximum visible lines with regions; if there are more, because most are in closed folds, text has
/// no colors.
const MOST_VISIBLE: usize = 3000;
/// Maximum lines of a call whose arguments are read for each frame.
const MOST_LINES: usize = 50;

impl View {
    /// Returns the highlights of the visible lines, each relative to its line.
    pub(in crate::session) fn visible_spans(&self, ctx: &Ctx, document: &Document<'_>) -> Spans {
        let visible = self.lines().unwrap_or_default();
        let (first, last) = (
            visible.start,
            // Lines may have been deleted since Neovim reported the window.
            visible.end.min(ctx.buffer.text().line_count()),
        );
        let mut lines = vec![Vec::new(); last.saturating_sub(first)];
        for span in chat::spans::spans(document, first..last) {
            // In Neovim's API, -1 is the end of the line.
            let end = span.end.map_or(-1, |end| i64::try_from(end).unwrap_or(-1));
            lines[span.line - first].push((span.start, end, span.group));
        }
        // `@` before a name that is not a tool's has no meaning.
        let is_tool = |name: &str| ctx.shared.registry.get(name).is_some();
        for mention in chat::address::mentions(document, &(first..last), is_tool) {
            let end = i64::try_from(mention.columns.end).unwrap_or(-1);
            lines[mention.line - first].push((mention.columns.start, end, "FlemmaToolName"));
        }
        Spans {
            buffer: ctx.buffer.id(),
            seq: ctx.buffer.seq(),
            first,
            last,
            lines,
            regions: self.visible_regions(ctx, document, &(first..last)),
        }
    }

    fn visible_regions(
        &self,
        ctx: &Ctx,
        document: &Document<'_>,
        lines: &Lines,
    ) -> Vec<(usize, usize, &'static str, String)> {
        // Folds may make the whole chat visible.
        if lines.len() > MOST_VISIBLE {
            return Vec::new();
        }
        let file = |result: &ToolResultBlock| {
            let turn = document.turn_at(result.lines.start)?;
            let mut calls = turn.calls.iter();
            let call = calls.find(|call| call.result == Some(result))?.tool_use;
            // A large call, such as that of a written file, has no colored result.
            let is_short = call.body.len() <= MOST_LINES;
            let input = is_short.then(|| document.input(call).ok()).flatten()?;
            ctx.shared.registry.shown_file(&call.name, &input)
        };
        let found = regions(document, lines, file).into_iter();
        let wire = |region: Region| {
            let (kind, name) = match region.language {
                Language::Markdown => ("markdown", String::new()),
                Language::Named(name) => ("language", name),
                Language::OfFile(name) => ("file", name),
                Language::Thinking => ("thinking", String::new()),
                Language::Plain => ("plain", String::new()),
            };
            (region.lines.start, region.lines.end, kind, name)
        };
        found.map(wire).collect()
    }

    /// Sends highlights that differ from those that were sent.
    pub(in crate::session) fn show_spans(&mut self, ctx: &Ctx, spans: Spans) {
        // Not the sequence number: it changes with every edit, also below the window.
        let is_same = |shown: &Spans| {
            shown.first == spans.first
                && shown.last == spans.last
                && shown.lines == spans.lines
                && shown.regions == spans.regions
        };
        if self.visible.end == 0 || self.shown.spans.as_ref().is_some_and(is_same) {
            return;
        }
        ctx.editor.show(Display::Spans(spans.clone()));
        self.shown.spans = Some(spans);
    }
}
