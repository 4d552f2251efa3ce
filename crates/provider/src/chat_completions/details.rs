//! OpenRouter's `reasoning_details`: a model's thinking with its provider's proof. Converts
//! them to a signature in the document and back.
//!
//! They arrive in pieces, but are accepted back only as a whole. The signature is the
//! details as JSON in base64.
//!
//! Source: "Reasoning tokens" in OpenRouter's manual.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use crate::surrogates;

/// Fields whose pieces are concatenated; of any other field, the last value counts.
const TEXTS: [&str; 3] = ["text", "summary", "data"];

/// Prefix of a format, and prefix of the models that accept it back.
const MAKERS: [(&str, &str); 4] = [
    ("anthropic-", "anthropic/"),
    ("openai-", "openai/"),
    ("google-", "google/"),
    ("xai-", "x-ai/"),
];

/// A detail, possibly incomplete.
pub(super) type Detail = Map<String, Value>;

/// Adds a piece to the details so far.
pub(super) fn add(details: &mut Vec<Detail>, piece: &Value) {
    let Some(piece) = piece.as_object().filter(|piece| is_detail(piece)) else {
        return;
    };
    let same = |it: &&mut Detail| {
        let both = |name: &str| it.get(name) == piece.get(name);
        // Without an index, pieces can't be matched, so each is a detail of its own.
        piece.get("index").is_some_and(Value::is_u64) && both("index") && both("type")
    };
    match details.iter_mut().find(same) {
        Some(detail) => join(detail, piece),
        None => details.push(piece.clone()),
    }
}

/// Returns the thinking text of a piece.
pub(super) fn text(piece: &Value) -> Option<&str> {
    piece["text"].as_str().or(piece["summary"].as_str())
}

/// Returns the number of bytes in a piece.
pub(super) fn bytes(piece: &Value) -> usize {
    let texts = TEXTS.iter().filter_map(|name| piece[*name].as_str());
    texts.map(str::len).sum()
}

/// Encodes details as a signature; `None` without details.
pub(super) fn signature(details: Vec<Detail>) -> Option<String> {
    let details: Vec<Value> = details.into_iter().map(Value::Object).collect();
    (!details.is_empty()).then(|| {
        let json = Value::from(details).to_string();
        STANDARD.encode(surrogates::mend(&json).as_bytes())
    })
}

/// Decodes signatures for this model. Skips details that another maker signed, because the
/// model would reject them.
pub(super) fn of_signatures<'a>(
    signatures: impl Iterator<Item = &'a str>,
    model: &str,
) -> Vec<Detail> {
    let mut details = Vec::new();
    for signature in signatures {
        // A signature that was edited yields no details, instead of failing the request.
        let json = STANDARD.decode(signature.trim()).unwrap_or_default();
        let pieces: Vec<Value> = serde_json::from_slice(&json).unwrap_or_default();
        pieces.iter().for_each(|piece| add(&mut details, piece));
    }
    details.retain(|detail| is_of(detail, model));
    details
}

fn is_detail(piece: &Detail) -> bool {
    let kind = piece.get("type").and_then(Value::as_str);
    kind.is_some_and(|kind| kind.starts_with("reasoning."))
}

fn is_of(detail: &Detail, model: &str) -> bool {
    let format = detail
        .get("format")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let maker = MAKERS
        .iter()
        .find(|(beginning, _)| format.starts_with(beginning));
    let another = MAKERS
        .iter()
        .any(|(_, beginning)| model.starts_with(beginning));
    // A model without a known maker, such as an alias, gets all details.
    maker.is_none_or(|(_, beginning)| model.starts_with(beginning) || !another)
}

fn join(detail: &mut Detail, piece: &Detail) {
    // A later piece repeats fields as `null`, which must not erase their values.
    for (name, value) in piece.iter().filter(|(_, value)| !value.is_null()) {
        match (detail.get_mut(name), value) {
            (Some(Value::String(text)), Value::String(more)) if TEXTS.contains(&&**name) => {
                text.push_str(more);
            }
            _ => drop(detail.insert(name.clone(), value.clone())),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    fn joined(pieces: &[Value]) -> Vec<Detail> {
        let mut details = Vec::new();
        pieces.iter().for_each(|piece| add(&mut details, piece));
        details
    }

    #[test]
    fn the_text_of_a_piece_is_its_text_or_its_summary() {
        assert_eq!(text(&json!({"text": "t", "summary": "s"})), Some("t"));
        assert_eq!(text(&json!({"summary": "s", "data": "d"})), Some("s"));
        assert_eq!(text(&json!({"data": "d"})), None);
    }

    #[test]
    fn only_pieces_of_one_detail_are_joined() {
        let format = "anthropic-claude-v1";
        let details = joined(&[
            json!({"type": "reasoning.text", "text": "Let", "signature": null, "format": format, "index": 0}),
            json!({"type": "reasoning.text", "text": " me.", "format": format, "index": 0}),
            json!({"type": "reasoning.encrypted", "data": "AA==", "index": 0}),
            json!({"type": "reasoning.text", "signature": "sig", "format": format, "index": 0}),
            json!({"type": "reasoning.summary", "summary": "S"}),
            json!({"type": "reasoning.summary", "summary": "T"}),
            json!({"type": "other", "text": "x", "index": 0}),
            json!("x"),
        ]);
        let expected = json!([
            {"type": "reasoning.text", "text": "Let me.", "signature": "sig", "format": format, "index": 0},
            {"type": "reasoning.encrypted", "data": "AA==", "index": 0},
            {"type": "reasoning.summary", "summary": "S"},
            {"type": "reasoning.summary", "summary": "T"},
        ]);
        assert_eq!(json!(details), expected);
        let back = signature(details.clone()).unwrap();
        assert_eq!(of_signatures([back.as_str()].into_iter(), "m"), details);
    }

    #[test]
    fn the_size_of_a_piece_is_that_of_its_texts() {
        let piece =
            json!({"type": "reasoning.text", "text": "Let", "summary": "ä", "data": "AA=="});
        assert_eq!(bytes(&piece), 3 + 2 + 4);
        assert_eq!(bytes(&json!({"type": "reasoning.text", "text": null})), 0);
    }

    #[test]
    fn a_detail_divided_by_text_is_joined_again() {
        let [first, second] = [
            json!({"type": "reasoning.text", "text": "T", "index": 0}),
            json!({"type": "reasoning.text", "signature": "s", "index": 0}),
        ]
        .map(|piece| signature(joined(&[piece])).unwrap());
        let back = of_signatures([first.as_str(), &second].into_iter(), "m");
        let expected =
            json!([{"type": "reasoning.text", "text": "T", "index": 0, "signature": "s"}]);
        assert_eq!(json!(back), expected);
    }

    #[test]
    fn details_of_another_maker_are_skipped() {
        let detail =
            |format: &str| json!({"type": "reasoning.text", "text": "T", "format": format});
        let signed =
            signature(joined(&[detail("anthropic-claude-v1"), detail("unknown")])).unwrap();
        for (model, expected) in [
            ("anthropic/claude-sonnet-4.5", 2),
            ("openai/gpt-5", 1),
            ("openrouter/auto", 2),
        ] {
            let found = of_signatures([signed.as_str()].into_iter(), model);
            assert_eq!(found.len(), expected, "{model}");
        }
        assert_eq!(
            of_signatures(["ä", "e30=", "bnVsbA=="].into_iter(), "m"),
            Vec::new()
        );
    }
}
