//! Encodes the parts of an earlier answer with their signatures.
//!
//! The module `gemini` describes which signature belongs to which part.

use std::borrow::Cow;

use chat::prompt::{Part as PromptPart, PromptMessage};

use super::encode::Part;
use crate::catalogue::{Model, ThinkingKind};

/// Placeholder for a missing signature, because another provider or the user wrote the
/// call. Models that check signatures require one on the first call of an answer; this
/// value is documented for imported conversations.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// Returns the parts of an answer. `signer` is the provider whose signatures are sent back.
pub(super) fn model_parts<'a>(
    message: &'a PromptMessage,
    signer: &str,
    about: &Model,
) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    // Signature of the next part.
    let mut next: Option<&str> = None;
    let take = |next: &mut Option<&'a str>| next.take().filter(|it| !it.is_empty());
    for said in &message.parts {
        if let Some(signature) = signature_of(said, signer) {
            // Two signatures in a row: the first one belongs to no part.
            parts.extend(take(&mut next).map(signature_alone));
            next = Some(signature);
            continue;
        }
        let mut part = match said {
            PromptPart::Text(text) if !text.trim().is_empty() => Part::text(Cow::Borrowed(text)),
            PromptPart::ToolUse { id, name, input } => Part::call(id.as_str(), name, input),
            _ => continue,
        };
        part.thought_signature = take(&mut next);
        parts.push(part);
    }
    match take(&mut next) {
        Some(last) if ends_as_older_files(message) => sign_first_call(&mut parts, last),
        last => parts.extend(last.map(signature_alone)),
    }
    // Models with levels check signatures.
    if about.thinking == Some(ThinkingKind::Levels) {
        sign_first_call(&mut parts, NO_SIGNATURE);
    }
    parts
}

fn signature_alone(signature: &str) -> Part<'_> {
    let mut part = Part::text(Cow::Borrowed(""));
    part.thought_signature = Some(signature);
    part
}

/// Returns true if thinking follows the calls, as other programs write it. Its signature
/// then belongs to the first call.
fn ends_as_older_files(message: &PromptMessage) -> bool {
    matches!(message.parts.last(), Some(PromptPart::Thinking { text, .. }) if !text.is_empty())
}

/// Returns the signature of a thinking part, if `signer` made it.
fn signature_of<'a>(part: &'a PromptPart, signer: &str) -> Option<&'a str> {
    match part {
        PromptPart::Thinking {
            signature: Some(signature),
            redacted: false,
            ..
        } if signature.provider == signer => Some(&signature.value),
        _ => None,
    }
}

/// Signs the first call unless it has a signature.
fn sign_first_call<'a>(parts: &mut [Part<'a>], signature: &'a str) {
    let first = parts.iter_mut().find(|part| part.function_call.is_some());
    if let Some(call) = first {
        call.thought_signature.get_or_insert(signature);
    }
}
