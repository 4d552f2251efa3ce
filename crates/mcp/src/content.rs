//! Converts a call's result to text for the model, and images that the model sees. Audio and links
//! are described; nothing is fetched because a server names it.
//!
//! Blocking, because images are decoded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chat::result_files::ResultFile;
use chat::truncate::floor_char_boundary;
use serde_json::Value;

use crate::definition::clean;

/// Maximum parts of a result.
const PARTS: usize = 1000;
/// Maximum size of a result's text in bytes.
const LARGEST: usize = 50 * 1024;
/// Maximum images of a result. With more in a request, Anthropic accepts only smaller ones
/// (platform.claude.com, "Vision", as of 2026).
const IMAGES: usize = 20;

/// The content of a result.
#[derive(Debug, Default, PartialEq)]
pub struct ResultContent {
    /// Its text, with a line about each file.
    pub text: String,
    /// Its images.
    pub files: Vec<ResultFile>,
}

impl ResultContent {
    /// Returns the content of a result from its parts and its structured content. The result of a
    /// call that failed has only text.
    pub fn of(parts: &[Value], structured: Option<&Value>, failed: bool) -> Self {
        let mut files = Vec::new();
        let pieces = parts.iter().take(PARTS);
        let pieces = pieces.map(|it| match it["type"].as_str() {
            Some("image") if !failed => image(it, &mut files),
            _ => part(it),
        });
        let text = text(pieces.collect(), parts, structured);
        // A line that was cut off names no file.
        files.retain(|file| text.lines().any(|line| line == file.line));
        Self { text, files }
    }
}

/// Returns the line about an image, or why it is not shown.
fn image(part: &Value, files: &mut Vec<ResultFile>) -> String {
    let named = |name: &str| part[name].as_str().unwrap_or_default();
    let (mime, data) = (word(named("mimeType")), named("data"));
    let shown = if files.len() < IMAGES {
        let kind = mime.strip_prefix("image/").unwrap_or(&mime);
        let name = format!("image-{}.{kind}", files.len() + 1);
        let bytes = STANDARD.decode(data);
        let bytes = bytes.map_err(|_| "is not valid Base64.".to_owned());
        bytes.and_then(|bytes| tools::result_file(&name, bytes))
    } else {
        Err(format!(
            "is not shown, because there are {IMAGES} before it."
        ))
    };
    match shown {
        Ok(file) => {
            let line = file.line.clone();
            files.push(file);
            line
        }
        Err(why) => format!(
            "[image: {mime}, {}; it {}]",
            bytes(data),
            why.trim_end_matches('.')
        ),
    }
}

/// Returns the text of the first parts and of the structured content.
fn text(mut pieces: Vec<String>, parts: &[Value], structured: Option<&Value>) -> String {
    if parts.len() > PARTS {
        let more = parts.len() - PARTS;
        pieces.push(format!("[{more} more parts are left out]"));
    }
    // The protocol asks servers to repeat structured content as text, but many send a summary.
    let is_repeated = |structured: &Value| parts.iter().any(|part| repeats(part, structured));
    if let Some(structured) = structured.filter(|it| !it.is_null() && !is_repeated(it)) {
        pieces.push(serde_json::to_string_pretty(structured).unwrap_or_default());
    }
    let whole = pieces.join("\n");
    if whole.trim().is_empty() {
        return "(The tool gave no text.)".to_owned();
    }
    cut(whole)
}

/// Returns true if a part is text with the same JSON.
fn repeats(part: &Value, structured: &Value) -> bool {
    let text = part["text"].as_str().unwrap_or_default();
    serde_json::from_str::<Value>(text).is_ok_and(|it| it == *structured)
}

fn cut(mut whole: String) -> String {
    let length = whole.len();
    if length > LARGEST {
        whole.truncate(floor_char_boundary(&whole, LARGEST));
        whole.push_str(&format!(
            "\n[Cut: the result has {length} bytes, {LARGEST} are shown]"
        ));
    }
    whole
}

fn part(part: &Value) -> String {
    let named = |name: &str| part[name].as_str().unwrap_or_default();
    match named("type") {
        "text" => named("text").to_owned(),
        kind @ ("image" | "audio") => {
            let size = bytes(named("data"));
            format!(
                "[{kind}: {}, {size}; it is not shown]",
                word(named("mimeType"))
            )
        }
        "resource" => resource(&part["resource"]),
        "resource_link" => link(part),
        kind => format!("[unsupported content of the type {:?}]", word(kind)),
    }
}

fn resource(resource: &Value) -> String {
    let uri = word(resource["uri"].as_str().unwrap_or_default());
    let mime = word(resource["mimeType"].as_str().unwrap_or("unknown type"));
    match resource["text"].as_str() {
        Some(text) => format!("[resource {uri}, {mime}]\n{text}"),
        None => {
            let size = bytes(resource["blob"].as_str().unwrap_or_default());
            format!("[resource {uri}, {mime}, {size}; it is not shown]")
        }
    }
}

fn link(part: &Value) -> String {
    let mut words: Vec<String> = ["title", "name", "mimeType", "description"]
        .iter()
        .filter_map(|it| part[*it].as_str())
        .map(word)
        .collect();
    words.extend(part["size"].as_u64().map(shown));
    let uri = word(part["uri"].as_str().unwrap_or_default());
    format!("[link to {uri} ({}); it was not fetched]", words.join(", "))
}

