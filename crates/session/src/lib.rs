//! One open chat: its text as the front end has it, its cycle, its background work, and its
//! state on disk.
//!
//! A [`frontend::Frontend`] shows the chat and reports what the user does. This crate does
//! not depend on which one it is.

pub mod audit;
mod buffers;
pub mod call_environment;
pub mod command_table;
mod completion;
pub mod config_dir;
pub mod context;
pub mod credentials;
pub mod diff;
mod dropped_images;
pub mod editor;
pub mod endpoint;
mod exclude;
mod form;
pub mod frontend;
mod half_done;
mod ids;
pub mod jobs;
pub mod known_chats;
pub mod lease;
mod local;
pub mod log;
mod logins;
pub mod lua_calls;
pub mod mcp_servers;
mod model_lists;
pub mod models;
pub mod new_chats;
mod project_rules;
pub mod projects;
pub mod protocol;
pub mod queries;
mod remembering;
pub mod resolver_calls;
pub mod restoring;
mod reviewing;
mod rewinding;
mod route;
pub mod scripts;
pub mod sent;
mod session;
pub mod shared;
pub mod skills;
pub mod spec;
pub mod status;
pub mod switch;
mod turn_reviewing;
pub mod tutor;
pub mod usage;

pub use session::{EditorInput, Input, start};
