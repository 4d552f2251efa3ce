//! Names the tools and files that a server's error names by their position in the request.

use chat::Problem;
use serde_json::Value;

use crate::HttpRequest;
use crate::limits::{decoded, megabytes};

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
