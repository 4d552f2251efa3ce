//! Which forms of git only read.
//!
//! Pure. What a repository's own configuration may run is the business of whoever
//! lets that be written; a command line that brings configuration along is refused.

use super::programs::{RUN, Refusal, closed, refuse_first};
use super::words::Word;

const CHANGE: &str = "change the repository";
pub(super) const OTHER: &str = "read another repository's settings, which may run programs";

/// Commands that only show, whatever follows but [`LONG`].
const SHOWS: [&str; 24] = [
    "annotate",
    "blame",
    "check-ignore",
    "cherry",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "for-each-ref",
    "grep",
    "log",
    "ls-files",
    "ls-tree",
    "merge-base",
    "name-rev",
    "rev-list",
    "rev-parse",
    "shortlog",
    "show",
    "show-ref",
    "status",
    "whatchanged",
];

/// Options of theirs that write, or run what attributes and settings name.
const LONG: [&str; 6] = [
    "output",
    "output-directory",
    "ext-diff",
    "textconv",
    "open-files-in-pager",
    "upload-pack",
];

/// Options with which these commands list; others change something.
const BRANCH: [&str; 15] = [
    "-a",
    "-r",
    "-v",
    "-vv",
    "-l",
    "-i",
    "--list",
    "--all",
    "--remotes",
    "--verbose",
    "--show-current",
    "--merged",
    "--no-merged",
    "--contains",
    "--no-color",
];
const TAG: [&str; 8] = [
    "-l",
    "-n",
    "-i",
    "--list",
    "--contains",
    "--merged",
    "--no-merged",
    "--points-at",
];
const CONFIG: [&str; 15] = [
    "--get",
    "--get-all",
    "--get-regexp",
    "--list",
    "-l",
    "--global",
    "--local",
    "--system",
    "--worktree",
    "--show-origin",
    "--show-scope",
    "--name-only",
    "-z",
    "--null",
    "--includes",
];
/// Those of [`BRANCH`] and [`TAG`] that take names to list.
const LISTS: [&str; 7] = [
    "-l",
    "--list",
    "--merged",
    "--no-merged",
    "--contains",
    "--points-at",
    "-n",
];

pub(super) fn check(arguments: &[Word]) -> Result<(), Refusal> {
    closed(arguments, RUN)?;
    let without_pager = match arguments.split_first() {
        Some((first, rest)) if first.value == "--no-pager" => rest,
        _ => arguments,
    };
    let Some((command, rest)) = without_pager.split_first() else {
        return Ok(());
    };
    match command.value.as_str() {
        "--version" | "version" => Ok(()),
        name if SHOWS.contains(&name) => shows(name, rest),
        "branch" => lists(rest, &BRANCH),
        "tag" => lists(rest, &TAG),
        "config" => config(rest),
        "remote" => only_first(rest, &["-v", "--verbose", "get-url"]),
        "stash" => match rest.first() {
            Some(first) if first.value == "list" || first.value == "show" => shows("log", rest),
            first => Err((
                first.map_or("stash".to_owned(), |it| it.value.clone()),
                CHANGE,
            )),
        },
        "reflog" => match rest.first() {
            Some(first) if first.value != "show" && !first.value.starts_with('-') => {
                Err((first.value.clone(), CHANGE))
            }
            _ => shows("log", rest),
        },
        "cat-file" => {
            let is_other = |word: &&Word| {
                word.value.starts_with('-')
                    && !matches!(word.value.as_str(), "-p" | "-t" | "-s" | "-e")
            };
            refuse_first(rest.iter().find(is_other), RUN)
        }
        "worktree" => only_first(rest, &["list"]),
        option if option.starts_with('-') => Err((option.to_owned(), OTHER)),
        other => Err((other.to_owned(), CHANGE)),
    }
}

fn shows(command: &str, rest: &[Word]) -> Result<(), Refusal> {
    let is_meant = |word: &&Word| match word.value.strip_prefix("--") {
        Some(long) => {
            let given = long.split('=').next().unwrap_or_default();
            !given.is_empty() && LONG.iter().any(|name| name.starts_with(given))
        }
        // `git grep -O` opens what it finds in a program.
        None => command == "grep" && word.value.starts_with('-') && word.value.contains('O'),
    };
    refuse_first(
        rest.iter().find(is_meant),
        "write a file or run other programs",
    )
}

fn lists(rest: &[Word], options: &[&str]) -> Result<(), Refusal> {
    let is_listing = |word: &Word| {
        let name = word.value.split('=').next().unwrap_or_default();
        options.contains(&name) || name == "--sort" || name == "--format"
    };
    let takes_names = rest.iter().any(|word| {
        let name = word.value.split('=').next().unwrap_or_default();
        LISTS.contains(&name)
    });
    let changes = |word: &&Word| {
        let is_name = !word.value.starts_with('-');
        !(is_listing(word) || is_name && takes_names)
    };
    refuse_first(rest.iter().find(changes), CHANGE)
}

fn config(rest: &[Word]) -> Result<(), Refusal> {
    const READS: [&str; 5] = ["--get", "--get-all", "--get-regexp", "--list", "-l"];
    let is_other =
        |word: &&Word| word.value.starts_with('-') && !CONFIG.contains(&word.value.as_str());
    refuse_first(rest.iter().find(is_other), CHANGE)?;
    // As a word, it has to come first: behind a name it is a value.
    let first = rest.first();
    let by_word = first.is_some_and(|it| matches!(it.value.as_str(), "get" | "list"));
    let by_option = rest.iter().any(|it| READS.contains(&it.value.as_str()));
    refuse_first(first.filter(|_| !by_word && !by_option), CHANGE)
}

/// Nothing, or one of these words and a name or two.
fn only_first(rest: &[Word], forms: &[&str]) -> Result<(), Refusal> {
    let Some((first, more)) = rest.split_first() else {
        return Ok(());
    };
    if !forms.contains(&first.value.as_str()) {
        return Err((first.value.clone(), CHANGE));
    }
    // Behind an option a word would be another command.
    let is_option = |word: &Word| word.value.starts_with('-');
    let is_more = |word: &&Word| is_option(first) || is_option(word);
    refuse_first(more.iter().find(is_more), CHANGE)
}
