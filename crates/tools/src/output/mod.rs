//! What a program prints: kept within bounds, on disk when there is much of it, and
//! passed on while it runs.
//!
//! Knows no program and no tool.

mod capture;
mod live;
mod notice;
mod overflow;
mod whole;

pub(crate) use capture::{Capture, Captured, FullOutput};
pub(crate) use live::Live;
pub(crate) use notice::tail;
pub(crate) use overflow::keep;
pub use whole::{TextEnd, within_limits};
