//! One thing asked of the user, and what they said; both halves.

use serde::{Deserialize, Serialize};

use super::BufferId;

/// `prompt`: ask the user one thing, with a line to type or, with `items`, a list.
#[derive(Debug, Serialize)]
pub struct Prompt<'a> {
    /// The chat it is about.
    pub buffer: BufferId,
    /// Comes back in [`Prompted`].
    pub ask: u64,
    /// What is asked, on one line.
    pub title: &'a str,
    /// What there is to choose from.
    pub items: Option<&'a [String]>,
    /// What stands there already.
    pub initial: Option<&'a str>,
}

/// What the user said; neither when they left.
#[derive(Debug, Default, Deserialize)]
pub struct Prompted {
    /// The question.
    pub ask: u64,
    /// What was typed.
    #[serde(default)]
    pub text: Option<String>,
    /// What was chosen, counted from zero.
    #[serde(default)]
    pub item: Option<usize>,
}
