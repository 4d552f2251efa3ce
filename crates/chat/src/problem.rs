//! What a user is told when something went wrong.

use std::fmt;

/// An error for the user: what went wrong, and what to do next.
///
/// Both are full sentences. `what` names the place, the fact and its consequence
/// and quotes what the user wrote; `fix` is the next step, or empty when there is
/// nothing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What went wrong and what follows from it.
    pub what: String,
    /// What the user can do about it.
    pub fix: String,
}

impl Problem {
    /// A problem with its way out.
    pub fn new(what: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            fix: fix.into(),
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if !self.fix.is_empty() {
            write!(f, " {}", self.fix)?;
        }
        Ok(())
    }
}

impl std::error::Error for Problem {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_out_is_printed_behind_what_went_wrong() {
        let with = Problem::new("It failed.", "Press the key again.");
        assert_eq!(with.to_string(), "It failed. Press the key again.");
        let without = Problem::new("It failed.", "");
        assert_eq!(without.to_string(), "It failed.");
    }
}
