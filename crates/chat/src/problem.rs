//! Errors for the user.

use std::fmt;

/// An error for the user, with its fix.
///
/// Both are full sentences. `what` names the place, the fact, and its consequence, and
/// quotes the user's text. `fix` is the next step, or empty if there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The error and its consequence.
    pub what: String,
    /// The next step.
    pub fix: String,
}

impl Problem {
    /// Creates a problem with its fix.
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
    fn the_fix_follows_the_problem() {
        let with = Problem::new("It failed.", "Press the key again.");
        assert_eq!(with.to_string(), "It failed. Press the key again.");
        let without = Problem::new("It failed.", "");
        assert_eq!(without.to_string(), "It failed.");
    }
}
