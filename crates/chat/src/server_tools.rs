//! Server tools: web searches and fetches that a provider runs itself while it answers.
//!
//! The answer has a block for each use, with what was asked and the title and address of each
//! result. The results themselves go back in the provider's own form, see [`ExactAnswer`].

use serde::{Deserialize, Serialize};

use crate::preview::one_line;
use crate::text::Lines;

/// Maximum columns of a question, a title, or an address in a chat.
const WIDTH: usize = 500;

/// One use of a server tool.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerToolUse {
    /// The provider's ID.
    pub id: String,
    /// The tool's name, such as `web_search`.
    pub name: String,
    /// The query or the address; empty if it is not known.
    pub asked: String,
    /// What was found.
    pub sources: Vec<WebSource>,
    /// A sentence about what went wrong.
    pub error: Option<String>,
}

/// A web page that a server tool found or read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WebSource {
    /// Its title; empty if it is not known.
    pub title: String,
    /// Its address.
    pub address: String,
}

impl ServerToolUse {
    /// Returns true if it found nothing because something went wrong.
    pub fn is_failed(&self) -> bool {
        self.error.is_some() && self.sources.is_empty()
    }

    /// Returns the text of its block: the question, and two lines for each source. Titles and
    /// addresses are untrusted, so each is one line without anything hidden.
    pub fn text(&self) -> String {
        let line = |text: &str| one_line(text.trim(), WIDTH);
        let asked = (!self.asked.is_empty()).then(|| line(&self.asked));
        let sources = self.sources.iter().map(|source| {
            let (title, address) = (line(&source.title), line(&source.address));
            match (title.as_str(), address.as_str()) {
                ("", only) | (only, "") => format!("- {only}"),
                (title, address) => format!("- {title}\n  {address}"),
            }
        });
        let sources: Vec<String> = sources.collect();
        let sources = (!sources.is_empty()).then(|| sources.join("\n"));
        let error = self.error.as_deref().map(line);
        let parts = asked.into_iter().chain(sources).chain(error);
        parts.collect::<Vec<_>>().join("\n\n")
    }
}

/// The block of a use of a server tool in an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerToolBlock {
    /// The tool's name.
    pub name: Box<str>,
    /// True if the header ends in `(error)`.
    pub is_error: bool,
    /// Header through closing fence.
    pub lines: Lines,
    /// The lines inside the fence.
    pub body: Lines,
}

/// An answer as its provider sent it. It goes back to this provider in the same form; others get
/// the message's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExactAnswer {
    /// The provider.
    pub provider: String,
    /// Its blocks, in order.
    pub blocks: Vec<ExactBlock>,
}

/// A block of an [`ExactAnswer`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExactBlock {
    /// The JSON of a block.
    Json(String),
    /// The JSON of signed thinking. Sent only if the message's own thinking is.
    Thinking(String),
    /// The next call of the message.
    Call,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_lists_title_and_address_of_each_source_on_lines_of_their_own() {
        let source = |title: &str, address: &str| WebSource {
            title: title.to_owned(),
            address: address.to_owned(),
        };
        let search = ServerToolUse {
            asked: "neovim\nrelease".to_owned(),
            sources: vec![
                source("News", "https://neovim.io/news"),
                source("", "https://a.test/\u{202e}x"),
            ],
            error: Some("It failed.".to_owned()),
            ..ServerToolUse::default()
        };
        let text = search.text();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[2..4], ["- News", "  https://neovim.io/news"]);
        assert!(lines[0].starts_with("neovim"), "{text}");
        assert!(!text.contains('\u{202e}'), "{text}");
        assert_eq!(lines.len(), 7, "{text}");
        assert_eq!(ServerToolUse::default().text(), "");
    }
}
