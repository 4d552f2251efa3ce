//! Renames properties in schemas and in the arguments of calls.

use std::collections::HashSet;

use chat::schema::{Subschemas, for_each};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::{Map, Value, value::RawValue};

use super::names::wire_keys;
use super::rules::Keys;

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
