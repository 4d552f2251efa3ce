//! Secrets and files outside the project that a chat may send, each with the content that
//! the user agreed to. A file with other content needs a new agreement.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tools::Fingerprint;

/// The files that the user agreed to send, by real path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed(BTreeMap<PathBuf, Option<Fingerprint>>);

/// Why a file outside the project is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objection {
    /// The user did not agree to it.
    Unasked,
    /// Its content has changed since.
    Changed,
    /// An earlier version stored its name without its content.
    ByName,
}

impl Objection {
    /// Returns the words between the place of the file and the consequence.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Unasked => "so",
            Self::Changed => "and has changed since you agreed to send it, so",
            Self::ByName => "and what you agreed to once was its name and not what is in it, so",
        }
    }
}

impl Agreed {
    /// Adds a file with the content that the user agreed to; `None` if it was not stored.
    pub fn add(&mut self, file: PathBuf, holds: Option<Fingerprint>) {
        self.0.insert(file, holds);
    }

    /// Adds agreements from elsewhere; those already here take precedence.
    pub fn or(mut self, other: Self) -> Self {
        for (file, holds) in other.0 {
            // Not replaced: an older agreement must not bring back older content.
            self.0.entry(file).or_insert(holds);
        }
        self
    }

    /// Removes all agreements.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Returns the objection to sending a file, as far as it is known before the file is read.
    pub(super) fn objection(&self, real: &Path) -> Option<Objection> {
        match self.0.get(real) {
            None => Some(Objection::Unasked),
            Some(None) => Some(Objection::ByName),
            // Whether the content is the same is known only once the file was read.
            Some(Some(_)) => None,
        }
    }

    /// Returns true if the user agreed to these bytes.
    pub(super) fn are(&self, real: &Path, bytes: &[u8]) -> bool {
        let holds = self.0.get(real);
        // An agreement without a fingerprint covers no content.
        holds.is_some_and(|holds| *holds == Some(Fingerprint::of(bytes)))
    }
}
