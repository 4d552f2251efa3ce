//! Checks of programs whose rules a list of options cannot express, one function per program.
//!
//! Pure. `programs` checks all other programs.

use super::options::{
    OPEN, Options, RUN, Refusal, UNLISTED, is_digits, is_in, no_patterns, parse, refuse,
};
use super::programs::Reads;
use super::words::Word;

/// Programs that only print, with any arguments.
pub(super) fn text(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    no_patterns(arguments)?;
    Ok(Reads::nothing())
}

/// The arguments after a leading `--`.
fn after_dashes(arguments: &[Word]) -> &[Word] {
    match arguments.split_first() {
        Some((first, rest)) if first.value == "--" => rest,
        _ => arguments,
    }
}

/// `echo`: a pattern in its arguments lists files, which counts as reading.
pub(super) fn echo(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    match arguments.iter().find(|it| it.is_open()) {
        Some(word) => refuse(&word.value, OPEN),
        None => Ok(Reads::paths(
            arguments.iter().filter(|it| it.is_pattern()).collect(),
        )),
    }
}

/// `cd`: one folder, which the caller follows.
pub(super) fn cd(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    no_patterns(arguments)?;
    match after_dashes(arguments) {
        [] => Ok(Reads::nothing()),
        // `cd -` leads to the previous folder, which is not known.
        [one] if !one.value.starts_with('-') && !one.value.is_empty() => {
            Ok(Reads::paths(vec![one]))
        }
        [first, ..] => refuse(&first.value, "change to a folder that is not certain"),
    }
}

/// `command -v`, which prints a program's path.
pub(super) fn command(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    no_patterns(arguments)?;
    match arguments.split_first() {
        Some((first, rest)) if matches!(first.value.as_str(), "-v" | "-V") => {
            // Another option could cancel the `-v`, and the word after it would run.
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

/// `tail` without `-f`, which never ends. `-cf` and `+5f` follow as well, in the syntax of POSIX
/// before 2001.
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

/// `tac` of files: it writes a temporary copy of an input that it can't seek in.
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

/// `date`: a format, and options that choose what to print.
pub(super) fn date(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const SET: &str = "set the clock or read dates from a file";
    let options = Options::new(
        "-uR -d= -I -r= --utc --universal --date= --iso-8601? --rfc-3339= --rfc-email --reference=",
    );
    no_patterns(arguments)?;
    // `-I` takes its value in the same word only, so it is checked here.
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
    // `date` would set the clock to any other operand.
    match parsed.operands.iter().find(|it| !it.value.starts_with('+')) {
        Some(word) => refuse(&word.value, SET),
        None => Ok(Reads::nothing()),
    }
}

// Not `-f` and `-L`, which read scripts, nor `--slurpfile` and `--rawfile`, which read further
// files.
const JQ: Options = Options::new(
    "-rcnsSeMCRja --raw-output --compact-output --null-input --slurp --sort-keys --exit-status \
     --monochrome-output --color-output --raw-input --join-output --ascii-output --tab --indent= --version \
     --unbuffered --seq --stream",
);

/// `jq`: a filter, which can neither write nor run anything, and files.
pub(super) fn jq(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    let operands = jq_operands(arguments)?;
    let Some((filter, files)) = operands.split_first() else {
        return Ok(Reads::nothing());
    };
    if filter.is_pattern() {
        return refuse(&filter.value, OPEN);
    }
    // These read the file of a module.
    let loads = ["import", "include"];
    if loads.iter().any(|it| filter.value.contains(it)) {
        return refuse(
            &filter.value,
            "read a script that is not part of the command",
        );
    }
    Ok(Reads::paths(files.to_vec()))
}

/// Checks the options of `jq`, which may follow operands, and returns the operands.
fn jq_operands(arguments: &[Word]) -> Result<Vec<&Word>, Refusal> {
    let mut at = 0;
    let mut operands = Vec::new();
    while let Some(word) = arguments.get(at) {
        let value = word.value.as_str();
        if word.is_open() {
            return refuse(value, OPEN);
        }
        if matches!(value, "--arg" | "--argjson") {
            let pair = arguments.get(at + 1..at + 3).unwrap_or_default();
            let odd = pair.iter().find(|it| it.is_pattern() || it.is_option());
            if pair.len() < 2 || odd.is_some() {
                return refuse(value, UNLISTED);
            }
            at += 2;
        } else if word.is_option() {
            // The only one of these options with a value.
            let takes = usize::from(value == "--indent");
            let words = arguments.get(at..=at + takes).unwrap_or_default();
            parse(words, JQ)?;
            at += takes;
        } else {
            operands.push(word);
        }
        at += 1;
    }
    Ok(operands)
}

/// `kubectl`: only the client's version, because its configuration names programs that log in.
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

/// `printf`: for `-v` and `%n`, bash sets a variable and evaluates its subscript.
pub(super) fn printf(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const SET: &str = "set a variable";
    no_patterns(arguments)?;
    let Some(format) = after_dashes(arguments).first() else {
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
        // `%(…)T` formats a time, and an escape could produce a directive.
        if directive.starts_with('n') || rest.starts_with('(') || directive.starts_with('\\') {
            return refuse(&format.value, SET);
        }
        let mut behind = directive.chars();
        // Skips the letter of the directive, or the second percent sign of `%%`.
        behind.next();
        rest = behind.as_str();
    }
    Ok(Reads::nothing())
}

/// `ps`, except for the environment of processes.
pub(super) fn ps(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const SHOW: &str = "show the environment of other programs";
    no_patterns(arguments)?;
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
    // Letters without a dash are options of BSD; `e` shows the environment.
    let is_known = |word: &&&Word| {
        let is_listed = word.value.chars().all(|it| "auxfjlwhTrnvs".contains(it));
        (!word.value.is_empty() && is_listed) || is_digits(&word.value)
    };
    match parsed.operands.iter().find(|it| !is_known(it)) {
        Some(word) => refuse(&word.value, SHOW),
        None => Ok(Reads::nothing()),
    }
}

/// `[`: `test` with a closing bracket.
pub(super) fn bracket(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    match arguments.split_last() {
        Some((last, inner)) if last.value == "]" && !last.is_pattern() => test(inner),
        _ => refuse("[", UNLISTED),
    }
}

/// `test` with the listed operators. Bash evaluates the operand of `-v`, which can run commands.
pub(super) fn test(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    const OPERATORS: &str = "-a -b -c -d -e -f -g -h -k -n -o -p -r -s -t -u -w -x -z -G -L -N -O -S -eq -ne -lt -le -gt -ge \
                             -nt -ot -ef";
    for word in arguments {
        if word.is_open() {
            return refuse(&word.value, OPEN);
        }
        let number = word.value.strip_prefix('-');
        if number.is_some_and(|it| !is_digits(it)) && !is_in(OPERATORS, &word.value) {
            return refuse(&word.value, "evaluate its argument");
        }
    }
    // `-o` before another word tests an option of the shell, which is harmless.
    Ok(Reads::nothing())
}
