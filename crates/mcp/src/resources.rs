//! Resources of a server: their contents, and the URIs that a user can complete. Pure.

use std::collections::HashMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::definition::clean;

/// Maximum number of resources, and of templates, that are listed of one server.
pub(crate) const MOST_RESOURCES: usize = 10_000;
/// Maximum number of completions.
const MOST_COMPLETIONS: usize = 100;
/// Maximum bytes of a description.
const ABOUT: usize = 200;
/// Longest URI that is offered, in bytes.
const URI: usize = 2048;

/// The content of a resource.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceContent {
    /// Its bytes. Text is encoded as UTF-8.
    pub bytes: Vec<u8>,
    /// Its MIME type as the server says, on one line; empty if it says nothing.
    pub mime: String,
}

/// Returns the content in a result of `resources/read`. Several texts become one.
///
/// # Errors
///
/// The result cannot be sent as one file; a phrase.
pub(crate) fn content(result: &Value) -> Result<ResourceContent, String> {
    let contents = result["contents"].as_array().map(Vec::as_slice);
    match contents.unwrap_or_default() {
        [] => Err("it has no content".to_owned()),
        [content] => Ok(ResourceContent {
            bytes: bytes(content)?,
            mime: word(&content["mimeType"]),
        }),
        contents => {
            let mut all = String::new();
            for content in contents {
                let (uri, mime) = (word(&content["uri"]), word(&content["mimeType"]));
                let text = String::from_utf8(bytes(content)?);
                let text = text.ok().filter(|it| !it.contains('\0')).ok_or_else(|| {
                    let count = contents.len();
                    format!("one of its {count} contents, {uri} ({mime}), is not text; refer to that URI")
                })?;
                all.push_str(&format!("[{uri}]\n{text}\n"));
            }
            let mime = "text/plain".to_owned();
            Ok(ResourceContent {
                bytes: all.into_bytes(),
                mime,
            })
        }
    }
}

fn bytes(content: &Value) -> Result<Vec<u8>, String> {
    match (content["text"].as_str(), content["blob"].as_str()) {
        (Some(text), _) => Ok(text.as_bytes().to_vec()),
        (None, Some(blob)) => STANDARD
            .decode(blob)
            .map_err(|_| "its content is not valid Base64".to_owned()),
        (None, None) => Err("its content is neither text nor Base64".to_owned()),
    }
}

/// Returns foreign text on one line.
fn word(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    clean(&text.replace(['\n', '\t'], " "), ABOUT)
}

/// A URI that the user may refer to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceUri {
    /// The URI, or its beginning.
    pub uri: String,
    /// What it is, on one line.
    pub about: String,
}

/// The resources and templates that a server lists.
#[derive(Debug, Default)]
pub(crate) struct ResourceList {
    resources: Vec<ResourceUri>,
    templates: Vec<Template>,
}

impl ResourceList {
    /// Reads the entries of `resources/list` and `resources/templates/list`.
    pub(crate) fn new(resources: &[Value], templates: &[Value]) -> Self {
        let resources = resources.iter().filter_map(|listed| {
            let uri = listed["uri"].as_str()?;
            let about = about(listed);
            // What could hide text is not offered.
            let uri = Some(uri).filter(|uri| uri.len() <= URI && clean(uri, URI) == **uri)?;
            Some(ResourceUri {
                uri: uri.to_owned(),
                about,
            })
        });
        Self {
            resources: resources.collect(),
            templates: templates.iter().filter_map(Template::read).collect(),
        }
    }

    /// Returns the URIs that contain what was typed, and the beginnings of templates.
    pub(crate) fn matching(&self, typed: &str) -> Vec<ResourceUri> {
        let wanted = typed.to_lowercase();
        let contains = |it: &&ResourceUri| {
            // The user may type what a reference to it looks like.
            let written = chat::references::encoded_uri(&it.uri);
            let mut texts = [&it.uri, &written, &it.about].into_iter();
            texts.any(|it| it.to_lowercase().contains(&wanted))
        };
        let resources = self.resources.iter().filter(contains).cloned();
        let begun = self.templates.iter().filter_map(|it| it.begun(typed));
        let mut found: Vec<ResourceUri> = begun.chain(resources).take(MOST_COMPLETIONS).collect();
        found.dedup();
        found
    }

    /// Returns the variable of a template that is being typed.
    pub(crate) fn open_variable(&self, typed: &str) -> Option<OpenVariable> {
        self.templates.iter().find_map(|it| it.open_variable(typed))
    }
}

/// Describes a listed resource or template.
fn about(listed: &Value) -> String {
    let words = ["title", "name", "mimeType", "description"].map(|it| word(&listed[it]));
    let [title, name, mime, description] = words;
    let name = if title.is_empty() { name } else { title };
    let words = [name, mime, description].into_iter();
    let words: Vec<String> = words.filter(|it| !it.is_empty()).collect();
    clean(&words.join(", "), ABOUT)
}

