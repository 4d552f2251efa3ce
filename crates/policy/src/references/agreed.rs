//! Files outside the project, and secrets, that the user lets a chat send: each as it was when they
//! said so. What somebody put in its place since is another file.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use tools::Fingerprint;

/// What the user agreed to, by the real paths of the files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Agreed(BTreeMap<PathBuf, Option<Fingerprint>>);

/// Why a file outside the project is not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Objection {
    /// Nobody agreed to it.
    Unasked,
    /// It holds something else than what was agreed to.
    Changed,
    /// It was agreed to by its name alone, as earlier versions had it.
    ByName,
}

impl Objection {
    /// In words that follow where the file is, up to what comes of it.
    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Unasked => "so",
            Self::Changed => "and has changed since you agreed to send it, so",
            Self::ByName => "and what you agreed to once was its name and not what is in it, so",
        }
    }
}

impl Agreed {
    /// The user agrees to a file that holds this; nothing when that was not noted.
    pub fn add(&mut self, file: PathBuf, holds: Option<Fingerprint>) {
        self.0.insert(file, holds);
    }

    /// Adds what was agreed to elsewhere; what is said here goes first.
    pub fn or(mut self, other: Self) -> Self {
        for (file, holds) in other.0 {
            self.0.entry(file).or_insert(holds);
        }
        self
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// What speaks against sending a file before anybody has looked into it.
    pub(super) fn objection(&self, real: &Path) -> Option<Objection> {
        match self.0.get(real) {
            None => Some(Objection::Unasked),
            Some(None) => Some(Objection::ByName),
            Some(Some(_)) => None,
        }
    }

    /// Whether these bytes are what was agreed to.
    pub(super) fn are(&self, real: &Path, bytes: &[u8]) -> bool {
        let holds = self.0.get(real);
        holds.is_some_and(|holds| *holds == Some(Fingerprint::of(bytes)))
    }
}
