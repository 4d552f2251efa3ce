//! What the editor shows beside the text: previews and spinners, highlights,
//! diagnostics, the lock. Worked out from the document and sent where it changed.

use chat::approval::CallKey;
use chat::diagnostic::Severity;
use chat::document::Document;
use chat::marks::Mark;
use tokio::time::Instant;

use super::answer::Doing;
use super::await_tools::WAITING;
use super::running::Call;
use super::{Session, elicitation};
use crate::protocol::*;

impl Session {
    /// Sends what looks different now. Nothing is drawn of a text that is not whole.
    pub(super) fn show(&mut self) {
        if self
            .view
            .timing
            .draw_at
            .is_some_and(|at| at <= Instant::now())
        {
            self.view.timing.draw_at = None;
            self.view.redraw();
        }
        // While an edit is on its way the text is not the editor's.
        if !self.view.timing.stale
            || self.buffer.loading.is_some()
            || self.buffer.in_flight.is_some()
        {
            return;
        }
        self.show_lock();
        if !self.view.takes_its_turn() {
            return;
        }
        self.view.timing.stale = false;
        let folds_wait = self.folds_wait();
        let document = self.buffer.mirror.document();
        let marks = self.mark_items(&document);
        let spans = self.span_lines(&document);
        let mut diagnostics = diagnostic_items(&document);
        diagnostics.extend(self.frontmatter_remarks());
        diagnostics.extend(self.reference_remarks());
        let seen = self.must_be_seen(&marks, &diagnostics);
        let folds = (!folds_wait).then(|| self.fold_news(&document, &seen));
        self.show_marks(marks);
        self.show_queued();
        self.show_spans(spans);
        self.show_folds(folds.flatten());
        self.show_unfolded(seen);
        // An answer that is half there is full of fences that are not closed yet.
        if self.request.open.is_none() {
            self.show_diagnostics(diagnostics);
        }
        // Draws the status line at once, so that whatever else changes comes first.
        self.show_request();
    }

    fn mark_items(&self, document: &Document<'_>) -> Vec<MarkItem> {
        let width = if self.view.width == 0 {
            80
        } else {
            self.view.width
        };
        let waiting = chat::marks::marks(document, &self.cycle, &self.shared.registry, width);
        self.calls.previews.keep(&waiting);
        self.calls.snapshots.keep(&waiting);
        let mut items: Vec<MarkItem> = waiting
            .into_iter()
            .map(|mark| self.mark_item(mark, width))
            .collect();
        items.extend(self.outcome_items(document));
        items
    }

