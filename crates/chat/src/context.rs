//! What the next request contains: its parts, with about how many tokens each of them has.

use serde::Serialize;

use crate::document::{Document, Role};
use crate::prompt::{Attachment, Content, Own, Part, parts_by_message};
use crate::tool::{ToolDefinition, ToolUseId};

/// Bytes of text per token, on average over prose and code in English: between the 3.5 characters that
/// the crate `char-token-est` measured for Claude and its 4 for GPT and Gemini (November 2026).
pub const BYTES_PER_TOKEN: f64 = 3.75;
/// Tokens of an image: about the most before Claude scales it down, by docs.claude.com, "Vision".
pub const IMAGE_TOKENS: f64 = 1600.0;
/// Tokens of a page of text in a PDF, as the data set `pdf-token-cost` of October 2026 measured it for
/// Claude 5.5. A scanned page has about 1,600 there, and any page about 560 with Gemini.
const PAGE: f64 = 2350.0;
/// Bytes of a page of a PDF with text and few pictures: a guess.
const PAGE_BYTES: f64 = 75_000.0;

/// The kind of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextKind {
    /// Text of a `@System:` message.
    System,
    /// The definitions of tools.
    Tools,
    /// The user's text.
    User,
    /// The model's text.
    Assistant,
    /// The model's thinking.
    Thinking,
    /// A call.
    Call,
    /// The result of a call.
    Result,
    /// A file, or a state of the editor, that the user's text refers to.
    Reference,
}

/// A part of a request.
#[derive(Debug, Clone, PartialEq)]
pub struct ContextPart {
    /// Its kind.
    pub kind: ContextKind,
    /// The index of its message; `None` for the tools that are offered from the start.
    pub message: Option<usize>,
    /// The name of a tool or of what is referred to, the number of tools, or the provider that signed
    /// thinking; empty for text.
    pub name: String,
    /// About how many tokens it has.
    pub tokens: f64,
}

/// Returns the parts of a request in its order: first the tools from the start, then the messages
/// of the document, with the user's text of some of them replaced, from the summary `first` on.
/// `result` returns about how many tokens a result has as it is sent.
pub fn parts(
    document: &Document<'_>,
    tools: &[ToolDefinition],
    own: &Own,
    first: usize,
    result: impl Fn(&ToolUseId, &str) -> f64,
) -> Vec<ContextPart> {
    let offered = (!tools.is_empty()).then(|| tools_part(tools, None));
    let messages = parts_by_message(document, own, first).into_iter();
    let messages = messages.flat_map(|(index, parts)| {
        let role = document.messages[index].role;
        let parts = parts.iter();
        let parts = parts.map(|part| context_part(part, index, role, &result));
        parts.collect::<Vec<_>>()
    });
    offered.into_iter().chain(messages).collect()
}

fn context_part(
    part: &Part,
    message: usize,
    role: Role,
    result: &impl Fn(&ToolUseId, &str) -> f64,
) -> ContextPart {
    let (kind, name, tokens) = match part {
        Part::Text(text) => {
            let kind = match role {
                Role::System => ContextKind::System,
                Role::You => ContextKind::User,
                Role::Assistant => ContextKind::Assistant,
            };
            (kind, "", tokens(text.len()))
        }
        Part::File(file) => (ContextKind::Reference, &*file.name, attachment(file)),
        Part::ToolsAdded(tools) => return tools_part(tools, Some(message)),
        Part::Thinking {
            text, signature, ..
        } => {
            let signer = signature.as_ref().map_or("", |it| &it.provider);
            (ContextKind::Thinking, signer, tokens(text.len()))
        }
        Part::ToolUse { name, input, .. } => {
            (ContextKind::Call, &**name, tokens(name.len() + input.len()))
        }
        Part::ToolResult {
            tool_use_id,
            name,
            content,
            ..
        } => (ContextKind::Result, &**name, result(tool_use_id, content)),
    };
    ContextPart {
        kind,
        message: Some(message),
        name: name.to_owned(),
        tokens,
    }
}

fn tools_part(tools: &[ToolDefinition], message: Option<usize>) -> ContextPart {
    let bytes = tools.iter().map(|tool| {
        let schema = tool.input_schema.to_string();
        tool.name.len() + tool.description.len() + schema.len()
    });
    ContextPart {
        kind: ContextKind::Tools,
        message,
        name: tools.len().to_string(),
        tokens: tokens(bytes.sum()),
    }
}

