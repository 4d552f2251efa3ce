//! Marks beside calls: previews, spinners, live output, and questions.

use chat::approval::CallKey;
use chat::document::Document;
use chat::marks::{Mark, marks};
use chat::preview::one_line;

use crate::protocol::{Display, MarkItem, Marks};
use crate::session::Session;
use crate::session::calls::RunningCall;

/// Label of a call that should be confined, where nothing confines it.
const UNSANDBOXED: &str = "UNSANDBOXED";

/// Columns of the word before the reason of a pending call.
const ASKS: usize = 6;

impl Session {
    /// Returns the marks of all calls without a result, and of visible calls and results; and the
    /// visible pending calls whose reasons are to be found.
    pub(super) fn mark_items(&self, document: &Document<'_>) -> (Vec<MarkItem>, Vec<CallKey>) {
        let width = self.view.width();
        let waiting = marks(document, &self.cycle, &self.shared.registry, width);
        // Previews and snapshots of calls that have ended would pile up.
        self.calls.keep_shown(&waiting);
        let visible = self.view.lines().unwrap_or_default();
        let mut unexplained = Vec::new();
        // Previews outside the window need no diff, which costs most.
        let waiting = waiting.into_iter().map(|mark| {
            let is_visible = visible.contains(&mark.fence_line);
            if is_visible && mark.pending && !self.is_explained(&mark.call) {
                unexplained.push(mark.call.clone());
            }
            let mut item = self.mark_item(&mark, width, is_visible);
            // What was shown stays so, also out of sight: its fold may be closed.
            let shown = &self.view.shown.marks;
            if is_visible || shown.iter().any(|it| it.id == item.id && it.json.is_some()) {
                self.add_fields(&mut item, &mark, width);
            }
            item
        });
        let mut items: Vec<MarkItem> = waiting.collect();
        items.extend(self.outcome_items(document));
        items.extend(self.field_items(document));
        items.extend(self.changes_item(document));
        (items, unexplained)
    }

    fn mark_item(&self, mark: &Mark, width: usize, is_visible: bool) -> MarkItem {
        let call = self.calls.running(&mark.call).filter(|_| mark.running);
        let questions = call.and_then(|call| call.question_lines(width));
        let spinner = call.filter(|_| self.shared.settings.tools.show_spinner);
        // A question takes precedence: the call runs, but only the user can continue it.
        let state = match (&questions, spinner) {
            (Some(_), _) => Some("asking"),
            (None, Some(_)) => Some("running"),
            (None, None) => mark.pending.then_some("pending"),
        };
        let label = match (&questions, spinner) {
            (Some(_), _) => Some("asks you".to_owned()),
            (None, Some(_)) => self.running_label(&mark.call.name),
            (None, None) => self.pending_label(mark),
        };
        let preview = self.shown_preview(mark, width);
        // A diff is drawn below a preview, so a diff without one would have no place.
        let diff = preview.as_ref().map(|_| self.diff(mark, width, is_visible));
        let is_shown = mark.pending && is_visible;
        let reason = is_shown.then(|| self.reason(&mark.call)).flatten();
        MarkItem {
            asks: reason.map(|it| one_line(&it.brief, width.saturating_sub(ASKS))),
            preview,
            diff: diff.unwrap_or_default(),
            id: mark.key.clone(),
            line: mark.fence_line,
            call: (!mark.running).then_some((mark.call_line, mark.arguments.1)),
            header_line: mark.header_line,
            tries: mark.pending && self.can_be_tried(&mark.call),
            state,
            label,
            again: self.again(&mark.call),
            elapsed_ms: spinner.map(RunningCall::elapsed_ms),
            output: questions
                .or_else(|| spinner.map(RunningCall::output))
                .unwrap_or_default(),
            ..MarkItem::default()
        }
    }

    /// Returns the preview of a call, and below it what a pending call does to its file.
    pub(crate) fn shown_preview(&self, mark: &Mark, width: usize) -> Option<String> {
        // A pending call is shown once the snapshot of its file is taken.
        let is_in_sight = !mark.pending || self.take_snapshot(&mark.call);
        let general = mark.preview.clone().filter(|_| is_in_sight);
        let preview = self.preview(&mark.call, width, general, mark.pending)?;
        // A trial shows the changes themselves.
        let is_stated = mark.pending && !self.takes_trial(&mark.call);
        let destination = is_stated.then(|| self.destination(&mark.call, width));
        let planned = self.plan_line(&mark.call).filter(|_| mark.pending);
        let planned = planned.map(|it| one_line(it, width));
        let lines = [preview].into_iter().chain(planned);
        let lines = lines.chain(destination.flatten());
        let lines = lines.chain(self.trial_lines(&mark.call, width));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Returns the name of a running tool, and a warning if nothing confines it.
    fn running_label(&self, tool: &str) -> Option<String> {
        match (self.tool_label(tool), self.is_unsandboxed(tool)) {
            (Some(label), true) => Some(format!("{label} {UNSANDBOXED}")),
            (None, true) => Some(UNSANDBOXED.to_owned()),
            (label, false) => label,
        }
    }

    fn pending_label(&self, mark: &Mark) -> Option<String> {
        if !mark.pending {
            return None;
        }
        if self.is_unsandboxed(&mark.call.name) {
            // A warning takes the place of any other label.
            return Some(UNSANDBOXED.to_owned());
        }
        self.trial_label(&mark.call)
            .or_else(|| self.shown_again(&mark.call))
    }

    /// Returns true if a call of this tool should be confined and would not be.
    pub(crate) fn is_unsandboxed(&self, tool: &str) -> bool {
        self.is_held(tool) && self.sandbox().lacking().is_some()
    }

    /// Sends the marks, if they differ from those that were sent.
    pub(super) fn show_marks(&mut self, items: Vec<MarkItem>) {
        // The editor counts the time itself, so a change of the time alone sends nothing.
        let untimed = |item: &MarkItem| MarkItem {
            elapsed_ms: None,
            ..item.clone()
        };
        let is_same = |(a, b): (&MarkItem, &MarkItem)| untimed(a) == untimed(b);
        let shown = &self.view.shown.marks;
        if shown.len() == items.len() && shown.iter().zip(&items).all(is_same) {
            return;
        }
        let buffer = self.buffer.id();
        self.view.shown.marks.clone_from(&items);
        self.editor.show(Display::Marks(Marks { buffer, items }));
    }
}
