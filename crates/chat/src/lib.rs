//! What a `.chat` document says, and what happens next.
//!
//! Pure: no I/O, no clock, no async, no RPC. The buffer is the state; everything
//! here is a function of text, options and what is running right now.

pub mod preview;
pub mod problem;
pub mod prompt;
pub mod tool;
pub mod truncate;

pub use problem::Problem;
