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

pub(crate) use prompt::in_words;
pub use reader::TextCalls;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