/// A URI template (RFC 6570) with simple variables.
#[derive(Debug)]
struct Template {
    /// As the server writes it.
    written: String,
    about: String,
    parts: Vec<Part>,
}

#[derive(Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// `{name}`, or `{+name}`, whose value may contain slashes and the like.
    Variable {
        name: String,
        is_reserved: bool,
    },
    /// An expression that is not completed, such as `{?query}`.
    Other,
}

/// A variable that is being typed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OpenVariable {
    /// The template as the server writes it.
    pub template: String,
    /// The variable's name.
    pub name: String,
    /// Its value so far.
    pub value: String,
    /// The values of the variables before it.
    pub before: HashMap<String, String>,
    about: String,
    /// The URI up to the variable.
    start: String,
    /// The text of the template after it.
    end: String,
    is_reserved: bool,
}

impl OpenVariable {
    /// Returns the URIs with these values of the variable.
    pub(crate) fn filled(&self, values: &[Value]) -> Vec<ResourceUri> {
        let values = values.iter().filter_map(Value::as_str);
        let values = values.filter(|it| !it.is_empty()).take(MOST_COMPLETIONS);
        values
            .map(|value| ResourceUri {
                uri: format!(
                    "{}{}{}",
                    self.start,
                    expanded(value, self.is_reserved),
                    self.end
                ),
                about: self.about.clone(),
            })
            .filter(|it| it.uri.len() <= URI)
            .collect()
    }
}

impl Template {
    fn read(listed: &Value) -> Option<Self> {
        let written = listed["uriTemplate"].as_str()?;
        if written.len() > URI || clean(written, URI) != written {
            return None;
        }
        Some(Self {
            written: written.to_owned(),
            about: about(listed),
            parts: parts(written)?,
        })
    }

    /// Returns the text before the first variable, if it begins with what was typed.
    fn begun(&self, typed: &str) -> Option<ResourceUri> {
        let Some(Part::Literal(literal)) = self.parts.first() else {
            return None;
        };
        let is_begun = literal.starts_with(typed) && literal.len() > typed.len();
        is_begun.then(|| ResourceUri {
            uri: literal.clone(),
            about: format!("{} ({})", self.about, self.written),
        })
    }

    fn open_variable(&self, typed: &str) -> Option<OpenVariable> {
        let mut rest = typed;
        let mut before = HashMap::new();
        let mut parts = self.parts.iter().peekable();
        while let Some(part) = parts.next() {
            let (name, is_reserved) = match part {
                Part::Literal(literal) => {
                    rest = rest.strip_prefix(literal.as_str())?;
                    continue;
                }
                Part::Variable { name, is_reserved } => (name, *is_reserved),
                Part::Other => return None,
            };
            let end = match parts.peek() {
                Some(Part::Literal(literal)) => literal.as_str(),
                Some(Part::Variable { .. } | Part::Other) | None => "",
            };
            // The last occurrence, because the value of a path may contain the next literal.
            let at = Some(end).filter(|it| !it.is_empty());
            let at = at.and_then(|it| {
                if is_reserved {
                    rest.rfind(it)
                } else {
                    rest.find(it)
                }
            });
            let Some(at) = at else {
                let is_value = is_reserved || !rest.contains('/');
                return is_value.then(|| OpenVariable {
                    template: self.written.clone(),
                    name: name.clone(),
                    value: decoded(rest),
                    before,
                    about: self.about.clone(),
                    start: typed[..typed.len() - rest.len()].to_owned(),
                    end: end.to_owned(),
                    is_reserved,
                });
            };
            before.insert(name.clone(), decoded(&rest[..at]));
            rest = &rest[at..];
        }
        None
    }
}

/// Splits a template; `None` if it is not closed.
fn parts(written: &str) -> Option<Vec<Part>> {
    let mut parts = Vec::new();
    let mut rest = written;
    while let Some(at) = rest.find('{') {
        if at > 0 {
            parts.push(Part::Literal(rest[..at].to_owned()));
        }
        let end = at + rest[at..].find('}')?;
        let inner = &rest[at + 1..end];
        let (name, is_reserved) = match inner.strip_prefix('+') {
            Some(name) => (name, true),
            None => (inner, false),
        };
        let is_name = |it: char| it.is_ascii_alphanumeric() || it == '_' || it == '.';
        parts.push(if !name.is_empty() && name.chars().all(is_name) {
            Part::Variable {
                name: name.to_owned(),
                is_reserved,
            }
        } else {
            Part::Other
        });
        rest = &rest[end + 1..];
    }
    if !rest.is_empty() {
        parts.push(Part::Literal(rest.to_owned()));
    }
    Some(parts)
}

