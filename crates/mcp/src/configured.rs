//! The servers that the user's options and their projects name: found, started when they
//! are needed, and compared with what the user agreed to.
//!
//! Whether a project counts ([`Consent`]) and how an address is reached are the caller's
//! to say.

mod known;
mod pins;
mod project;
mod report;
mod servers;

use std::io;
use std::path::Path;

use crate::{Http, Spec};

pub use known::{Configured, known};
pub use pins::Pins;
pub use project::Project;
pub use report::{all, one};
pub use servers::{Parts, Servers, source};

/// What the user agreed to in the files of projects.
pub trait Consent: Send + Sync {
    /// Returns true if the user agreed to this text of a file.
    fn is_trusted(&self, file: &Path, text: &str) -> bool;

    /// Remembers that the user agrees to this text of a file.
    ///
    /// # Errors
    ///
    /// It cannot be remembered.
    fn trust(&self, file: &Path, text: &str) -> io::Result<()>;
}

/// Returns what makes the HTTP client of a server.
pub type HttpOf = fn(&Spec) -> Http;
