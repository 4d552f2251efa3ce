//! Neovim as a front end: the channel, the tools that are registered in Lua, and the host,
//! which passes each message to its session.
//!
//! The only crate that refers to nvim-rs and rmpv. The command line uses [`host::Host`] too,
//! with a front end in the same process.

pub mod host;
mod logging;
mod lsp;
mod lua_tools;
mod neovim;
mod rpc;
mod status;
