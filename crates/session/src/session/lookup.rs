//! Answers of a chat to questions of its front end: the outline, links, hovers, and what can
//! be done at a place. Changes nothing.

mod frontmatter;
mod menu;

use std::path::{Path, PathBuf};

use chat::approval::inside;
use chat::document::{Document, PairedCall, Status};
use chat::fields::{ALMOST_ALL, fields, without_shown};
use chat::folds::folds;
use chat::links::{Link, call_at, link_at};
use chat::movement::{selection, step};
use chat::outline::outline;
use chat::preview::{Describe, preview};
use chat::text::Lines;
use serde_json::Value;

use super::calls::Calls;
use super::ctx::Ctx;
use super::policy::withheld_lines;
use crate::protocol::*;

/// Columns of a hover.
const WIDTH: usize = 100;

/// Answers a question. The text of a question is the mirror's unless it has just changed:
/// then the editor asks again, so it gets an empty answer.
pub(super) fn look_up(ctx: &Ctx, calls: &Calls, lookup: &Lookup) {
    if lookup.seq != ctx.buffer.seq() || ctx.buffer.is_loading() {
        return answer(ctx, lookup, LookupAnswer::Nothing);
    }
    match lookup.kind {
        LookupKind::Symbols | LookupKind::Folds => send_overview(ctx, lookup),
        LookupKind::Menu => menu::send_menu(ctx, lookup),
        LookupKind::Link => answer(ctx, lookup, link(ctx, lookup)),
        LookupKind::Hover => answer(ctx, lookup, hover(ctx, calls, lookup)),
        LookupKind::Actions => {
            let offers = offers(ctx, lookup);
            answer(ctx, lookup, LookupAnswer::Actions(offers));
        }
        LookupKind::Lenses => {
            let offers = lenses(ctx);
            answer(ctx, lookup, LookupAnswer::Lenses(offers));
        }
        LookupKind::Move(stop) => {
            let line = step(&ctx.buffer.document(), stop, lookup.line, lookup.count);
            let line = line.map_or(LookupAnswer::Nothing, LookupAnswer::Line);
            answer(ctx, lookup, line);
        }
        LookupKind::Select => {
            let message = selection(&ctx.buffer.document(), lookup.line);
            let message = message.map_or(LookupAnswer::Nothing, LookupAnswer::Message);
            answer(ctx, lookup, message);
        }
    }
}

fn answer(ctx: &Ctx, lookup: &Lookup, answer: LookupAnswer) {
    ctx.editor.looked_up(lookup.lookup, answer);
}

/// Computes the outline or the folds on another thread, because that reads the whole chat.
fn send_overview(ctx: &Ctx, lookup: &Lookup) {
    let (text, parsed) = ctx.buffer.share();
    let (editor, shared) = (ctx.editor.clone(), ctx.shared.clone());
    let (number, kind) = (lookup.lookup, lookup.kind);
    tokio::task::spawn_blocking(move || {
        let document = Document::of(&text, parsed);
        let answer = match kind {
            LookupKind::Folds => LookupAnswer::Folds(folds(&document)),
            _ => LookupAnswer::Symbols(outline(&document, &shared.registry)),
        };
        editor.looked_up(number, answer);
    });
}

fn link(ctx: &Ctx, lookup: &Lookup) -> LookupAnswer {
    match link_at(&ctx.buffer.document(), lookup.line, lookup.column) {
        Some(Link::File(path)) => {
            let path = absolute(&path, &ctx.place.folder());
            LookupAnswer::Link(Link::File(path.to_string_lossy().into_owned()))
        }
        Some(lines) => LookupAnswer::Link(lines),
        None => LookupAnswer::Nothing,
    }
}

fn hover(ctx: &Ctx, calls: &Calls, lookup: &Lookup) -> LookupAnswer {
    let document = ctx.buffer.document();
    let hover = match call_at(&document, lookup.line) {
        Some(call) => Some(call_hover(ctx, calls, &document, &call)),
        None => frontmatter::hover(&document, &ctx.shared.settings, lookup),
    };
    hover.map_or(LookupAnswer::Nothing, LookupAnswer::Hover)
}

