//! `:Flemma approve` and `:Flemma reject`: which calls they mean.

use chat::cycle::Event;

use super::Session;
use crate::protocol::Command;

impl Session {
    /// Approves the call under the cursor, the only one that waits, or all; or refuses one.
    pub(super) fn decide(&mut self, command: &Command) {
        let rejects = command.name == "reject";
        let word = command.arguments.get("1").and_then(|it| it.as_str());
        match word {
            Some("all") if !rejects => return self.queue.push(Event::ApproveAll),
            Some(word) if !rejects => {
                return self.inform(&format!(
                    "\":Flemma approve\" takes \"all\" or nothing, not \"{word}\"."
                ));
            }
            _ => {}
        }
        let found = self
            .cycle
            .meant(command.line, &self.buffer.mirror.document());
        match found {
            Ok(line) if rejects => {
                let reason = command.words().unwrap_or_default().to_owned();
                self.queue.push(Event::Reject { line, reason });
            }
            Ok(line) if self.answers_question(line) => {}
            Ok(line) => self.queue.push(Event::Resolve { line }),
            Err(0) => self.inform("No call waits here."),
            Err(count) if rejects => self.inform(&format!(
                "{count} calls wait. Put the cursor on the one to reject."
            )),
            Err(count) => self.inform(&format!(
                "{count} calls wait. Put the cursor on one of them, or use :Flemma approve all."
            )),
        }
    }
}
