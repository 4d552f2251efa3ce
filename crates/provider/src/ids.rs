//! Converts IDs of calls to characters that every provider accepts.

use std::collections::{HashMap, HashSet};

use chat::{
    prompt::{Part, Prompt},
    tool::ToolUseId,
};

/// Maximum length of a name or ID: that of OpenAI's Responses, and of the Messages API's
/// pattern `^[a-zA-Z0-9_-]{1,64}$`.
const MAX_ID_CHARS: usize = 64;

/// The IDs that a server accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdRule {
    /// At most [`MAX_ID_CHARS`] letters, digits, `_`, and `-`.
    Words,
    /// At most this many visible ASCII characters. Kimi's models write IDs such as
    /// `functions.bash:0`, and call tools less reliably if they read others.
    Visible(usize),
    /// Exactly this many letters and digits.
    Alphanumeric(usize),
}

impl IdRule {
    /// Returns an accepted ID for `id`; `attempt` is 0, or more if the ID is taken.
    fn spell(self, id: &str, attempt: u32) -> String {
        let (max, is_accepted): (usize, fn(char) -> bool) = match self {
            Self::Words => (MAX_ID_CHARS, is_accepted),
            Self::Visible(max) => (max, |c| c.is_ascii_graphic()),
            Self::Alphanumeric(length) => {
                let fits = id.len() == length && id.chars().all(|c| c.is_ascii_alphanumeric());
                return if fits && attempt == 0 {
                    id.to_owned()
                } else {
                    digest(id, attempt, length)
                };
            }
        };
        let plain: String = id
            .chars()
            .map(|c| if is_accepted(c) { c } else { '_' })
            .collect();
        // A long ID is cut, and its digest tells it from others that begin in the same way.
        let suffix = match attempt {
            0 if plain.is_empty() => "_".to_owned(),
            0 if plain.len() <= max => return plain,
            0 => format!("_{}", digest(id, 0, 9)),
            attempt => format!("_{}", attempt + 1),
        };
        // The spelling is ASCII, so every byte is a boundary.
        let kept = plain.len().min(max - suffix.len());
        format!("{}{suffix}", &plain[..kept])
    }
}

/// Returns `length` letters and digits that depend on `text` and `attempt` alone.
fn digest(text: &str, attempt: u32, length: usize) -> String {
    const DIGITS: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // FNV-1a with 64 bits: every build of Flemma must compute the same.
    let fnv = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let bytes = text.bytes().chain(attempt.to_le_bytes());
    let mut hash = bytes.fold(0xcbf2_9ce4_8422_2325, fnv);
    let digit = |_| {
        let digit = DIGITS[(hash % 62) as usize];
        hash = fnv(hash / 62, digit);
        char::from(digit)
    };
    (0..length).map(digit).collect()
}

/// The wire ID of each ID in a prompt, one to one.
///
/// A wire ID depends only on the IDs before it, so an appended turn changes no earlier one.
#[derive(Debug)]
pub(crate) struct WireIds<'a> {
    rule: IdRule,
    of: HashMap<&'a ToolUseId, String>,
    taken: HashSet<String>,
}

impl<'a> WireIds<'a> {
    /// Converts all IDs in `prompt` to IDs of letters, digits, `_`, and `-`.
    pub(crate) fn new(prompt: &'a Prompt) -> Self {
        Self::with(prompt, IdRule::Words)
    }

    /// Converts all IDs in `prompt` to those that a server accepts.
    pub(crate) fn with(prompt: &'a Prompt, rule: IdRule) -> Self {
        let mut ids = Self {
            rule,
            of: HashMap::new(),
            taken: HashSet::new(),
        };
        for part in prompt.messages.iter().flat_map(|message| &message.parts) {
            match part {
                Part::ToolUse { id, .. }
                | Part::ToolResult {
                    tool_use_id: id, ..
                } => ids.add(id),
                Part::Text(_) | Part::File(_) | Part::ToolsAdded(_) | Part::Thinking { .. } => {}
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
        let spelled = (0..).map(|attempt| self.rule.spell(id.as_str(), attempt));
        // The range is infinite, so a free ID is always found.
        let free = spelled.into_iter().find(|id| !self.taken.contains(id));
        let wire = free.unwrap_or_default();
        self.taken.insert(wire.clone());
        self.of.insert(id, wire);
    }
}

fn is_accepted(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-')
}
