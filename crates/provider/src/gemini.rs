//! Gemini's `streamGenerateContent`, with a key or on Vertex AI.
//!
//! A thought signature belongs to one part of an answer. In the document it precedes that
//! part, in the tag of a thinking block. A signature that precedes no part is sent as a
//! separate part without text. An empty signature means that the part after it has none.

mod decode;
mod encode;
mod parts;
mod thinking;

pub(crate) use decode::StreamReader;
pub(crate) use encode::{carried, encode};
