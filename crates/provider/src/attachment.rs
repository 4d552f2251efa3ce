//! Checks which files a protocol and a model accept. Of all others, the model gets only the
//! name.

use std::borrow::Cow;

use chat::prompt::{Attachment, Content, Part, Prompt};

use crate::{Protocol, catalogue::Model};

/// Image types that Anthropic and OpenAI accept, from their manuals.
const IMAGES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];
/// Image types that Gemini accepts, from its manual.
const GEMINI_IMAGES: [&str; 5] = [
    "image/heic",
    "image/heif",
    "image/jpeg",
    "image/png",
    "image/webp",
];

/// Returns true if a protocol can transmit this file in its own form.
pub(crate) fn is_taken(file: &Attachment, protocol: Protocol) -> bool {
    match &file.content {
        Content::Text(_) => true,
        Content::Image { mime, .. } if protocol == Protocol::Gemini => {
            GEMINI_IMAGES.contains(&mime.as_str())
        }
        Content::Image { mime, .. } => IMAGES.contains(&mime.as_str()),
        // Most servers of Chat Completions reject document parts.
        Content::Pdf { .. } => protocol != Protocol::ChatCompletions,
    }
}

/// Returns true unless the model is known not to support this file.
fn is_seen(file: &Attachment, model: &Model) -> bool {
    let ability = match &file.content {
        Content::Text(_) => None,
        Content::Image { .. } => model.images,
        Content::Pdf { .. } => model.pdf,
    };
    ability != Some(false)
}

/// Returns the prompt with names in place of files that this model does not accept, because
/// it would reject the whole request.
pub(crate) fn as_seen<'a>(prompt: &'a Prompt, model: &Model) -> Cow<'a, Prompt> {
    let unseen = |part: &Part| matches!(part, Part::File(file) if !is_seen(file, model));
    // Most prompts contain no such file and need not be copied.
    if !prompt.messages.iter().flat_map(|it| &it.parts).any(unseen) {
        return Cow::Borrowed(prompt);
    }
    let mut prompt = prompt.clone();
    for part in prompt.messages.iter_mut().flat_map(|it| &mut it.parts) {
        if let Part::File(file) = part
            && !is_seen(file, model)
        {
            *part = Part::Text(file.as_text());
        }
    }
    Cow::Owned(prompt)
}

/// Returns the names of files that this protocol or this model does not accept, each once,
/// so that the user can be notified.
pub fn not_taken<'a>(prompt: &'a Prompt, protocol: Protocol, model: &Model) -> Vec<&'a str> {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let mut names = Vec::new();
    for part in parts {
        if let Part::File(file) = part
            && !(is_taken(file, protocol) && is_seen(file, model))
            && !names.contains(&file.name.as_str())
        {
            names.push(file.name.as_str());
        }
    }
    names
}
