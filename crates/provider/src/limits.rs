//! Limits of files and of requests, which are checked before anything is sent.
//!
//! A server that refuses a large request rarely says which file is too large, and the upload
//! takes time. Servers that are not listed have no known limit.
//!
//! Also names the tools and files that a server's error names by their position in the request.

use chat::Problem;
use chat::prompt::{Attachment, Content, Part, Prompt};
use serde_json::Value;

use crate::explain::name;
use crate::{Endpoint, HttpRequest, attachment};

/// A megabyte in the limits of all providers.
const MB: usize = 1024 * 1024;

/// The limits of a server. `None` means that no limit is known.
#[derive(Debug, Clone, Copy)]
struct Limits {
    /// Maximum bytes of an image in Base64.
    image: Option<usize>,
    /// Maximum bytes of a PDF.
    pdf: Option<usize>,
    /// Maximum bytes of the whole request.
    request: Option<usize>,
    /// Maximum width and height of an image in pixels.
    side: Option<u32>,
    /// The number of images from which the second value replaces `side`.
    many: Option<(usize, u32)>,
    /// Maximum number of images.
    images: Option<usize>,
}

const NONE: Limits = Limits {
    image: None,
    pdf: None,
    request: None,
    side: None,
    many: None,
    images: None,
};

/// Anthropic's own address: 10 MB per image in Base64, 8000 x 8000 pixels, or 2000 x 2000 with
/// more than 20 images, up to 600 images, 32 MB per request
/// (platform.claude.com/docs/en/build-with-claude/vision and /api/overview, as of June 2026).
const ANTHROPIC: Limits = Limits {
    image: Some(10 * MB),
    pdf: None,
    request: Some(32 * MB),
    side: Some(8000),
    many: Some((21, 2000)),
    images: Some(600),
};

/// Other platforms with Anthropic's API, such as Amazon Bedrock and Vertex AI: 5 MB per image
/// in Base64 (same page). Anthropic itself had this limit until spring 2026.
const ANTHROPIC_ELSEWHERE: Limits = Limits {
    image: Some(5 * MB),
    ..ANTHROPIC
};

/// Limits by provider and, if given, by the host of its own address. The first row that fits
/// counts.
const ROWS: [(&str, Option<&str>, Limits); 6] = [
    ("anthropic", Some("api.anthropic.com"), ANTHROPIC),
    ("anthropic", None, ANTHROPIC_ELSEWHERE),
    // 500 images and 50 MB per request, also for PDFs (guides "Images and vision" and "PDF
    // files", platform.openai.com/docs/guides, as of 2025).
    (
        "openai",
        Some("api.openai.com"),
        Limits {
            pdf: Some(50 * MB),
            request: Some(50 * MB),
            images: Some(500),
            ..NONE
        },
    ),
    // 100 MB inline since 2026-01-12, 20 MB before, and 50 MB per PDF
    // (blog.google/innovation-and-ai/technology/developers-tools/gemini-api-new-file-limits,
    // ai.google.dev/gemini-api/docs/file-input-methods).
    (
        "gemini",
        Some("generativelanguage.googleapis.com"),
        Limits {
            pdf: Some(50 * MB),
            request: Some(100 * MB),
            ..NONE
        },
    ),
    // 4 MB per request with images in Base64 (console.groq.com/docs/vision, as of 2026).
    (
        "groq",
        Some("api.groq.com"),
        Limits {
            image: Some(4 * MB),
            ..NONE
        },
    ),
    // 20 MiB per image (docs.x.ai/developers/model-capabilities/images/understanding, as of 2026).
    (
        "xai",
        Some("api.x.ai"),
        Limits {
            image: Some(20 * MB * 4 / 3),
            ..NONE
        },
    ),
];

fn limits(endpoint: &Endpoint) -> Limits {
    let host = endpoint.host();
    let row = ROWS.iter().find(|(provider, own, _)| {
        *provider == endpoint.provider && own.is_none_or(|own| own == host)
    });
    row.map_or(NONE, |row| row.2)
}

/// Returns an error if a file of the prompt exceeds a limit of its server.
pub(crate) fn check_files(prompt: &Prompt, endpoint: &Endpoint) -> Result<(), Problem> {
    let limits = limits(endpoint);
    let is_image = |file: &&Attachment| matches!(file.content, Content::Image { .. });
    let count = files(prompt, endpoint).filter(is_image).count();
    let side = match limits.many {
        Some((many, side)) if count >= many => Some((side, " with so many images")),
        _ => limits.side.map(|side| (side, "")),
    };
    let over = files(prompt, endpoint).find_map(|file| {
        let (has, accepted) = size_over(file, limits).or_else(|| pixels_over(file, side))?;
        Some((format!("{} has {has}", file.name), accepted))
    });
    let over = over.or_else(|| {
        let most = limits.images.filter(|most| count > *most)?;
        Some((
            format!("The chat has {count} images"),
            format!("{most} images"),
        ))
    });
    match over {
        Some((what, accepted)) => Err(too_large(&what, &accepted, endpoint)),
        None => Ok(()),
    }
}

