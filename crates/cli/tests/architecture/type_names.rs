//! The names of the types that a crate defines for others or for its own modules.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use super::files;
use super::source::is_test;

/// Returns each name of a `pub` or `pub(crate)` type, and the crates that define it.
pub fn by_name(crates: &Path, names: &[&str]) -> BTreeMap<String, BTreeSet<String>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for name in names {
        for file in files(&crates.join(name).join("src"), ".rs") {
            // Tests define stand-ins, which bear the name of what they replace.
            if !is_test(&file.to_string_lossy()) {
                for line in fs::read_to_string(&file).unwrap().lines() {
                    let defining = defined(line).map(str::to_owned);
                    if let Some(defined) = defining {
                        found.entry(defined).or_default().insert((*name).to_owned());
                    }
                }
            }
        }
    }
    found
}

/// The name of the type that this line defines for more than its own module.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let rest = ["pub ", "pub(crate) "]
        .iter()
        .find_map(|it| line.strip_prefix(it))?;
    let (keyword, rest) = rest.split_once(' ')?;
    let is_type = ["struct", "enum", "trait", "type"].contains(&keyword);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    is_type.then(|| &rest[..end.unwrap_or(rest.len())])
}

/// Names that several crates define, and why.
const SHARED: [(&str, &str); 27] = [
    (
        "Arguments",
        "the parsed arguments of a tool, or of the program",
    ),
    (
        "Call",
        "a tool call, as the document, the library, a server, and a session see it",
    ),
    (
        "Command",
        "a message of the editor; a shell command to start",
    ),
    (
        "Event",
        "what happens to a cycle; what happens during a run of the library",
    ),
    ("Held", "what is kept until it is released"),
    ("Input", "what the loop of a task reads next"),
    (
        "Kind",
        "the kind of a scanned line; the kind of an option's value",
    ),
    ("Language", "of text that is drawn; of a new script tool"),
    (
        "Level",
        "how grave a notice is; how exactly a piece matches",
    ),
    ("List", "a list option; the tool `ls`"),
    ("Located", "an option, or an edit, with its position"),
    (
        "Mark",
        "a sign beside a call; the variable that marks our processes",
    ),
    ("Offer", "what is offered: a tool, a rule, or a completion"),
    ("OpenText", "the text of an open buffer"),
    ("Piece", "a part of a message, or of an edit"),
    ("Problem", "why something failed, as a sentence"),
    (
        "Prompts",
        "questions to the user, as a trait and on a terminal",
    ),
    ("Run", "a run of the library, or of one call"),
    ("Scope", "of an option, or of a checkpoint"),
    (
        "Secret",
        "a key that is never printed; a file that is read only with consent",
    ),
    ("Source", "of a decision, or of a frontmatter"),
    ("Start", "how a process starts"),
    ("Target", "where a request goes, or a write"),
    ("Thinking", "the setting, and the block"),
    (
        "ToolResult",
        "a result, as a tool returns it and in the document",
    ),
    (
        "ToolUse",
        "a call, as a provider sends it and in the document",
    ),
    ("Variables", "of the environment, or of a shell command"),
];

#[test]
fn a_type_name_has_one_meaning_in_all_crates() {
    let names = super::CRATES.map(|(name, _)| name);
    let defined = by_name(&super::root().join("crates"), &names);
    assert!(defined.len() > 300, "{} types", defined.len());
    let shared = defined.iter().filter(|(_, crates)| crates.len() > 1);
    let shared: BTreeMap<&str, _> = shared
        .map(|(name, crates)| (name.as_str(), crates))
        .collect();
    for (name, crates) in &shared {
        let is_listed = SHARED.iter().any(|(listed, _)| listed == name);
        assert!(
            is_listed,
            "{name} is defined in {crates:?}: name one of them precisely"
        );
    }
    // A name that is unique again is taken off the list, so it stays unique.
    for (name, _) in SHARED {
        assert!(shared.contains_key(name), "{name} is defined once");
    }
}

#[test]
fn only_types_that_other_modules_see_are_found() {
    assert_eq!(defined("pub struct Given<'a> {"), Some("Given"));
    assert_eq!(
        defined("    pub(crate) type Calls = Vec<Call>;"),
        Some("Calls")
    );
    assert_eq!(defined("struct Given;"), None);
    assert_eq!(defined("pub(super) enum Given {"), None);
    assert_eq!(defined("pub fn given() {"), None);
}