    fn mark_item(&self, mark: Mark, width: usize) -> MarkItem {
        let running = self.calls.running.get(&mark.call).filter(|_| mark.running);
        let asks = running.and_then(|call| elicitation::lines(&call.questions, width));
        let running = running.filter(|_| self.shared.settings.tools.show_spinner);
        let elapsed =
            |call: &Call| u64::try_from(call.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let state = if asks.is_some() {
            Some("asking")
        } else if running.is_some() {
            Some("running")
        } else {
            mark.pending.then_some("pending")
        };
        let unsandboxed = self.unsandboxed(&mark.call.name);
        let label = unsandboxed.or_else(|| self.shown_again(&mark.call));
        let in_sight = !mark.pending || self.is_in_sight(&mark.call);
        let preview = mark.preview.filter(|_| in_sight);
        let preview = self.preview(&mark.call, width, preview, mark.pending);
        let preview = preview.map(|it| self.with_destination(it, mark.pending, &mark.call, width));
        MarkItem {
            id: mark.key,
            line: mark.fence_line,
            call_line: (!mark.running).then_some(mark.call_line),
            header_line: mark.header_line,
            preview,
            state,
            label: match &asks {
                Some(_) => Some("asks you".to_owned()),
                None if running.is_some() => {
                    let label = self.tool_label(&mark.call.name);
                    unsandboxed_beside(label, self.unsandboxed(&mark.call.name))
                }
                None => label.filter(|_| mark.pending),
            },
            detail: None,
            again: self.again(&mark.call),
            elapsed_ms: running.map(elapsed),
            output: asks
                .or_else(|| running.map(|call| call.output.iter().cloned().collect()))
                .unwrap_or_default(),
        }
    }

    /// A preview, and below it what a waiting call does to its file.
    fn with_destination(
        &self,
        preview: String,
        pending: bool,
        call: &CallKey,
        width: usize,
    ) -> String {
        let words = pending.then(|| self.destination(call, width));
        match words.flatten() {
            Some(words) => format!("{preview}\n{words}"),
            None => preview,
        }
    }

    /// What is said beside a call that should be held and would not be.
    fn unsandboxed(&self, tool: &str) -> Option<String> {
        let lacks = self.is_held(tool) && self.sandbox().lacking().is_some();
        lacks.then(|| "UNSANDBOXED".to_owned())
    }

    fn show_marks(&mut self, items: Vec<MarkItem>) {
        // Elapsed time alone is the editor's to count.
        let same = |a: &MarkItem, b: &MarkItem| {
            MarkItem {
                elapsed_ms: None,
                ..a.clone()
            } == MarkItem {
                elapsed_ms: None,
                ..b.clone()
            }
        };
        let shown = &self.view.shown.marks;
        if shown.len() == items.len() && shown.iter().zip(&items).all(|(a, b)| same(a, b)) {
            return;
        }
        let buffer = self.buffer.id;
        self.view.shown.marks.clone_from(&items);
        self.editor.show(Display::Marks(Marks { buffer, items }));
    }

    fn span_lines(&self, document: &Document<'_>) -> Spans {
        let visible = self.view.lines().unwrap_or_default();
        let (first, last) = (
            visible.start,
            visible.end.min(self.buffer.mirror.text().line_count()),
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
            buffer: self.buffer.id,
            seq: self.buffer.seq,
            first,
            last,
            lines,
        }
    }

    fn show_spans(&mut self, spans: Spans) {
        let same = |shown: &Spans| {
            shown.first == spans.first && shown.last == spans.last && shown.lines == spans.lines
        };
        if self.view.lines().is_none() || self.view.shown.spans.as_ref().is_some_and(same) {
            return;
        }
        self.editor.show(Display::Spans(spans.clone()));
        self.view.shown.spans = Some(spans);
    }

    fn show_diagnostics(&mut self, items: Vec<DiagnosticItem>) {
        if items != self.view.shown.diagnostics {
            let buffer = self.buffer.id;
            self.view.shown.diagnostics.clone_from(&items);
            self.editor
                .show(Display::Diagnostics(Diagnostics { buffer, items }));
        }
    }

    /// What the open request is doing, or what a key waits for.
    fn request_now(&self) -> Request {
        let buffer = self.buffer.id;
        let request = |state, label| Request {
            buffer,
            state,
            label,
            elapsed_ms: None,
        };
        let Some(open) = &self.request.open else {
            return match self.is_waiting_for_tools() {
                true => request("waiting", Some(WAITING.to_owned())),
                false => request("idle", None),
            };
        };
        if open.stalls_at().is_some_and(|at| at <= Instant::now()) {
            let silence = u64::try_from(open.silence().as_millis()).unwrap_or(u64::MAX);
            return Request {
                elapsed_ms: Some(silence),
                ..request("stalled", Some(format!("No data from {} for", open.label)))
            };
        }
        let (state, label) = match &open.doing {
            Doing::Waiting => ("waiting", open.note.as_ref().unwrap_or(&open.label).clone()),
            Doing::Thinking(count) => (
                "thinking",
                format!("{} is thinking ({})", open.label, characters(*count)),
            ),
            Doing::Calling(name) => ("waiting", format!("{} writes a call of {name}", open.label)),
            Doing::Streaming => ("streaming", open.label.clone()),
        };
        request(state, Some(label))
    }

    fn show_request(&mut self) {
        let buffer = self.buffer.id;
        let request = self.request_now();
        let stalls = self.request.open.as_ref().and_then(|open| open.stalls_at());
        if let Some(at) = stalls.filter(|at| *at > Instant::now()) {
            self.view.redraw_at(at);
        }
        let text = match request.state {
            "idle" if self.disk.lock.is_elsewhere() => "open in another program".to_owned(),
            "idle" => self.usage_text(),
            _ if self.request.open.is_none() => WAITING.to_owned(),
            state => format!("{state}: {}", request.label.as_deref().unwrap_or_default()),
        };
        let text = self.with_queued(text);
        let statusline = Statusline { buffer, text };
        if self.view.shown.statusline.as_ref() != Some(&statusline) {
            self.editor.show(Display::Statusline(statusline.clone()));
            self.view.shown.statusline = Some(statusline);
        }
        // The time alone is the editor's to count.
        let same = |shown: &Request| shown.state == request.state && shown.label == request.label;
        if !self.view.shown.request.as_ref().is_some_and(same) {
            self.editor.show(Display::Request(request.clone()));
            self.view.shown.request = Some(request);
        }
    }

    fn show_lock(&mut self) {
        let locked =
            self.policy.rules().settings.tools.lock_buffer && !self.calls.running.is_empty();
        if locked != self.view.shown.locked {
            let buffer = self.buffer.id;
            self.editor.show(Display::Lock(Lock { buffer, locked }));
            self.view.shown.locked = locked;
        }
    }
}

/// The name of a tool that runs, and what is said beside it.
fn unsandboxed_beside(label: Option<String>, said: Option<String>) -> Option<String> {
    match (label, said) {
        (Some(label), Some(said)) => Some(format!("{label} {said}")),
        (label, said) => label.or(said),
    }
}

/// A count in steps, so that it is not drawn anew for each character.
fn characters(count: usize) -> String {
    match count {
        0..1000 => format!("{} characters", count / 50 * 50),
        _ => format!("{:.1}k characters", count as f64 / 1000.0),
    }
}

fn diagnostic_items(document: &Document<'_>) -> Vec<DiagnosticItem> {
    let items = document
        .diagnostics
        .iter()
        .map(|diagnostic| DiagnosticItem {
            line: diagnostic.lines.start,
            end_line: diagnostic.lines.end,
            message: diagnostic.message.clone(),
            severity: match diagnostic.severity {
                Severity::Error => "error",
                Severity::Warning => "warning",
            },
            fix: diagnostic.fix.as_ref().map(|fix| fix.title.clone()),
        });
    items.collect()
}
