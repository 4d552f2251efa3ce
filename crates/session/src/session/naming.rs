//! `:Flemma rename`: another name for the chat's file. The editor renames it, and reports the
//! new path as it does for any other way to rename a buffer.

use std::path::Path;

use chat::title::{file_stem, title};

use super::ctx::Ctx;
use crate::protocol::{Display, Rename};
use crate::status::free_name;

/// Renames the chat's file to a title, by default the first words that the user wrote.
pub(super) fn rename(ctx: &Ctx, given: Option<&str>, is_elsewhere: bool, is_running: bool) {
    if let Some(reason) = why_not_renamed(is_elsewhere, is_running) {
        return ctx.inform(reason);
    }
    // A user may write the name of a file.
    let given = given.map(|it| it.strip_suffix(".chat").unwrap_or(it));
    let title = given.map_or_else(|| title(&ctx.buffer.document()), |it| Some(it.to_owned()));
    let Some(stem) = title.as_deref().and_then(file_stem) else {
        return ctx.inform(match given {
            Some(_) => "A title needs letters or digits.",
            None => "The chat has no message with words. Give a title: :Flemma rename TITLE.",
        });
    };
    let own = ctx.place.path();
    if own.and_then(Path::file_stem).is_some_and(|it| it == &*stem) {
        return ctx.inform(&format!("The chat is already named {stem}."));
    }
    ctx.editor.show(Display::Rename(Rename {
        buffer: ctx.buffer.id(),
        path: free_name(&ctx.place.own_folder(), &stem),
    }));
}

fn why_not_renamed(is_elsewhere: bool, is_running: bool) -> Option<&'static str> {
    if is_elsewhere {
        Some("Another program works on this chat. Rename it there, or close it there first.")
    } else if is_running {
        // The sandbox of a running command protects the file by its present name.
        Some("A call is running. Rename the chat when it has ended, or cancel the call.")
    } else {
        None
    }
}
