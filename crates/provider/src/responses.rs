//! OpenAI's Responses API, also served by llama.cpp and others.
//!
//! Every turn is sent whole and nothing is stored with the provider: reasoning is sent back
//! in its encrypted form.

mod calls;
mod decode;
mod encode;
mod input;
mod models;
mod reasoning;

pub(crate) use decode::StreamReader;
pub(crate) use encode::{carried, encode};
