//! The state of a chat for its winbar and for status lines.

use std::sync::Arc;

use policy::rules::Rules;
use tokio::time::Instant;

use crate::endpoint::{self, RequestTarget};
use crate::protocol::{Display, Phase, RequestDisplay, Statusline};
use crate::session::Session;
use crate::session::queue::WAITING;
use crate::status;
use crate::usage::RequestUsage;

/// The state that the status line keeps between two frames.
#[derive(Default)]
pub(super) struct Progress {
    /// When the chat began what it is doing; `None` while it does nothing.
    begun: Option<Instant>,
    /// The destination of requests under these rules.
    target: Option<(Arc<Rules>, RequestTarget)>,
}

impl Session {
    /// Sends the state of the chat, if it changed.
    pub(super) fn show_statusline(&mut self, request: &RequestDisplay) {
        let statusline = self.statusline(request);
        // The editor counts the time itself, so a change of the time alone sends nothing.
        let untimed = |it: &Statusline| Statusline {
            elapsed_ms: it.elapsed_ms.map(|_| 0),
            ..it.clone()
        };
        let shown = self.view.shown.statusline.as_ref();
        if shown.map(untimed) != Some(untimed(&statusline)) {
            let display = Display::Statusline(Box::new(statusline.clone()));
            self.editor.show(display);
            self.view.shown.statusline = Some(statusline);
        }
    }

    fn statusline(&mut self, request: &RequestDisplay) -> Statusline {
        let (target, phase) = (self.target(), self.phase());
        let (context, limit) = self.context(&target);
        let sums = self.shared.usage.sums(Some(self.buffer.id()));
        Statusline {
            buffer: self.buffer.id(),
            text: self.status_text(request),
            provider: target.provider,
            model: target.model,
            retry_in: match phase {
                Phase::Retrying(seconds) => Some(seconds),
                _ => None,
            },
            phase,
            running: self.calls.running_count(),
            waiting: self.waiting_count(),
            queued: self.queued_count(),
            elapsed_ms: self.elapsed_ms(phase),
            tokens: sums.tokens(),
            cost: sums.cost().unwrap_or_default(),
            sums,
            context,
            context_limit: limit,
            plan: self.policy.rules().settings.is_planning(),
            elsewhere: self.disk.is_elsewhere(),
        }
    }

    /// Returns the state as one text.
    fn status_text(&self, request: &RequestDisplay) -> String {
        let text = match request.state {
            "idle" if self.disk.is_elsewhere() => "open in another program".to_owned(),
            "idle" => self.usage_text(),
            // The spinner shows something without a request only while a key waits for tools.
            _ if !self.request.is_open() => WAITING.to_owned(),
            state => format!("{state}: {}", request.label.as_deref().unwrap_or_default()),
        };
        let text = self.with_queued(text);
        match (self.policy.rules().settings.is_planning(), text.is_empty()) {
            (false, _) => text,
            (true, true) => "plan".to_owned(),
            (true, false) => format!("plan, {text}"),
        }
    }

    fn phase(&self) -> Phase {
        match self.request.phase() {
            Some(phase) => phase,
            None if !self.calls.is_empty() => Phase::Running,
            None if self.waiting_count() > 0 => Phase::Approval,
            None if self.is_waiting_for_tools() => Phase::Loading,
            None => Phase::Idle,
        }
    }

    /// Returns the number of calls that wait for the user, as their marks show it.
    fn waiting_count(&self) -> usize {
        // From the marks, so that the number never differs from what the chat shows.
        let marks = self.view.shown.marks.iter();
        marks
            .filter(|mark| matches!(mark.state, Some("pending" | "asking")))
            .count()
    }

    /// Returns the time since the key that began what is happening now.
    fn elapsed_ms(&mut self, phase: Phase) -> Option<u64> {
        let is_moving = !matches!(phase, Phase::Idle | Phase::Approval);
        let begun = &mut self.view.progress.begun;
        if is_moving {
            // Kept over several requests, because the user waits for all that the key began.
            begun.get_or_insert_with(Instant::now);
        }
        let elapsed = begun.filter(|_| is_moving)?.elapsed();
        Some(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }

    /// Notes that everything that a key began is done.
    pub(crate) fn run_ended(&mut self) {
        self.view.progress.begun = None;
    }

    /// Returns the provider and the model of the next request, or else of the last one.
    fn target(&mut self) -> RequestTarget {
        let rules = self.policy.rules();
        // A frontmatter may choose the model, and is evaluated by the first key only.
        let is_unknown =
            self.buffer.document().frontmatter.is_some() && rules.options.frontmatter.is_none();
        if is_unknown {
            return RequestTarget::default();
        }
        if status::is_tutor_chat(self.disk.path()) {
            return RequestTarget::tutor();
        }
        let kept = self.view.progress.target.take();
        // Rules are never changed in place, so the same rules have the same target. Looking it
        // up reads variables and the catalogue.
        let kept = kept.filter(|(of, _)| Arc::ptr_eq(of, rules));
        let (rules, target) = kept.unwrap_or_else(|| {
            let target = endpoint::target(&rules.settings, &|name| tools::variable(name));
            (rules.clone(), target)
        });
        self.view.progress.target = Some((rules, target.clone()));
        match self.latest_usage().filter(|_| !target.is_complete()) {
            // `auto`, or a server that chooses the model.
            Some(latest) => RequestTarget {
                provider: latest.tariff.provider,
                model: latest.tariff.model,
                context: latest.tariff.context,
            },
            None => target,
        }
    }

    fn latest_usage(&self) -> Option<RequestUsage> {
        self.shared.usage.latest(self.buffer.id())
    }

    /// Returns the tokens that the model has read and written last, and how many it can take.
    fn context(&self, target: &RequestTarget) -> (Option<u64>, Option<u64>) {
        let usage = self
            .request
            .usage()
            .or_else(|| self.latest_usage().map(|it| it.usage));
        (usage.map(|it| it.context()), target.context)
    }
}