/// Returns the size of a file that is too large, and what is accepted.
fn size_over(file: &Attachment, limits: Limits) -> Option<(String, String)> {
    let (base64, most, per) = match &file.content {
        Content::Image { base64, .. } => {
            let most = limits.image?;
            (
                base64,
                most,
                format!("image ({} in Base64)", megabytes(most)),
            )
        }
        Content::Pdf { base64 } => (base64, limits.pdf? / 3 * 4, "PDF".to_owned()),
        Content::Text(_) => return None,
    };
    (base64.len() > most).then(|| {
        let [has, accepted] = [base64.len(), most].map(|it| megabytes(decoded(it)));
        (has, format!("{accepted} per {per}"))
    })
}

/// Returns the pixels of an image that has too many, and what is accepted.
fn pixels_over(file: &Attachment, side: Option<(u32, &str)>) -> Option<(String, String)> {
    let Content::Image { base64, .. } = &file.content else {
        return None;
    };
    let (width, height) = attachment::size(base64)?;
    let (side, note) = side.filter(|(side, _)| width.max(height) > *side)?;
    let accepted = format!("{side} x {side} pixels{note}");
    Some((format!("{width} x {height} pixels"), accepted))
}

/// Returns an error if the request exceeds its server's limit.
pub(crate) fn check_request(request: &HttpRequest, endpoint: &Endpoint) -> Result<(), Problem> {
    let size = request.body.len();
    match limits(endpoint).request.filter(|most| size > *most) {
        Some(most) => {
            let mut what = format!("The request has {}", megabytes(size));
            if !request.files.is_empty() {
                what.push_str(&format!(", with {}", request.largest_files()));
            }
            Err(too_large(&what, &megabytes(most), endpoint))
        }
        None => Ok(()),
    }
}

fn too_large(what: &str, accepted: &str, endpoint: &Endpoint) -> Problem {
    let who = name(endpoint);
    Problem::new(
        format!("{what}. {who} accepts at most {accepted}, so nothing was sent."),
        "Make it smaller, or remove it from the chat, and press Ctrl-] again.",
    )
}

/// Returns the images and PDFs of a prompt that the protocol transmits.
fn files<'p>(prompt: &'p Prompt, endpoint: &Endpoint) -> impl Iterator<Item = &'p Attachment> {
    let protocol = endpoint.protocol;
    let parts = prompt.messages.iter().flat_map(|message| &message.parts);
    let files = parts.flat_map(|part| match part {
        Part::File(file) => std::slice::from_ref(file),
        Part::ToolResult { files, .. } => files,
        _ => &[],
    });
    files.filter(move |file| {
        !matches!(file.content, Content::Text(_)) && attachment::is_taken(file, protocol)
    })
}

/// Returns the names of the images and PDFs of a prompt, and their bytes in Base64.
pub(crate) fn sent_files(prompt: &Prompt, endpoint: &Endpoint) -> Vec<(String, usize)> {
    let sizes = files(prompt, endpoint).filter_map(|file| match &file.content {
        Content::Image { base64, .. } | Content::Pdf { base64 } => {
            Some((file.name.clone(), base64.len()))
        }
        Content::Text(_) => None,
    });
    sizes.collect()
}

/// Returns how many bytes this many characters of Base64 encode.
pub(crate) fn decoded(base64: usize) -> usize {
    // Four characters encode three bytes.
    base64 / 4 * 3
}

/// Returns a size for messages, such as "5.72 MB".
fn megabytes(bytes: usize) -> String {
    let hundredths = (bytes * 100 + MB / 2) / MB;
    let shown = format!("{}.{:02}", hundredths / 100, hundredths % 100);
    let shown = shown.trim_end_matches('0').trim_end_matches('.');
    format!("{shown} MB")
}

/// Fields of a request that have tools or messages.
const ROOTS: [&str; 4] = ["tools", "messages", "contents", "input"];

/// Maximum number of positions that are explained.
const MOST: usize = 5;

/// Words in errors about sizes, in lower case.
const LARGE: [&str; 5] = ["image", "document", "pdf", "too large", "too_large"];

