//! The Model Context Protocol, both ways: our tools for other programs ([`serve`]),
//! and the tools of other programs for our models, also of servers that the user
//! configured ([`configured`]).
//!
//! The only crate that refers to the protocol's SDK, and no type of the SDK leaves it.
//! It does not know whether a call may run.

mod client;
mod content;
mod definition;
mod elicit;
mod server;
mod spec;
mod surrogates;
mod tool;

pub mod configured;
pub mod serve;

pub use client::{Called, Caller, Http};
pub use definition::{Changes, Definition, clean};
pub use elicit::defaults;
pub use server::{Agreed, Server, ServerEvent, State, Status};
pub use spec::{Identity, Reach, Spec, project_table, read as read_specs};
pub use tool::ServerTool;
