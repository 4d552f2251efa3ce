//! What a `.chat` document does, as before, keys and after.
#![allow(clippy::unwrap_used, clippy::expect_used)]

mod case;
mod cases;
mod cycle;
mod dump;
mod foreign;
mod play;
mod properties;
