//! The servers that the user's options and their projects configure: found, started on
//! demand, and compared with the tools that the user accepted.
//!
//! The caller decides whether a project's servers are used ([`Consent`]) and how addresses
//! are reached.

mod known;
mod pins;
mod project;
mod report;
mod servers;

use std::io;
use std::path::Path;

use crate::{Http, ServerSpec};

pub use known::{Configured, known};
pub use pins::Pins;
pub use project::Project;
pub use report::{all, one};
pub use servers::{Parts, Servers, source};

/// The user's consent to files of projects.
pub trait Consent: Send + Sync {
    /// Returns true if the user agreed to this text of a file.
    fn is_trusted(&self, file: &Path, text: &str) -> bool;

    /// Remembers that the user agrees to this text of a file.
    ///
    /// # Errors
    ///
    /// The consent can't be saved.
    fn trust(&self, file: &Path, text: &str) -> io::Result<()>;
}

/// Returns the HTTP client of a server.
pub type HttpOf = fn(&ServerSpec) -> Http;
