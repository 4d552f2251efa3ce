//! The messages between plugin and host. `lua/flemma/protocol.lua` is the other side's
//! copy, and a test compares the two lists of names.
//!
//! Types only. Lines are zero-based and end-exclusive, columns are bytes. `seq`
//! counts the text changes of one buffer; it is the only clock both sides share.

mod chats;
mod command;
mod drawn;
mod folds;
mod incoming;
mod lookup;
mod lua_tools;
mod outgoing;
mod questions;

pub use chats::*;
pub use command::*;
pub use drawn::*;
pub use folds::*;
pub use incoming::*;
pub use lookup::*;
pub use lua_tools::*;
pub use outgoing::*;
pub use questions::*;

/// Version of the protocol. `hello` and `welcome` compare it before any other message.
pub const VERSION: u64 = 2;

pub use crate::ids::{BufferId, WindowId};
pub use policy::settings::{CommandLineApproval, RegisteredResolver, Resolvers};
