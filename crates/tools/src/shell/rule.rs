//! What a rule for the arguments of a program consists of.

use super::options::{Operands, Options, Refusal};
use super::programs::Reads;
use super::words::Word;

/// How the arguments of a program are checked.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// These options, these operands.
    Plain(Options, Operands),
    /// As [`Rule::Plain`], and options come first: some programs take a later one for
    /// an operand.
    First(Options, Operands),
    /// Searches the content of folders with these options, always (`rg`) or with `-r`.
    Search(Options, Deep),
    /// Prints its version with one of these words, and does nothing else.
    Version(&'static [&'static str]),
    /// As this function says.
    By(fn(&[Word]) -> Result<Reads<'_>, Refusal>),
}

/// When a search goes into folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deep {
    /// Always, and into hidden ones when asked to.
    Always,
    /// With `-r` or its long name.
    WhenAsked,
}

/// A rule for options that may stand anywhere.
pub(super) const fn plain(options: &'static str, operands: Operands) -> Rule {
    Rule::Plain(Options::new(options), operands)
}
