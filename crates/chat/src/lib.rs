//! The `.chat` document and the state machine that decides what happens next.
//!
//! Pure: no I/O, no clock, no async, no RPC. The buffer is the state; everything here is a
//! function of the text, the options, and what is running.

pub mod address;
pub mod answer;
pub mod approval;
pub mod complete;
pub mod copies;
pub mod cycle;
pub mod diagnostic;
pub mod diff;
pub mod document;
pub mod escape;
pub mod fields;
pub mod folds;
pub mod html;
pub mod json;
pub mod links;
mod markdown;
pub mod marks;
pub mod new_problems;
pub mod origin;
pub mod outcome;
pub mod outline;
pub mod preview;
pub mod problem;
pub mod prompt;
pub mod references;
pub mod regions;
mod role;
pub mod say;
pub mod scan;
pub mod schema;
pub mod spans;
pub mod status;
mod suggest;
pub mod text;
pub mod title;
pub mod tool;
pub mod truncate;
mod visible;
pub mod whole;
pub mod write;

pub use problem::Problem;
pub use suggest::{did_you_mean, suggest};
