//! The records in the journal of a ledger.

use std::time::{SystemTime, UNIX_EPOCH};

use chat::context;
use chat::prompt::{Attachment, Content};
use chat::tool::ToolDefinition;
use policy::references::{Found, SourceFile, Value};
use serde::{Deserialize, Serialize};
use tools::objects::Hash;

/// A line of the journal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Record {
    /// A reference was sent; the latest record of a place counts.
    Reference(SentReference),
    /// The result of a call showed a file; its place is the hash of the call's id and the line about
    /// the file.
    ResultFile(SentReference),
    /// The answer with this hash of its text goes back in its provider's form.
    Exact { answer: Hash, exact: SentExact },
    /// The tools of the first request.
    Tools(Hash),
    /// Tools that were added below a place.
    Added { place: Hash, content: Hash },
    /// The latest request, as its answer counted it.
    Answered(Answered),
    /// The thinking above a place was refused.
    ThinkingRefused(Hash),
    /// The result with this hash is sent shortened.
    Shortened(Hash),
    /// All results are sent whole again.
    Whole,
    /// A summary with this hash of its comment counts.
    Summary {
        comment: Hash,
        #[serde(flatten)]
        summary: SentSummary,
    },
    /// The references and tools above no longer count.
    Forgotten,
}

/// An answer in the form in which its provider sent it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct SentExact {
    /// The provider.
    pub provider: String,
    /// Content with its blocks.
    pub content: Hash,
}

/// Facts about a request that its answer showed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answered {
    /// Tokens of the prompt and of the answer.
    pub tokens: u64,
    /// True if the model rejects its thinking after a change of anything before it.
    pub binds_thinking: bool,
    /// The hash of the comment of the summary that the request began with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Hash>,
}

/// What requests need to know about a summary, as it was when the summary began to count. Whatever
/// changes above the summary afterwards changes nothing below it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentSummary {
    /// The place above which the model's thinking is bound to the messages that the summary replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Hash>,
    /// The place above the summary.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub above: Option<Hash>,
    /// Content of the tools that were added to messages above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tools: Option<Hash>,
    /// The same summary as the provider signed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
}

/// A summary that the provider signed. It is sent as such only while nothing of this changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Signed {
    /// Content with its text and its signature.
    pub content: Hash,
    /// Digest of its text in the chat.
    pub text: Hash,
    /// Digest of the system prompt and of the tools with which it was written.
    pub basis: Hash,
    /// The place above which the model's thinking is bound to what an earlier summary replaces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking: Option<Hash>,
}

/// The content of a [`Signed`].
#[derive(Serialize, Deserialize)]
pub(super) struct SignedContent {
    pub content: String,
    pub signature: String,
}

/// A reference whose value was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SentReference {
    /// Hash of everything before it in the chat, and of the reference itself.
    pub place: Hash,
    /// Digest of its value.
    pub content: Hash,
    kind: Kind,
    /// Size of the value in bytes.
    pub bytes: u64,
    /// When it was sent, in seconds since 1970.
    pub at: u64,
    /// The file that it was read from, as the model knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<SourceFile>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    /// Text of the message.
    Inline,
    /// A part of its own.
    Attached {
        name: String,
        language: String,
        form: Form,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Form {
    Text,
    Image { mime: String },
    Pdf,
}

impl SentReference {
    /// Returns the record of a value that is sent now, and its content.
    pub(super) fn of(place: Hash, found: Found) -> (Self, Vec<u8>) {
        let (kind, content) = match found.value {
            Value::Text(text) => (Kind::Inline, text),
            Value::File(Attachment {
                name,
                language,
                content,
            }) => {
                let (form, content) = match content {
                    Content::Text(text) => (Form::Text, text),
                    Content::Image { mime, base64 } => (Form::Image { mime }, base64),
                    Content::Pdf { base64 } => (Form::Pdf, base64),
                };
                let kind = Kind::Attached {
                    name,
                    language,
                    form,
                };
                (kind, content)
            }
        };
        let bytes = content.len() as u64;
        let reference = Self {
            place,
            content: Hash::of(content.as_bytes()),
            bytes: match &kind {
                // Base64 has four letters for three bytes.
                Kind::Attached {
                    form: Form::Image { .. } | Form::Pdf,
                    ..
                } => bytes / 4 * 3,
                Kind::Attached {
                    form: Form::Text, ..
                }
                | Kind::Inline => bytes,
            },
            kind,
            at: now(),
            file: found.file,
        };
        (reference, content.into_bytes())
    }

    /// Returns true if both have the same value at the same place.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (self.place, self.content, &self.kind) == (other.place, other.content, &other.kind)
    }

    /// Returns true if its value is text of the message.
    pub fn is_inline(&self) -> bool {
        self.kind == Kind::Inline
    }

    /// Returns about how many tokens it has.
    pub(super) fn tokens(&self) -> f64 {
        match &self.kind {
            Kind::Attached {
                form: Form::Image { .. },
                ..
            } => context::IMAGE_TOKENS,
            Kind::Attached {
                form: Form::Pdf, ..
            } => context::pdf_tokens(self.bytes),
            Kind::Inline | Kind::Attached { .. } => context::tokens(self.bytes as usize),
        }
    }

    /// Returns the value with this content; `None` if the content is not text, as it was.
    pub(super) fn value(&self, content: Vec<u8>) -> Option<Value> {
        let content = String::from_utf8(content).ok()?;
        Some(match &self.kind {
            Kind::Inline => Value::Text(content),
            Kind::Attached {
                name,
                language,
                form,
            } => Value::File(Attachment {
                name: name.clone(),
                language: language.clone(),
                content: match form {
                    Form::Text => Content::Text(content),
                    Form::Image { mime } => Content::Image {
                        mime: mime.clone(),
                        base64: content,
                    },
                    Form::Pdf => Content::Pdf { base64: content },
                },
            }),
        })
    }
}

/// A tool as it was offered.
#[derive(Serialize, Deserialize)]
pub(super) struct SentTool {
    name: String,
    description: String,
    input_schema: serde_json::Value,
    strict: bool,
}

impl From<ToolDefinition> for SentTool {
    fn from(tool: ToolDefinition) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema,
            strict: tool.strict,
        }
    }
}

impl From<SentTool> for ToolDefinition {
    fn from(tool: SentTool) -> Self {
        Self {
            name: tool.name,
            description: tool.description,
            input_schema: tool.input_schema,
            strict: tool.strict,
            // Only for searches, and never sent.
            keywords: Vec::new(),
        }
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}
