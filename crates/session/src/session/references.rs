//! References of the user's text that could not be sent: shown at their lines until
//! these are changed, and agreed to where that is the user's to do.

use std::path::PathBuf;

use chat::Problem;
use chat::text::Text;
use tools::{Fingerprint, RealPath};

use super::Session;
use crate::protocol::DiagnosticItem;
use crate::references::{Agreed, Refusal, Trouble, What};
use crate::state_dir;
use crate::trust::Trust;

/// What became of the references of the text.
#[derive(Default)]
pub(super) struct References {
    /// Those that could not be sent the last time.
    pub(super) unresolved: Vec<Place>,
    /// Files outside the project that the user lets this chat send.
    pub(super) agreed: Agreed,
}

/// A reference that could not be sent, where it stands.
pub struct Place {
    trouble: Trouble,
    /// Its line as it was: what is said about it holds for nothing else.
    text: Vec<u8>,
}

impl Place {
    pub(super) fn of(trouble: Trouble, text: &Text) -> Self {
        let line = trouble.line.min(text.line_count() - 1);
        let text = text.line(line).to_vec();
        Self { trouble, text }
    }

    fn stands_in(&self, text: &Text) -> bool {
        self.trouble.line < text.line_count() && text.line(self.trouble.line) == self.text
    }
}

impl Session {
    pub(super) fn unresolved(&mut self, places: Vec<Place>) {
        self.request.references.unresolved = places;
        self.view.redraw();
    }

    /// What is to be said at the lines of references.
    pub(super) fn reference_remarks(&self) -> Vec<DiagnosticItem> {
        let text = self.buffer.mirror.text();
        let standing = self
            .request
            .references
            .unresolved
            .iter()
            .filter(|it| it.stands_in(text));
        let remark = |it: &Place| DiagnosticItem {
            line: it.trouble.line,
            end_line: it.trouble.line + 1,
            message: it.trouble.message.clone(),
            severity: "error",
            fix: None,
        };
        standing.map(remark).collect()
    }

    /// `:Flemma allow-file`: the files outside the project, and the secrets, that this
    /// line refers to may be sent with this chat.
    pub(super) fn allow_file(&mut self, line: usize) {
        let text = self.buffer.mirror.text();
        let here = |it: &&Place| it.trouble.line == line && it.stands_in(text);
        let asked = |it: &Place| match &it.trouble.what {
            What::File(Refusal::Outside(path, _) | Refusal::Secret(path, ..)) => Some(path.clone()),
            _ => None,
        };
        let files: Vec<PathBuf> = self
            .request
            .references
            .unresolved
            .iter()
            .filter(here)
            .filter_map(asked)
            .collect();
        if files.is_empty() {
            return self.inform(
                "No file outside the project and no secret was found on this line. Press Ctrl-] first: what cannot be sent is named \
                 at its line.",
            );
        }
        for file in &files {
            self.allow(file);
        }
        let is_agreed = |it: &Place| asked(it).is_some_and(|file| files.contains(&file));
        self.request
            .references
            .unresolved
            .retain(|it| !is_agreed(it));
        self.view.redraw();
    }

    fn allow(&mut self, file: &std::path::Path) {
        let shown = file.display().to_string();
        let shown = shown.escape_debug();
        let holds = match RealPath::of(file).and_then(|it| Fingerprint::of_file(&it)) {
            Ok(holds) => holds,
            Err(error) => {
                let problem = format!("Nothing was agreed to: {error}");
                return self.editor.report_problem(&Problem::new(problem, ""));
            }
        };
        let agreed = &mut self.request.references.agreed;
        agreed.add(file.to_owned(), Some(holds.clone()));
        let stored = self
            .disk
            .path
            .as_ref()
            .map(|chat| Trust::open(&state_dir::path()).let_send(chat, file, &holds));
        match stored {
            Some(Ok(())) => self.inform(&format!(
                "This chat may send {shown} as it is now; when it has changed you are asked again. :Flemma trust! takes \
                 that back."
            )),
            None => self.inform(&format!(
                "This chat may send {shown} until it is closed; with a file of its own it would be remembered."
            )),
            Some(Err(error)) => self.editor.report_problem(&Problem::new(
                format!(
                    "This chat may send {shown} until it is closed. It cannot be remembered for longer: {error}."
                ),
                "",
            )),
        }
    }
}
