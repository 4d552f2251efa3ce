//! Determines whose contents a Git command shows.
//!
//! Pure. `machine` compares the result with the secrets that the repository tracks.

use super::options::{Parsed, is_in};
use super::words::Word;

/// Options of `diff` and `show` that print a summary instead of the changes.
const SUMMARY: &[&str] = &[
    "-s",
    "--no-patch",
    "--raw",
    "--stat",
    "--compact-summary",
    "--numstat",
    "--shortstat",
    "--dirstat",
    "--summary",
    "--name-only",
    "--name-status",
    "--quiet",
];
/// Options that print changes, or whose result depends on the text of files.
const CHANGES: &[&str] = &[
    "-p",
    "-u",
    "-U",
    "-c",
    "-m",
    "-L",
    "-G",
    "-S",
    "--patch",
    "--patch-with-raw",
    "--patch-with-stat",
    "--unified",
    "--binary",
    "--check",
    "--cc",
    "--combined-all-paths",
    "--diff-merges",
    "--word-diff",
    "--word-diff-regex",
    "--color-words",
];
/// Options of `diff` that compare something else than the working tree with the index.
const STAGED: &[&str] = &["--cached", "--staged", "--merge-base"];

/// The contents that a Git command shows.
#[derive(Debug)]
pub(super) struct Contents<'a> {
    /// Where they are from.
    pub source: Source,
    /// Revisions and objects, and also paths if there is no `--`.
    pub named: Vec<&'a Word>,
    /// What follows `--`, if it is given: the paths that the output is limited to.
    pub limits: Option<Vec<&'a Word>>,
    /// Files whose lines the history is limited to, by `log -L`.
    pub lines_of: Vec<String>,
}

/// Where the contents are from that a Git command shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Changes in the working tree, unless a revision is named.
    WorkingTree,
    /// Files below the working directory.
    Folder,
    /// Changes of commits or of the index.
    Commits,
    /// Changes of commits, and objects that are named.
    Objects,
    /// Only objects that are named.
    Named,
}

/// What a command shows; `None` if it shows no contents.
pub(super) fn contents<'a>(command: &str, parsed: &Parsed<'a>) -> Option<Contents<'a>> {
    let is_summary = parsed.has(SUMMARY) && !parsed.has(CHANGES);
    let source = match command {
        "grep" => Source::Folder,
        // A blob is shown in spite of these options.
        "show" if is_summary => Source::Named,
        "cat-file" => Source::Named,
        "show" => Source::Objects,
        "diff" if is_summary => return None,
        "diff" if parsed.has(STAGED) => Source::Objects,
        "diff" => Source::WorkingTree,
        "status" if parsed.has(&["-v", "--verbose"]) => Source::Commits,
        // The paths of these are checked like those of other programs.
        "status" | "annotate" | "blame" => return None,
        "diff-files" | "diff-index" | "diff-tree" if parsed.has(CHANGES) => Source::Objects,
        _ if parsed.has(CHANGES) && is_in("log whatchanged", command) => Source::Commits,
        _ => return None,
    };
    let (named, limits) = match parsed.before_dashes {
        Some(at) => {
            let (named, limits) = parsed.operands.split_at(at);
            (named, Some(limits.to_vec()))
        }
        None => (parsed.operands.as_slice(), None),
    };
    let lines = parsed.values(&["-L"]);
    let lines = lines.filter_map(|it| Some(it.rsplit_once(':')?.1.to_owned()));
    Some(Contents {
        source,
        named: named.to_vec(),
        limits,
        lines_of: lines.collect(),
    })
}

/// What a word without `--` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Name<'a> {
    /// A file or folder in a revision or in the index.
    Path(&'a str),
    /// An object, by its hash or a part of it.
    Object,
    /// A revision, or paths by a pattern.
    Other,
}

/// What a word names that is no file in the working tree.
pub(super) fn name(word: &str) -> Name<'_> {
    // `:/text` and `^{/text}` find a commit, `@{12:00}` is a time, and `:(top)` and `:!x` are
    // patterns.
    let is_index =
        |rest: &str| rest.starts_with(|it: char| it.is_alphanumeric() || "._-".contains(it));
    let is_other = word.contains('{') || word.strip_prefix(':').is_some_and(|it| !is_index(it));
    match word.rsplit_once(':') {
        Some((_, path)) if !is_other => Name::Path(path),
        None if word.split("..").any(is_object) => Name::Object,
        _ => Name::Other,
    }
}

/// Whether a word may be the hash of an object, maybe with `^{blob}` behind it. Git takes the
/// first four digits for a hash.
fn is_object(word: &str) -> bool {
    let hash = word.trim_start_matches(['.', '^']);
    let hash = hash.split(['^', '~', '@']).next().unwrap_or(hash);
    hash.len() >= 4 && hash.bytes().all(|it| it.is_ascii_hexdigit())
}

/// Whether a path after `--` is just a path, and not a pattern.
pub(super) fn is_plain_path(path: &str) -> bool {
    !path.is_empty() && !path.starts_with(':') && !path.contains(['*', '?', '[', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_names_a_path_an_object_or_something_else() {
        for (word, expected) in [
            ("HEAD:conf/x", Name::Path("conf/x")),
            (":x", Name::Path("x")),
            (":0:x", Name::Path("x")),
            ("HEAD:", Name::Path("")),
            ("12ab", Name::Object),
            ("12ab^{blob}", Name::Object),
            ("12ab..HEAD", Name::Object),
            ("12a", Name::Other),
            ("HEAD~2", Name::Other),
            (":/fix: x", Name::Other),
            ("HEAD^{/fix: x}", Name::Other),
            ("HEAD@{12:00}", Name::Other),
            (":(top)x", Name::Other),
            (":!x", Name::Other),
        ] {
            assert_eq!(name(word), expected, "{word}");
        }
    }
}
