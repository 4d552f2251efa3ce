//! `:Flemma approve` and `:Flemma reject`: which calls they mean.

use chat::cycle::CycleEvent;

use super::Calls;
use crate::session::ctx::Ctx;

impl Calls {
    /// Runs or resolves the call on a line.
    pub(crate) fn resolve(&mut self, ctx: &Ctx, line: usize) -> Option<CycleEvent> {
        if self.answer_question(ctx, line) || self.mention_trial(ctx, line) {
            return None;
        }
        Some(CycleEvent::Resolve { line })
    }

    /// Approves the call on a line, the only pending one, or all if `word` is `all`.
    pub(crate) fn approve(
        &mut self,
        ctx: &Ctx,
        line: usize,
        word: Option<&str>,
    ) -> Option<CycleEvent> {
        match word {
            None => {
                if self.mention_trial(ctx, line) {
                    return None;
                }
            }
            Some("all") => return Some(CycleEvent::ApproveAll),
            // A misspelled "all" must not approve the call at the cursor.
            Some(word) => {
                ctx.inform(&format!(
                    "\":Flemma approve\" takes \"all\" or nothing, not \"{word}\"."
                ));
                return None;
            }
        }
        match ctx.cycle.meant(line, &ctx.buffer.document()) {
            // A call that asks is running: approving it means to answer.
            Ok(line) => {
                let is_answered = self.answer_question(ctx, line);
                return (!is_answered).then_some(CycleEvent::Resolve { line });
            }
            Err(0) => ctx.inform("No call is pending here."),
            Err(count) => ctx.inform(&format!(
                "{count} calls are pending. Put the cursor on one of them, or use :Flemma approve all."
            )),
        }
        None
    }
}

/// Rejects the call on a line, or the only pending one.
pub(crate) fn reject(ctx: &Ctx, line: usize, reason: String) -> Option<CycleEvent> {
    match ctx.cycle.meant(line, &ctx.buffer.document()) {
        Ok(line) => return Some(CycleEvent::Reject { line, reason }),
        Err(0) => ctx.inform("No call is pending here."),
        Err(count) => ctx.inform(&format!(
            "{count} calls are pending. Put the cursor on the one to reject."
        )),
    }
    None
}
