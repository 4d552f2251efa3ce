//! What the arguments of a call say about the texts of files, without reading any file.

use super::{Counts, FileDiff};

/// The changes of a call in files, as far as its arguments state them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedChange {
    /// Names of the arguments that say it.
    pub arguments: &'static [&'static str],
    /// The files, in the order of the arguments.
    pub files: Vec<StatedFile>,
}

/// A file of a [`StatedChange`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StatedFile {
    /// The file as the call names it.
    pub name: String,
    /// Changes that texts don't show, such as `deleted`.
    pub remark: Option<String>,
    /// Pieces of its text, and what replaces each.
    pub texts: Vec<(String, String)>,
}

impl StatedChange {
    /// Returns how many lines the call adds and removes. `None` if it replaces no text.
    pub fn counts(&self) -> Option<Counts> {
        let has_texts = self.files.iter().any(|it| !it.texts.is_empty());
        has_texts.then(|| self.files.iter().map(StatedFile::counts).sum())
    }
}

impl StatedFile {
    /// Returns how many lines of the file are added and removed.
    pub fn counts(&self) -> Counts {
        let texts = self.texts.iter();
        texts
            .map(|(before, after)| FileDiff::of(before, after).counts)
            .sum()
    }
}
