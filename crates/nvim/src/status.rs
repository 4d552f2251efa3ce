//! The state of a chat in the words of its winbar.

use serde::Serialize;
use session::protocol::{Phase, Statusline};
use session::usage::Sums;

/// Percent of the context from which on it counts as nearly full.
const NEARLY_FULL: u64 = 80;

/// `statusline`: what `require("flemma.status").get()` returns, and the time.
#[derive(Debug, Serialize)]
pub struct ShownStatus<'a> {
    buffer: i64,
    text: &'a str,
    provider: &'a str,
    model: &'a str,
    phase: Phase,
    /// The phase in words, such as "running 2 calls".
    doing: String,
    running: usize,
    waiting: usize,
    queued: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    elapsed_ms: Option<u64>,
    tokens: &'a str,
    cost: &'a str,
    sums: &'a Sums,
    /// Percent of the model's context that is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    context: Option<u64>,
    nearly_full: bool,
    plan: bool,
}

impl<'a> ShownStatus<'a> {
    /// Words a state.
    pub fn of(status: &'a Statusline) -> Self {
        let limit = status.context_limit.filter(|it| *it > 0);
        let context = status.context.zip(limit);
        let context = context.map(|(tokens, limit)| tokens.saturating_mul(100) / limit);
        Self {
            buffer: status.buffer,
            text: &status.text,
            provider: &status.provider,
            model: &status.model,
            phase: status.phase,
            doing: doing(status),
            running: status.running,
            waiting: status.waiting,
            queued: status.queued,
            elapsed_ms: status.elapsed_ms,
            tokens: &status.tokens,
            cost: &status.cost,
            sums: &status.sums,
            context,
            nearly_full: context.is_some_and(|it| it >= NEARLY_FULL),
            plan: status.plan,
        }
    }
}

fn doing(status: &Statusline) -> String {
    let words = match status.phase {
        Phase::Idle if status.elsewhere => "open in another program",
        Phase::Idle => "idle",
        Phase::Loading => "waiting for tools",
        Phase::Sending => "sending",
        Phase::Retrying(seconds) => return format!("retrying in {seconds} s"),
        Phase::Thinking => "thinking",
        Phase::Calling => "writing a call",
        Phase::Streaming => "streaming",
        Phase::Stalled => "no data",
        Phase::Running if status.running == 1 => "running 1 call",
        Phase::Running => return format!("running {} calls", status.running),
        Phase::Approval if status.waiting == 1 => "waiting for approval",
        Phase::Approval => return format!("{} calls wait for approval", status.waiting),
    };
    words.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle() -> Statusline {
        Statusline {
            buffer: 1,
            text: String::new(),
            provider: String::new(),
            model: String::new(),
            phase: Phase::Idle,
            retry_in: None,
            running: 0,
            waiting: 0,
            queued: 0,
            elapsed_ms: None,
            sums: Sums::default(),
            tokens: String::new(),
            cost: String::new(),
            context: None,
            context_limit: None,
            plan: false,
            elsewhere: false,
        }
    }

    #[test]
    fn each_phase_has_words() {
        let words = |phase, count, elsewhere| {
            doing(&Statusline {
                phase,
                running: count,
                waiting: count,
                elsewhere,
                ..idle()
            })
        };
        for (phase, count, expected) in [
            (Phase::Idle, 0, "idle"),
            (Phase::Sending, 0, "sending"),
            (Phase::Calling, 0, "writing a call"),
            (Phase::Stalled, 0, "no data"),
            (Phase::Retrying(4), 0, "retrying in 4 s"),
            (Phase::Running, 1, "running 1 call"),
            (Phase::Running, 2, "running 2 calls"),
            (Phase::Approval, 1, "waiting for approval"),
            (Phase::Approval, 3, "3 calls wait for approval"),
        ] {
            assert_eq!(words(phase, count, false), expected);
        }
        assert_eq!(words(Phase::Idle, 0, true), "open in another program");
    }

    #[test]
    fn the_context_is_a_share_of_what_the_model_can_take_and_nearly_full_from_80_percent_on() {
        for (tokens, limit, expected) in [
            (159_999, Some(200_000), (Some(79), false)),
            (160_000, Some(200_000), (Some(80), true)),
            (160_000, None, (None, false)),
        ] {
            let status = Statusline {
                context: Some(tokens),
                context_limit: limit,
                ..idle()
            };
            let shown = ShownStatus::of(&status);
            assert_eq!((shown.context, shown.nearly_full), expected);
        }
    }
}
