//! The edit engine: replaces pieces of a text, each in exactly one place.
//!
//! Pure, and never guesses. `places` finds a piece exactly or, if it occurs nowhere, with other
//! line endings, without spaces at the ends of lines, and with all lines indented by the same
//! amount. `weave` makes the new text, `plan` applies several replacements or none, and
//! `alike` and `nearest` find text for the message: what only looks the same, and what is similar.

mod alike;
mod endings;
mod indentation;
mod nearest;
mod normal;
mod places;
mod plan;
mod problem;
#[cfg(test)]
mod tests;
mod weave;

pub(crate) use places::{Needle, Place, places};
pub(crate) use plan::{
    EditedText, PlacedReplacement, Replacement, ambiguous, apply, lines_of, not_found, plan,
};
pub(crate) use problem::{Names, Refused, ReplaceProblem, listed};
