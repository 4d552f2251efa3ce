//! The Model Context Protocol, as a server for other programs ([`serve`]) and as a client
//! of their tools and resources, including the servers that the user configured
//! ([`configured`]).
//!
//! The only crate that refers to the protocol's SDK; none of the SDK's types leave it.
//! Does not decide whether a call may run.

mod client;
mod content;
mod definition;
mod elicit;
mod resources;
mod server;
mod spec;
mod surrogates;
mod tool;

pub mod configured;
pub mod serve;

pub use client::{Called, Caller, Commands, Http, LOG_LIMIT, Logins, MemoryLogins};
pub use definition::{Definition, DefinitionChanges, clean};
pub use elicit::defaults;
pub use resources::{ResourceContent, ResourceUri};
pub use server::{PinnedTools, Server, ServerEvent, ServerStatus, State};
pub use spec::{
    ClientSecret, Identity, OauthClient, Reach, ServerSpec, project_table, read as read_specs,
};
pub use tool::ServerTool;
