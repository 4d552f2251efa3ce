//! The strict services accept what they issued, sent back as it came, and refuse what the real ones
//! refuse. A small client plays the conversation.

#![allow(clippy::unwrap_used)]

mod anthropic;
mod client;
mod others;
mod parameters;
mod summaries;
mod tools;
