//! `:Flemma approve` and `:Flemma reject`: which calls they mean.

use chat::cycle::CycleEvent;

use super::Session;

impl Session {
    /// Approves the call on a line, the only pending one, or all if `word` is `all`.
    pub(super) fn approve(&mut self, line: usize, word: Option<&str>) {
        match word {
            None => {
                if self.mention_trial(line) {
                    return;
                }
            }
            Some("all") => return self.queue.push(CycleEvent::ApproveAll),
            // A misspelled "all" must not approve the call at the cursor.
            Some(word) => {
                return self.inform(&format!(
                    "\":Flemma approve\" takes \"all\" or nothing, not \"{word}\"."
                ));
            }
        }
        match self.meant(line) {
            // A call that asks is running: approving it means to answer.
            Ok(line) => {
                if !self.answer_question(line) {
                    self.queue.push(CycleEvent::Resolve { line });
                }
            }
            Err(0) => self.inform("No call is pending here."),
            Err(count) => self.inform(&format!(
                "{count} calls are pending. Put the cursor on one of them, or use :Flemma approve all."
            )),
        }
    }

    /// Rejects the call on a line, or the only pending one.
    pub(super) fn reject(&mut self, line: usize, reason: String) {
        match self.meant(line) {
            Ok(line) => self.queue.push(CycleEvent::Reject { line, reason }),
            Err(0) => self.inform("No call is pending here."),
            Err(count) => self.inform(&format!(
                "{count} calls are pending. Put the cursor on the one to reject."
            )),
        }
    }

    /// Returns the line of the call that a key on `line` means, or the number of pending
    /// calls if it means none.
    fn meant(&self, line: usize) -> Result<usize, usize> {
        self.cycle.meant(line, &self.buffer.document())
    }
}
