//! Resolves the references in a user's messages: evaluates expressions and reads files.
//!
//! Knows no Lua and no editor: the caller passes a function that evaluates expressions, the
//! list of files outside the project that may be sent, and the texts of buffers and the like.
//! Blocking.
//!
//! A chat may send secrets and files outside the project with the content that the user agreed
//! to ([`Agreed`]); a file with other content needs a new agreement. The caller collects the
//! content of references such as `@diff` and of resources before they are resolved
//! ([`Contexts`]).

mod read;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chat::prompt::{Attachment, Content, Part};
use chat::references::{ContextSource, Piece};
use tools::Fingerprint;

use crate::frontmatter::{Expansion, Include};
use read::{FileContent, Reader};

pub use read::{Folders, MAX_BYTES, Refusal, SourceFile, Stamp};

/// A reference that cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// Line of the buffer, counted from 0.
    pub line: usize,
    /// The reason.
    pub what: What,
    /// A sentence for the user.
    pub message: String,
}

/// The reason why a reference cannot be sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum What {
    /// An expression has no value.
    Expression,
    /// A reference to the editor, the repository, or an MCP server has no content.
    Context,
    /// A file cannot be sent; the user can allow a [`Refusal::Outside`] or
    /// [`Refusal::Secret`].
    File(Refusal),
}

/// The value of a reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Text that becomes part of the sentence around the reference.
    Text(String),
    /// A file, a resource, or a state of the editor or the repository.
    File(Attachment),
}

impl Value {
    /// Returns the text, unless it is a picture or a PDF file.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::File(Attachment {
                content: Content::Text(text),
                ..
            }) => Some(text),
            Self::File(_) => None,
        }
    }

    /// Returns true if a file with these bytes has this value.
    pub fn is_of(&self, bytes: &[u8]) -> bool {
        let content = match self {
            Self::Text(text) => return text.as_bytes() == bytes,
            Self::File(file) => &file.content,
        };
        match content {
            Content::Text(text) => text.as_bytes() == bytes,
            Content::Image { base64, .. } | Content::Pdf { base64 } => {
                *base64 == STANDARD.encode(bytes)
            }
        }
    }
}

/// A value that was found when the reference was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Found {
    /// The value.
    pub value: Value,
    /// The file that it was read from.
    pub file: Option<SourceFile>,
    /// True for a secret that the user allowed, of which no copy may be kept.
    pub is_secret: bool,
}

/// A message with its references resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    /// The parts of the request.
    pub parts: Vec<Part>,
    /// The values that were found, by the index of the piece.
    pub found: BTreeMap<usize, Found>,
}

/// The places in which references are looked up.
pub struct Sources<'a> {
    /// Where files are.
    pub folders: &'a Folders,
    /// Files that the user allowed although they are outside the project or secret.
    pub agreed: &'a Agreed,
    /// Content of references to the editor, the repository, and MCP servers.
    pub contexts: &'a Contexts,
}

/// Resolves the pieces of a message to parts of the request.
///
/// `evaluate` returns the value of an expression, or a sentence that says why it has none.
/// `kept` are the values that were sent before, by the index of the piece: these are not
/// looked up.
///
/// # Errors
///
/// All problems, in the order of the text. Then nothing may be sent.
pub fn resolve(
    pieces: &[Piece],
    kept: &BTreeMap<usize, Value>,
    sources: &Sources<'_>,
    evaluate: &mut dyn FnMut(&str) -> Result<Expansion, String>,
) -> Result<Resolved, Vec<Trouble>> {
    let mut resolver = Resolver {
        reader: Reader::new(sources.folders, sources.agreed),
        parts: Vec::new(),
        found: BTreeMap::new(),
        troubles: Vec::new(),
    };
    for (index, piece) in pieces.iter().enumerate() {
        if let Some(value) = kept.get(&index) {
            resolver.add(value.clone());
            continue;
        }
        let found = match piece {
            Piece::Text(text) | Piece::Escaped { text, .. } => {
                resolver.text(text);
                continue;
            }
            Piece::Expression {
                code,
                line,
                written,
            } => resolver.expression(evaluate(code), *line, written),
            Piece::File {
                path,
                mime,
                line,
                written,
            } => resolver.file(path, mime.as_deref(), *line, written),
            Piece::Context {
                source,
                line,
                written,
            } => resolver.context(sources.contexts.get(source), *line, written),
        };
        if let Some(found) = found {
            resolver.add(found.value.clone());
            resolver.found.insert(index, found);
        }
    }
    resolver.finish()
}

