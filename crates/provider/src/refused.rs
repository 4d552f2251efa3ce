//! Parameters that a server refused by name, and requests without them.
//!
//! Servers and models differ in the parameters that they take, and the differences change
//! with every model. A refusal that names a parameter is therefore followed: the parameter
//! is renamed or left out, and the request is sent again.
//!
//! A [`Feature`] is a part of requests that not every server of a protocol has: gateways, clouds,
//! and compatible servers lag behind Anthropic's API. `refusal` recognizes a feature that one of
//! them does not know.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::{Endpoint, HttpRequest};

/// A parameter of requests that a server refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefusedParameter {
    /// Its path in the body, such as `stream_options` or `generationConfig.temperature`.
    path: Vec<String>,
    /// The name that the server takes instead.
    instead: Option<&'static str>,
}

/// Other names of a parameter.
const RENAMES: &[(&str, &str)] = &[
    ("max_tokens", "max_completion_tokens"),
    ("max_completion_tokens", "max_tokens"),
];

/// Fields without which a request means something else. They are never left out.
const NEEDED: [&str; 10] = [
    "model",
    "messages",
    "input",
    "contents",
    "system",
    "systemInstruction",
    "instructions",
    "tools",
    "stream",
    "store",
];

/// Fields whose own fields are parameters too.
const PARENTS: [&str; 7] = [
    "generationConfig",
    "thinkingConfig",
    "stream_options",
    "reasoning",
    "thinking",
    "output_config",
    "chat_template_kwargs",
];

/// Words with which servers refuse a parameter, in lower case.
const REFUSALS: [&str; 17] = [
    "unsupported",
    "not supported",
    "does not support",
    "doesn't support",
    "not permitted",
    "not allowed",
    "extra_forbidden",
    "extra fields",
    "additional properties",
    "unrecognized",
    "unknown",
    "unexpected",
    "deprecated",
    "cannot find field",
    "is not available",
    "may only be set",
    "is allowed for this model",
];

impl RefusedParameter {
    /// Returns the parameter of `request` that an error response names; `None` if it refuses
    /// something else.
    pub fn of_answer(status: u16, body: &[u8], request: &HttpRequest) -> Option<Self> {
        if !matches!(status, 400 | 404 | 422) {
            return None;
        }
        let text = String::from_utf8_lossy(body);
        let lower = text.to_lowercase();
        if !REFUSALS.iter().any(|words| lower.contains(words)) {
            return None;
        }
        let sent: Fields<'_> = serde_json::from_slice(&request.body).ok()?;
        let mut paths = Vec::new();
        collect(&sent, &mut Vec::new(), &mut paths);
        let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let named =
            ["/error/param", "/param"].map(|at| json.pointer(at).and_then(|it| it.as_str()));
        let named = named.into_iter().flatten().next().unwrap_or_default();
        let path = paths
            .iter()
            .filter(|path| path.join(".") == named)
            .chain(
                paths
                    .iter()
                    .filter(|path| path.last().is_some_and(|name| name == named)),
            )
            .next()
            // The name that comes first is the refused one; others are advice.
            .or_else(|| first_named(&paths, &text))?;
        let name = path.last().map_or("", String::as_str);
        let other = RENAMES.iter().find(|(from, _)| *from == name);
        Some(Self {
            // The older name is accepted everywhere, so it is replaced even without advice.
            instead: other
                .map(|(_, to)| *to)
                .filter(|to| name == "max_tokens" || word_at(&lower, to).is_some()),
            path: path.clone(),
        })
    }

    /// Returns a parameter that a server is known to take under another name, or not at
    /// all.
    pub(crate) fn known(name: &str, instead: Option<&'static str>) -> Self {
        Self {
            path: vec![name.to_owned()],
            instead,
        }
    }

    /// Renames the parameter in `body` or leaves it out. The rest stays byte for byte.
    pub fn apply(&self, body: &mut Vec<u8>) {
        let changed = serde_json::from_slice::<Fields<'_>>(body)
            .ok()
            .and_then(|fields| self.changed(&fields, &self.path));
        if let Some(changed) = changed {
            *body = changed.into_bytes();
        }
    }

    fn changed(&self, fields: &Fields<'_>, path: &[String]) -> Option<String> {
        let (name, rest) = path.split_first()?;
        let at = fields.0.iter().position(|field| field.0 == *name)?;
        let mut fields = fields.clone();
        let inner;
        match (rest.is_empty(), self.instead) {
            (true, Some(instead)) => fields.0[at].0 = Cow::Borrowed(instead),
            (true, None) => drop(fields.0.remove(at)),
            (false, _) => {
                let own: Fields<'_> = serde_json::from_str(fields.0[at].1.get()).ok()?;
                inner = RawValue::from_string(self.changed(&own, rest)?).ok()?;
                fields.0[at].1 = &inner;
            }
        }
        serde_json::to_string(&fields).ok()
    }
}

impl fmt::Display for RefusedParameter {
    /// The fate of the parameter, as the second half of a sentence about the server.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.join(".");
        match self.instead {
            Some(instead) => write!(f, "{path}, so it is sent as {instead}"),
            None => write!(f, "{path}, so it is left out"),
        }
    }
}

