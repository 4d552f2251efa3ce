//! Converts IDs of calls and names of called tools to characters that every provider
//! accepts.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use chat::{
    prompt::{Part, Prompt},
    tool::ToolUseId,
};

/// Maximum length of an ID: OpenAI's limit, and that of the Messages API's pattern
/// `^[a-zA-Z0-9_-]{1,64}$`.
const MAX_ID_CHARS: usize = 64;

/// The wire ID of each ID in a prompt, one to one.
///
/// A wire ID depends only on the IDs before it, so an appended turn changes no earlier one.
#[derive(Debug, Default)]
pub(crate) struct WireIds<'a> {
    of: HashMap<&'a ToolUseId, String>,
    taken: HashSet<String>,
}

impl<'a> WireIds<'a> {
    /// Converts all IDs in `prompt`.
    pub(crate) fn new(prompt: &'a Prompt) -> Self {
        let mut ids = Self::default();
        for part in prompt.messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::ToolUse { id, .. }
                | Part::ToolResult {
                    tool_use_id: id, ..
                } => ids.add(id),
                Part::Text(_) | Part::File(_) | Part::Thinking { .. } => {}
            }
        }
        ids
    }

    /// Returns the wire ID of an ID in the prompt.
    pub(crate) fn get(&self, id: &'a ToolUseId) -> &str {
        self.of.get(id).map_or(id.as_str(), String::as_str)
    }

    fn add(&mut self, id: &'a ToolUseId) {
        if self.of.contains_key(id) {
            return;
        }
        let plain = spell(id.as_str());
        let numbered = (2..).map(|n| {
            let suffix = format!("_{n}");
            // The spelling is ASCII, so every byte is a boundary.
            let kept = plain.len().min(MAX_ID_CHARS - suffix.len());
            format!("{}{suffix}", &plain[..kept])
        });
        let free = std::iter::once(plain.clone())
            // The range is infinite, so a free ID is always found.
            .chain(numbered)
            .find(|id| !self.taken.contains(id));
        let wire = free.unwrap_or(plain);
        self.taken.insert(wire.clone());
        self.of.insert(id, wire);
    }
}

/// Returns the wire name of a called tool. Offered tools have valid names, but a model may
/// have called any other. An invalid name would make the provider reject all further
/// requests.
pub(crate) fn wire_name(name: &str) -> Cow<'_, str> {
    let fits = (1..=MAX_ID_CHARS).contains(&name.len()) && name.chars().all(is_accepted);
    match fits {
        true => Cow::Borrowed(name),
        false => Cow::Owned(spell(name)),
    }
}

fn is_accepted(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}

fn spell(text: &str) -> String {
    let spelled: String = text
        .chars()
        .take(MAX_ID_CHARS)
        .map(|c| if is_accepted(c) { c } else { '_' })
        .collect();
    if spelled.is_empty() {
        "_".to_owned()
    } else {
        spelled
    }
}
