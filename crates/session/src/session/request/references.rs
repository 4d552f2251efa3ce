//! References in the user's text that could not be sent: shown at their lines until those
//! change, and allowed by `:Flemma allow-file`.

use std::path::{Path, PathBuf};

use chat::Problem;
use chat::text::Text;
use policy::references::{Agreed, Refusal, Trouble, What};
use policy::trust::Trust;
use tools::{Fingerprint, RealPath, state_dir};

use super::Request;
use crate::protocol::DiagnosticItem;
use crate::session::ctx::Ctx;

/// The references of the last request.
#[derive(Default)]
pub(super) struct References {
    /// Those that could not be sent.
    pub(super) unresolved: Vec<Unresolved>,
    /// Files outside the project that the user lets this chat send.
    pub(super) agreed: Agreed,
}

/// A reference that could not be sent.
pub struct Unresolved {
    trouble: Trouble,
    /// Text of its line at that time; the problem concerns no other text.
    text: Vec<u8>,
}

impl Unresolved {
    pub(super) fn of(trouble: Trouble, text: &Text) -> Self {
        let line = trouble.line.min(text.line_count() - 1);
        let text = text.line(line).to_vec();
        Self { trouble, text }
    }

    /// Returns true if the line has not changed since.
    fn is_current(&self, text: &Text) -> bool {
        // The user may be correcting the line, so an old remark would be wrong.
        self.trouble.line < text.line_count() && text.line(self.trouble.line) == self.text
    }

    /// The file that the user may allow.
    fn file(&self) -> Option<&Path> {
        match &self.trouble.what {
            What::File(Refusal::Outside(path, _) | Refusal::Secret(path, ..)) => Some(path),
            _ => None,
        }
    }
}

impl Request {
    /// Takes the references that could not be sent.
    pub(crate) fn set_unresolved(&mut self, unresolved: Vec<Unresolved>) {
        self.references.unresolved = unresolved;
    }

    /// Returns the errors at the lines of references, and a remark at the first line that changed after
    /// it was sent.
    pub(crate) fn line_remarks(&self, ctx: &Ctx) -> Vec<DiagnosticItem> {
        let text = ctx.buffer.text();
        let unresolved = self.references.unresolved.iter();
        let remark = |it: &Unresolved| DiagnosticItem {
            line: it.trouble.line,
            end_line: it.trouble.line + 1,
            message: it.trouble.message.clone(),
            severity: "error",
            fix: None,
        };
        unresolved
            .filter(|it| it.is_current(text))
            .map(remark)
            .chain(self.sent.remark())
            .chain(self.sent.summary_remarks())
            .collect()
    }

    /// `:Flemma allow-file`: lets this chat send the files outside the project, and the
    /// secrets, that this line refers to.
    pub(crate) fn allow_file(&mut self, ctx: &Ctx, line: usize) {
        let text = ctx.buffer.text();
        let unresolved = &self.references.unresolved;
        let here = unresolved
            .iter()
            // Two references on one line may name two files, and the command allows both.
            .filter(|it| it.trouble.line == line && it.is_current(text));
        let files: Vec<PathBuf> = here.filter_map(|it| it.file().map(PathBuf::from)).collect();
        if files.is_empty() {
            return ctx.inform(
                "No file outside the project and no secret was found on this line. Press Ctrl-] first: it shows \
                 at their lines the references that cannot be sent.",
            );
        }
        for file in &files {
            self.allow(ctx, file);
        }
        let is_allowed = |it: &Unresolved| {
            it.file()
                .is_some_and(|file| files.iter().any(|it| it == file))
        };
        let unresolved = &mut self.references.unresolved;
        unresolved.retain(|it| !is_allowed(it));
    }

    /// Lets this chat send a file with the content that it has now.
    fn allow(&mut self, ctx: &Ctx, file: &Path) {
        let shown = file.display().to_string();
        // The name comes from the chat, and control characters could change what the user reads.
        let shown = shown.escape_debug();
        // The user agrees to this content. A file that changes later may contain something else,
        // so it is asked about again.
        let content = match RealPath::of(file).and_then(|it| Fingerprint::of_file(&it)) {
            Ok(content) => content,
            Err(error) => {
                let problem = format!("Nothing was allowed: {error}");
                return ctx.editor.report_problem(&Problem::new(problem, ""));
            }
        };
        let agreed = &mut self.references.agreed;
        // Also where the store cannot be written: the user has agreed for this session.
        agreed.add(file.to_owned(), Some(content.clone()));
        let store = Trust::open(&state_dir::path());
        let stored = ctx
            .place
            .path()
            .map(|chat| store.let_send(chat, file, &content));
        match stored {
            Some(Ok(())) => ctx.inform(&format!(
                "This chat may send {shown} as it is now; if it changes, you are asked again. :Flemma trust! revokes \
                 that."
            )),
            // Trust is stored under the chat's path, so a chat without a file has no place for it.
            None => ctx.inform(&format!(
                "This chat may send {shown} until it is closed; with a file of its own it would be remembered."
            )),
            Some(Err(error)) => ctx.editor.report_problem(&Problem::new(
                format!(
                    "This chat may send {shown} until it is closed. That cannot be stored for longer: {error}."
                ),
                "",
            )),
        }
    }
}
