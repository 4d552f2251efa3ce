//! Approves scripts of `sed` and `awk` that only print.
//!
//! Pure. Accepts a small part of each language that all implementations parse in the same way: no
//! brackets in regular expressions, no functions, no redirections, no files.

use super::options::{Options, RUN, Refusal, parse, refuse};
use super::programs::Reads;
use super::words::Word;
pub(super) use awk::check as awk;

#[path = "awk.rs"]
mod awk;

pub(super) const UNREAD: &str =
    "run or write something: only simple scripts such as '10,20p' and 's/old/new/' are approved";

/// `sed`: options, a script, files. Options must come first, because some implementations take a
/// later `-e` for a file and the first operand for the script.
pub(super) fn sed(arguments: &[Word]) -> Result<Reads<'_>, Refusal> {
    // Not `-i`, which writes the files, nor `-f`, which reads another script.
    let options = Options::new(
        "-nErsuz -e= --quiet --silent --regexp-extended --separate --unbuffered --null-data --expression= --version",
    );
    let parsed = parse(arguments, options).map_err(|(word, _)| (word, UNREAD))?;
    if parsed.is_mixed {
        return refuse(&parsed.operands[0].value, UNREAD);
    }
    let given = parsed.values(&["-e", "--expression"]);
    let given: Vec<String> = given.map(str::to_owned).collect();
    let (script, files) = match parsed.operands.split_first() {
        Some((first, rest)) if given.is_empty() => {
            if first.is_pattern() {
                return refuse(&first.value, super::options::OPEN);
            }
            (first.value.clone(), rest.to_vec())
        }
        // All `-e` options together are one script.
        _ => (given.join("\n"), parsed.operands),
    };
    // A backslash at the end of a piece would continue in the next one.
    if given.iter().any(|it| it.ends_with('\\')) || !only_prints(&script) {
        return refuse(&script, UNREAD);
    }
    match files.iter().find(|it| it.value.is_empty()) {
        Some(word) => refuse(&word.value, RUN),
        None => Ok(Reads::paths(files)),
    }
}

/// Whether each command of a `sed` script is `p`, `d`, `q`, `=`, or `s` with plain text.
fn only_prints(script: &str) -> bool {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches([' ', ';', '\n']);
        if rest.is_empty() {
            return true;
        }
        match command(rest) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
}

/// Parses addresses and a command, and returns the rest; `None` if it does more than print.
fn command(text: &str) -> Option<&str> {
    let mut rest = text;
    if let Some(behind) = address(rest) {
        rest = behind;
        if let Some(second) = rest.strip_prefix(',') {
            // GNU sed also takes `+N`, a number of lines.
            rest = address(second.strip_prefix('+').unwrap_or(second))?;
        } else if let Some(step) = rest.strip_prefix('~') {
            rest = digits(step)?;
        }
    }
    rest = rest.trim_start_matches(' ');
    rest = rest
        .strip_prefix('!')
        .unwrap_or(rest)
        .trim_start_matches(' ');
    let behind = match rest.chars().next()? {
        'p' | 'd' | 'q' | '=' => &rest[1..],
        's' => substitution(&rest[1..])?,
        // Among the others, `w` writes files, `r` reads them, and `e` runs commands.
        _ => return None,
    };
    let behind = behind.trim_start_matches(' ');
    (behind.is_empty() || behind.starts_with([';', '\n'])).then_some(behind)
}

fn address(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('$') {
        return Some(rest);
    }
    if let Some(rest) = text.strip_prefix('/') {
        return plain(rest, '/');
    }
    digits(text)
}

fn digits(text: &str) -> Option<&str> {
    let behind = text.trim_start_matches(|it: char| it.is_ascii_digit());
    (behind.len() < text.len()).then_some(behind)
}

fn substitution(text: &str) -> Option<&str> {
    let delimiter = text.chars().next().filter(|it| "/|#,:@".contains(*it))?;
    let behind = plain(plain(&text[1..], delimiter)?, delimiter)?;
    // Not `w` and `e`, which write a file and run the result.
    Some(behind.trim_start_matches(|it: char| it.is_ascii_digit() || "gpI".contains(it)))
}

/// Parses plain text up to `delimiter`, and returns the rest. A backslash may precede a few
/// characters, but not the delimiter.
fn plain(text: &str, delimiter: char) -> Option<&str> {
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            it if it == delimiter => return Some(&text[at + 1..]),
            // Implementations disagree about delimiters inside brackets.
            '[' | ']' | '\n' | ';' => return None,
            '\\' => {
                let (_, escaped) = characters.next()?;
                if escaped == delimiter || !".*+?^$()|/-&{}<>bswSW123456789".contains(escaped) {
                    return None;
                }
            }
            it if it.is_control() && it != '\t' => return None,
            _ => {}
        }
    }
    None
}
