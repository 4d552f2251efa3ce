//! OpenAI's Chat Completions, as llama.cpp, Ollama and many others serve it.
//!
//! Sends only what the oldest of them understand, and reads what they add to the
//! stream. Knows nothing of OpenAI's Responses API.

mod calls;
mod decode;
mod details;
mod encode;
mod thinking;

pub(crate) use decode::StreamReader;
pub(crate) use encode::encode;
