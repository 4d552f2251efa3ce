//! Stable identity of a configured server. Pure.

use serde_json::json;
use sha2::{Digest, Sha256};

/// SHA-256, in hexadecimal, of a server's configuration file, name, and command line or URL
/// before variables are expanded.
/// Excludes `env`, `headers`, and the values of variables: a rotating secret must not make
/// a server new, because the tools of a new server are accepted without a question.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity(String);

impl Identity {
    /// Returns the identity of the server `name` in the configuration file `origin`, from
    /// its command line or URL as written.
    pub fn new(origin: &str, name: &str, argv: &[String], url: Option<&str>) -> Self {
        // As JSON, so that moving a word from one part to the next changes the digest.
        let written = json!([origin, name, argv, url]);
        let digest = Sha256::digest(written.to_string());
        Self(digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The digest.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::spec::read;
    use serde_json::{Map, Value};

    fn identity(origin: &str, name: &str, written: Value, token: &str) -> Identity {
        let variable = |_: &str| Some(token.to_owned());
        let table = Map::from_iter([(name.to_owned(), written)]);
        read(&table, origin, &variable).0.pop().unwrap().identity
    }

    #[test]
    fn variable_values_do_not_change_the_identity() {
        for written in [
            json!({"command": "a", "env": {"TOKEN": "${TOKEN}"}}),
            json!({"command": ["a", "--key=${TOKEN}"], "cwd": "/${TOKEN}"}),
            json!({"url": "https://h/mcp?key=${TOKEN}", "headers": {"Authorization": "Bearer ${TOKEN}"}}),
        ] {
            let monday = identity("file", "docs", written.clone(), "1");
            assert_eq!(monday, identity("file", "docs", written, "2"));
        }
        let with = |more: Value| {
            let mut written = json!({"command": "a"});
            written
                .as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            identity("file", "docs", written, "")
        };
        assert_eq!(with(json!({})), with(json!({"timeout": 9})));
        assert_eq!(with(json!({})), with(json!({"env": {"X": "1"}})));
    }

    #[test]
    fn file_name_and_target_make_the_identity() {
        let a = json!({"command": "a", "args": ["b"]});
        let known = identity("file", "docs", a.clone(), "");
        assert_eq!(
            known,
            identity("file", "docs", json!({"command": ["a", "b"]}), "")
        );
        for other in [
            identity("other", "docs", a.clone(), ""),
            identity("file", "other", a, ""),
            identity("file", "docs", json!({"command": ["a b"]}), ""),
            identity("file", "docs", json!({"command": ["a", "${B}"]}), "b"),
            identity("file", "docs", json!({"url": "http://a"}), ""),
        ] {
            assert_ne!(known, other);
        }
    }
}
