//! Checks a program's arguments, and says what it reads then.
//!
//! Pure. The list is in `table`; here are the rules that a list of options cannot
//! express.

use super::options::{Operands, Options, Parsed, RUN, Refusal, UNLISTED, parse, refuse};
use super::table::{BUILTINS, Deep, NETWORK, Rule, rule};
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
    // Patterns stand for any number of words.
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
        return refuse(&word.value, super::options::OPEN);
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

/// Refuses patterns: their expansions could mean something else.
fn closed(arguments: &[Word]) -> Result<(), Refusal> {
    match arguments.iter().find(|it| it.is_pattern()) {
        Some(word) => refuse(&word.value, super::options::OPEN),
        None => Ok(()),
    }
}

/// Programs that do nothing but print, whatever their arguments.
pub(super) fn text(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    closed(arguments)?;
    Ok(Reads::nothing())
}

/// `echo`: patterns in its arguments list files, which is reading, too.
pub(super) fn echo(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    match arguments.iter().find(|it| it.is_open()) {
        Some(word) => refuse(&word.value, super::options::OPEN),
        None => Ok(Reads::paths(
            arguments.iter().filter(|it| it.is_pattern()).collect(),
        )),
    }
}

/// `cd`: one folder. Where it leads is followed by the caller.
pub(super) fn cd(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    closed(arguments)?;
    let arguments = match arguments.split_first() {
        Some((first, rest)) if first.value == "--" => rest,
        _ => arguments,
    };
    match arguments {
        [] => Ok(Reads::nothing()),
        [one] if !one.value.starts_with('-') && !one.value.is_empty() => {
            Ok(Reads::paths(vec![one]))
        }
        [first, ..] => refuse(&first.value, "change to a folder that is not certain"),
    }
}

/// `command -v`: where a program is.
pub(super) fn command(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    closed(arguments)?;
    match arguments.split_first() {
        Some((first, rest)) if matches!(first.value.as_str(), "-v" | "-V") => {
            match rest.iter().find(|it| it.value.starts_with('-')) {
                Some(word) => refuse(&word.value, RUN),
                None => Ok(Reads {
                    looked_up: rest.iter().collect(),
                    ..Reads::default()
                }),
            }
        }
        Some((first, _)) => refuse(&first.value, RUN),
        None => Ok(Reads::nothing()),
    }
}

/// `date`: a format, and options that only choose what to print.
pub(super) fn date(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const SET: &str = "set the clock or read dates from a file";
    let options = Options::new(
        "-uR -d= -I -r= --utc --universal --date= --iso-8601? --rfc-3339= --rfc-email --reference=",
    );
    closed(arguments)?;
    let short = arguments.iter().find(|it| it.value.starts_with("-I"));
    let plain: Vec<Word> = arguments
        .iter()
        .filter(|it| !it.value.starts_with("-I"))
        .cloned()
        .collect();
    let is_precision = |word: &Word| {
        matches!(
            &word.value[2..],
            "" | "date" | "hours" | "minutes" | "seconds" | "ns"
        )
    };
    if let Some(word) = short.filter(|it| !is_precision(it)) {
        return refuse(&word.value, SET);
    }
    let parsed = parse(&plain, options).map_err(|(word, _)| (word, SET))?;
    // Every other operand is a time to set.
    match parsed.operands.iter().find(|it| !it.value.starts_with('+')) {
        Some(word) => refuse(&word.value, SET),
        None => Ok(Reads::nothing()),
    }
}

/// `jq`: a filter, which can neither write nor run anything, and files.
pub(super) fn jq(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const PAIRS: [&str; 2] = ["--arg", "--argjson"];
    let options = Options::new(
        "-rcnsSeMCRja --raw-output --compact-output --null-input --slurp --sort-keys --exit-status \
         --monochrome-output --color-output --raw-input --join-output --ascii-output --tab --indent= --version \
         --unbuffered --seq --stream",
    );
    let mut at = 0;
    let mut operands = Vec::new();
    while let Some(word) = arguments.get(at) {
        let value = word.value.as_str();
        if word.is_open() {
            return refuse(value, super::options::OPEN);
        }
        if PAIRS.contains(&value) {
            let pair = arguments.get(at + 1..at + 3).unwrap_or_default();
            let odd = pair.iter().find(|it| it.is_pattern() || it.is_option());
            if pair.len() < 2 || odd.is_some() {
                return refuse(value, UNLISTED);
            }
            at += 2;
        } else if word.is_option() {
            let takes = usize::from(value == "--indent");
            let words = arguments.get(at..=at + takes).unwrap_or_default();
            parse(words, options)?;
            at += takes;
        } else {
            operands.push(word);
        }
        at += 1;
    }
    match operands.split_first() {
        Some((filter, _)) if filter.is_pattern() => refuse(&filter.value, super::options::OPEN),
        // A module's file is read by its name.
        Some((filter, _))
            if ["import", "include"]
                .iter()
                .any(|it| filter.value.contains(it)) =>
        {
            refuse(
                &filter.value,
                "read a script that is not part of the command",
            )
        }
        Some((_, files)) => Ok(Reads::paths(files.to_vec())),
        None => Ok(Reads::nothing()),
    }
}

