//! Which files a protocol takes. Of the others the model sees only the name.

use chat::prompt::{Attachment, Content, Part, Prompt};

use crate::Protocol;

/// Pictures that every provider takes, from Anthropic's and OpenAI's manuals.
const IMAGES: [&str; 4] = ["image/gif", "image/jpeg", "image/png", "image/webp"];

/// Whether a protocol can carry this file as what it is.
pub(crate) fn is_taken(file: &Attachment, protocol: Protocol) -> bool {
    match &file.content {
        Content::Text(_) => true,
        Content::Image { mime, .. } => IMAGES.contains(&mime.as_str()),
        Content::Pdf { .. } => protocol == Protocol::AnthropicMessages,
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
