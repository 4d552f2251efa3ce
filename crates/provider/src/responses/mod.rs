//! OpenAI's Responses API, as llama.cpp and others serve it too.
//!
//! Every turn is sent whole and nothing is stored with the provider: reasoning
//! goes back in the encrypted form in which it came. Knows nothing of Chat
//! Completions.

mod calls;
mod decode;
mod encode;
mod input;
mod models;
mod reasoning;

pub(crate) use decode::StreamReader;
pub(crate) use encode::encode;