fn attachment(file: &Attachment) -> f64 {
    match &file.content {
        Content::Text(text) => tokens(file.name.len() + text.len()),
        Content::Image { .. } => IMAGE_TOKENS,
        // Base64 has four digits for three bytes.
        Content::Pdf { base64 } => pdf_tokens(base64.len() as u64 / 4 * 3),
    }
}

/// About how many tokens a PDF of so many bytes has.
pub fn pdf_tokens(bytes: u64) -> f64 {
    PAGE * (bytes as f64 / PAGE_BYTES).ceil()
}

/// About how many tokens a text of so many bytes has.
pub fn tokens(bytes: usize) -> f64 {
    bytes as f64 / BYTES_PER_TOKEN
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::Text;

    /// The parts of a chat: kind, line of the message, name, and estimated bytes.
    fn parts_of(chat: &str, own: &Own) -> Vec<(ContextKind, usize, String, usize)> {
        let text = Text::from(chat);
        let document = Document::parse(&text);
        let parts = parts(&document, &[], own, 0, |_, content| tokens(content.len())).into_iter();
        parts
            .map(|it| {
                let line = document.messages[it.message.unwrap()].lines.start;
                let bytes = (it.tokens * BYTES_PER_TOKEN).round() as usize;
                (it.kind, line, it.name, bytes)
            })
            .collect()
    }

    #[test]
    fn every_part_is_listed_with_the_message_that_it_is_in() {
        let chat = "@System:\nBe brief.\n\n@You:\nGo.\n\n@Assistant:\n<thinking>\nHm.\n</thinking>\n\nWell.\n\n\
                    **Tool Use:** `read` (`t_1`)\n\n```json\n{\"path\":\"a\"}\n```\n\n\
                    @You:\n**Tool Result:** `t_1`\n\n```\n0123456789\n```\n\nMore.\n";
        use ContextKind::{Assistant, Call, Result, System, Thinking, User};
        let expected = [
            (System, 0, "", 9),
            (User, 3, "", 3),
            (Thinking, 6, "", 3),
            (Assistant, 6, "", 5),
            (Call, 6, "read", 16),
            (Result, 19, "read", 10),
            (User, 19, "", 5),
        ];
        let expected =
            expected.map(|(kind, line, name, bytes)| (kind, line, name.to_owned(), bytes));
        assert_eq!(parts_of(chat, &Own::new()), expected);
    }

    #[test]
    fn what_a_message_refers_to_counts_with_its_content() {
        let file = |name: &str, content| {
            let (name, language) = (name.to_owned(), String::new());
            Part::File(Attachment {
                name,
                language,
                content,
            })
        };
        let text = Content::Text("x".repeat(100));
        let mime = "image/png".to_owned();
        let image = Content::Image {
            mime,
            base64: "AAAA".repeat(9),
        };
        let parts = vec![file("@./a", text), file("@./b.png", image)];
        let found = parts_of("@You:\n@./a and @./b.png\n", &Own::from([(0, parts)]));
        let expected = [
            (ContextKind::Reference, 0, "@./a".to_owned(), 104),
            (ContextKind::Reference, 0, "@./b.png".to_owned(), 6000),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_call_without_a_result_has_the_result_that_is_sent_for_it() {
        let chat = "@Assistant:\n**Tool Use:** `read` (`t_1`)\n\n```json\n{}\n```\n";
        let found = parts_of(chat, &Own::new());
        let kinds: Vec<_> = found.iter().map(|it| (it.0, it.1)).collect();
        assert_eq!(kinds, [(ContextKind::Call, 0), (ContextKind::Result, 0)]);
    }

    #[test]
    fn tools_count_with_their_descriptions_and_schemas() {
        let tool = ToolDefinition {
            name: "read".to_owned(),
            description: "Reads.".to_owned(),
            input_schema: json!({}),
            strict: false,
            keywords: Vec::new(),
        };
        let text = Text::from("");
        let found = parts(
            &Document::parse(&text),
            &[tool.clone(), tool],
            &Own::new(),
            0,
            |_, content| tokens(content.len()),
        );
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].message, &*found[0].name), (None, "2"));
        assert_eq!((found[0].tokens * BYTES_PER_TOKEN).round(), 24.0);
    }
}
