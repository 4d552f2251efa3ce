//! What is allowed: the options and their layers, a chat's frontmatter, trust, protected
//! paths, and the rules that follow from them for each chat.
//!
//! Decides about no single call; `chat` does that with the rules made here. Knows no
//! editor, opens no connection, and starts no process.

pub mod digest;
pub mod frontmatter;
mod lua_value;
pub mod options;
pub mod project;
pub mod protected;
pub mod references;
pub mod remembered;
pub mod rules;
pub mod sandbox;
pub mod settings;
pub mod trust;
