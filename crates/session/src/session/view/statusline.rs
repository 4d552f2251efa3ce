//! The state of a chat: its spinner, its winbar, and status lines.

use std::sync::Arc;

use policy::rules::Rules;
use tokio::time::Instant;

use super::View;
use super::queued::queued_count;
use crate::endpoint::{self, RequestTarget};
use crate::protocol::{Display, Phase, RequestDisplay, Statusline};
use crate::session::ctx::Ctx;
use crate::session::queue::WAITING;
use crate::session::request::{RequestProgress, usage_text};
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

/// The activity of the other parts of the session.
pub(in crate::session) struct Activity {
    /// The open request.
    pub(in crate::session) request: Option<RequestProgress>,
    /// Tokens of the last request and its answer, also of an earlier Neovim.
    pub(in crate::session) sent_tokens: Option<u64>,
    /// Number of running calls.
    pub(in crate::session) running: usize,
    /// True if a key waits for tools.
    pub(in crate::session) waits_for_tools: bool,
    /// Says if another program works on the chat.
    pub(in crate::session) is_elsewhere: bool,
}

impl Activity {
    /// Returns what the open request is doing, or what a key waits for.
    fn display(&self, ctx: &Ctx) -> RequestDisplay {
        let (state, label, elapsed_ms) = match &self.request {
            Some(it) => (it.state, Some(it.label.clone()), it.stalled_ms),
            // Without a request, the spinner belongs to the key that waits for tools.
            None if self.waits_for_tools => ("waiting", Some(WAITING.to_owned()), None),
            None => ("idle", None, None),
        };
        RequestDisplay {
            buffer: ctx.buffer.id(),
            state,
            label,
            elapsed_ms,
        }
    }

    /// Returns the state as one text.
    fn text(&self, ctx: &Ctx, display: &RequestDisplay) -> String {
        let text = match display.state {
            "idle" if self.is_elsewhere => "open in another program".to_owned(),
            "idle" => usage_text(ctx),
            // The spinner shows something without a request only while a key waits for tools.
            _ if self.request.is_none() => WAITING.to_owned(),
            state => format!("{state}: {}", display.label.as_deref().unwrap_or_default()),
        };
        let text = match (queued_count(ctx), text.is_empty()) {
            (0, _) => text,
            (count, true) => format!("{count} queued"),
            (count, false) => format!("{text}, {count} queued"),
        };
        match (ctx.is_planning(), text.is_empty()) {
            (false, _) => text,
            (true, true) => "plan".to_owned(),
            (true, false) => format!("plan, {text}"),
        }
    }
}

impl View {
    /// Sends what the request and the chat are doing, as far as that changed.
    pub(in crate::session) fn show_activity(&mut self, ctx: &Ctx, activity: &Activity) {
        let stalls = activity.request.as_ref().and_then(|it| it.stalls_at);
        // Nothing arrives during a stall, so nothing else would ask for the redraw.
        if let Some(at) = stalls.filter(|at| *at > Instant::now()) {
            self.redraw_at(at);
        }
        let display = activity.display(ctx);
        // The editor counts the time itself, so a change of the time alone sends nothing.
        let is_same =
            |shown: &RequestDisplay| shown.state == display.state && shown.label == display.label;
        if !self.shown.request.as_ref().is_some_and(is_same) {
            ctx.editor.show(Display::Request(display.clone()));
            self.shown.request = Some(display.clone());
        }
        self.show_statusline(ctx, activity, &display);
    }

    /// Sends the state of the chat, if it changed.
    fn show_statusline(&mut self, ctx: &Ctx, activity: &Activity, display: &RequestDisplay) {
        let statusline = self.statusline(ctx, activity, display);
        // The editor counts the time itself, so a change of the time alone sends nothing.
        let untimed = |it: &Statusline| Statusline {
            elapsed_ms: it.elapsed_ms.map(|_| 0),
            ..it.clone()
        };
        let shown = self.shown.statusline.as_ref();
        if shown.map(untimed) != Some(untimed(&statusline)) {
            let display = Display::Statusline(Box::new(statusline.clone()));
            ctx.editor.show(display);
            self.shown.statusline = Some(statusline);
        }
    }

