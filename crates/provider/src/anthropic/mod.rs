//! Anthropic's Messages API, version 2023-06-01.
//!
//! Knows nothing of other providers; of Anthropic's own tools and betas it uses
//! none.

mod decode;
mod encode;
mod thinking;

pub(crate) use decode::StreamReader;
pub(crate) use encode::encode;
