//! Completions of the word that is being written: roles, tools, references, statuses, options,
//! and models.

use std::path::Path;

use chat::complete::{Unfinished, WordKind, unfinished};
use chat::document::{Role, Status};
use chat::references::{BUFFER, CONTEXTS, encoded, encoded_uri, server_at_start};
use policy::options;

use crate::protocol::{Lookup, LookupAnswer, Menu, MenuItem, ReferenceItem};
use crate::session::ctx::Ctx;
use crate::shared::Shared;
use crate::{status, switch};

/// Maximum number of files in a menu.
const FILES: usize = 100;
/// The table of a chat's options in Lua.
const OPTIONS: &str = "flemma.opt.";

/// Computes a menu on another thread, because it may list the files of a project.
pub(super) fn send_menu(ctx: &Ctx, lookup: &Lookup) {
    let number = lookup.lookup;
    let word = unfinished(&ctx.buffer.document(), lookup.line, lookup.column);
    let Some(word) = word else {
        return ctx.editor.looked_up(number, LookupAnswer::Nothing);
    };
    if word.kind == WordKind::Buffer {
        return send_buffers(ctx, number, word);
    }
    if word.kind == WordKind::Resource {
        return send_resources(ctx, number, word);
    }
    let (editor, shared) = (ctx.editor.clone(), ctx.shared.clone());
    let folder = ctx.place.folder();
    tokio::task::spawn_blocking(move || {
        let items = items(&word, &shared, &folder);
        // Only the best matches are listed, so the front end asks again at the next letter.
        let is_partial = word.kind == WordKind::File;
        let menu = Menu {
            word,
            items,
            is_partial,
        };
        editor.looked_up(number, LookupAnswer::Menu(menu));
    });
}

/// Gets the open buffers from the editor.
fn send_buffers(ctx: &Ctx, number: u64, word: Unfinished) {
    let (editor, chat) = (ctx.editor.clone(), ctx.buffer.id());
    let folder = ctx.place.folder();
    tokio::spawn(async move {
        let answer = editor.refer(chat, "buffers", String::new(), &folder).await;
        let buffers = answer.unwrap_or_default().items;
        let menu = Menu {
            word,
            items: buffers.iter().map(buffer_item).collect(),
            is_partial: false,
        };
        editor.looked_up(number, LookupAnswer::Menu(menu));
    });
}

/// Gets the resources of an MCP server from it.
fn send_resources(ctx: &Ctx, number: u64, word: Unfinished) {
    let (editor, servers) = (ctx.editor.clone(), ctx.shared.servers.clone());
    tokio::spawn(async move {
        let items = match server_at_start(&word.text) {
            Some((server, typed)) => {
                let found = servers.complete_uri(server, typed).await.into_iter();
                let resource = |it: mcp::ResourceUri| {
                    item(format!("@{server}:{}", encoded_uri(&it.uri)), it.about)
                };
                found.map(resource).collect()
            }
            None => Vec::new(),
        };
        let menu = Menu {
            word,
            items,
            // The server completes the variables of templates letter by letter.
            is_partial: true,
        };
        editor.looked_up(number, LookupAnswer::Menu(menu));
    });
}

/// Returns the reference to a buffer.
fn buffer_item(buffer: &ReferenceItem) -> MenuItem {
    let detail = match buffer.kind.as_str() {
        "" => "buffer".to_owned(),
        state => format!("buffer, {state}"),
    };
    item(format!("{BUFFER}{}", encoded(&buffer.name)), detail)
}

/// Returns what a word may become. Blocking.
fn items(word: &Unfinished, shared: &Shared, folder: &Path) -> Vec<MenuItem> {
    match word.kind {
        WordKind::Role => roles().collect(),
        WordKind::RoleOrTool => roles().chain(tools_of(shared)).collect(),
        WordKind::Tool => tools_of(shared).collect(),
        WordKind::File => files(&word.text, folder),
        WordKind::Status => statuses().collect(),
        WordKind::Option => option_names(&word.text),
        WordKind::Model => models(shared),
        // The editor has the buffers, and servers their resources; see `send_menu`.
        WordKind::Buffer | WordKind::Resource => Vec::new(),
    }
}

