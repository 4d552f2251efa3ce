//! Tools for models without tool calling: described in the system prompt, with calls parsed
//! from the answer's text.
//!
//! A call has one of two forms: a line `<tool_call>`, a JSON object with `name` and
//! `arguments`, and `</tool_call>`; or a fence ```` ```xml ```` around `<tools><tool
//! name="…">`. Both start at column 0 and outside other fences, so a model can quote either
//! without making a call. Only the streamed answer is parsed: text in a document, a result,
//! or a user's message never becomes a call.

mod call;
mod prompt;
mod reader;
mod xml;

use call::{Extent, extent};
pub(crate) use prompt::in_words;
pub use reader::TextCalls;

pub(crate) const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";

/// Returns the length of the call with which `text` begins; `None` if it is not complete.
pub(crate) fn call_length(text: &str) -> Option<usize> {
    let ends = text.match_indices(CLOSE).map(|(at, _)| at);
    let mut ends = ends.filter(|at| *at >= OPEN.len());
    // An argument may contain the tag too.
    let is_end = |at: &usize| {
        let body = &text[OPEN.len()..*at];
        !matches!(extent(body), Extent::Open) || body.trim().is_empty()
    };
    Some(ends.find(is_end)? + CLOSE.len())
}
