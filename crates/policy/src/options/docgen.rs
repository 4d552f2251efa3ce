//! Generates the parts of other files that describe the options: the manual's section, the
//! annotations for LuaLS, and the defaults that Neovim needs before the host answers.
//!
//! Each test compares a file with the table; with `UPDATE_DOC=1` it writes the file
//! instead.
#![allow(clippy::unwrap_used)]

use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use super::as_lua;
use super::kind::OptionKind;
use super::rows::{ROOT, SERVER};
use super::{OptionDef, Scope, at, defaults, find, path_in_chat};

/// The options that Neovim needs before the host answers: a key works at once, a chat can be
/// created without a host, and tools are collected when the first chat is opened.
const EARLY: [&str; 3] = ["chats.autosave", "keymaps", "tools.default_timeout"];
/// Width of the manual.
const WIDTH: usize = 78;

/// Compares the text between two markers of a file with the expected one.
#[track_caller]
fn compare(file: &str, begin: &str, end: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let start = text.find(begin).unwrap() + begin.len() + 1;
    let stop = start + text[start..].find(end).unwrap();
    if text[start..stop] == *expected {
        return;
    }
    if std::env::var_os("UPDATE_DOC").is_some() {
        let updated = format!("{}{expected}{}", &text[..start], &text[stop..]);
        return std::fs::write(path, updated).unwrap();
    }
    panic!("{file} does not say what the options are; run the tests with UPDATE_DOC=1");
}

// One test writes the whole file, because tests run at the same time.
#[test]
fn the_manual_says_what_the_options_are_and_shows_their_defaults() {
    let mut text = String::new();
    lua_table(&defaults(), 2, &mut text);
    let begin = "All are optional; these are the defaults: >lua\n\n    require(\"flemma\").setup({";
    compare(
        "doc/flemma.txt",
        begin,
        "    })\n<",
        &indented(&text, "    "),
    );
    let mut text = String::new();
    section(&ROOT, "", &mut text);
    let begin = "                                                 *flemma-option-list*";
    compare("doc/flemma.txt", begin, "==============", &text);
    let begin = "|flemma-sandbox.env|\nnames:\n";
    let end = "A value that holds an address with";
    compare("doc/flemma.txt", begin, end, &variables());
}

/// The variables that commands get, as the manual has them.
fn variables() -> String {
    let mut text = String::new();
    for (what, names) in tools::PASSED {
        writeln!(text, "{}{} ~", what[..1].to_uppercase(), &what[1..]).unwrap();
        let mut line = "   ".to_owned();
        for name in names.split_whitespace() {
            if line.len() + name.len() + 1 > WIDTH {
                writeln!(text, "{line}").unwrap();
                line = "   ".to_owned();
            }
            line.push(' ');
            line.push_str(name);
        }
        writeln!(text, "{line}\n").unwrap();
    }
    text
}

#[test]
fn lua_annotates_all_options() {
    let mut text = String::new();
    classes(&ROOT, "flemma.Options", &mut text);
    compare("lua/flemma/types.lua", "-- Options:", "-- End.", &text);
}

#[test]
fn lua_has_the_defaults_that_it_needs_before_the_host_answers() {
    let all = defaults();
    let mut early = json!({});
    for path in EARLY {
        let value = at(&all, path).unwrap().clone();
        super::lay_over(&mut early, super::nested(path, value));
    }
    let mut text = "local DEFAULTS = {\n".to_owned();
    lua_table(&early, 2, &mut text);
    compare(
        "lua/flemma/config.lua",
        "-- The defaults:",
        "-- End.",
        &(text + "}\n"),
    );
}

/// The entries of the manual for the options of a table.
fn section(kind: &OptionKind, prefix: &str, text: &mut String) {
    for field in kind.fields().into_iter().flatten() {
        let name = format!("{prefix}{}", field.name);
        // List a general parameter once instead of below each provider.
        let general = |name: &str| find(&format!("parameters.{name}")).is_some();
        let connects = prefix != "parameters.anthropic." && is_of_server(field.name);
        let repeats = prefix.matches('.').count() == 2 && (general(field.name) || connects);
        let is_table = field.kind.fields().is_some();
        if !repeats && (!field.help.is_empty() || !is_table) {
            entry(&name, field, text);
        }
        if is_table && !is_server(&field.kind) {
            section(&field.kind, &format!("{name}."), text);
        }
    }
}

/// Returns true for the table of a provider without parameters of its own. These tables are all
/// alike, so they are written once.
fn is_server(kind: &OptionKind) -> bool {
    let names = |kind: &OptionKind| {
        kind.fields()
            .map(|it| it.map(|it| it.name).collect::<Vec<_>>())
    };
    names(kind) == names(&SERVER)
}

fn is_of_server(name: &str) -> bool {
    SERVER
        .fields()
        .into_iter()
        .flatten()
        .any(|it| it.name == name)
}

