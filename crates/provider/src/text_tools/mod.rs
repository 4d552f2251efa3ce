//! Tools for models that cannot call any: described in the system prompt, their calls
//! read from the answer's text.
//!
//! A call is text in one of two forms, and in no other: a line `<tool_call>`, a JSON
//! object with `name` and `arguments`, and `</tool_call>`; or a fence ```` ```xml ````
//! around `<tools><tool name="…">`. Both stand at column 0 and in no other fence, so a
//! model can show either without making a call. Only the answer that is being streamed
//! is read: what stands in a document, a result or the user's words becomes no call.
//! Knows neither approval nor what a call does.

mod call;
mod prompt;
mod reader;
mod xml;

pub(crate) use prompt::in_words;
pub use reader::TextCalls;

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
