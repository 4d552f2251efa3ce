//! Streams, requests, and facts about providers, each as other crates see them.
#![allow(clippy::unwrap_used)]

mod any_bytes;
mod catalogue;
mod conversations;
mod documents;
mod endings;
mod mutations;
mod no_stream;
mod text_tools;
mod thinking_tags;
mod web;
