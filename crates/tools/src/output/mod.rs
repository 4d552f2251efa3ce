//! What a program prints: kept within bounds, on disk when there is much of it, and
//! passed on while it runs.
//!
//! Knows no program and no tool.

mod capture;
mod head;
mod live;
mod notice;
mod overflow;

pub(crate) use capture::{Capture, Captured, FullOutput};
pub(crate) use head::head;
pub(crate) use live::Live;
pub(crate) use notice::tail;
