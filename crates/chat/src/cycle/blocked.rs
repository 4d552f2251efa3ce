//! Reasons for which a key does nothing: other work is in progress, or the document is
//! invalid. Does not know which key was pressed.

use super::{Cycle, Effect, Level, Notice, Options};
use crate::document::Document;

impl Cycle {
    /// Returns a notice if a request or a call is in progress.
    pub(super) fn busy(&self) -> Option<Effect> {
        if self.request {
            return Some(Effect::warn(
                "An answer is arriving, so nothing was changed. Ctrl-C cancels it, :Flemma steer adds a message.",
            ));
        }
        match self.running.len() {
            0 => None,
            1 => Some(Effect::warn(
                "A tool is running, so nothing was changed. Ctrl-C cancels it, :Flemma steer adds a message.",
            )),
            n => Some(Effect::warn(format!(
                "{n} tools are running, so nothing was changed. Ctrl-C cancels them, :Flemma steer adds a message."
            ))),
        }
    }

    /// Returns a notice if the document must not be acted on at all.
    pub(super) fn blocked(document: &Document<'_>, options: &Options) -> Option<Effect> {
        // Closing this fence automatically would complete a call that may be unfinished.
        if let Some(fence) = document.open_fences.iter().find(|it| it.below_header) {
            return Some(Effect::Notify(Notice {
                level: Level::Error,
                text: format!(
                    "Line {}: this fence below a tool header never closes, so nothing was run or sent. Close it with \
                     {} or delete the header.",
                    fence.lines.start + 1,
                    fence.closing
                ),
            }));
        }
        let frontmatter = document.frontmatter.as_ref()?;
        // Applying the wrong rules, or sending half of the text, can't be undone.
        let text = match (&frontmatter.problem, &options.frontmatter) {
            (Some(problem), _) => problem.clone(),
            (None, Some(Err(problem))) => format!("{problem} Nothing was run or sent."),
            (None, Some(Ok(read))) if *read == document.frontmatter_text() => return None,
            // The new rules may be stricter, so the old ones must not be applied.
            (None, _) => "The frontmatter was changed and not read yet, so nothing was run or sent. Press the key again."
                .to_owned(),
        };
        Some(Effect::Notify(Notice {
            level: Level::Error,
            text,
        }))
    }
}
