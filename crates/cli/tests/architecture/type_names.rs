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

#[test]
fn a_type_name_has_one_meaning_in_all_crates() {
    let names = super::CRATES.map(|(name, _)| name);
    let defined = by_name(&super::root().join("crates"), &names);
    assert!(defined.len() > 300, "{} types", defined.len());
    let shared = defined.iter().filter(|(_, crates)| crates.len() > 1);
    let shared: BTreeMap<&str, _> = shared
        .map(|(name, crates)| (name.as_str(), crates))
        .collect();
    assert_eq!(
        shared,
        BTreeMap::new(),
        "several crates define these: name one of each precisely"
    );
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
