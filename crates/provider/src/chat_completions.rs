//! OpenAI's Chat Completions API, also served by llama.cpp, Ollama, and many others.
//!
//! Sends only what the oldest of them support, and reads their additions to the stream.

mod calls;
mod decode;
mod details;
mod encode;
mod thinking;

pub(crate) use decode::StreamReader;
pub(crate) use encode::{carried, encode};
