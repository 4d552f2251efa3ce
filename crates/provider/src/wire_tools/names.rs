//! The names of tools and of properties on the wire.

use std::collections::{HashMap, HashSet};

use super::rules::{Keys, Rules};

/// Maximum length of a name that every provider accepts.
const LONGEST: usize = 64;
/// Precedes a name that must begin with a letter.
const LETTER: &str = "tool_";

/// The wire names of tools whose names a provider refuses, one to one.
///
/// A wire name depends only on the name: another tool does not change it, except in the
/// improbable case that it already has this name.
#[derive(Debug, Default)]
pub(super) struct WireNames<'a>(HashMap<&'a str, String>);

impl<'a> WireNames<'a> {
    /// Finds the wire names of all names that do not fit.
    pub(super) fn new(names: impl Iterator<Item = &'a str> + Clone, rules: Rules) -> Self {
        let (mut taken, mut refused): (Vec<_>, Vec<_>) = names.partition(|it| fits(it, rules));
        if refused.is_empty() {
            return Self::default();
        }
        refused.sort_unstable();
        refused.dedup();
        let mut taken: HashSet<String> = taken.drain(..).map(str::to_owned).collect();
        let wired = refused.into_iter().map(|name| {
            let wire = free(&spelled(name, rules), &taken);
            taken.insert(wire.clone());
            (name, wire)
        });
        Self(wired.collect())
    }

    /// Returns the wire name of a tool.
    pub(super) fn get<'s>(&'s self, name: &'s str) -> &'s str {
        self.0.get(name).map_or(name, String::as_str)
    }

    /// Returns true if all names fit as they are.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn fits(name: &str, rules: Rules) -> bool {
    let begins = !rules.letter_first || name.starts_with(|c: char| c.is_ascii_alphabetic());
    (1..=LONGEST).contains(&name.len()) && begins && name.chars().all(is_of_name)
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

/// Spells a name with accepted characters, and a digest that keeps different names apart.
fn spelled(name: &str, rules: Rules) -> String {
    let plain = name.chars().map(|c| if is_of_name(c) { c } else { '_' });
    let mut plain: String = plain.collect();
    if rules.letter_first && !plain.starts_with(|c: char| c.is_ascii_alphabetic()) {
        plain.insert_str(0, LETTER);
    }
    let tail = format!("_{:08x}", digest(name));
    // The spelling is ASCII, so every byte is a boundary.
    plain.truncate(LONGEST - tail.len());
    plain + &tail
}

/// Returns the FNV-1a hash of a name. Chosen names can collide, which [`free`] resolves.
fn digest(name: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    name.bytes().fold(0x811c_9dc5, step)
}

/// Returns `plain`, or with a number if it is taken.
fn free(plain: &str, taken: &HashSet<String>) -> String {
    let numbered = (2..).map(|n| {
        let suffix = format!("_{n}");
        let kept = plain.len().min(LONGEST - suffix.len());
        format!("{}{suffix}", &plain[..kept])
    });
    std::iter::once(plain.to_owned())
        // The range is infinite, so a free name is always found.
        .chain(numbered)
        .find(|name| !taken.contains(name))
        .unwrap_or_default()
}

/// Returns true if a provider accepts the name of a property.
pub(super) fn is_accepted_key(name: &str, keys: Keys) -> bool {
    name.len() <= LONGEST && begins(name, keys) && name.chars().all(|c| is_accepted(c, keys))
}

fn begins(name: &str, keys: Keys) -> bool {
    let is_digit_first = name.starts_with(|c: char| c.is_ascii_digit());
    !name.is_empty() && (keys == Keys::Dotted || !is_digit_first)
}

fn is_accepted(c: char, keys: Keys) -> bool {
    let is_dotted = keys == Keys::Dotted && matches!(c, '.' | '-');
    c.is_ascii_alphanumeric() || c == '_' || is_dotted
}

/// The wire names of the properties that a provider refuses, for all objects in a tool's
/// arguments: pairs of name and wire name.
pub(super) fn wire_keys(names: &HashSet<String>, keys: Keys) -> Vec<(String, String)> {
    let (taken, refused): (Vec<&String>, Vec<&String>) =
        names.iter().partition(|it| is_accepted_key(it, keys));
    let mut taken: HashSet<String> = taken.into_iter().cloned().collect();
    let mut refused = refused;
    // In a fixed order, so that the same schema gives the same names.
    refused.sort_unstable();
    let wired = refused.into_iter().map(|name| {
        let plain = name.chars();
        let plain = plain.map(|c| if is_accepted(c, keys) { c } else { '_' });
        let mut plain: String = plain.collect();
        if !begins(&plain, keys) {
            plain.insert(0, '_');
        }
        plain.truncate(LONGEST);
        let wire = free(&plain, &taken);
        taken.insert(wire.clone());
        (name.clone(), wire)
    });
    wired.collect()
}