fn item(text: impl Into<String>, detail: impl Into<String>) -> MenuItem {
    MenuItem {
        text: text.into(),
        detail: detail.into(),
        help: None,
    }
}

fn roles() -> impl Iterator<Item = MenuItem> {
    Role::ALL
        .map(|role| item(role.marker(), "role"))
        .into_iter()
}

/// Returns the tools and the references.
fn tools_of(shared: &Shared) -> impl Iterator<Item = MenuItem> {
    let tools = status::known_tools(&shared.registry).map(|tool| MenuItem {
        help: Some(tool.about),
        ..item(format!("@{}", tool.name), tool.source)
    });
    let contexts = CONTEXTS.map(|(sign, about)| item(sign, about));
    let begun = [
        item("@./", "file"),
        item(BUFFER, "the text of an open buffer"),
    ];
    let servers = shared.servers.with_resources().into_iter();
    let servers = servers.map(|name| {
        item(
            format!("@{name}:"),
            format!("a resource of the MCP server \"{name}\""),
        )
    });
    begun
        .into_iter()
        .chain(contexts)
        .chain(servers)
        .chain(tools)
}

fn statuses() -> impl Iterator<Item = MenuItem> {
    // `denied` is missing because only policies write it.
    [Status::Approved, Status::Rejected, Status::Pending]
        .map(|status| item(status.as_str(), "status"))
        .into_iter()
}

/// Returns the files below the chat's folder, or those in the folder that was typed.
fn files(typed: &str, folder: &Path) -> Vec<MenuItem> {
    let Some(part) = typed.strip_prefix("@./") else {
        return files_in(typed, folder);
    };
    let names = tools::file_names::matching(folder, &chat::references::decoded(part), FILES);
    let names = names.into_iter();
    names
        .map(|name| item(format!("@./{}", encoded(&name)), "file"))
        .collect()
}

/// Returns the entries of the folder that was typed, by their names.
fn files_in(typed: &str, folder: &Path) -> Vec<MenuItem> {
    let at = typed.rfind('/').map_or(0, |at| at + 1);
    let path = chat::references::decoded(typed[..at].trim_start_matches('@'));
    let entries = std::fs::read_dir(super::absolute(&path, folder));
    let mut items: Vec<MenuItem> = entries
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = encoded(entry.file_name().to_str()?);
            // Follows links, as references do.
            let is_folder = entry.path().is_dir();
            let (end, detail) = if is_folder {
                ("/", "folder")
            } else {
                ("", "file")
            };
            Some(item(format!("{}{name}{end}", &typed[..at]), detail))
        })
        .filter(|it| it.text.starts_with(typed))
        .take(FILES)
        .collect();
    items.sort_by(|a, b| a.text.cmp(&b.text));
    items
}

/// Returns the options in the table that was typed.
fn option_names(typed: &str) -> Vec<MenuItem> {
    let path = typed.strip_prefix(OPTIONS);
    let table = path
        .unwrap_or_default()
        .rsplit_once('.')
        .map_or("", |it| it.0);
    let above = if table.is_empty() {
        String::new()
    } else {
        format!("{table}.")
    };
    let written = if path.is_some() { OPTIONS } else { "" };
    let names = options::names_in_chat(table).into_iter();
    names
        .map(|name| MenuItem {
            help: options::about(&format!("{above}{name}")),
            ..item(format!("{written}{above}{name}"), "option")
        })
        .collect()
}

fn models(shared: &Shared) -> Vec<MenuItem> {
    let variables = |name: &str| tools::variable(name);
    let choices = switch::choices(&shared.settings, &variables).into_iter();
    let models = choices.flat_map(|choice| {
        let provider = choice.name;
        let models = choice.models.into_iter();
        models.map(move |model| MenuItem {
            help: Some(model.note).filter(|it| !it.is_empty()),
            ..item(model.name, provider.clone())
        })
    });
    models.collect()
}