struct Resolver<'a> {
    reader: Reader<'a>,
    parts: Vec<Part>,
    found: BTreeMap<usize, Found>,
    troubles: Vec<Trouble>,
}

impl Resolver<'_> {
    fn add(&mut self, value: Value) {
        match value {
            Value::Text(text) => self.text(&text),
            Value::File(file) => self.parts.push(Part::File(file)),
        }
    }

    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            // The value of an expression belongs to the sentence around it, so it becomes no
            // part of its own.
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    fn file(
        &mut self,
        path: &str,
        mime: Option<&str>,
        line: usize,
        written: &str,
    ) -> Option<Found> {
        let read = self.reader.file(path, mime);
        let read = self.readable(read, line, written)?;
        Some(read.attached(written, ""))
    }

    fn expression(
        &mut self,
        value: Result<Expansion, String>,
        line: usize,
        written: &str,
    ) -> Option<Found> {
        match value {
            Ok(Expansion::Text(text)) => Some(Found {
                value: Value::Text(text),
                file: None,
                is_secret: false,
            }),
            Ok(Expansion::Include(include)) => self.include(&include, line, written),
            Err(reason) => {
                self.troubles.push(Trouble {
                    line,
                    what: What::Expression,
                    message: format!("{written}: {reason}"),
                });
                None
            }
        }
    }

    /// Attaches the content of a buffer, a diff, a resource, or the like.
    fn context(
        &mut self,
        found: Option<&Result<ContextContent, String>>,
        line: usize,
        written: &str,
    ) -> Option<Found> {
        let context = match found {
            Some(Ok(context)) => context,
            found => {
                let why = found.and_then(|it| it.as_ref().err());
                let why = why.map_or("is not available here.", String::as_str);
                self.troubles.push(Trouble {
                    line,
                    what: What::Context,
                    message: format!("{written} {why}"),
                });
                return None;
            }
        };
        let context = match context {
            ContextContent::Text(context) => context,
            ContextContent::Prose => {
                return Some(Found {
                    value: Value::Text(written.to_owned()),
                    file: None,
                    is_secret: false,
                });
            }
            ContextContent::Resource(resource) => {
                let read = self.reader.resource(resource);
                let read = self.readable(read, line, written)?;
                return Some(read.attached(written, ""));
            }
        };
        let read = self.reader.context(context);
        let read = self.readable(read, line, written)?;
        let name = match &context.file {
            // The model must know that the file on disk is different.
            Some(file) if file.is_modified => format!("{written} (not saved)"),
            _ => written.to_owned(),
        };
        Some(read.attached(&name, &context.language))
    }

    /// Resolves `include(path)`: a text file replaces the expression, any other file is
    /// attached.
    fn include(&mut self, include: &Include, line: usize, written: &str) -> Option<Found> {
        let read = self.reader.file(&include.path, include.mime.as_deref());
        let read = self.readable(read, line, written)?;
        // `binary = true` requests an attachment even if the file is text.
        if let (Content::Text(text), false) = (&read.content, include.binary) {
            return Some(Found {
                value: Value::Text(text.clone()),
                file: read.file,
                is_secret: read.is_secret,
            });
        }
        Some(read.attached(&include.path, ""))
    }

    fn readable(
        &mut self,
        read: Result<FileContent, Refusal>,
        line: usize,
        written: &str,
    ) -> Option<FileContent> {
        match read {
            Ok(read) => Some(read),
            Err(refusal) => {
                self.troubles.push(Trouble {
                    line,
                    message: format!("{written} {refusal}"),
                    what: What::File(refusal),
                });
                None
            }
        }
    }

    fn finish(mut self) -> Result<Resolved, Vec<Trouble>> {
        // A message without one of its files would mean something else, so nothing is sent.
        if !self.troubles.is_empty() {
            return Err(self.troubles);
        }
        self.parts
            // Some providers reject an empty text part.
            .retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
        Ok(Resolved {
            parts: self.parts,
            found: self.found,
        })
    }
}

