//! `:Flemma fork` and `:Flemma export`: copies of a chat in a new buffer, which the user
//! writes. The chat itself does not change.

use std::path::Path;

use chat::copies;
use chat::html::page;

use super::ctx::Ctx;
use super::request::Request;
use crate::protocol::{Display, Open};

/// Opens a new chat with the text up to the message at a line.
pub(super) fn fork(ctx: &Ctx, request: &Request, line: usize) {
    let Some(lines) = copies::beginning(&ctx.buffer.document(), line) else {
        return ctx.inform("Put the cursor on the last message that the fork should contain.");
    };
    let stem = ctx.place.path().and_then(Path::file_stem);
    let stem = stem.map_or_else(|| "chat".into(), |it| it.to_string_lossy());
    let folder = ctx.place.own_folder();
    let names = (1_u32..).map(|count| match count {
        1 => format!("{stem}-fork.chat"),
        _ => format!("{stem}-fork-{count}.chat"),
    });
    let mut paths = names.map(|it| folder.join(it));
    let path = paths.find(|it| !it.exists());
    // Always found, because the numbers do not end.
    let path = path.unwrap_or_default();
    request.copy_sent(ctx, &path);
    open_copy(ctx, path.to_string_lossy().into(), lines);
}

/// Opens the chat as a web page if the name ends in `.html`, and otherwise as Markdown, by
/// default under the chat's own name with `.md`.
pub(super) fn export(ctx: &Ctx, name: Option<&str>) {
    let name = name.map(str::to_lowercase).zip(name);
    let is_page = name
        .as_ref()
        .is_some_and(|(lower, _)| lower.ends_with(".html"));
    let document = ctx.buffer.document();
    let lines = if is_page {
        page(&document, &ctx.shared.registry)
    } else {
        copies::markdown(&document)
    };
    if lines.is_empty() {
        return ctx.inform("The chat has no messages, so there is nothing to export.");
    }
    let own = ctx.place.path().unwrap_or(Path::new("chat"));
    let path = match name {
        Some((_, name)) => tools::resolve(ctx.place.cwd(), name),
        None => Ok(own.with_extension("md")),
    };
    let path = match path {
        Ok(path) => path,
        Err(why) => {
            return ctx.inform(&format!("The chat was not exported: {why}"));
        }
    };
    let mut path = path.to_string_lossy().into_owned();
    // The front end distinguishes Markdown from a chat by the name.
    if !is_page && !path.ends_with(".md") {
        path.push_str(".md");
    }
    open_copy(ctx, path, lines);
}

fn open_copy(ctx: &Ctx, name: String, lines: Vec<String>) {
    ctx.editor.show(Display::Open(Open {
        name,
        lines,
        advance: false,
    }));
}
