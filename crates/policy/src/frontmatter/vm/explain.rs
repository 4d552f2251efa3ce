//! Explains errors of the engine in sentences with a position in the file.
//!
//! The engine's errors have no field for a line: it is in their text, in an error that we
//! raised, or where the limit was noticed.

use std::time::Duration;

use mlua::Error;

use super::super::located::Located;
use super::super::{FrontmatterError, Source, places};
use super::MEMORY;
use crate::frontmatter::budget::Budget;

/// Maximum characters of a message, whose text the document may choose.
const MAX_MESSAGE: usize = 500;

/// The cause of an error, and its line, if known.
struct Cause {
    line: Option<usize>,
    /// The word that caused it, used to find its column.
    word: Option<String>,
    what: String,
}

/// Explains why a frontmatter was not evaluated.
pub fn failure(
    error: &Error,
    budget: &Budget,
    source: &Source,
    limit: Duration,
) -> FrontmatterError {
    let cause = cause(error, budget, limit);
    let line = cause.line.unwrap_or(source.first_line);
    let place = cause
        .word
        .and_then(|word| places::of_word(&source.text, &word, line, source.first_line));
    let (line, column) = place.map_or((line, None), |(line, column)| (line, Some(column)));
    FrontmatterError::new(line, column, cause.what)
}

/// Explains an error of a function or an expression, whose caller knows the position.
pub fn sentence(error: &Error, budget: &Budget, limit: Duration) -> String {
    let cause = cause(error, budget, limit);
    match cause.line {
        Some(line) => format!("frontmatter line {line}: {}", cause.what),
        None => cause.what,
    }
}

fn cause(error: &Error, budget: &Budget, limit: Duration) -> Cause {
    // First, because code that caught the interrupt may have raised an error of its own.
    if budget.was_reached() {
        return out_of_time(budget, limit);
    }
    let inner = innermost(error);
    // Our own errors know their line; the text of the engine would only repeat it.
    if let Some(located) = inner.downcast_ref::<Located>() {
        return Cause {
            line: located.line,
            word: located.invalid.word.clone(),
            what: located.invalid.message.clone(),
        };
    }
    let text = match inner {
        Error::MemoryError(_) => return out_of_memory(budget),
        Error::SyntaxError { message, .. } | Error::RuntimeError(message) => message.clone(),
        other => other.to_string(),
    };
    // A memory error that Lua code raised again arrives as text.
    if text.contains("not enough memory") {
        return out_of_memory(budget);
    }
    // The traceback names functions of the engine, which mean nothing to the user.
    let said = text.split("\nstack traceback:").next().unwrap_or_default();
    let (line, what) = split_position(said);
    Cause {
        // A message without a position may have one in its traceback.
        line: line.or_else(|| line_in(&error.to_string())),
        word: None,
        what: as_sentence(what),
    }
}

fn out_of_time(budget: &Budget, limit: Duration) -> Cause {
    Cause {
        line: budget.last_line(),
        word: None,
        what: format!(
            "still running after {} ms, so it was stopped. Look for a loop without an end.",
            limit.as_millis()
        ),
    }
}

fn out_of_memory(budget: &Budget) -> Cause {
    Cause {
        line: budget.last_line(),
        word: None,
        what: format!(
            "it needs more than {} MB of memory, so it was stopped.",
            MEMORY / 1024 / 1024
        ),
    }
}

fn innermost(error: &Error) -> &Error {
    match error {
        // The engine wraps an error once for each function of ours that it passes through.
        Error::CallbackError { cause, .. } | Error::BadArgument { cause, .. } => innermost(cause),
        other => other,
    }
}

/// Splits `frontmatter:3: ` or `expression:1: ` from a message.
fn split_position(text: &str) -> (Option<usize>, &str) {
    for name in ["frontmatter", "expression"] {
        let rest = text
            .strip_prefix(name)
            .and_then(|rest| rest.strip_prefix(':'));
        if let Some((line, what)) = rest.and_then(|rest| rest.split_once(": ")) {
            // An expression is one line of a message, and the caller knows which.
            let line = line.parse().ok().filter(|_| name == "frontmatter");
            return (line, what);
        }
    }
    (None, text)
}

/// Returns the line of the first position in a traceback.
fn line_in(traceback: &str) -> Option<usize> {
    let (_, rest) = traceback.split_once("frontmatter:")?;
    let digits = rest.split(|it: char| !it.is_ascii_digit()).next()?;
    digits.parse().ok()
}

/// Shortens the engine's message, which may be the document's own text, to a sentence.
fn as_sentence(what: &str) -> String {
    let end = what.char_indices().nth(MAX_MESSAGE);
    let what = end.map_or(what, |(end, _)| &what[..end]).trim();
    let what = what.strip_prefix("runtime error: ").unwrap_or(what);
    if what.ends_with(['.', '!', '?']) {
        what.to_owned()
    } else {
        format!("{what}.")
    }
}