fn decoded(text: &str) -> String {
    chat::references::decoded(text)
}

/// Returns a value as it is in a URI (RFC 6570, section 3.2.2): everything that is not an unreserved
/// character is percent-encoded, or only what no URI may contain.
fn expanded(value: &str, is_reserved: bool) -> String {
    let mut expanded = String::new();
    for byte in value.bytes() {
        let stays = byte.is_ascii_alphanumeric()
            || b"-._~".contains(&byte)
            || is_reserved && b":/?#[]@!$&'()*+,;=".contains(&byte);
        if stays {
            expanded.push(char::from(byte));
        } else {
            expanded.push_str(&format!("%{byte:02X}"));
        }
    }
    expanded
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    fn list() -> ResourceList {
        ResourceList::new(
            &[
                json!({"uri": "note://today", "name": "today", "title": "Today\u{202e}", "mimeType": "text/plain"}),
                json!({"uri": "note://a b", "name": "two\nlines"}),
                json!({"uri": "note://\u{200b}hidden", "name": "hidden"}),
                json!({"name": "no URI"}),
            ],
            &[
                json!({"uriTemplate": "city://{country}/{name}", "name": "a city"}),
                json!({"uriTemplate": "file:///{+path}", "name": "a file"}),
                json!({"uriTemplate": "find://{?q}", "name": "a search"}),
                json!({"uriTemplate": "odd://{", "name": "odd"}),
            ],
        )
    }

    fn uris(found: &[ResourceUri]) -> Vec<&str> {
        found.iter().map(|it| it.uri.as_str()).collect()
    }

    #[test]
    fn resources_are_found_by_a_part_of_their_uri_or_name() {
        let list = list();
        assert_eq!(
            uris(&list.matching("")),
            [
                "city://",
                "file:///",
                "find://",
                "note://today",
                "note://a b"
            ]
        );
        assert_eq!(uris(&list.matching("TOD")), ["note://today"]);
        assert_eq!(uris(&list.matching("two l")), ["note://a b"]);
        assert_eq!(uris(&list.matching("a%20b")), ["note://a b"]);
        assert_eq!(uris(&list.matching("city:/")), ["city://"]);
        assert_eq!(list.matching("today")[0].about, "Today, text/plain");
    }

    #[test]
    fn a_variable_is_completed_with_those_before_it() {
        let list = list();
        let open = list.open_variable("city://new%20zealand/wel").unwrap();
        assert_eq!((open.name.as_str(), open.value.as_str()), ("name", "wel"));
        assert_eq!(open.before["country"], "new zealand");
        let values = [json!("wellington"), json!("a/b"), json!(5)];
        assert_eq!(
            uris(&open.filled(&values)),
            [
                "city://new%20zealand/wellington",
                "city://new%20zealand/a%2Fb"
            ]
        );
        let open = list.open_variable("city://").unwrap();
        assert_eq!(uris(&open.filled(&[json!("fr")])), ["city://fr/"]);
        let open = list.open_variable("file:///a/b").unwrap();
        assert_eq!(open.value, "a/b");
        assert_eq!(uris(&open.filled(&[json!("a/b c")])), ["file:///a/b%20c"]);
        for typed in ["", "note://", "city:/", "city://a/b/c", "find://x"] {
            assert_eq!(list.open_variable(typed), None, "{typed}");
        }
    }

    #[test]
    fn content_is_text_or_bytes() {
        let of = |contents: Value| content(&json!({"contents": contents}));
        let text = of(json!([{"uri": "a:b", "text": "hi", "mimeType": "text/markdown"}])).unwrap();
        assert_eq!(
            (text.bytes.as_slice(), text.mime.as_str()),
            (&b"hi"[..], "text/markdown")
        );
        let blob = of(json!([{"uri": "a:b", "blob": "/wA="}])).unwrap();
        assert_eq!(
            (blob.bytes.as_slice(), blob.mime.as_str()),
            (&b"\xff\0"[..], "")
        );
        let two = json!([{"uri": "a:b", "text": "one"}, {"uri": "a:c", "blob": "dHdv"}]);
        assert_eq!(of(two).unwrap().bytes, b"[a:b]\none\n[a:c]\ntwo\n");
        for (contents, why) in [
            (json!([]), "no content"),
            (json!(null), "no content"),
            (json!([{"uri": "a:b"}]), "neither text nor Base64"),
            (json!([{"blob": "!"}]), "not valid Base64"),
            (
                json!([{"text": "a"}, {"uri": "a:c", "blob": "/wA=", "mimeType": "image/x"}]),
                "one of its 2 contents, a:c (image/x), is not text",
            ),
        ] {
            let error = of(contents).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }
}
