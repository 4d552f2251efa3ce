//! Checks a program's arguments, and says what it reads then.
//!
//! Pure. The list is in `table`; programs whose arguments a list of options cannot
//! express are in `special`.

use super::options::{OPEN, Operands, Options, Parsed, Refusal, UNLISTED, parse, refuse};
use super::rule::{Deep, Rule};
use super::table::rule;
use super::words::Word;

/// What a command reads, once its arguments are approved.
#[derive(Debug, Default)]
pub(super) struct Reads<'a> {
    /// Its operands that are paths, or may be.
    pub paths: Vec<&'a Word>,
    /// Whether the content of everything below its folders is read.
    pub deep: Option<Search>,
    /// Names that it looks up in `PATH`.
    pub looked_up: Vec<&'a Word>,
    /// Whether it only prints a version, so that another program of that name elsewhere
    /// would print another.
    pub is_version: bool,
}

/// How a search goes through folders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Search {
    /// Whether it reads files whose names begin with a dot.
    pub hidden: bool,
    /// Whether it reads the working directory when no path is given.
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

/// Commands of the shell itself, which no file of that name replaces.
const BUILTINS: &[&str] = &[
    ":", "[", "cd", "command", "echo", "false", "printf", "pwd", "test", "true", "type",
];

/// Programs that reach the network.
const NETWORK: &[&str] = &["curl", "dig", "nslookup", "ping", "wget"];

const WRITE: &str = "write a file or change something";
/// What `make`, `python`, and similar programs do.
const PROJECT: &str = "run code of the project; the user can add it to tools.bash.allow";

/// Whether a program is a command of the shell itself.
pub(super) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// Whether a program's purpose is the network.
pub(super) fn is_network(name: &str) -> bool {
    NETWORK.contains(&name)
}

/// What a program reads with these arguments; nothing when it is not listed.
///
/// # Errors
///
/// The argument with which it may do more.
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
    // A pattern expands to any number of words.
    let pattern = parsed.operands.iter().find(|it| it.is_pattern());
    let most = match operands {
        Operands::None => 0,
        Operands::Text => match pattern {
            Some(word) => return refuse(&word.value, UNLISTED),
            None => {
                return Ok(Reads {
                    looked_up: parsed.operands,
                    ..Reads::default()
                });
            }
        },
        Operands::Paths(most) => most,
    };
    if let Some(word) = parsed.operands.get(most) {
        return refuse(&word.value, WRITE);
    }
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
    let Parsed { operands, .. } = parse(arguments, options)?;
    let parsed = parse(arguments, options)?;
    let has_regex = name != "diff" && !parsed.has(&["-e", "--regexp", "--files", "--type-list"]);
    let (regex, paths) = match operands.split_first() {
        Some((first, rest)) if has_regex => (Some(first), rest.to_vec()),
        _ => (None, operands),
    };
    if let Some(word) = regex.filter(|it| it.is_pattern()) {
        return refuse(&word.value, OPEN);
    }
    let is_deep = match deep {
        Deep::Always => !parsed.has(&["--files", "--type-list"]),
        Deep::WhenAsked => parsed.has(&["-r", "--recursive"]),
    };
    let hidden = deep == Deep::WhenAsked
        || parsed.has(&[
            "-u",
            "--unrestricted",
            "-.",
            "--hidden",
            "-g",
            "--glob",
            "--iglob",
        ]);
    let here = name != "diff" && paths.is_empty();
    Ok(Reads {
        paths,
        deep: is_deep.then_some(Search { hidden, here }),
        ..Reads::default()
    })
}

fn version<'a>(name: &str, arguments: &'a [Word], words: &[&str]) -> Result<Reads<'a>, Refusal> {
    match arguments {
        [] => refuse(name, PROJECT),
        [only] if words.contains(&only.value.as_str()) && !only.is_pattern() => Ok(Reads {
            is_version: true,
            ..Reads::default()
        }),
        [only] => refuse(&only.value, PROJECT),
        // What follows an option such as `--version` may be done as well.
        [first, second, ..] => {
            let is_version = words.contains(&first.value.as_str());
            refuse(
                if is_version {
                    &second.value
                } else {
                    &first.value
                },
                PROJECT,
            )
        }
    }
}