impl FileContent {
    fn attached(self, name: &str, language: &str) -> Found {
        Found {
            value: Value::File(Attachment {
                name: name.to_owned(),
                language: language.to_owned(),
                content: self.content,
            }),
            file: self.file,
            is_secret: self.is_secret,
        }
    }
}

/// The files that the user allowed to be sent, by real path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed(BTreeMap<PathBuf, Option<Fingerprint>>);

/// Why a file outside the project is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objection {
    /// The user did not allow it.
    Unasked,
    /// Its content has changed since.
    Changed,
    /// An earlier version stored its name without its content.
    ByName,
}

impl Objection {
    /// Returns the words between the place of the file and the consequence.
    fn words(self) -> &'static str {
        match self {
            Self::Unasked => "so",
            Self::Changed => "and has changed since you allowed it, so",
            Self::ByName => "and you once allowed its name, not its content, so",
        }
    }
}

impl Agreed {
    /// Adds a file with the content that the user allowed; `None` if it was not stored.
    pub fn add(&mut self, file: PathBuf, holds: Option<Fingerprint>) {
        self.0.insert(file, holds);
    }

    /// Adds agreements from elsewhere; those already here take precedence.
    pub fn or(mut self, other: Self) -> Self {
        for (file, holds) in other.0 {
            // Not replaced: an older agreement must not bring back older content.
            self.0.entry(file).or_insert(holds);
        }
        self
    }

    /// Removes all agreements.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the objection to sending a file, as far as it is known before the file is read.
    fn objection(&self, real: &Path) -> Option<Objection> {
        match self.0.get(real) {
            None => Some(Objection::Unasked),
            Some(None) => Some(Objection::ByName),
            // Whether the content is the same is known only once the file was read.
            Some(Some(_)) => None,
        }
    }

    /// Returns true if the user allowed these bytes.
    fn are(&self, real: &Path, bytes: &[u8]) -> bool {
        let holds = self.0.get(real);
        // An agreement without a fingerprint covers no content.
        holds.is_some_and(|holds| *holds == Some(Fingerprint::of(bytes)))
    }
}

/// The content of each reference to the editor, the repository, or an MCP server, or a sentence
/// that follows the reference and says why it cannot be sent.
pub type Contexts = BTreeMap<ContextSource, Result<ContextContent, String>>;

/// The content of a reference to the editor, the repository, or an MCP server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextContent {
    /// Text of the editor or of Git.
    Text(ContextText),
    /// A resource of an MCP server.
    Resource(Resource),
    /// None: what looks like a reference is text, and is sent as written.
    Prose,
}

/// A resource of an MCP server, which is sent like a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Its MIME type as the server says, for messages; may be empty.
    pub mime: String,
}

impl Resource {
    /// Returns what a message with the resource contains.
    ///
    /// # Errors
    ///
    /// No provider accepts files of this type.
    pub fn content(&self) -> Result<Content, Refusal> {
        // The type is that of the bytes, because a server may name any.
        read::content(self.bytes.clone(), None).map_err(|refusal| match refusal {
            // The server may say that this is text.
            Refusal::Unsupported(kind) if !self.mime.is_empty() && kind != self.mime => {
                Refusal::Unsupported(format!("{kind} ({} according to its server)", self.mime))
            }
            refusal => refusal,
        })
    }
}

/// The text of a reference to the editor or the repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ContextText {
    /// The text.
    pub text: String,
    /// The language of its fence; empty if it is not known.
    pub language: String,
    /// The file that a buffer holds. The rules of files apply to it.
    pub file: Option<BufferFile>,
}

/// The file of a buffer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BufferFile {
    /// Its absolute path.
    pub path: PathBuf,
    /// True if the buffer's text is not written to it.
    pub is_modified: bool,
}

#[cfg(test)]
mod tests;