/// Returns where a word begins in a text.
fn word_at(text: &str, word: &str) -> Option<usize> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut places = text.match_indices(word).map(|(at, _)| at);
    places
        .find(|at| !text[..*at].ends_with(is_part) && !text[at + word.len()..].starts_with(is_part))
}

/// Returns the path whose name comes first in a message, as a whole word.
fn first_named<'a>(paths: &'a [Vec<String>], text: &str) -> Option<&'a Vec<String>> {
    let place = |path: &&'a Vec<String>| {
        let name = path.last()?;
        let at = word_at(text, name)?;
        let (before, behind) = (&text[..at], &text[at + name.len()..]);
        // A field of a message may have the same name.
        let parent = before.strip_suffix('.');
        let own = path
            .len()
            .checked_sub(2)
            .map_or("body", |at| path[at].as_str());
        if parent.is_some_and(|parent| !parent.ends_with(own)) {
            return None;
        }
        // Short names are words of sentences, so they must be marked.
        let is_plain = !name.contains('_') && !name.contains(|c: char| c.is_ascii_uppercase());
        let is_marked = before.ends_with(['\'', '"', '`', '.']) || behind.starts_with([':', '.']);
        (!is_plain || is_marked || name == "temperature").then_some(at)
    };
    let found = paths.iter().filter_map(|path| Some((place(&path)?, path)));
    found.min_by_key(|(at, _)| *at).map(|(_, path)| path)
}

/// Collects the paths of all parameters, those of inner fields after their parents.
fn collect(fields: &Fields<'_>, parent: &mut Vec<String>, paths: &mut Vec<Vec<String>>) {
    for (name, value) in &fields.0 {
        // Without its type, an object means nothing.
        let is_needed = if parent.is_empty() {
            NEEDED.contains(&name.as_ref())
        } else {
            name == "type"
        };
        if is_needed {
            continue;
        }
        parent.push(name.to_string());
        paths.push(parent.clone());
        if PARENTS.contains(&name.as_ref()) {
            let own = serde_json::from_str::<Fields<'_>>(value.get());
            own.iter().for_each(|own| collect(own, parent, paths));
        }
        parent.pop();
    }
}

/// An object with its fields as they are written.
#[derive(Clone)]
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Fields<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
                    fields.push((Cow::Owned(name), value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

impl Serialize for Fields<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, value) in &self.0 {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Features that are left out of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Without {
    /// The instruction to drop thinking that has become invalid. Without it, the model's
    /// earlier thinking is not sent either, because it might be rejected.
    pub block_binding: bool,
    /// Tools that are defined in messages; they go to the others.
    pub tool_changes: bool,
    /// System messages in the conversation; they go to the system prompt.
    pub system_messages: bool,
    /// The signed thinking of earlier answers.
    pub signed_thinking: bool,
    /// Summaries that the provider writes; those of the chat go as text.
    pub compaction: bool,
}

/// A feature that not every server of a protocol has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Feature {
    /// See [`Without::block_binding`].
    BlockBinding,
    /// See [`Without::tool_changes`].
    ToolChanges,
    /// See [`Without::system_messages`].
    SystemMessages,
    /// See [`Without::compaction`].
    Compaction,
}

impl Without {
    /// Returns true if the feature is left out.
    pub fn has(self, feature: Feature) -> bool {
        match feature {
            Feature::BlockBinding => self.block_binding,
            Feature::ToolChanges => self.tool_changes,
            Feature::SystemMessages => self.system_messages,
            Feature::Compaction => self.compaction,
        }
    }

    /// Leaves out a feature.
    pub fn add(&mut self, feature: Feature) {
        match feature {
            Feature::BlockBinding => self.block_binding = true,
            Feature::ToolChanges => self.tool_changes = true,
            Feature::SystemMessages => self.system_messages = true,
            Feature::Compaction => self.compaction = true,
        }
    }

    /// Returns what either leaves out.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            block_binding: self.block_binding || other.block_binding,
            tool_changes: self.tool_changes || other.tool_changes,
            system_messages: self.system_messages || other.system_messages,
            signed_thinking: self.signed_thinking || other.signed_thinking,
            compaction: self.compaction || other.compaction,
        }
    }
}

impl Feature {
    /// Describes what follows for the user from a server that does not have the feature.
    pub fn missing(self, endpoint: &Endpoint) -> String {
        let host = endpoint.shown_base();
        match self {
            Self::BlockBinding => format!(
                "{host} does not support block_binding, so the model's signed thinking is not sent there."
            ),
            Self::ToolChanges => format!(
                "{host} does not support tools that are added later, so they are sent with the others. Cached tokens are paid again."
            ),
            Self::Compaction => format!(
                "{host} does not support compaction, so the model writes summaries as it writes answers, and they are sent there as text."
            ),
            Self::SystemMessages => format!(
                "{host} does not support system messages below an answer, so they are sent with the system prompt. Cached tokens are paid again."
            ),
        }
    }
}