/// Returns what a call does or would do.
fn call_hover(ctx: &Ctx, calls: &Calls, document: &Document<'_>, call: &PairedCall<'_>) -> Hover {
    let lines = call.tool_use.lines.clone();
    // Only calls without a result have a mark.
    let marks = chat::marks::marks(document, &ctx.cycle, &ctx.shared.registry, WIDTH);
    let mark = marks.iter().find(|it| it.call_line == lines.start);
    let shown = mark.and_then(|mark| calls.shown_preview(ctx, mark, WIDTH));
    let (name, tools) = (&call.tool_use.name, &ctx.shared.registry);
    let text = match document.input(call.tool_use) {
        Ok(input) => {
            let line = shown.unwrap_or_else(|| preview(tools, name, &input, WIDTH));
            with_fields(tools, name, input, line)
        }
        Err(error) => format!("{name}: its arguments cannot be read: {error}"),
    };
    let state = call.status().map(|status| {
        // While a call runs, its placeholder still says `approved`.
        let running = mark.is_some_and(|it| it.running);
        if running { "running" } else { status.as_str() }
    });
    Hover {
        text: match state {
            Some(state) => format!("{text}\n({state})"),
            None => text,
        },
        lines,
    }
}

/// Returns what can be done about lines: fixes, and decisions about pending calls.
fn offers(ctx: &Ctx, lookup: &Lookup) -> Vec<OfferedAction> {
    let document = ctx.buffer.document();
    let is_near = |line: usize| (lookup.line..=lookup.last).contains(&line);
    let fixes = document.diagnostics.iter().filter_map(|it| {
        let fix = it.fix.as_ref()?;
        let meets = |lines: &Lines| lines.start <= lookup.last && lookup.line < lines.end;
        let touches = meets(&it.lines) || meets(&fix.lines);
        // The command finds a fix by its line, so only the first fix of a line can be
        // offered.
        let is_found = document.fix_at(fix.lines.start) == Some(fix);
        (touches && is_found).then(|| OfferedAction {
            title: fix.title.clone(),
            command: "fix",
            line: fix.lines.start,
            is_fix: true,
        })
    });
    let mut offers: Vec<OfferedAction> = fixes.collect();
    let call = call_at(&document, lookup.line).filter(is_pending);
    if let Some(call) = call {
        offers.extend(decisions(ctx, &call, " this call"));
    }
    let withheld = withheld_lines(ctx).any(is_near);
    offers.extend(withheld.then(|| OfferedAction {
        title: "Trust the frontmatter of this chat".to_owned(),
        command: "trust",
        line: lookup.line,
        is_fix: true,
    }));
    offers
}

/// Returns the decisions about all pending calls.
fn lenses(ctx: &Ctx) -> Vec<OfferedAction> {
    let document = ctx.buffer.document();
    let turns = document.unanswered_turns();
    turns
        .flat_map(|turn| {
            let pending = turn.calls.iter().filter(|call| is_pending(call));
            pending
                .flat_map(|call| decisions(ctx, call, ""))
                .collect::<Vec<_>>()
        })
        .collect()
}

/// Returns the decisions about a pending call, at the header of its placeholder.
fn decisions(ctx: &Ctx, call: &PairedCall<'_>, what: &str) -> Vec<OfferedAction> {
    let header = call.result.map_or(&call.tool_use.lines, |it| &it.lines);
    let guarded = &ctx.rules().options.guarded;
    let has_diff = guarded.contains(&*call.tool_use.name);
    let all = [
        Some(("Run", "resolve")),
        has_diff.then_some(("Review", "review")),
        Some(("Reject", "reject")),
    ];
    let offer = |(verb, command)| OfferedAction {
        title: format!("{verb}{what}"),
        command,
        line: header.start,
        is_fix: false,
    };
    all.into_iter().flatten().map(offer).collect()
}

/// Returns the preview of a call, with the arguments below it that it does not have whole.
fn with_fields(tools: &dyn Describe, name: &str, input: Value, preview: String) -> String {
    let inner = inside(name, &input).map(|(name, arguments)| (name.to_owned(), arguments));
    let (name, input) = inner.unwrap_or((name.to_owned(), input));
    let rest = without_shown(input, &preview);
    let made = fields(tools, &name, &rest, WIDTH, ALMOST_ALL);
    let rows = made.rows.iter();
    let rows: Vec<String> = rows
        .map(|row| format!("  {}  {}", row.name, row.text))
        .collect();
    [vec![preview], rows].concat().join("\n")
}

fn is_pending(call: &PairedCall<'_>) -> bool {
    call.status() == Some(Status::Pending)
}

/// Returns the absolute path of a reference in a chat.
fn absolute(path: &str, folder: &Path) -> PathBuf {
    let home = path.strip_prefix("~/").zip(tools::variable("HOME"));
    match home {
        Some((rest, home)) => Path::new(&home).join(rest),
        None => folder.join(path.strip_prefix("./").unwrap_or(path)),
    }
}
