//! Tools that are folders: a `tool.toml` that says what the tool is, and a script that
//! does it. Document 5.
//!
//! Knows no policy and not who trusts which folder: a place may name the digest that
//! somebody agreed to. What a script asks for, other tools or a model, goes to whoever
//! stands behind [`crate::ToolContext`].

mod clock;
mod desk;
mod digest;
mod folder;
mod job;
mod manifest;
mod marshal;
mod parameters;
mod program;
mod reader;
mod run;
mod tool;
mod wire;

pub use digest::digest;
pub use folder::{ScriptFolder, ScriptProblem};
pub use tool::ScriptRoot;
