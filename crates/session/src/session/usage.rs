//! What this chat's requests take and cost: noted when one ends, and shown.
//!
//! The sums are made in [`crate::usage`].

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use provider::Usage;

use super::Session;
use crate::protocol::{Display, UsageEntry, UsageNote};
use crate::usage::{Entry, Sums, Tariff, dollars};

/// What an open request took so far.
#[derive(Debug, Default)]
pub(super) struct Meter {
    /// What it is charged by; absent until it is known who is asked.
    pub(super) tariff: Option<Tariff>,
    usage: Usage,
    started: u64,
}

impl Meter {
    /// Starts now.
    pub(super) fn start() -> Self {
        Self {
            started: now(),
            ..Self::default()
        }
    }

    /// Takes new figures over: each replaces an earlier one.
    pub(super) fn read(&mut self, usage: Usage) {
        self.usage.replace(usage);
    }
}

impl Session {
    /// Notes what a request took, and shows it.
    pub(super) fn note_usage(&self, meter: Meter) {
        let Some(tariff) = meter.tariff else { return };
        if meter.usage == Usage::default() {
            return;
        }
        let entry = Entry {
            buffer: self.buffer.id,
            path: self.disk.path.clone(),
            tariff,
            usage: meter.usage,
            time: (meter.started, now()),
        };
        let sums = entry.sums();
        let cost = entry.cost().map(|cost| cost.total());
        let path = entry.path.as_ref().map(|path| path.display().to_string());
        let (tariff, time) = (entry.tariff.clone(), entry.time);
        let ledger = &self.shared.ledger;
        ledger.add(entry);
        let session = ledger.sums(None);
        let chat = ledger.sums(Some(self.buffer.id));
        self.editor.show(Display::Usage(Box::new(UsageNote {
            buffer: self.buffer.id,
            lines: float(&tariff, &sums, &chat, &session),
            seconds: self
                .policy
                .rules()
                .settings
                .ui
                .usage
                .as_u64()
                .unwrap_or_default(),
            request: UsageEntry {
                provider: tariff.provider,
                model: tariff.model,
                path,
                started_at: time.0,
                completed_at: time.1,
                cost,
                sums,
            },
            session,
        })));
    }

    /// What the status line says while nothing goes on: what this chat cost.
    pub(super) fn usage_text(&self) -> String {
        let sums = self.shared.ledger.sums(Some(self.buffer.id));
        match sums.requests {
            0 => String::new(),
            _ => sums.line(),
        }
    }

    /// Shows `:Flemma usage`.
    pub(super) fn report_usage(&self) {
        let ledger = &self.shared.ledger;
        let mut lines = Vec::new();
        if let Some(latest) = ledger.latest(self.buffer.id) {
            let Tariff {
                provider, model, ..
            } = &latest.tariff;
            lines.push(format!("Latest answer ({provider} {model})"));
            lines.extend(latest.sums().table().into_iter().skip(1));
            lines.push(String::new());
        }
        lines.push("This chat, since Neovim started".to_owned());
        lines.extend(ledger.sums(Some(self.buffer.id)).table());
        lines.push(String::new());
        lines.push("All chats".to_owned());
        lines.extend(ledger.sums(None).table());
        lines.push(String::new());
        lines.push("Tokens. What is from or into a cache is not counted as read.".to_owned());
        self.editor.report("usage", lines);
    }
}

/// What is shown for a moment after an answer.
fn float(tariff: &Tariff, answer: &Sums, chat: &Sums, session: &Sums) -> Vec<String> {
    let name = match tariff.model.is_empty() {
        true => tariff.provider.clone(),
        false => tariff.model.clone(),
    };
    let mut lines = vec![name, answer.line()];
    if chat.requests > 1 {
        lines.push(format!("chat: {}", chat.line()));
    }
    if session.requests > chat.requests {
        let cost = dollars(session.input_cost + session.output_cost);
        lines.push(format!("all chats: {} requests, {cost}", session.requests));
    }
    lines
}

/// Milliseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    let millis = since.unwrap_or(Duration::ZERO).as_millis();
    u64::try_from(millis).unwrap_or(u64::MAX)
}
