//! Output of programs: kept within bounds, on disk if it is long, and passed on live.

mod capture;
mod live;
mod notice;
mod overflow;
mod screen;
mod whole;

pub(crate) use capture::{Capture, Captured, FullOutput};
pub(crate) use live::Live;
pub(crate) use notice::tail;
pub(crate) use overflow::keep;
pub use screen::Screen;
pub(crate) use screen::last_state;
pub use whole::{TextEnd, within_limits};
