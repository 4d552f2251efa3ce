//! README and help list the providers as defined in their rows.
//!
//! With `UPDATE_DOC=1` the tests write the lists instead of comparing them.

use std::fmt::Write;
use std::path::Path;

use provider::providers::servers::SERVERS;
use provider::providers::{PROVIDERS, ProviderSpec};

/// Text width of the manual.
const WIDTH: usize = 80;

/// Compares the text between two lines of a file with `expected`.
#[track_caller]
fn compare(file: &str, begin: &str, end: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    let start = text.find(begin).unwrap() + begin.len();
    let stop = start + text[start..].find(end).unwrap();
    if text[start..stop] == *expected {
        return;
    }
    if std::env::var_os("UPDATE_DOC").is_some() {
        let updated = format!("{}{expected}{}", &text[..start], &text[stop..]);
        return std::fs::write(path, updated).unwrap();
    }
    panic!(
        "{file} does not list the providers as they are. Run:\n\
         UPDATE_DOC=1 cargo test -p flemma-provider --test it documents"
    );
}

#[test]
fn readme_has_a_row_for_each_provider() {
    let mut text = String::new();
    for spec in PROVIDERS {
        let name = match spec.docs {
            "" => format!("`{}`", spec.name),
            docs => format!("[`{}`]({docs})", spec.name),
        };
        let key = match (spec.key_variable, spec.needs_key) {
            ("", _) => "none".to_owned(),
            (variable, true) => format!("`{variable}`"),
            (variable, false) => format!("`{variable}` (optional)"),
        };
        let is_variable = spec.base_url_variable != spec.name;
        let address = is_variable.then(|| format!(" `{}`", spec.base_url_variable));
        let address = address.unwrap_or_default();
        writeln!(text, "| {name}{} | {key} |{address} |", spec.note).unwrap();
    }
    let begin = "| provider | key | base URL |\n| --- | --- | --- |\n";
    compare("README.md", begin, "\nThe address of a server", &text);
}

// One test per file, because it may write the file.
#[test]
fn help_lists_keys_addresses_and_thinking() {
    let mut text = String::new();
    for spec in PROVIDERS.iter().filter(|it| !it.key_variable.is_empty()) {
        let key = if spec.needs_key {
            format!("${}", spec.key_variable)
        } else {
            format!("(${})", spec.key_variable)
        };
        // A long name gets a separate line.
        let key = if key.len() < 27 {
            format!("{key:27}")
        } else {
            format!("{key}\n{:50}", "")
        };
        writeln!(text, "    {:19}{key}${}", spec.name, spec.base_url_variable).unwrap();
    }
    let begin = "    name               key                        address\n";
    compare("doc/flemma.txt", begin, "\nKeys in parentheses", &text);
    let begin = "By provider ~\n\n";
    compare("doc/flemma.txt", begin, "Signatures ~", &thinking());
    let begin = "Servers ~\n\n";
    compare(
        "doc/flemma.txt",
        begin,
        "Proxies and certificates ~",
        &servers(),
    );
}

/// Returns what is known about each server, with its source.
fn servers() -> String {
    let intro = "Servers differ in the shape of their answers and in the parameters that they take. \
        If Flemma does not know a part of an answer, a message names it. A parameter that a server refuses \
        by name is renamed or left out, and the request is sent again; a message says so, and later \
        requests to the same model do the same until Neovim ends. These differences are known:";
    let mut text = wrapped(intro, WIDTH - 2).join("\n") + "\n\n";
    for server in SERVERS {
        let known = wrapped(server.known, WIDTH - 14);
        for (at, line) in known.iter().enumerate() {
            let name = if at == 0 { server.name } else { "" };
            writeln!(text, "{name:12}{line}").unwrap();
        }
        writeln!(text, "{:12}{}", "", server.source).unwrap();
    }
    text + "\n"
}

/// Returns the paragraphs about thinking, each after the names of its providers.
fn thinking() -> String {
    let mut text = String::new();
    let mut left: Vec<&ProviderSpec> = PROVIDERS.iter().collect();
    left.retain(|spec| !spec.thinking.is_empty());
    while let Some(first) = left.first().copied() {
        let has_same = |it: &&ProviderSpec| it.thinking == first.thinking;
        let (same, others): (Vec<_>, Vec<_>) = left.into_iter().partition(has_same);
        let names: Vec<&str> = same.iter().map(|it| it.name).collect();
        let names = names.join(", ");
        let lines = wrapped(first.thinking, WIDTH - 12);
        let mut lines = lines.iter();
        if names.len() < 12 {
            writeln!(text, "{names:12}{}", lines.next().unwrap()).unwrap()
        } else {
            writeln!(text, "{names}").unwrap()
        }
        for line in lines {
            writeln!(text, "{:12}{line}", "").unwrap();
        }
        left = others;
    }
    text + "\n"
}

fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().unwrap();
        if !line.is_empty() && line.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}
