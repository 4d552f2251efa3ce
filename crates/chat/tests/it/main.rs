//! What a `.chat` document does, as before, keys and after.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod approvals;
mod cancelling;
mod case;
mod cases;
mod choosing;
mod cycle;
mod decisions;
mod deleted;
mod dump;
mod folds;
mod foreign;
mod going_on;
mod places;
mod play;
mod properties;
mod sights;
mod spans;
mod stuck;
mod truncate;
mod words;
