//! Which files a protocol carries, and which a model takes. Of the others the model
//! sees only the name.

use std::borrow::Cow;

use chat::prompt::{Attachment, Content, Part, Prompt};

use crate::{Protocol, catalogue::Model};

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

/// Whether a model can make something of this file, as far as that is known.
fn is_seen(file: &Attachment, model: &Model) -> bool {
    let ability = match &file.content {
        Content::Text(_) => None,
        Content::Image { .. } => model.images,
        Content::Pdf { .. } => model.pdf,
    };
    ability != Some(false)
}

/// The prompt with the names of files in place of those that this model cannot take: it
/// would refuse the whole request for one of them.
pub(crate) fn as_seen<'a>(prompt: &'a Prompt, model: &Model) -> Cow<'a, Prompt> {
    let unseen = |part: &Part| matches!(part, Part::File(file) if !is_seen(file, model));
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

/// The names of files that this protocol cannot carry or this model cannot take, each
/// once: the user is told that the model sees no more of them than that.
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
