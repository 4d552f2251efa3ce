//! Marks of calls without a result: previews, spinners, live output, and questions.

use chat::approval::CallKey;
use chat::document::Document;
use chat::marks::{Mark, marks};
use chat::preview::one_line;
use chat::text::Lines;

use super::{Calls, RunningCall};
use crate::protocol::MarkItem;
use crate::session::ctx::Ctx;

/// Label of a call that should be confined, where nothing confines it.
const UNSANDBOXED: &str = "UNSANDBOXED";

/// Columns of the word before the reason of a pending call.
const ASKS: usize = 6;

/// The mark of a call without a result, for the front end.
pub(in crate::session) struct OpenCall {
    pub(in crate::session) mark: Mark,
    pub(in crate::session) item: MarkItem,
    pub(in crate::session) is_visible: bool,
}

impl Calls {
    /// Returns the marks of all calls without a result, for windows of `width` columns that show
    /// `visible` lines; and the visible pending calls whose reasons are to be found.
    pub(in crate::session) fn open_calls(
        &self,
        ctx: &Ctx,
        document: &Document<'_>,
        width: usize,
        visible: &Lines,
    ) -> (Vec<OpenCall>, Vec<CallKey>) {
        let waiting = marks(document, &ctx.cycle, &ctx.shared.registry, width);
        // Previews and snapshots of calls that have ended would pile up.
        self.keep_shown(&waiting);
        let mut unexplained = Vec::new();
        let calls = waiting.into_iter().map(|mark| {
            // Previews outside the window need no diff, which costs most.
            let is_visible = visible.contains(&mark.fence_line);
            if is_visible && mark.pending && !self.is_explained(&mark.call) {
                unexplained.push(mark.call.clone());
            }
            OpenCall {
                item: self.mark_item(ctx, &mark, width, is_visible),
                mark,
                is_visible,
            }
        });
        (calls.collect(), unexplained)
    }

    fn mark_item(&self, ctx: &Ctx, mark: &Mark, width: usize, is_visible: bool) -> MarkItem {
        let call = self.running(&mark.call).filter(|_| mark.running);
        let questions = call.and_then(|call| call.question_lines(width));
        let spinner = call.filter(|_| ctx.shared.settings.tools.show_spinner);
        // A question takes precedence: the call runs, but only the user can continue it.
        let state = match (&questions, spinner) {
            (Some(_), _) => Some("asking"),
            (None, Some(_)) => Some("running"),
            (None, None) => mark.pending.then_some("pending"),
        };
        let label = match (&questions, spinner) {
            (Some(_), _) => Some("asks you".to_owned()),
            (None, Some(_)) => self.running_label(ctx, &mark.call.name),
            (None, None) => self.pending_label(ctx, mark),
        };
        let preview = self.shown_preview(ctx, mark, width);
        // A diff is drawn below a preview, so a diff without one would have no place.
        let diff = preview
            .as_ref()
            .map(|_| self.diff(ctx, mark, width, is_visible));
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
            tries: mark.pending && self.can_be_tried(ctx, &mark.call),
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
    pub(crate) fn shown_preview(&self, ctx: &Ctx, mark: &Mark, width: usize) -> Option<String> {
        if mark.pending {
            self.take_snapshot(ctx, &mark.call);
        }
        // A pending call is shown once the snapshot of its file is taken.
        let is_in_sight = !mark.pending || self.has_snapshot(&mark.call);
        let general = mark.preview.clone().filter(|_| is_in_sight);
        let preview = self.preview(ctx, &mark.call, width, general, mark.pending)?;
        // A trial shows the changes themselves.
        let is_stated = mark.pending && !self.takes_trial(ctx, &mark.call);
        let destination = is_stated.then(|| self.destination(ctx, &mark.call, width));
        let planned = self.plan_line(ctx, &mark.call).filter(|_| mark.pending);
        let planned = planned.map(|it| one_line(it, width));
        let lines = [preview].into_iter().chain(planned);
        let lines = lines.chain(destination.flatten());
        let lines = lines.chain(self.trial_lines(ctx, &mark.call, width));
        Some(lines.collect::<Vec<_>>().join("\n"))
    }

    /// Returns the name of a running tool, and a warning if nothing confines it.
    fn running_label(&self, ctx: &Ctx, tool: &str) -> Option<String> {
        match (ctx.tool_label(tool), ctx.is_unsandboxed(tool)) {
            (Some(label), true) => Some(format!("{label} {UNSANDBOXED}")),
            (None, true) => Some(UNSANDBOXED.to_owned()),
            (label, false) => label,
        }
    }

    fn pending_label(&self, ctx: &Ctx, mark: &Mark) -> Option<String> {
        if !mark.pending {
            return None;
        }
        if ctx.is_unsandboxed(&mark.call.name) {
            // A warning takes the place of any other label.
            return Some(UNSANDBOXED.to_owned());
        }
        self.trial_label(&mark.call)
            .or_else(|| self.shown_again(&mark.call))
    }
}
