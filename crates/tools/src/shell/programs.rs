//! Checks a program's arguments and determines what it reads.
//!
//! Pure. `table` lists the programs. `special` checks those whose rules a list of options cannot
//! express.

use super::contents::Contents;
use super::options::{OPEN, Operands, Options, Refusal, UNLISTED, is_in, parse, refuse};
use super::rule::{Deep, Rule};
use super::table::rule;
use super::words::Word;

/// What an approved command reads.
#[derive(Debug, Default)]
pub(super) struct Reads<'a> {
    /// Its operands that are or may be paths.
    pub paths: Vec<&'a Word>,
    /// How it searches folders, if it reads all files below them.
    pub deep: Option<Search>,
    /// The contents of tracked files that Git shows.
    pub contents: Option<Contents<'a>>,
    /// Names that it looks up in `PATH`.
    pub looked_up: Vec<&'a Word>,
    /// Whether it only prints a version. It depends on which program of that name runs.
    pub is_version: bool,
}

/// How a command searches folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Search {
    /// Whether it reads files whose names begin with a dot.
    pub hidden: bool,
    /// Whether it searches the working directory if no path is given.
    pub here: bool,
}

impl<'a> Reads<'a> {
    pub(super) fn nothing() -> Self {
        Self::default()
    }

    pub(super) fn paths(paths: Vec<&'a Word>) -> Self {
        Self {
            paths,
            ..Self::default()
        }
    }
}

/// Built-in commands of the shell, which take precedence over programs in `PATH`.
const BUILTINS: &[&str] = &[
    ":", "[", "cd", "command", "echo", "false", "printf", "pwd", "test", "true", "type",
];

/// Programs that use the network.
const NETWORK: &[&str] = &["curl", "dig", "nslookup", "ping", "wget"];

const WRITE: &str = "write a file or change something";
/// What `make`, `python`, and similar programs could do.
const PROJECT: &str = "run code of the project; the user can add it to tools.bash.allow";

/// Whether a program is a built-in command of the shell.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// Whether a program uses the network.
pub(super) fn is_network(name: &str) -> bool {
    NETWORK.contains(&name)
}

/// What a program reads with these arguments; `None` if it is not listed.
///
/// # Errors
///
/// The argument with which it may do more than read.
pub(super) fn check<'a>(name: &str, arguments: &'a [Word]) -> Option<Result<Reads<'a>, Refusal>> {
    Some(match rule(name)? {
        Rule::Plain(options, operands) => plain(arguments, options, operands, false),
        Rule::First(options, operands) => plain(arguments, options, operands, true),
        Rule::Search(options, deep) => search(name, arguments, options, deep),
        Rule::Version(words) => version(name, arguments, words),
        Rule::By(check) => check(arguments),
    })
}

fn plain(
    arguments: &[Word],
    options: Options,
    operands: Operands,
    is_first: bool,
) -> Result<Reads<'_>, Refusal> {
    let parsed = parse(arguments, options)?;
    if is_first && parsed.is_mixed {
        return refuse(&parsed.operands[0].value, WRITE);
    }
    let pattern = parsed.operands.iter().find(|it| it.is_pattern());
    let most = match (operands, pattern) {
        (Operands::None, _) => 0,
        (Operands::Paths(most), _) => most,
        (Operands::Text, Some(word)) => return refuse(&word.value, UNLISTED),
        (Operands::Text, None) => {
            return Ok(Reads {
                looked_up: parsed.operands,
                ..Reads::default()
            });
        }
    };
    if let Some(word) = parsed.operands.get(most) {
        return refuse(&word.value, WRITE);
    }
    // A pattern expands to any number of words.
    match pattern.filter(|_| most < usize::MAX) {
        Some(word) => refuse(&word.value, WRITE),
        None => Ok(Reads::paths(parsed.operands)),
    }
}

/// `grep`, `rg`, and `diff`.
fn search<'a>(
    name: &str,
    arguments: &'a [Word],
    options: Options,
    deep: Deep,
) -> Result<Reads<'a>, Refusal> {
    let parsed = parse(arguments, options)?;
    // With these options, the first operand is a path.
    let has_regex = name != "diff" && !parsed.has(&["-e", "--regexp", "--files", "--type-list"]);
    let (regex, paths) = match parsed.operands.split_first() {
        Some((first, rest)) if has_regex => (Some(first), rest),
        _ => (None, parsed.operands.as_slice()),
    };
    if let Some(word) = regex.filter(|it| it.is_pattern()) {
        return refuse(&word.value, OPEN);
    }
    let is_deep = match deep {
        Deep::Always => !parsed.has(&["--files", "--type-list"]),
        Deep::WhenAsked => parsed.has(&["-r", "--recursive"]),
    };
    // A glob of `rg` may name hidden files.
    let shows = "-u --unrestricted -. --hidden -g --glob --iglob";
    // `grep` and `diff` read them without an option.
    let hidden = deep == Deep::WhenAsked || parsed.options.iter().any(|it| is_in(shows, &it.0));
    let here = name != "diff" && paths.is_empty();
    Ok(Reads {
        paths: paths.to_vec(),
        deep: is_deep.then_some(Search { hidden, here }),
        ..Reads::default()
    })
}

fn version<'a>(name: &str, arguments: &'a [Word], words: &[&str]) -> Result<Reads<'a>, Refusal> {
    match arguments {
        // Without arguments, such a program runs the project's code or waits for input.
        [] => refuse(name, PROJECT),
        [only] if words.contains(&only.value.as_str()) && !only.is_pattern() => Ok(Reads {
            is_version: true,
            ..Reads::default()
        }),
        [only] => refuse(&only.value, PROJECT),
        // A program may act on further arguments in spite of `--version`.
        [first, second, ..] => match words.contains(&first.value.as_str()) {
            true => refuse(&second.value, PROJECT),
            false => refuse(&first.value, PROJECT),
        },
    }
}
