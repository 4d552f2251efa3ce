//! Trust in a chat's frontmatter: which lines were typed here, and `:Flemma trust`.

use std::path::Path;

use chat::Problem;
use chat::cycle::{Level, Notice};
use chat::document::Document;
use chat::text::Lines;
use policy::rules::Rules;
use policy::trust::Trust;
use tools::state_dir;

use super::evaluate_frontmatter::is_trusted;
use crate::editor::Editor;
use crate::protocol::Came;
use crate::scripts::{self, ListedTools};
use crate::session::Session;

const AGREED: &str = "The frontmatter of this file is yours or trusted already, and the project has no options, \
                      skills, or templates in a folder .flemma, so there is nothing to trust.";
const NO_FRONTMATTER: &str = "This chat has no frontmatter in a file, and its project no options, skills, or \
                              templates in a folder .flemma, so there is nothing to trust.";

impl Session {
    /// Notes which lines of a text that just arrived came with the file.
    pub(crate) fn note_origin(&mut self, came: Came) {
        match came {
            Came::Empty => self.cycle.text_typed(),
            Came::Changed if self.buffer.has_origin() => {}
            // A host that starts late cannot distinguish typed lines from the file's.
            Came::Read | Came::Changed => {
                self.cycle.text_read(self.buffer.text());
                let document = self.buffer.document();
                let text = document.frontmatter_text();
                let agreed =
                    frontmatter_lines(&document).filter(|_| is_trusted(self.disk.path(), &text));
                // A trusted frontmatter counts as typed, line by line, before it changes.
                if let Some(lines) = agreed {
                    self.cycle.agree(self.buffer.text(), lines);
                }
            }
        }
        self.buffer.set_origin_known();
    }

    /// Returns true if the user typed all lines of the frontmatter, or trusted them.
    pub(super) fn is_frontmatter_typed(&self) -> bool {
        let lines = frontmatter_lines(&self.buffer.document());
        lines.is_some_and(|it| {
            self.buffer.has_origin() && self.cycle.are_typed(self.buffer.text(), it)
        })
    }

    /// `:Flemma trust`: trusts the frontmatter as it is, in this file, then asks about what of
    /// the project waits for trust.
    pub(crate) fn trust(&mut self) {
        let has_file = self.disk.path().is_some();
        let has_frontmatter = has_file && self.buffer.document().frontmatter.is_some();
        if self.is_frontmatter_waiting() {
            self.trust_frontmatter();
            self.ask_about_project(true, "");
        } else if has_frontmatter {
            self.ask_about_project(true, AGREED);
        } else {
            self.ask_about_project(true, NO_FRONTMATTER);
        }
    }

    /// Returns true if the chat has a frontmatter in a file that the user has neither typed nor
    /// trusted.
    fn is_frontmatter_waiting(&self) -> bool {
        let document = self.buffer.document();
        let path = self.disk.path().filter(|_| document.frontmatter.is_some());
        let is_agreed = |path| {
            self.is_frontmatter_typed() || is_trusted(Some(path), &document.frontmatter_text())
        };
        path.is_some_and(|path| !is_agreed(path))
    }

    fn trust_frontmatter(&mut self) {
        let document = self.buffer.document();
        let Some(path) = self.disk.path().map(Path::to_owned) else {
            return;
        };
        let text = document.frontmatter_text();
        let editor = self.editor.clone();
        self.with_rules_now(move |rules| agree(&editor, &path, &text, rules));
        if let Some(lines) = frontmatter_lines(&document) {
            self.cycle.agree(self.buffer.text(), lines);
        }
        self.view.redraw();
    }

    /// `:Flemma trust tools`: trusts the project's tools as they are, or no longer does.
    pub(crate) fn trust_tools(&self, trusts: bool) {
        let Some(root) = scripts::project_of(&self.disk.folder()) else {
            return self.inform("This chat's project has no folder .flemma/tools.");
        };
        let (editor, scripts) = (self.editor.clone(), self.shared.scripts.clone());
        tokio::task::spawn_blocking(move || {
            let result = if trusts {
                ListedTools::read(&root).and_then(|it| it.trust())
            } else {
                scripts::revoke(&root)
            };
            match result {
                Ok(text) => inform(&editor, text),
                Err(why) => editor.report_problem(&Problem::new(why, "")),
            }
            scripts.look_and(|| {});
        });
    }

    /// `:Flemma trust!`: revokes everything that the user trusted or allowed for this file.
    pub(crate) fn distrust(&mut self) {
        self.cycle.text_read(self.buffer.text());
        // Files that the chat may send are part of the trust.
        self.request.forget_agreed();
        let Some(path) = self.disk.path() else {
            return self.inform("This chat has no file, so nothing was trusted.");
        };
        match Trust::open(&state_dir::path()).revoke(path) {
            Ok(true) => self.inform(
                "This file is no longer trusted, and nothing that you allowed for it applies any more.",
            ),
            Ok(false) => self.inform("Nothing was trusted or allowed for this file."),
            Err(error) => self.editor.report_problem(&Problem::new(
                format!("The trust store cannot be changed: {error}."),
                "",
            )),
        }
    }
}

/// Returns the lines between the frontmatter's fences.
fn frontmatter_lines(document: &Document<'_>) -> Option<Lines> {
    let lines = &document.frontmatter.as_ref()?.lines;
    // A block that never closes has no lines.
    (lines.len() > 1).then(|| lines.start + 1..lines.end - 1)
}

/// Stores that the user trusts a frontmatter, and shows what it allows. Blocking.
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
    inform(
        editor,
        format!(
            "The frontmatter of this file is trusted as it is now. {} :Flemma trust! revokes that.",
            consequences(rules)
        ),
    );
}

/// Returns what a frontmatter allows once it is trusted, and what it still cannot allow.
fn consequences(rules: &Rules) -> String {
    let escalations = rules.withheld.iter();
    let lines: Vec<String> = escalations
        .map(|it| format!("Line {} {}.", it.line, it.what))
        .collect();
    let allowed = if lines.is_empty() {
        "It allows nothing that your options do not.".to_owned()
    } else {
        format!("This applies from the next key on: {}", lines.join(" "))
    };
    match rules.overruled.as_slice() {
        [] => allowed,
        tools => format!(
            "{allowed} Your settings deny {}, which this chat cannot lift.",
            tools.join(" and ")
        ),
    }
}

fn inform(editor: &Editor, text: String) {
    editor.notify(&Notice {
        level: Level::Info,
        text,
    });
}
