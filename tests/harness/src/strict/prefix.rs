//! The prefix of a thinking block: `system`, `tools`, and everything in `messages` before the block.
//!
//! Source: "Prefix checks on thinking blocks" and "Fix a thinking block bound to a different
//! conversation" (platform.claude.com, November 2026). Cache marks are not compared. A thinking block
//! that was left out or moved changes the prefix of those after it.
//!
//! The block of a summary that the service wrote stands for the prefix of its request, if `system` and
//! `tools` are the same and the speaker changes below it ("Compaction and preserved thinking",
//! September 2026). Otherwise it is a block like any other.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::{Map, Value as Json, json};

use super::token::Summarized;
use super::{list, text};

/// The digest of a growing prefix.
#[derive(Clone, Copy)]
pub(super) struct Prefix(u64);

/// A block of a request.
pub(super) struct Placed<'a> {
    /// Index of its message.
    pub(super) message: usize,
    /// Index in the message's content.
    pub(super) at: usize,
    pub(super) block: &'a Json,
    /// Digest of its prefix.
    pub(super) prefix: u64,
}

impl Placed<'_> {
    /// Where the block is, as in error messages and `input_transformations`.
    pub(super) fn path(&self) -> String {
        format!("messages.{}.content.{}", self.message, self.at)
    }
}

impl Prefix {
    /// The part of the prefix that all blocks share.
    fn of_top(body: &Json) -> Self {
        let mut prefix = Self(0);
        prefix.add("system", &as_blocks(&body["system"]));
        prefix.add("tools", &body["tools"]);
        prefix
    }

    /// Returns the digest of `system` and `tools`.
    pub(super) fn top_digest(body: &Json) -> u64 {
        Self::of_top(body).0
    }

    /// The prefix of what the model says next.
    pub(super) fn of_answer(body: &Json) -> Self {
        walk(body).0
    }

    /// Adds a block. The borders of messages do not count, because the service joins messages of
    /// one role.
    pub(super) fn add(&mut self, role: &str, block: &Json) {
        let mut hasher = DefaultHasher::new();
        (self.0, role, canonical(block)).hash(&mut hasher);
        self.0 = hasher.finish();
    }

    pub(super) fn digest(self) -> u64 {
        self.0
    }

    /// Adds the block of a summary, which goes first.
    fn add_summary(&mut self, body: &Json, role: &str, block: &Json) {
        let messages = list(&body["messages"]);
        let is_alone = list(&messages[0]["content"]).len() == 1;
        let next = if is_alone {
            messages.get(1)
        } else {
            messages.first()
        };
        let next = next.map_or("", |it| text(&it["role"]));
        match Summarized::read(text(&block["signature"])) {
            Some(summarized)
                if summarized.preserves
                    && summarized.top == self.0
                    && next != summarized.last
                    && next != "system" =>
            {
                self.0 = summarized.prefix;
            }
            _ => self.add(role, block),
        }
    }
}

/// Returns all blocks of `messages` with their prefixes.
pub(super) fn blocks(body: &Json) -> Vec<Placed<'_>> {
    walk(body).1
}

fn walk(body: &Json) -> (Prefix, Vec<Placed<'_>>) {
    let mut prefix = Prefix::of_top(body);
    let mut found = Vec::new();
    for (index, message) in list(&body["messages"]).iter().enumerate() {
        let role = super::text(&message["role"]);
        if message["content"].is_string() {
            prefix.add(role, &json!({"type": "text", "text": message["content"]}));
        }
        for (at, block) in list(&message["content"]).iter().enumerate() {
            found.push(Placed {
                message: index,
                at,
                block,
                prefix: prefix.digest(),
            });
            if block["type"] == "compaction" && (index, at) == (0, 0) {
                prefix.add_summary(body, role, block);
            } else {
                prefix.add(role, block);
            }
        }
    }
    (prefix, found)
}

/// A text as a list with one block.
fn as_blocks(content: &Json) -> Json {
    match content {
        Json::String(text) => json!([{"type": "text", "text": text}]),
        other => other.clone(),
    }
}

/// Returns one spelling for all that is the same to the service.
fn canonical(value: &Json) -> String {
    let mut value = value.clone();
    if value["type"] == "tool_result" {
        value["content"] = as_blocks(&value["content"]);
        if value["is_error"] == false {
            value.as_object_mut().map(|it| it.remove("is_error"));
        }
    }
    sorted(&value, true).to_string()
}

/// Returns `value` with sorted keys and without cache marks. Arguments and schemas may have a key
/// with the same name, which is not one.
fn sorted(value: &Json, removes_marks: bool) -> Json {
    match value {
        Json::Array(items) => items.iter().map(|it| sorted(it, removes_marks)).collect(),
        Json::Object(fields) => {
            let mut keys: Vec<&String> = fields.keys().collect();
            keys.sort();
            let kept = keys
                .into_iter()
                .filter(|key| !removes_marks || *key != "cache_control");
            let pairs = kept.map(|key| {
                let inside = removes_marks && key != "input" && key != "input_schema";
                (key.clone(), sorted(&fields[key], inside))
            });
            Json::Object(pairs.collect::<Map<_, _>>())
        }
        plain => plain.clone(),
    }
}
