//! Differences between operating systems.
//!
//! The other crates refer to no operating system, except in modules that are named for one. What
//! they need of it is here, with the same signatures everywhere. A module is about one subject on all
//! systems, and has files of their own only for long code. A function whose guarantee is weaker on
//! one of them says so in its documentation.

pub mod duplex;
pub mod exit_status;
pub mod files;
pub mod machine;
pub mod paths;
pub mod pipe;
pub mod places;
pub mod processes;
pub mod programs;
pub mod signals;
pub mod user;
pub mod variables;
