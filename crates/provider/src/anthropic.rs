//! Anthropic's Messages API, version 2023-06-01.
//!
//! Uses none of Anthropic's own tools, and the beta features that `encode` lists.

mod cache;
mod decode;
mod encode;
mod thinking;

pub(crate) use decode::StreamReader;
pub(crate) use encode::{BINDING, VERSION, encode};
pub(crate) use thinking::carried;
