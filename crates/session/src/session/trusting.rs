//! Where a chat's frontmatter comes from, and the user's word on it.

use std::path::Path;

use chat::Problem;
use chat::cycle::{Level, Notice};
use chat::document::Document;
use chat::text::Lines;

use super::Session;
use super::dispatch::is_trusted;
use crate::editor::Editor;
use crate::protocol::Came;
use crate::rules::Rules;
use crate::scripts;
use crate::state_dir;
use crate::trust::Trust;

impl Session {
    /// Notes which lines of a text that was just told came with the file.
    pub(super) fn note_origin(&mut self, came: Came) {
        match came {
            Came::Empty => self.cycle.text_typed(),
            Came::Changed if self.buffer.has_origin => {}
            // A host that comes late cannot tell one from the other.
            Came::Read | Came::Changed => {
                self.cycle.text_read(self.buffer.mirror.text());
                let document = self.buffer.mirror.document();
                let text = document.frontmatter_text();
                let agreed = frontmatter_lines(&document)
                    .filter(|_| is_trusted(self.disk.path.as_deref(), &text));
                // Before it is changed: of what was agreed to, all counts as typed.
                if let Some(lines) = agreed {
                    self.cycle.agree(self.buffer.mirror.text(), lines);
                }
            }
        }
        self.buffer.has_origin = true;
    }

    /// Whether every line of the frontmatter is the user's own act.
    pub(super) fn is_frontmatter_typed(&self) -> bool {
        let lines = frontmatter_lines(&self.buffer.mirror.document());
        lines.is_some_and(|it| {
            self.buffer.has_origin && self.cycle.are_typed(self.buffer.mirror.text(), it)
        })
    }

    /// `:Flemma trust`: agrees to the frontmatter as it stands, for this file.
    pub(super) fn trust(&mut self) {
        let document = self.buffer.mirror.document();
        let (Some(path), Some(_)) = (&self.disk.path, &document.frontmatter) else {
            return self
                .inform("There is no frontmatter in a file here, so there is nothing to trust.");
        };
        let (path, text) = (path.clone(), document.frontmatter_text());
        let (editor, agreed) = (self.editor.clone(), text.clone());
        self.with_rules_now(move |rules| agree(&editor, &path, &agreed, rules));
        if let Some(lines) = frontmatter_lines(&document) {
            self.cycle.agree(self.buffer.mirror.text(), lines);
        }
        self.view.redraw();
    }

    /// `:Flemma trust tools`: agrees to the tools of the project as they stand, or takes
    /// that back.
    pub(super) fn trust_tools(&self, agree: bool) {
        let Some(root) = scripts::project_of(&self.folder()) else {
            return self.inform("This chat's project has no folder .flemma/tools.");
        };
        let (editor, scripts) = (self.editor.clone(), self.shared.scripts.clone());
        tokio::task::spawn_blocking(move || {
            let said = if agree {
                scripts::agree(&root)
            } else {
                scripts::disagree(&root)
            };
            match said {
                Ok(text) => inform(&editor, text),
                Err(why) => editor.report_problem(&Problem::new(why, "")),
            }
            scripts.look_and(|| {});
        });
    }

    /// `:Flemma trust!`: takes it back.
    pub(super) fn distrust(&mut self) {
        self.cycle.text_read(self.buffer.mirror.text());
        self.request.references.agreed.clear();
        let Some(path) = &self.disk.path else {
            return self.inform("This chat is in no file, so nothing was trusted.");
        };
        match Trust::open(&state_dir::path()).revoke(path) {
            Ok(true) => self.inform(
                "Nothing that you agreed to for this file holds any more: it is trusted no more.",
            ),
            Ok(false) => self.inform("Nothing was agreed to for this file."),
            Err(error) => self.editor.report_problem(&chat::Problem::new(
                format!("The trust store cannot be changed: {error}."),
                "",
            )),
        }
    }
}

/// The lines between the frontmatter's fences.
fn frontmatter_lines(document: &Document<'_>) -> Option<Lines> {
    let lines = &document.frontmatter.as_ref()?.lines;
    (lines.len() > 1).then(|| lines.start + 1..lines.end - 1)
}

/// Remembers that the user agreed to a frontmatter, and says to what. Blocking.
fn agree(editor: &Editor, path: &Path, text: &str, rules: &Rules) {
    let store = Trust::open(&state_dir::path());
    if let Some(problem) = store.problem() {
        inform(editor, problem);
    }
    if let Err(error) = store.trust(path, text) {
        return editor.report_problem(&Problem::new(
            format!("The frontmatter cannot be trusted: {error}."),
            "Save the chat to a file first.",
        ));
    }
    let lines: Vec<String> = rules
        .withheld
        .iter()
        .map(|it| format!("Line {} {}.", it.line, it.what))
        .collect();
    let what = if lines.is_empty() {
        "It allows nothing that your options do not.".to_owned()
    } else {
        format!("From the next key on that applies: {}", lines.join(" "))
    };
    let denied = match rules.overruled.as_slice() {
        [] => String::new(),
        tools => format!(
            " Your settings deny {}, which this chat cannot lift.",
            tools.join(" and ")
        ),
    };
    inform(
        editor,
        format!(
            "The frontmatter of this file is trusted as it stands. {what}{denied} :Flemma trust! takes that back."
        ),
    );
}

fn inform(editor: &Editor, text: String) {
    editor.notify(&Notice {
        level: Level::Info,
        text,
    });
}
