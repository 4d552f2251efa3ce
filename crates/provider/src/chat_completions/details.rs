//! OpenRouter's `reasoning_details`: what a model thought, with its provider's proof,
//! as a signature in the document, and back.
//!
//! They come in pieces, which only as a whole are taken back. The signature is the
//! details themselves as JSON in base64. Knows no stream and no request.
//!
//! Source: "Reasoning tokens" in OpenRouter's manual.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Map, Value};

use crate::surrogates;

/// Fields whose pieces follow each other; of any other the last one counts.
const TEXTS: [&str; 3] = ["text", "summary", "data"];

/// A format's beginning, and that of the models which take it back.
const MAKERS: [(&str, &str); 4] = [
    ("anthropic-", "anthropic/"),
    ("openai-", "openai/"),
    ("google-", "google/"),
    ("xai-", "x-ai/"),
];

/// One detail, as far as it has come.
pub(super) type Detail = Map<String, Value>;

/// Adds a piece to those that came before.
pub(super) fn add(details: &mut Vec<Detail>, piece: &Value) {
    let Some(piece) = piece.as_object().filter(|piece| is_detail(piece)) else {
        return;
    };
    let same = |it: &&mut Detail| {
        let both = |name: &str| it.get(name) == piece.get(name);
        piece.get("index").is_some_and(Value::is_u64) && both("index") && both("type")
    };
    match details.iter_mut().find(same) {
        Some(detail) => join(detail, piece),
        None => details.push(piece.clone()),
    }
}

/// The text that a piece shows of what the model thinks.
pub(super) fn text(piece: &Value) -> Option<&str> {
    piece["text"].as_str().or(piece["summary"].as_str())
}

/// Bytes that a piece brings.
pub(super) fn bytes(piece: &Value) -> usize {
    let texts = TEXTS.iter().filter_map(|name| piece[*name].as_str());
    texts.map(str::len).sum()
}

/// Details as a signature; `None` when there are none.
pub(super) fn signature(details: Vec<Detail>) -> Option<String> {
    let details: Vec<Value> = details.into_iter().map(Value::Object).collect();
    (!details.is_empty()).then(|| {
        let json = Value::from(details).to_string();
        STANDARD.encode(surrogates::mend(&json).as_bytes())
    })
}

/// The details of signatures, for this model. Those that another maker signed stay
/// where they are: it would refuse them.
pub(super) fn of_signatures<'a>(
    signatures: impl Iterator<Item = &'a str>,
    model: &str,
) -> Vec<Detail> {
    let mut details = Vec::new();
    for signature in signatures {
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
    maker.is_none_or(|(_, beginning)| model.starts_with(beginning) || !another)
}

fn join(detail: &mut Detail, piece: &Detail) {
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
    fn a_piece_shows_its_text_or_else_its_summary() {
        assert_eq!(text(&json!({"text": "t", "summary": "s"})), Some("t"));
        assert_eq!(text(&json!({"summary": "s", "data": "d"})), Some("s"));
        assert_eq!(text(&json!({"data": "d"})), None);
    }

    #[test]
    fn a_piece_brings_the_bytes_of_its_texts() {
        let all = json!({"type": "reasoning.text", "text": "ab", "summary": "c", "data": "def"});
        assert_eq!(bytes(&all), 6);
        assert_eq!(bytes(&json!({"type": "reasoning.text", "text": null})), 0);
    }

    #[test]
    fn pieces_of_one_detail_come_together_and_others_stay_apart() {
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
    fn the_bytes_of_a_piece_are_those_of_its_texts() {
        let piece =
            json!({"type": "reasoning.text", "text": "Let", "summary": "ä", "data": "AA=="});
        assert_eq!(bytes(&piece), 3 + 2 + 4);
        assert_eq!(bytes(&json!({"type": "reasoning.text", "text": null})), 0);
    }

    #[test]
    fn a_detail_that_was_divided_by_text_is_whole_again() {
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
    fn what_another_maker_signed_is_not_shown_to_this_one() {
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
