//! Checks which files a protocol and a model accept. Of all others, the model gets only the
//! name.
//!
//! The size of an image is read from its first bytes; images are not decoded.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chat::prompt::{Attachment, Content, Part, Prompt};

use crate::catalogue::{Model, ThinkingKind};
use crate::{Parameters, Protocol};

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

/// Returns true if this file can be part of the result of a call.
fn is_taken_in_result(file: &Attachment, protocol: Protocol, model: &Model) -> bool {
    let has_files = match protocol {
        // `content` of a `tool_result` may be a list of `text`, `image`, and `document` blocks
        // (platform.claude.com, "Handle tool calls", as of May 2026).
        Protocol::AnthropicMessages => true,
        // `output` of a `function_call_output` may be a list of `input_text`, `input_image`, and
        // `input_file` (OpenAI's Python SDK 2.0 and its API reference, since October 2025).
        Protocol::Responses => true,
        // A `functionResponse` may have `parts`, since Gemini 3. Models before it, which think
        // within a budget or not at all, refuse the request: "Multimodal function responses are not
        // supported for this model" (ai.google.dev, "Function calling", as of June 2026).
        Protocol::Gemini => !matches!(
            model.thinking,
            Some(ThinkingKind::None | ThinkingKind::Budget)
        ),
        // A message of the role `tool` has only text (OpenAI's API reference, as of 2026).
        Protocol::ChatCompletions => false,
    };
    has_files && is_taken(file, protocol) && is_seen(file, model)
}

/// Returns the prompt with names in place of files that this model does not accept, because
/// it would reject the whole request.
pub(crate) fn as_seen<'a>(
    prompt: &'a Prompt,
    protocol: Protocol,
    parameters: &Parameters,
) -> Cow<'a, Prompt> {
    let model = &parameters.about;
    // With text tools, a result is text in a message of the user, without files.
    let is_taken_in_result =
        |file: &Attachment| !parameters.text_tools && is_taken_in_result(file, protocol, model);
    let unseen = |part: &Part| match part {
        Part::File(file) => !is_seen(file, model),
        Part::ToolResult { files, .. } => !files.iter().all(is_taken_in_result),
        _ => false,
    };
    // Most prompts contain no such file and need not be copied.
    if !prompt.messages.iter().flat_map(|it| &it.parts).any(unseen) {
        return Cow::Borrowed(prompt);
    }
    let mut prompt = prompt.clone();
    for part in prompt.messages.iter_mut().flat_map(|it| &mut it.parts) {
        match part {
            Part::File(file) if !is_seen(file, model) => *part = Part::Text(file.as_text()),
            Part::ToolResult { content, files, .. } => {
                for file in files.extract_if(.., |it| !is_taken_in_result(it)) {
                    content.push_str(&format!(
                        "\n[{} is not shown, because this model sees no such files in results.]",
                        file.name
                    ));
                }
            }
            _ => {}
        }
    }
    Cow::Owned(prompt)
}

/// Returns the names of files that this protocol or this model does not accept, each once,
/// so that the user can be notified.
pub fn not_taken<'a>(prompt: &'a Prompt, protocol: Protocol, model: &Model) -> Vec<&'a str> {
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let refused = parts.flat_map(|part| -> Vec<&Attachment> {
        match part {
            Part::File(file) if is_taken(file, protocol) && is_seen(file, model) => Vec::new(),
            Part::File(file) => vec![file],
            Part::ToolResult { files, .. } => {
                let refused = |it: &&Attachment| !is_taken_in_result(it, protocol, model);
                files.iter().filter(refused).collect()
            }
            _ => Vec::new(),
        }
    });
    let mut names = Vec::new();
    for file in refused {
        if !names.contains(&file.name.as_str()) {
            names.push(file.name.as_str());
        }
    }
    names
}

/// Maximum characters of Base64 that are decoded: a JPEG may have a large preview before its
/// size. A multiple of four.
const HEAD: usize = 512 * 1024;

/// Returns the width and height of a PNG, JPEG, GIF, or WebP in pixels; `None` if they can't
/// be found.
pub(crate) fn size(base64: &str) -> Option<(u32, u32)> {
    let head = base64.get(..base64.len().min(HEAD) / 4 * 4)?;
    let bytes = STANDARD.decode(head).ok()?;
    png(&bytes)
        .or_else(|| gif(&bytes))
        .or_else(|| webp(&bytes))
        .or_else(|| jpeg(&bytes))
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + length)?;
    Some(
        bytes
            .iter()
            .fold(0, |sum, byte| sum << 8 | u32::from(*byte)),
    )
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + length)?;
    let digits = bytes.iter().rev();
    Some(digits.fold(0, |sum, byte| sum << 8 | u32::from(*byte)))
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let is_png = bytes.starts_with(b"\x89PNG\r\n\x1a\n");
    is_png.then_some((big(bytes, 16, 4)?, big(bytes, 20, 4)?))
}

fn gif(bytes: &[u8]) -> Option<(u32, u32)> {
    let is_gif = bytes.starts_with(b"GIF8");
    is_gif.then_some((little(bytes, 6, 2)?, little(bytes, 8, 2)?))
}

/// Three kinds of WebP have their size in three places.
fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    if bytes.get(..4)? != b"RIFF" || bytes.get(8..12)? != b"WEBP" {
        return None;
    }
    match bytes.get(12..16)? {
        b"VP8X" => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        b"VP8 " => Some((
            little(bytes, 26, 2)? & 0x3fff,
            little(bytes, 28, 2)? & 0x3fff,
        )),
        b"VP8L" => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        _ => None,
    }
}

/// Skips the segments of a JPEG up to its frame header.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    if !bytes.starts_with(b"\xff\xd8") {
        return None;
    }
    let mut at = 2;
    loop {
        let marker = *bytes.get(at + 1).filter(|_| bytes[at] == 0xff)?;
        match marker {
            // A fill byte.
            0xff => at += 1,
            // The frame headers, without the tables that have numbers between them.
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            _ => at += 2 + big(bytes, at + 2, 2)? as usize,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], expected: Option<(u32, u32)>) {
        assert_eq!(size(&STANDARD.encode(bytes)), expected);
    }

    #[test]
    fn the_size_is_found_in_every_format() {
        check(
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x1f\x41\0\0\0\x10\x08\x02",
            Some((8001, 16)),
        );
        check(b"GIF89a\x40\x01\xf0\0\0\0", Some((320, 240)));
        check(
            b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x3f\x01\0\xef\0\0",
            Some((320, 240)),
        );
        check(
            b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\x01\xf0\0",
            Some((320, 240)),
        );
        check(
            b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x3f\xc1\x3b\0",
            Some((320, 240)),
        );
        check(
            b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc4\0\x02\xff\xc2\0\x0b\x08\0\xf0\x01\x40\x03",
            Some((320, 240)),
        );
    }

    #[test]
    fn what_is_no_image_has_no_size() {
        for bytes in [
            &b""[..],
            b"\x89PNG\r\n\x1a\n",
            b"RIFF",
            b"\xff\xd8",
            b"\xff\xd8\xff\xe0\0",
            b"\xff\xd8ab",
            b"%PDF-1.7",
        ] {
            check(bytes, None);
        }
        assert_eq!(size("not Base64!"), None);
    }
}