    fn statusline(
        &mut self,
        ctx: &Ctx,
        activity: &Activity,
        display: &RequestDisplay,
    ) -> Statusline {
        let (target, phase) = (self.target(ctx), self.phase(activity));
        let sums = ctx.shared.usage.sums(Some(ctx.buffer.id()));
        let usage = activity.request.as_ref().and_then(|it| it.usage);
        let usage = usage.or_else(|| latest_usage(ctx).and_then(|it| it.usages.last().copied()));
        Statusline {
            buffer: ctx.buffer.id(),
            text: activity.text(ctx, display),
            provider: target.provider,
            model: target.model,
            retry_in: match phase {
                Phase::Retrying(seconds) => Some(seconds),
                _ => None,
            },
            phase,
            running: activity.running,
            waiting: self.waiting_count(),
            queued: queued_count(ctx),
            elapsed_ms: self.elapsed_ms(phase),
            tokens: sums.tokens(),
            cost: sums.cost().unwrap_or_default(),
            sums,
            // The tokens that the model has read and written last, and how many it can take.
            context: usage.map(|it| it.context()).or(activity.sent_tokens),
            context_limit: target.context,
            plan: ctx.is_planning(),
            elsewhere: activity.is_elsewhere,
        }
    }

    fn phase(&self, activity: &Activity) -> Phase {
        match &activity.request {
            Some(request) => request.phase,
            None if activity.running > 0 => Phase::Running,
            None if self.waiting_count() > 0 => Phase::Approval,
            None if activity.waits_for_tools => Phase::Loading,
            None => Phase::Idle,
        }
    }

    /// Returns the number of calls that wait for the user, as their marks show it.
    fn waiting_count(&self) -> usize {
        // From the marks, so that the number never differs from what the chat shows.
        let marks = self.shown.marks.iter();
        marks
            .filter(|mark| matches!(mark.state, Some("pending" | "asking")))
            .count()
    }

    /// Returns the time since the key that began what is happening now.
    fn elapsed_ms(&mut self, phase: Phase) -> Option<u64> {
        let is_moving = !matches!(phase, Phase::Idle | Phase::Approval);
        let begun = &mut self.progress.begun;
        if is_moving {
            // Kept over several requests, because the user waits for all that the key began.
            begun.get_or_insert_with(Instant::now);
        }
        let elapsed = begun.filter(|_| is_moving)?.elapsed();
        Some(u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX))
    }

    /// Notes that everything that a key began is done.
    pub(crate) fn run_ended(&mut self) {
        self.progress.begun = None;
    }

    /// Returns the provider and the model of the next request, or else of the last one.
    fn target(&mut self, ctx: &Ctx) -> RequestTarget {
        let rules = ctx.rules();
        // A frontmatter may choose the model, and is evaluated by the first key only.
        let is_unknown =
            ctx.buffer.document().frontmatter.is_some() && rules.options.frontmatter.is_none();
        if is_unknown {
            return RequestTarget::default();
        }
        if status::is_tutor_chat(ctx.place.path()) {
            return RequestTarget::tutor();
        }
        let kept = self.progress.target.take();
        // Rules are never changed in place, so the same rules have the same target. Looking it
        // up reads variables and the catalogue.
        let kept = kept.filter(|(of, _)| Arc::ptr_eq(of, rules));
        let (rules, target) = kept.unwrap_or_else(|| {
            let target = endpoint::target(&rules.settings, &|name| tools::variable(name));
            (rules.clone(), target)
        });
        self.progress.target = Some((rules, target.clone()));
        match latest_usage(ctx).filter(|_| !target.is_complete()) {
            // `auto`, or a server that chooses the model.
            Some(latest) => RequestTarget {
                provider: latest.tariff.provider,
                model: latest.tariff.model,
                context: latest.tariff.context,
                ..target
            },
            None => target,
        }
    }
}

fn latest_usage(ctx: &Ctx) -> Option<RequestUsage> {
    ctx.shared.usage.latest(ctx.buffer.id())
}
