//! The parts of an answer as they go back to the model, each with its signature.
//!
//! Which signature belongs to which part is said in the module's description. Knows
//! nothing of the rest of a request.

use std::borrow::Cow;

use chat::prompt::{Part as PromptPart, PromptMessage};

use super::encode::Part;
use crate::catalogue::{Model, ThinkingKind};

/// Stands for a signature that nobody has, because another provider made the call or
/// somebody wrote it. Models that check signatures want one on the first call of an
/// answer; this one is documented for conversations that came from elsewhere.
const NO_SIGNATURE: &str = "skip_thought_signature_validator";

/// The parts of an answer. `signer` is the provider whose signatures are sent back.
pub(super) fn model_parts<'a>(
    message: &'a PromptMessage,
    signer: &str,
    about: &Model,
) -> Vec<Part<'a>> {
    let mut parts: Vec<Part<'a>> = Vec::new();
    // The signature of the part that follows.
    let mut next: Option<&str> = None;
    let take = |next: &mut Option<&'a str>| next.take().filter(|it| !it.is_empty());
    for said in &message.parts {
        let mut part = match said {
            PromptPart::Thinking {
                signature: Some(signature),
                redacted: false,
                ..
            } if signature.provider == signer => {
                parts.extend(take(&mut next).map(signature_alone));
                next = Some(&signature.value);
                continue;
            }
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

/// Whether the thinking stands behind the calls, where chats that were written by
/// other programs have it; its signature is the first call's.
fn ends_as_older_files(message: &PromptMessage) -> bool {
    matches!(message.parts.last(), Some(PromptPart::Thinking { text, .. }) if !text.is_empty())
}

/// Signs the first call, if it has no signature.
fn sign_first_call<'a>(parts: &mut [Part<'a>], signature: &'a str) {
    let first = parts.iter_mut().find(|part| part.function_call.is_some());
    if let Some(call) = first {
        call.thought_signature.get_or_insert(signature);
    }
}
