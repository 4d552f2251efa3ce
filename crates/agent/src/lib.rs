//! Asks models: a request over HTTP, and what its answer says.
//!
//! Knows no editor and no file format of options: who asks, and where to, is given.

pub mod answer;
pub mod transport;
