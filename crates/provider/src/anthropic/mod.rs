//! Anthropic's Messages API, version 2023-06-01.
//!
//! Uses none of Anthropic's own tools and no beta except interleaved thinking.

mod decode;
mod encode;
mod thinking;

pub(crate) use decode::StreamReader;
pub(crate) use encode::encode;
