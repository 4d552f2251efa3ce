//! Resolves the references in a user's messages: evaluates expressions and reads files.
//!
//! Knows no Lua and no editor: the caller passes a function that evaluates expressions, the
//! list of files outside the project that may be sent, and the texts of buffers and the like.
//! Blocking.

mod agreed;
mod context;
mod read;

pub use agreed::{Agreed, Objection};
pub use context::{BufferFile, ContextText, Contexts};
pub use read::{Folders, MAX_BYTES, Refusal};

use chat::prompt::{Attachment, Content, Part};
use chat::references::Piece;

use crate::frontmatter::{Expansion, Include};
use read::Reader;

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
    /// There is no text for a reference to the editor or the repository.
    Context,
    /// A file cannot be sent; the user can agree to a [`Refusal::Outside`] or
    /// [`Refusal::Secret`].
    File(Refusal),
}

/// Resolves the pieces of a message to parts of the request.
///
/// `evaluate` returns the value of an expression, or a sentence that says why it has none.
/// `agreed` are the files outside the project that the user agreed to send. `contexts` are the
/// texts of references to the editor and the repository.
///
/// # Errors
///
/// All problems, in the order of the text. Then nothing may be sent.
pub fn resolve(
    pieces: &[Piece],
    folders: &Folders,
    evaluate: &mut dyn FnMut(&str) -> Result<Expansion, String>,
    agreed: &Agreed,
    contexts: &Contexts,
) -> Result<Vec<Part>, Vec<Trouble>> {
    let mut resolver = Resolver {
        reader: Reader::new(folders, agreed),
        parts: Vec::new(),
        troubles: Vec::new(),
    };
    for piece in pieces {
        match piece {
            Piece::Text(text) | Piece::Escaped { text, .. } => resolver.text(text),
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
            } => {
                let read = resolver.reader.file(path, mime.as_deref());
                if let Some(content) = resolver.content(read, *line, written) {
                    resolver.file(written, "", content);
                }
            }
            Piece::Context {
                source,
                line,
                written,
            } => resolver.context(contexts.get(source), *line, written),
        }
    }
    resolver.finish()
}

struct Resolver<'a> {
    reader: Reader<'a>,
    parts: Vec<Part>,
    troubles: Vec<Trouble>,
}

impl Resolver<'_> {
    fn text(&mut self, text: &str) {
        match self.parts.last_mut() {
            // The value of an expression belongs to the sentence around it, so it becomes no
            // part of its own.
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    fn file(&mut self, name: &str, language: &str, content: Content) {
        self.parts.push(Part::File(Attachment {
            name: name.to_owned(),
            language: language.to_owned(),
            content,
        }));
    }

    fn expression(&mut self, value: Result<Expansion, String>, line: usize, written: &str) {
        match value {
            Ok(Expansion::Text(text)) => self.text(&text),
            Ok(Expansion::Include(include)) => self.include(&include, line, written),
            Err(reason) => self.troubles.push(Trouble {
                line,
                what: What::Expression,
                message: format!("{written}: {reason}"),
            }),
        }
    }

    /// Attaches the text of a buffer, a diff, or the like.
    fn context(&mut self, found: Option<&Result<ContextText, String>>, line: usize, written: &str) {
        let context = match found {
            Some(Ok(context)) => context,
            found => {
                let why = found.and_then(|it| it.as_ref().err());
                let why = why.map_or("is not available here.", String::as_str);
                return self.troubles.push(Trouble {
                    line,
                    what: What::Context,
                    message: format!("{written} {why}"),
                });
            }
        };
        let read = self.reader.context(context);
        if let Some(content) = self.content(read, line, written) {
            let name = match &context.file {
                // The model must know that the file on disk is different.
                Some(file) if file.is_modified => format!("{written} (not saved)"),
                _ => written.to_owned(),
            };
            self.file(&name, &context.language, content);
        }
    }

    /// Resolves `include(path)`: a text file replaces the expression, any other file is
    /// attached.
    fn include(&mut self, include: &Include, line: usize, written: &str) {
        let read = self.reader.file(&include.path, include.mime.as_deref());
        match self.content(read, line, written) {
            // `binary = true` requests an attachment even if the file is text.
            Some(Content::Text(text)) if !include.binary => self.text(&text),
            Some(content) => self.file(&include.path, "", content),
            None => {}
        }
    }

    fn content(
        &mut self,
        read: Result<Content, Refusal>,
        line: usize,
        written: &str,
    ) -> Option<Content> {
        match read {
            Ok(content) => Some(content),
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

    fn finish(mut self) -> Result<Vec<Part>, Vec<Trouble>> {
        // A message without one of its files would mean something else, so nothing is sent.
        if !self.troubles.is_empty() {
            return Err(self.troubles);
        }
        self.parts
            // Some providers reject an empty text part.
            .retain(|part| !matches!(part, Part::Text(text) if text.trim().is_empty()));
        Ok(self.parts)
    }
}

#[cfg(test)]
mod tests;
