//! Programs whose arguments a list of options cannot express, a function each.
//!
//! Pure. What most programs have in common is in `programs`.

use super::options::{OPEN, Options, RUN, Refusal, UNLISTED, parse, refuse};
use super::programs::Reads;
use super::words::Word;

/// Refuses patterns: their expansions could mean something else.
fn closed(arguments: &[Word]) -> Result<(), Refusal> {
    match arguments.iter().find(|it| it.is_pattern()) {
        Some(word) => refuse(&word.value, OPEN),
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
        Some(word) => refuse(&word.value, OPEN),
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

/// `tail`: no following of a file, which never ends. `-cf` and `+5f` ask for it, too, in
/// the form that POSIX had before 2001.
pub(super) fn tail(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const FOLLOW: &str = "wait for more without an end";
    let options = Options::new(
        "-#  +#  -qvz -c= -n= --bytes= --lines= --quiet --silent --verbose --zero-terminated",
    );
    let follows = |it: &&Word| {
        let old = it.value.strip_prefix(['-', '+']);
        old.is_some_and(|it| {
            let unit = it.trim_start_matches(|c: char| c.is_ascii_digit());
            matches!(unit, "f" | "bf" | "cf" | "lf")
        })
    };
    if let Some(word) = arguments.iter().find(follows) {
        return refuse(&word.value, FOLLOW);
    }
    Ok(Reads::paths(parse(arguments, options)?.operands))
}

/// `tac`: files by name. It writes a temporary copy of an input that it can't seek in.
pub(super) fn tac(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const COPY: &str = "write a temporary copy of its input";
    let options = Options::new("-br -s= --before --regex --separator=");
    let files = parse(arguments, options)?.operands;
    let is_stream = |it: &&&Word| it.value == "-" || it.value.starts_with("/dev/");
    match files.iter().find(is_stream) {
        Some(word) => refuse(&word.value, COPY),
        None if files.is_empty() => refuse("-", COPY),
        None => Ok(Reads::paths(files)),
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
            return refuse(value, OPEN);
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
        Some((filter, _)) if filter.is_pattern() => refuse(&filter.value, OPEN),
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
            return refuse(&word.value, OPEN);
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
