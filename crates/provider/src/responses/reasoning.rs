//! Converts a reasoning item to a signature in the document and back.
//!
//! The signature is the item as JSON in base64: the API accepts it back only as a whole,
//! with its ID and encrypted content. An item without encrypted content gets no signature,
//! because the provider stores nothing and would not recognize it.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use crate::surrogates;

/// Fields that are sent back, in this order.
const FIELDS: [&str; 5] = ["type", "id", "summary", "content", "encrypted_content"];

/// Returns the signature of an item from a stream.
pub(crate) fn signature(item: &Value) -> Option<String> {
    let item = returnable(item)?;
    let json = Value::Object(item).to_string();
    Some(STANDARD.encode(surrogates::mend(&json).as_bytes()))
}

/// Returns the item of a signature.
pub(crate) fn item(signature: &str) -> Option<Map<String, Value>> {
    let json = STANDARD.decode(signature.trim()).ok()?;
    returnable(&serde_json::from_slice(&json).ok()?)
}

/// Returns the visible thinking of an item that came without deltas.
pub(crate) fn text(item: &Value) -> String {
    let parts = |name: &str| item[name].as_array().cloned().unwrap_or_default();
    let shown = |parts: Vec<Value>| -> Vec<String> {
        let texts = parts.iter().filter_map(|part| part["text"].as_str());
        texts.map(str::to_owned).collect()
    };
    let summary = shown(parts("summary"));
    let texts = if summary.is_empty() {
        shown(parts("content"))
    } else {
        summary
    };
    texts.join("\n\n")
}

fn returnable(item: &Value) -> Option<Map<String, Value>> {
    let is_text = |name: &str| item[name].as_str().is_some_and(|text| !text.is_empty());
    if item["type"] != "reasoning" || !is_text("id") || !is_text("encrypted_content") {
        return None;
    }
    let mut kept = Map::new();
    for name in FIELDS {
        match (name, &item[name]) {
            ("summary", Value::Array(parts)) => {
                drop(kept.insert(name.to_owned(), parts.clone().into()))
            }
            // The API requires a summary, even an empty one.
            ("summary", _) => drop(kept.insert(name.to_owned(), Value::Array(Vec::new()))),
            ("content", Value::Array(parts)) if !parts.is_empty() => {
                kept.insert(name.to_owned(), parts.clone().into());
            }
            ("content", _) => {}
            (_, value) => drop(kept.insert(name.to_owned(), value.clone())),
        }
    }
    Some(kept)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_item_is_restored_except_for_its_stream_fields() {
        let shown = json!({
            "id": "rs_1", "type": "reasoning", "status": "completed", "content": [],
            "encrypted_content": "gAAA=", "summary": [{"type": "summary_text", "text": "Hm."}],
        });

        let kept = item(&signature(&shown).unwrap()).unwrap();

        assert_eq!(
            Value::Object(kept).to_string(),
            r#"{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"Hm."}],"encrypted_content":"gAAA="}"#
        );
        assert_eq!(text(&shown), "Hm.");
    }

    #[test]
    fn unreturnable_items_have_no_signature() {
        assert_eq!(signature(&json!({"type": "reasoning", "id": "rs_1"})), None);
        assert_eq!(item("EqQB"), None);
        assert_eq!(item("ä"), None);
        let message = STANDARD.encode(r#"{"type":"message","id":"m","encrypted_content":"x"}"#);
        assert_eq!(item(&message), None);
    }
}