fn entry(name: &str, field: &OptionDef, text: &mut String) {
    let tag = format!("*flemma-{name}*");
    let room = WIDTH.saturating_sub(name.len() + 1).max(tag.len());
    writeln!(text, "{name} {tag:>room$}").unwrap();
    if field.kind.fields().is_none() {
        let words = format!("{}.", field.kind.words());
        let default = as_lua(&field.default());
        for line in wrapped(&format!("{}{}", words[..1].to_uppercase(), &words[1..])) {
            writeln!(text, "    {line}").unwrap();
        }
        if default != "nil" {
            writeln!(text, "    Default: {default}").unwrap();
        }
    }
    for line in field.help().lines() {
        match line {
            "" | "<" => writeln!(text, "{line}").unwrap(),
            _ => writeln!(text, "    {line}").unwrap(),
        }
    }
    let in_chat = field.kind.fields().is_none() && field.is_in(Scope::Frontmatter);
    if in_chat {
        let path = path_in_chat(name);
        writeln!(text, "    In frontmatter: `flemma.opt.{path}`").unwrap();
    }
    if !field.help().ends_with('<') || in_chat {
        text.push('\n');
    }
}

/// Lines of at most 74 columns.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.len() - 1;
        let line = &mut lines[last];
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= WIDTH - 4 {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

/// Writes a table of values as Lua, a line each.
fn lua_table(values: &Value, indent: usize, text: &mut String) {
    let pad = " ".repeat(indent);
    for (name, value) in values.as_object().into_iter().flatten() {
        let name = as_lua_key(name);
        match value {
            Value::Object(inner) if inner.values().any(|it| !it.is_null()) => {
                writeln!(text, "{pad}{name} = {{").unwrap();
                lua_table(value, indent + 2, text);
                writeln!(text, "{pad}}},").unwrap();
            }
            Value::Null => {}
            Value::Object(_) => writeln!(text, "{pad}{name} = {{}},").unwrap(),
            _ => writeln!(text, "{pad}{name} = {},", as_lua(value)).unwrap(),
        }
    }
}

/// A name as the key of a table.
fn as_lua_key(name: &str) -> String {
    match name {
        "local" => format!("[\"{name}\"]"),
        _ => name.to_owned(),
    }
}

fn indented(text: &str, pad: &str) -> String {
    text.lines().map(|line| format!("{pad}{line}\n")).collect()
}

/// The annotations of a table and of those in it.
fn classes(kind: &OptionKind, class: &str, text: &mut String) {
    if !text.is_empty() {
        text.push('\n');
    }
    writeln!(text, "---@class {class}").unwrap();
    let fields: Vec<&OptionDef> = kind.fields().into_iter().flatten().collect();
    for field in &fields {
        let help = field.help();
        let prose = help.split(">lua").next().unwrap_or_default();
        let help = prose.split_whitespace().collect::<Vec<_>>().join(" ");
        let annotation = annotation(&field.kind, &inner_class(class, field));
        // LuaLS accepts a Lua keyword only in brackets, and then without `?`.
        let line = match as_lua_key(field.name) {
            name if name == field.name => format!("---@field {name}? {annotation} {help}"),
            name => format!("---@field {name} {annotation}|nil {help}"),
        };
        writeln!(text, "{}", line.trim_end()).unwrap();
    }
    if matches!(kind, OptionKind::Tools(_)) {
        writeln!(text, "---@field [string] table Of the tool of that name.").unwrap();
    }
    let mut has_server = false;
    for field in fields {
        let repeats = is_server(&field.kind) && std::mem::replace(&mut has_server, true);
        if field.kind.fields().is_some() && !repeats {
            classes(&field.kind, &inner_class(class, field), text);
        }
    }
}

fn inner_class(class: &str, field: &OptionDef) -> String {
    let name = if is_server(&field.kind) {
        "server"
    } else {
        field.name
    };
    format!("{class}.{name}")
}

fn annotation(kind: &OptionKind, class: &str) -> String {
    match kind {
        OptionKind::Flag => "boolean".to_owned(),
        OptionKind::Off => "false".to_owned(),
        OptionKind::Text | OptionKind::Module | OptionKind::Share | OptionKind::AddressPart => {
            "string".to_owned()
        }
        OptionKind::Hosts => "string[]".to_owned(),
        OptionKind::Choice(words) => {
            let words: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
            words.join("|")
        }
        OptionKind::Number(..) => "number".to_owned(),
        OptionKind::Whole(..) => "integer".to_owned(),
        OptionKind::Function => {
            "(fun(tool_name: string, input: table, context: table): boolean|\"deny\"|nil)"
                .to_owned()
        }
        OptionKind::List(kind) => format!("{}[]", annotation(kind, class)),
        // A table below names of the user's choice has no class of its own.
        OptionKind::Map(kind) => format!("table<string, {}>", annotation(kind, "")),
        OptionKind::Free => "table".to_owned(),
        OptionKind::Table(_) if class.is_empty() => {
            let fields = kind.fields().into_iter().flatten();
            let fields =
                fields.map(|field| format!("{}?: {}", field.name, annotation(&field.kind, "")));
            format!("{{ {} }}", fields.collect::<Vec<_>>().join(", "))
        }
        OptionKind::Table(_) | OptionKind::Tools(_) => class.to_owned(),
        // Nor has a table that is one of several values.
        OptionKind::Any(kinds) => {
            let kinds: Vec<String> = kinds.iter().map(|kind| annotation(kind, "")).collect();
            kinds.join("|")
        }
    }
}
