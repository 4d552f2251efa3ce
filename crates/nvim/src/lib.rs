//! Neovim as a front end: the channel, the tools that are registered in Lua, and the host,
//! which finds the session of each message.
//!
//! The only crate that refers to nvim-rs and rmpv. A [`host::Host`] also serves a front end
//! in its own process.

pub mod host;
mod logging;
mod lua_tools;
mod neovim;
mod pending_replies;
mod rpc;

// Modules of other crates, under the names that this crate uses.
use policy::{options, settings};
use session::{
    editor, frontend, lua_calls, mcp_servers, protocol, scripts, shared, spec, status, switch,
    tutor, usage,
};
use tools::sources;