impl HttpRequest {
    /// Adds to an error what the positions in it are, such as `tools.3`, and the size of the
    /// request if it was too large.
    #[must_use]
    pub fn explain(&self, status: u16, problem: Problem) -> Problem {
        let refused = (400..500).contains(&status);
        let mut said = if refused {
            self.positions(&problem.what)
        } else {
            Vec::new()
        };
        let lower = problem.what.to_ascii_lowercase();
        let is_large = status == 413 || (refused && LARGE.iter().any(|word| lower.contains(word)));
        if is_large && (status == 413 || !self.files.is_empty()) {
            let files = self.largest_files();
            let files = if files.is_empty() {
                files
            } else {
                format!(", with {files}")
            };
            said.push(format!(
                "The request had {}{files}.",
                megabytes(self.body.len())
            ));
        }
        if said.is_empty() {
            return problem;
        }
        Problem::new(format!("{} {}", problem.what, said.join(" ")), problem.fix)
    }

    /// Returns the largest files and their sizes; empty without files.
    pub(crate) fn largest_files(&self) -> String {
        let mut files: Vec<&(String, usize)> = self.files.iter().collect();
        // The sort is stable, so files of equal size keep their order.
        files.sort_by_key(|(_, size)| std::cmp::Reverse(*size));
        let names = files
            .iter()
            .take(MOST)
            .map(|(name, size)| format!("{name} ({})", megabytes(decoded(*size))));
        let names: Vec<String> = names.collect();
        let more = match files.len().saturating_sub(MOST) {
            0 => String::new(),
            more => format!(" and {more} more files"),
        };
        names.join(", ") + &more
    }

    fn positions(&self, text: &str) -> Vec<String> {
        let places: Vec<&str> = ROOTS.iter().flat_map(|root| places(text, root)).collect();
        if places.is_empty() {
            return Vec::new();
        }
        // The encoder has just written this JSON, so it can be parsed.
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        let mut said: Vec<String> = Vec::new();
        for place in places {
            let named = self.named(&body, place);
            if let Some(named) = named.filter(|it| !said.contains(it) && said.len() < MOST) {
                said.push(named);
            }
        }
        said
    }

    /// Returns a sentence about the tool or file at a place such as `tools.3.custom`.
    fn named(&self, body: &Value, place: &str) -> Option<String> {
        let mut node = body;
        let mut shown = place.len();
        let mut tool = None;
        let mut rest = place;
        for word in place.split(['.', '[', ']']).filter(|word| !word.is_empty()) {
            let inner = match word.parse::<usize>() {
                Ok(index) => node.get(index),
                Err(_) => node.get(word).or_else(|| node.get(camel_case(word))),
            };
            let Some(inner) = inner else { break };
            node = inner;
            rest = &rest[rest.find(word)? + word.len()..];
            let name = node["name"]
                .as_str()
                .or_else(|| node["function"]["name"].as_str());
            if let Some(name) = name.filter(|_| place.starts_with("tools")) {
                tool = Some(name);
                shown = place.len() - rest.trim_start_matches(']').len();
            }
        }
        if let Some(name) = tool {
            let own = self.tools.own_name(name);
            return Some(format!("{} is the tool \"{own}\".", &place[..shown]));
        }
        let longest = longest(node);
        // The text of an image may begin with its type.
        let file = self
            .files
            .iter()
            .find(|(_, size)| (*size..size + 64).contains(&longest))?;
        let size = megabytes(decoded(file.1));
        Some(format!("{place} is {} ({size}).", file.0))
    }
}

/// Returns the places in `text` below a field, such as `tools[0].function_declarations[6]`.
fn places<'t>(text: &'t str, root: &'static str) -> impl Iterator<Item = &'t str> {
    text.match_indices(root).filter_map(move |(at, _)| {
        let is_of_place = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '[' | ']');
        let place = &text[at..];
        let end = place.find(|c| !is_of_place(c)).unwrap_or(place.len());
        let place = place[..end].trim_end_matches('.');
        let index = place[root.len()..].strip_prefix(['.', '['])?;
        index
            .starts_with(|c: char| c.is_ascii_digit())
            .then_some(place)
    })
}

/// Returns a name as Gemini writes it in requests: its errors have underscores.
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |name, word| {
        let (begin, rest) = word.split_at(word.len().min(1));
        name + &begin.to_ascii_uppercase() + rest
    })
}

/// Returns the length of the longest text in a value.
fn longest(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len(),
        Value::Array(list) => list.iter().map(longest).max().unwrap_or(0),
        Value::Object(map) => map.values().map(longest).max().unwrap_or(0),
        _ => 0,
    }
}