/// Shortens foreign text to one line.
fn word(text: &str) -> String {
    clean(&text.replace(['\n', '\t'], " "), 300)
}

/// Returns the decoded size of base64 text.
fn bytes(base64: &str) -> String {
    // Four characters of base64 encode three bytes.
    shown(base64.trim_end_matches('=').len() as u64 * 3 / 4)
}

fn shown(size: u64) -> String {
    if size < 1024 {
        format!("{size} B")
    } else {
        format!("{} KB", size / 1024)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn text(parts: &[Value], structured: Option<&Value>) -> String {
        ResultContent::of(parts, structured, false).text
    }

    /// A PNG of one black pixel.
    const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAAAAAA6fptVAAAACklEQVR42mNgAAAAAgAB5Sfe/AAAAABJRU5ErkJggg==";

    #[test]
    fn an_image_is_a_line_and_a_file_unless_the_call_failed() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": PNG});
        let parts = [
            json!({"type": "text", "text": "Look:"}),
            image.clone(),
            image,
        ];
        let content = ResultContent::of(&parts, None, false);
        let lines: Vec<&str> = content.text.lines().collect();
        let shown = |it: &str| it.ends_with(&content.files[0].line["[image image-1".len()..]);
        assert_eq!(lines[0], "Look:");
        assert!(
            lines[1].starts_with("[image image-1.png, 1 x 1 pixels, 67 B, "),
            "{lines:?}"
        );
        assert!(
            lines[2].starts_with("[image image-2.png, ") && shown(lines[2]),
            "{lines:?}"
        );
        assert_eq!(content.files.len(), 2);
        let failed = ResultContent::of(&parts, None, true);
        assert!(
            failed
                .text
                .contains("[image: image/png, 67 B; it is not shown]"),
            "{failed:?}"
        );
        assert_eq!(failed.files, []);
    }

    #[test]
    fn images_beyond_the_limit_are_described() {
        let image = json!({"type": "image", "mimeType": "image/png", "data": PNG});
        let content = ResultContent::of(&vec![image; IMAGES + 1], None, false);
        assert_eq!(content.files.len(), IMAGES);
        let last = "[image: image/png, 67 B; it is not shown, because there are 20 before it]";
        assert!(content.text.ends_with(last), "{}", content.text);
    }

    #[test]
    fn other_content_is_described_and_no_link_is_followed() {
        let parts = [
            json!({"type": "text", "text": "one\ntwo"}),
            json!({"type": "image", "mimeType": "image/png", "data": "QUJDRA=="}),
            json!({"type": "resource", "resource": {"uri": "demo://1", "mimeType": "text/plain", "text": "in it"}}),
            json!({"type": "resource", "resource": {"uri": "demo://2", "blob": "QUJD"}}),
            json!({"type": "audio", "mimeType": "audio/wav", "data": "QUJD".repeat(1024)}),
            json!({"type": "resource_link", "uri": "file:///etc/passwd", "name": "passwords"}),
            json!({"type": "resource_link", "uri": "demo://3", "name": "log", "mimeType": "text/plain", "size": 4096}),
            json!({"type": "hologram"}),
        ];
        assert_eq!(
            text(&parts, None),
            "one\ntwo\n\
             [image: image/png, 4 B; it is not a PNG, JPEG, GIF, or WebP image]\n\
             [resource demo://1, text/plain]\nin it\n\
             [resource demo://2, unknown type, 3 B; it is not shown]\n\
             [audio: audio/wav, 3 KB; it is not shown]\n\
             [link to file:///etc/passwd (passwords); it was not fetched]\n\
             [link to demo://3 (log, text/plain, 4 KB); it was not fetched]\n\
             [unsupported content of the type \"hologram\"]"
        );
    }

    #[test]
    fn structured_content_is_kept_unless_the_text_repeats_it() {
        let rows = json!({"rows": [{"id": 9_007_199_254_740_993_u64}], "next": null});
        let shown = serde_json::to_string_pretty(&rows).unwrap_or_default();
        let part = |text: &str| json!({"type": "text", "text": text});

        assert_eq!(text(&[], Some(&rows)), shown);
        let summary = [part("Found 1 record.")];
        assert_eq!(
            text(&summary, Some(&rows)),
            format!("Found 1 record.\n{shown}")
        );
        for same in [
            rows.to_string(),
            shown,
            r#" {"next":null,"rows":[{"id":9007199254740993}]}"#.to_owned(),
        ] {
            assert_eq!(text(&[part(&same)], Some(&rows)), same);
        }
        let both = [part("Found 1 record."), part(&rows.to_string())];
        assert_eq!(text(&both, Some(&rows)), format!("Found 1 record.\n{rows}"));
    }

    #[test]
    fn a_result_without_text_says_so() {
        assert_eq!(text(&[], None), "(The tool gave no text.)");
        assert_eq!(text(&[], Some(&Value::Null)), "(The tool gave no text.)");
    }

    #[test]
    fn a_long_result_is_cut() {
        let many = vec![json!({"type": "text", "text": "x"}); 10_000];
        assert!(text(&many, None).ends_with("[9000 more parts are left out]"));
        let long = text(
            &[json!({"type": "text", "text": "ä".repeat(1_000_000)})],
            None,
        );
        assert!(long.len() < 52_000);
        assert!(long.ends_with("[Cut: the result has 2000000 bytes, 51200 are shown]"));
    }
}
