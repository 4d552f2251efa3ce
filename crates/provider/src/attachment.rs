//! Which files a protocol takes. Of the others the model sees only the name.

use chat::prompt::{Attachment, Content, Part, Prompt};

use crate::Protocol;

/// Pictures that Anthropic and OpenAI take, from their manuals.
const IMAGES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];
/// Pictures that Gemini takes, likewise.
const GEMINI_IMAGES: [&str; 5] = [
    "image/heic",
    "image/heif",
    "image/jpeg",
    "image/png",
    "image/webp",
];

/// Whether a protocol can carry this file as what it is.
pub(crate) fn is_taken(file: &Attachment, protocol: Protocol) -> bool {
    match &file.content {
        Content::Text(_) => true,
        Content::Image { mime, .. } if protocol == Protocol::Gemini => {
            GEMINI_IMAGES.contains(&mime.as_str())
        }
        Content::Image { mime, .. } => IMAGES.contains(&mime.as_str()),
        Content::Pdf { .. } => protocol != Protocol::ChatCompletions,
    }
}

/// The names of files that this protocol cannot carry, each once: the user is told
/// that the model sees no more of them than that.
pub fn not_taken(prompt: &Prompt, protocol: Protocol) -> Vec<&str> {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let mut names = Vec::new();
    for part in parts {
        if let Part::File(file) = part
            && !is_taken(file, protocol)
            && !names.contains(&file.name.as_str())
        {
            names.push(file.name.as_str());
        }
    }
    names
}
