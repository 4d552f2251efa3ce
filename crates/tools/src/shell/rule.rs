//! Rules for the arguments of a program.

use super::options::{Operands, Options, Refusal};
use super::programs::Reads;
use super::words::Word;

/// How the arguments of a program are checked.
#[derive(Clone, Copy)]
pub(super) enum Rule {
    /// These options and operands, in any order.
    Plain(Options, Operands),
    /// Like [`Rule::Plain`], but options come first, because some implementations take a later
    /// one for an operand.
    First(Options, Operands),
    /// Searches files in folders, with these options.
    Search(Options, Deep),
    /// Only with one of these arguments, which prints its version.
    Version(&'static [&'static str]),
    /// Checked by this function.
    By(fn(&[Word]) -> Result<Reads<'_>, Refusal>),
}

/// When a search descends into folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Deep {
    /// Always, as `rg` does; into hidden folders only with an option.
    Always,
    /// With `-r` or `--recursive`.
    WhenAsked,
}

/// A [`Rule::Plain`].
pub(super) const fn plain(options: &'static str, operands: Operands) -> Rule {
    Rule::Plain(Options::new(options), operands)
}
