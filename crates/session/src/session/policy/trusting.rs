//! Trust in a chat's frontmatter: which lines were typed here, and `:Flemma trust`.

use std::path::Path;

use chat::Problem;
use chat::cycle::{Level, Notice};
use chat::document::Document;
use chat::text::Lines;
use policy::rules::Rules;
use policy::trust::Trust;
use tools::state_dir;

use super::evaluate_frontmatter::{is_trusted, with_rules_now};
use super::project::ask_about_project;
use crate::editor::Editor;
use crate::protocol::Came;
use crate::scripts::{self, ListedTools};
use crate::session::ctx::Ctx;

const AGREED: &str = "The frontmatter of this file is yours or trusted already, and the project has no options, \
                      skills, or templates in a folder .flemma, so there is nothing to trust.";
const NO_FRONTMATTER: &str = "This chat has no frontmatter in a file, and its project no options, skills, or \
                              templates in a folder .flemma, so there is nothing to trust.";

/// Notes which lines of a text that just arrived came with the file.
pub(crate) fn note_origin(ctx: &mut Ctx, came: Came) {
    match came {
        Came::Empty => ctx.cycle.text_typed(),
        Came::Changed if ctx.buffer.has_origin() => {}
        // A host that starts late cannot distinguish typed lines from the file's.
        Came::Read | Came::Changed => {
            ctx.cycle.text_read(ctx.buffer.text());
            let document = ctx.buffer.document();
            let text = document.frontmatter_text();
            let agreed =
                frontmatter_lines(&document).filter(|_| is_trusted(ctx.place.path(), &text));
            // A trusted frontmatter counts as typed, line by line, before it changes.
            if let Some(lines) = agreed {
                ctx.cycle.agree(ctx.buffer.text(), lines);
            }
        }
    }
    ctx.buffer.set_origin_known();
}

/// Returns true if the user typed all lines of the frontmatter, or trusted them.
pub(super) fn is_frontmatter_typed(ctx: &Ctx) -> bool {
    let lines = frontmatter_lines(&ctx.buffer.document());
    lines.is_some_and(|it| ctx.buffer.has_origin() && ctx.cycle.are_typed(ctx.buffer.text(), it))
}

/// `:Flemma trust`: trusts the frontmatter as it is, in this file, then asks about what of
/// the project waits for trust.
pub(crate) fn trust(ctx: &mut Ctx) {
    let has_file = ctx.place.path().is_some();
    let has_frontmatter = has_file && ctx.buffer.document().frontmatter.is_some();
    if is_frontmatter_waiting(ctx) {
        trust_frontmatter(ctx);
        ask_about_project(ctx, true, "");
    } else if has_frontmatter {
        ask_about_project(ctx, true, AGREED);
    } else {
        ask_about_project(ctx, true, NO_FRONTMATTER);
    }
}

/// Returns true if the chat has a frontmatter in a file that the user has neither typed nor
/// trusted.
fn is_frontmatter_waiting(ctx: &Ctx) -> bool {
    let document = ctx.buffer.document();
    let path = ctx.place.path().filter(|_| document.frontmatter.is_some());
    let is_agreed =
        |path| is_frontmatter_typed(ctx) || is_trusted(Some(path), &document.frontmatter_text());
    path.is_some_and(|path| !is_agreed(path))
}

fn trust_frontmatter(ctx: &mut Ctx) {
    let document = ctx.buffer.document();
    let Some(path) = ctx.place.path().map(Path::to_owned) else {
        return;
    };
    let text = document.frontmatter_text();
    let editor = ctx.editor.clone();
    with_rules_now(ctx, move |rules| agree(&editor, &path, &text, rules));
    if let Some(lines) = frontmatter_lines(&document) {
        ctx.cycle.agree(ctx.buffer.text(), lines);
    }
}

/// `:Flemma trust tools`: trusts the project's tools as they are, or no longer does.
pub(crate) fn trust_tools(ctx: &Ctx, trusts: bool) {
    let Some(root) = scripts::project_of(&ctx.place.folder()) else {
        return ctx.inform("This chat's project has no folder .flemma/tools.");
    };
    let (editor, scripts) = (ctx.editor.clone(), ctx.shared.scripts.clone());
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
pub(crate) fn distrust(ctx: &mut Ctx) {
    ctx.cycle.text_read(ctx.buffer.text());
    let Some(path) = ctx.place.path() else {
        return ctx.inform("This chat has no file, so nothing was trusted.");
    };
    match Trust::open(&state_dir::path()).revoke(path) {
        Ok(true) => ctx.inform(
            "This file is no longer trusted, and nothing that you allowed for it applies any more.",
        ),
        Ok(false) => ctx.inform("Nothing was trusted or allowed for this file."),
        Err(error) => ctx.editor.report_problem(&Problem::new(
            format!("The trust store cannot be changed: {error}."),
            "",
        )),
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
