//! Script tools: folders with a `tool.toml`, which describes the tool, and a script.
//!
//! This module knows no policy. A root may name the digest that the user agreed to. Requests of a
//! script for other tools or a model go through [`crate::ToolContext`].

mod clock;
mod digest;
mod folder;
mod job;
mod manifest;
mod marshal;
mod parameters;
mod program;
mod reader;
mod requests;
mod run;
mod tool;
mod wire;

pub use digest::digest;
pub use folder::{ScriptFolder, ScriptProblem};
pub use tool::ScriptRoot;
