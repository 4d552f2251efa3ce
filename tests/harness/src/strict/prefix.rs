//! The prefix of a thinking block: `system`, `tools`, and everything in `messages` before the block.
//!
//! Source: "Prefix checks on thinking blocks" and "Fix a thinking block bound to a different
//! conversation" (platform.claude.com, November 2026). Cache marks are not compared. A thinking block
//! that was left out or moved changes the prefix of those after it.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash, Hasher};

use serde_json::{Map, Value as Json, json};

use super::list;

/// The digest of a growing prefix.
#[derive(Clone)]
pub(super) struct Prefix(DefaultHasher);

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
        let mut prefix = Self(DefaultHasher::new());
        prefix.add("system", &as_blocks(&body["system"]));
        prefix.add("tools", &body["tools"]);
        prefix
    }

    /// The prefix of what the model says next.
    pub(super) fn of_answer(body: &Json) -> Self {
        walk(body).0
    }

    /// Adds a block. The borders of messages do not count, because the service joins messages of
    /// one role.
    pub(super) fn add(&mut self, role: &str, block: &Json) {
        role.hash(&mut self.0);
        canonical(block).hash(&mut self.0);
    }

    pub(super) fn digest(&self) -> u64 {
        self.0.finish()
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
            prefix.add(role, block);
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
