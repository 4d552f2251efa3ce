//! The names of tools and of properties on the wire.
//!
//! Properties are renamed in schemas and in the arguments of calls.

use std::collections::{HashMap, HashSet};

use chat::schema::{Subschemas, for_each};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::{Keys, Rules};

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
    let is_free = !rules.reserved.contains(&name);
    (1..=LONGEST).contains(&name.len()) && begins && is_free && name.chars().all(is_of_name)
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
fn wire_keys(names: &HashSet<String>, keys: Keys) -> Vec<(String, String)> {
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

/// Keywords whose value has names of properties as its keys.
const NAMED: [&str; 3] = ["properties", "dependentSchemas", "dependentRequired"];

/// Keywords whose value is a list of names of properties.
const LISTS: [&str; 2] = ["required", "propertyOrdering"];

/// Pairs of a tool's own name of a property and the wire name.
pub(super) type Renames = Vec<(String, String)>;

/// Renames the properties that a provider refuses, and returns the pairs of name and wire
/// name.
pub(super) fn rename_in_schema(schema: &mut Value, keys: Keys) -> Renames {
    let mut names = HashSet::new();
    for_each(schema, &mut |map| {
        let named = NAMED.iter().filter_map(|it| map.get(*it)?.as_object());
        names.extend(named.flat_map(Map::keys).cloned());
        let lists = LISTS.iter().filter_map(|it| map.get(*it)?.as_array());
        names.extend(lists.flatten().filter_map(Value::as_str).map(str::to_owned));
    });
    let renames = wire_keys(&names, keys);
    if !renames.is_empty() {
        for_each(schema, &mut |map| rename_in(map, &renames));
    }
    renames
}

fn rename_in(map: &mut Map<String, Value>, renames: &[(String, String)]) {
    for keyword in NAMED {
        let Some(Value::Object(named)) = map.get_mut(keyword) else {
            continue;
        };
        let old = std::mem::take(named);
        named.extend(old.into_iter().map(|(name, mut inner)| {
            rename_in_list(&mut inner, renames);
            (renamed(&name, renames).to_owned(), inner)
        }));
    }
    for keyword in LISTS {
        if let Some(list) = map.get_mut(keyword) {
            rename_in_list(list, renames);
        }
    }
}

fn rename_in_list(list: &mut Value, renames: &[(String, String)]) {
    for name in list.as_array_mut().into_iter().flatten() {
        let wire = name.as_str().map(|it| renamed(it, renames));
        if let Some(wire) = wire.map(str::to_owned) {
            *name = Value::String(wire);
        }
    }
}

fn renamed<'r>(name: &'r str, renames: &'r [(String, String)]) -> &'r str {
    let found = renames.iter().find(|(from, _)| from == name);
    found.map_or(name, |(_, to)| to)
}

/// Which way arguments go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    ToWire,
    FromWire,
}

/// Returns arguments with other names of the properties that `schema` declares, and otherwise
/// byte for byte as they are. What is not JSON stays as it is.
pub(super) fn rename_in_arguments(
    text: &str,
    schema: &Value,
    renames: &[(String, String)],
    way: Way,
) -> String {
    let renamer = Renamer { renames, way };
    let mut out = String::with_capacity(text.len());
    renamer.write(text, &Subschemas::of(schema), &mut out);
    out
}

struct Renamer<'r> {
    renames: &'r [(String, String)],
    way: Way,
}

impl Renamer<'_> {
    /// Returns the tool's own name and the new name of a property that is to be renamed.
    fn new_name(&self, name: &str, place: &Subschemas<'_>) -> Option<(&str, &str)> {
        let found = self.renames.iter().find(|(own, wire)| match self.way {
            Way::ToWire => own == name,
            Way::FromWire => wire == name,
        });
        // Free-form values may contain the same name by accident.
        let (own, wire) = found.filter(|(own, _)| place.declares(own))?;
        Some((own, if self.way == Way::ToWire { wire } else { own }))
    }

    fn write(&self, text: &str, place: &Subschemas<'_>, out: &mut String) {
        let begins = text.trim_start().chars().next();
        let length = out.len();
        let done = match begins {
            Some('{') => self.write_object(text, place, out),
            Some('[') => self.write_list(text, place, out),
            _ => None,
        };
        if done.is_none() {
            out.truncate(length);
            out.push_str(text);
        }
    }

    fn write_object(&self, text: &str, place: &Subschemas<'_>, out: &mut String) -> Option<()> {
        let Entries(entries) = serde_json::from_str(text).ok()?;
        let mut copied = 0;
        for (name, value) in entries {
            let start = offset(text, value)?;
            let (own, new) = self.new_name(&name, place).unwrap_or((&name, &name));
            let before = &text[copied..start];
            if *new == *name {
                out.push_str(before);
            } else {
                // Between two values are only the name, a colon, and at most a comma.
                let (open, close) = (before.find('"')?, before.rfind('"')?);
                out.push_str(&before[..open]);
                out.push_str(&Value::from(new).to_string());
                out.push_str(&before[close + 1..]);
            }
            self.write(value.get(), &place.property(own), out);
            copied = start + value.get().len();
        }
        out.push_str(&text[copied..]);
        Some(())
    }

    fn write_list(&self, text: &str, place: &Subschemas<'_>, out: &mut String) -> Option<()> {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let mut copied = 0;
        for (index, item) in items.into_iter().enumerate() {
            let start = offset(text, item)?;
            out.push_str(&text[copied..start]);
            self.write(item.get(), &place.item(index), out);
            copied = start + item.get().len();
        }
        out.push_str(&text[copied..]);
        Some(())
    }
}

/// Returns where a value that was borrowed from `text` begins in it.
fn offset(text: &str, value: &RawValue) -> Option<usize> {
    let start = value.get().as_ptr() as usize;
    start
        .checked_sub(text.as_ptr() as usize)
        .filter(|it| *it < text.len())
}

/// The members of an object as written, in their order.
struct Entries<'t>(Vec<(String, &'t RawValue)>);

impl<'de> Deserialize<'de> for Entries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;

        impl<'de> Visitor<'de> for Members {
            type Value = Entries<'de>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Members)
    }
}
