//! The usage and cost of this chat's requests. [`crate::usage`] adds them up.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use provider::Usage;

use super::Request;
use crate::protocol::{Display, UsageEntry, UsageNote};
use crate::session::ctx::Ctx;
use crate::usage::log as usage_log;
use crate::usage::{RequestUsage, Sums, Tariff, dollars};

/// The usage of an open request so far.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    /// Prices of the model; `None` until the provider is known.
    pub(super) tariff: Option<Tariff>,
    usage: Usage,
    /// The usage of requests whose answer was paused.
    paused: Vec<Usage>,
    /// Milliseconds since 1970.
    started: u64,
}

impl Meter {
    /// Returns a meter of a request that starts now.
    pub(super) fn start() -> Self {
        Self::of(None)
    }

    /// Returns a meter of a request that starts now, with the prices of its model.
    pub(super) fn of(tariff: Option<Tariff>) -> Self {
        Self {
            tariff,
            started: now(),
            ..Self::default()
        }
    }

    /// Takes over new figures, which replace earlier ones.
    pub(super) fn read(&mut self, usage: Usage) {
        // Providers report running totals, so the latest figures replace earlier ones.
        self.usage.replace(usage);
    }

    /// Begins to count the request that continues a paused answer.
    pub(super) fn pause(&mut self) {
        self.paused.push(std::mem::take(&mut self.usage));
    }

    /// Returns the usage, once it is known how long the prompt is.
    pub(super) fn usage(&self) -> Option<Usage> {
        // Some providers count at the end only.
        (self.usage.context() > 0).then_some(self.usage)
    }
}

impl Request {
    /// Notes the usage of a request whose answer is in the chat. Returns its cost in dollars.
    pub(super) fn note_usage(&mut self, ctx: &Ctx, meter: Meter) -> Option<f64> {
        if let Some(tariff) = &meter.tariff
            && meter.usage != Usage::default()
        {
            self.note_answered(ctx, meter.usage, tariff);
            self.note_context(ctx, meter.usage.context());
        }
        meter.add_usage(ctx)
    }
}

impl Meter {
    /// Adds the usage of a request to the history, and shows it. Returns its cost in dollars.
    pub(super) fn add_usage(mut self, ctx: &Ctx) -> Option<f64> {
        // Without a tariff, no provider was found or the tutor answered, so nothing was paid.
        let tariff = self.tariff?;
        // A request that failed before it was counted costs nothing.
        self.paused.push(self.usage);
        self.paused.retain(|it| *it != Usage::default());
        if self.paused.is_empty() {
            return None;
        }
        let entry = RequestUsage {
            buffer: ctx.buffer.id(),
            path: ctx.place.path().map(PathBuf::from),
            folder: ctx.place.folder(),
            tariff,
            usages: self.paused,
            time: (self.started, now()),
        };
        let cost = entry.sums().dollars();
        let note = usage_note(ctx, entry);
        ctx.editor.show(Display::Usage(Box::new(note)));
        cost
    }
}

fn usage_note(ctx: &Ctx, entry: RequestUsage) -> UsageNote {
    let buffer = entry.buffer;
    let sums = entry.sums();
    let request = UsageEntry {
        provider: entry.tariff.provider.clone(),
        model: entry.tariff.model.clone(),
        path: entry.path.as_ref().map(|path| path.display().to_string()),
        started_at: entry.time.0,
        completed_at: entry.time.1,
        cost: sums.dollars(),
        sums,
    };
    let history = &ctx.shared.usage;
    history.add(entry);
    let session = history.sums(None);
    let chat = history.sums(Some(buffer));
    let seconds = &ctx.rules().settings.ui.usage;
    UsageNote {
        buffer,
        lines: float(&request, &chat, &session),
        seconds: seconds.as_u64().unwrap_or_default(),
        request,
        session,
    }
}

/// Returns the status line of an idle chat: its cost.
pub(crate) fn usage_text(ctx: &Ctx) -> String {
    let sums = ctx.shared.usage.sums(Some(ctx.buffer.id()));
    match sums.requests {
        0 => String::new(),
        _ => sums.line(),
    }
}

/// Shows `:Flemma usage`: this chat, and the last days of all chats.
pub(crate) fn report_usage(ctx: &Ctx, days: Option<u32>) {
    let history = &ctx.shared.usage;
    let mut lines = Vec::new();
    if let Some(latest) = history.latest(ctx.buffer.id()) {
        let Tariff {
            provider, model, ..
        } = &latest.tariff;
        lines.push(format!("Latest answer ({provider} {model})"));
        lines.extend(latest.sums().table().into_iter().skip(1));
        lines.push(String::new());
    }
    lines.push("This chat, since Neovim started".to_owned());
    lines.extend(history.sums(Some(ctx.buffer.id())).table());
    lines.push(String::new());
    lines.push("All chats, since Neovim started".to_owned());
    lines.extend(history.sums(None).table());
    lines.push(String::new());
    let editor = ctx.editor.clone();
    // Reads up to 20 MB.
    tokio::task::spawn_blocking(move || {
        lines.extend(usage_log::report(days));
        editor.report("usage", lines);
    });
}

/// Returns the lines that are shown for a moment after an answer.
fn float(request: &UsageEntry, chat: &Sums, session: &Sums) -> Vec<String> {
    let name = if request.model.is_empty() {
        // A local server that chooses its model itself has no name for it.
        request.provider.clone()
    } else {
        request.model.clone()
    };
    let mut lines = vec![name, request.sums.line()];
    // With one request, the sum would repeat the line above.
    if chat.requests > 1 {
        lines.push(format!("chat: {}", chat.line()));
    }
    // With one chat, the line would repeat the chat's.
    if session.requests > chat.requests {
        let cost = dollars(session.input_cost + session.output_cost);
        lines.push(format!("all chats: {} requests, {cost}", session.requests));
    }
    lines
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    // A clock before 1970 must not end the host.
    let millis = since.unwrap_or(Duration::ZERO).as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX)
}