/// `kubectl`: its configuration names programs that log in, so only its own version.
pub(super) fn kubectl(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const MORE: &str = "reach a cluster, and run programs that its configuration names";
    let words: Vec<&str> = arguments.iter().map(|it| it.value.as_str()).collect();
    match words.as_slice() {
        ["version", "--client"] => Ok(Reads {
            is_version: true,
            ..Reads::default()
        }),
        [] => refuse("kubectl", MORE),
        [first, ..] => refuse(first, MORE),
    }
}

/// `printf`: bash writes a variable for `-v` and for `%n`, and evaluates what names it.
pub(super) fn printf(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const SET: &str = "set a variable";
    closed(arguments)?;
    let arguments = match arguments.split_first() {
        Some((first, rest)) if first.value == "--" => rest,
        _ => arguments,
    };
    let Some(format) = arguments.first() else {
        return Ok(Reads::nothing());
    };
    if format.value.starts_with('-') {
        return refuse(&format.value, SET);
    }
    let mut rest = format.value.as_str();
    while let Some(at) = rest.find('%') {
        rest = &rest[at + 1..];
        let directive = rest
            .trim_start_matches(|it: char| it.is_ascii_digit() || "-#0 +'*.hlLjtzq".contains(it));
        if directive.starts_with('n') || rest.starts_with('(') || directive.starts_with('\\') {
            return refuse(&format.value, SET);
        }
        let mut behind = directive.chars();
        behind.next();
        rest = behind.as_str();
    }
    Ok(Reads::nothing())
}

/// `ps`: everything but the environment of processes.
pub(super) fn ps(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const SHOW: &str = "show the environment of other programs";
    closed(arguments)?;
    let options = Options::new(
        "-AaedfFjlLHTNyMw -C= -G= -g= -p= -q= -s= -t= -u= -U= -o= -O= --forest --no-headers --headers \
         --ppid= --pid= --sort= --user= --User= --group= --format= --cols= --width= --deselect",
    );
    let parsed = parse(arguments, options).map_err(|(word, _)| (word, SHOW))?;
    let formats = parsed.values(&["-o", "-O", "--format", "--sort"]);
    for format in formats {
        if format.contains("env") {
            return refuse(format, SHOW);
        }
    }
    // Without a dash, `e` adds the environment.
    let is_known = |word: &&&Word| {
        !word.value.is_empty() && word.value.chars().all(|it| "auxfjlwhTrnvs".contains(it))
    };
    let is_number = |word: &&&Word| word.value.bytes().all(|it| it.is_ascii_digit());
    match parsed
        .operands
        .iter()
        .find(|it| !is_known(it) && !is_number(it))
    {
        Some(word) => refuse(&word.value, SHOW),
        None => Ok(Reads::nothing()),
    }
}

/// `[`: as `test`, up to its bracket.
pub(super) fn bracket(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    match arguments.split_last() {
        Some((last, inner)) if last.value == "]" && !last.is_pattern() => test(inner),
        _ => refuse("[", UNLISTED),
    }
}

/// `test`: operators on a list. Bash evaluates the operand of `-v`, which can run commands.
pub(super) fn test(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const OPERATORS: &str = "-a -b -c -d -e -f -g -h -k -n -o -p -r -s -t -u -w -x -z -G -L -N -O -S -eq -ne -lt -le -gt -ge \
                             -nt -ot -ef";
    let is_operator = |it: &str| OPERATORS.split_whitespace().any(|known| known == it);
    for word in arguments {
        if word.is_pattern() && word.is_open() {
            return refuse(&word.value, super::options::OPEN);
        }
        if word.value.starts_with('-')
            && !is_operator(&word.value)
            && !word.value[1..].bytes().all(|it| it.is_ascii_digit())
        {
            return refuse(&word.value, "evaluate its argument");
        }
    }
    // In front of another word it names an option of the shell, which is harmless.
    Ok(Reads::nothing())
}
