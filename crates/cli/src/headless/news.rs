//! Which calls and results of a chat have not been told yet: read off the document,
//! as the model's own words would not show them.

use std::collections::HashSet;

use chat::document::{Document, ResultKind};
use chat::tool::ToolUseId;

/// A call is told once: its message in the document, and its id.
type Key = (usize, ToolUseId);

/// What was told so far.
#[derive(Debug, Default)]
pub struct Told {
    calls: HashSet<Key>,
    results: HashSet<Key>,
}

/// Something new in the document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum News {
    /// The model asks for a tool.
    Call {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// The arguments as they stand in the document.
        input: String,
    },
    /// A call has its result.
    Result {
        /// The call's id.
        id: String,
        /// The tool.
        name: String,
        /// What the model will read.
        text: String,
        /// Whether the model is told that it failed.
        is_error: bool,
    },
}

impl Told {
    /// Nothing in this document is new.
    pub fn all(document: &Document<'_>) -> Self {
        let mut told = Self::default();
        drop(told.news(document));
        told
    }

    /// What is new, in the order of the document.
    pub fn news(&mut self, document: &Document<'_>) -> Vec<News> {
        let mut news = Vec::new();
        for turn in document.turns() {
            for call in &turn.calls {
                let key = (turn.assistant, call.tool_use.id.clone());
                let (id, name) = (key.1.as_str().to_owned(), call.tool_use.name.to_string());
                if self.calls.insert(key.clone()) {
                    let input = document.lossy(call.tool_use.body.clone()).into_owned();
                    let (id, name) = (id.clone(), name.clone());
                    news.push(News::Call { id, name, input });
                }
                let Some(result) = call.result else {
                    continue;
                };
                let ResultKind::Final { is_error } = result.kind else {
                    continue;
                };
                if self.results.insert(key) {
                    news.push(News::Result {
                        id,
                        name,
                        text: document.lossy(result.body.clone()).into_owned(),
                        is_error,
                    });
                }
            }
        }
        news
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat::text::Text;

    const CALL: &str = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`t`)\n\n```json\n{\"command\":\"ls\"}\n```\n";

    #[test]
    fn a_call_and_its_result_are_told_once_each() {
        let text = Text::from(CALL);
        let mut told = Told::default();
        let call = News::Call {
            id: "t".to_owned(),
            name: "bash".to_owned(),
            input: r#"{"command":"ls"}"#.to_owned(),
        };
        assert_eq!(told.news(&Document::parse(&text)), [call]);
        let answered = format!("{CALL}\n@You:\n**Tool Result:** `t` (error)\n\n```\nno\n```\n");
        let text = Text::from(answered.as_str());
        let result = News::Result {
            id: "t".to_owned(),
            name: "bash".to_owned(),
            text: "no".to_owned(),
            is_error: true,
        };
        assert_eq!(told.news(&Document::parse(&text)), [result]);
        assert_eq!(told.news(&Document::parse(&text)), []);
        assert_eq!(
            Told::all(&Document::parse(&text)).news(&Document::parse(&text)),
            []
        );
    }
}
