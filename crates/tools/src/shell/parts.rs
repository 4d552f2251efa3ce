//! The plain commands that a command line consists of, for rules that the user remembers.
//!
//! Pure. A line is refused as a whole if any of it could mean something else when it runs: then
//! no rule applies to it.

use super::words::{KnownVariables, Word};
use super::{MAX_LENGTH, syntax};

/// The words of each command of a line, in order.
///
/// # Errors
///
/// The syntax in it whose meaning is not certain, as a noun with its article: expansions,
/// patterns, assignments, redirections of files, groups, and everything that
/// [`review`](super::review) does not analyze.
pub fn parts(line: &str) -> Result<Vec<Vec<String>>, &'static str> {
    if line.len() > MAX_LENGTH {
        return Err("more than 16 KB");
    }
    // Even where a shell would take them literally: a rule need not know all of its quoting.
    if line.contains(['$', '`']) {
        return Err("an expansion");
    }
    let commands = syntax::read(line, &KnownVariables::new([]))?;
    if commands.is_empty() {
        return Err("no command");
    }
    let mut all = Vec::with_capacity(commands.len());
    for command in commands {
        if !command.inputs.is_empty() {
            return Err("a redirection from a file");
        }
        all.push(words(command.words)?);
    }
    Ok(all)
}

fn words(words: Vec<Word>) -> Result<Vec<String>, &'static str> {
    let program = words.first().ok_or("a redirection without a command")?;
    // In quotes, an alias or a keyword would be another command than it looks like.
    if !program.is_plain || program.value.contains('=') {
        return Err("a program's name in quotes, or an assignment");
    }
    if words.iter().any(Word::is_pattern) {
        return Err("a pattern");
    }
    Ok(words.into_iter().map(|it| it.value).collect())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn split(line: &str) -> Option<Vec<Vec<String>>> {
        parts(line).ok()
    }

    #[test]
    fn a_line_is_split_into_its_commands() {
        let rows: &[(&str, &[&[&str]])] = &[
            ("cargo test", &[&["cargo", "test"]]),
            ("cargo  test\t-q", &[&["cargo", "test", "-q"]]),
            (
                "cargo test 'a b' \"c d\"",
                &[&["cargo", "test", "a b", "c d"]],
            ),
            (
                "a && b || c; d | e",
                &[&["a"], &["b"], &["c"], &["d"], &["e"]],
            ),
            ("a\nb", &[&["a"], &["b"]]),
            ("a 2>&1 >/dev/null", &[&["a"]]),
            ("./run --all", &[&["./run", "--all"]]),
            ("echo '*' x=1", &[&["echo", "*", "x=1"]]),
        ];
        for (line, expected) in rows {
            assert_eq!(split(line).unwrap(), *expected, "{line}");
        }
    }

    #[test]
    fn a_line_that_could_mean_something_else_has_no_parts() {
        for line in [
            "",
            "# only a comment",
            "cargo test $(id)",
            "cargo test `id`",
            "cargo test $HOME",
            "cargo test '$HOME'",
            "cargo test $?",
            "cargo test ~",
            "cargo test > f",
            "cargo test >> f",
            "cargo test < f",
            "cargo test <<E\nE",
            "cargo test <(id)",
            "cargo test *",
            "cargo test -[a-z]",
            "cargo test {a,b}",
            "cargo test &",
            "cargo test \\\n-q",
            "CARGO_X=1 cargo test",
            "'cargo' test",
            "c\\argo test",
            "(cargo test)",
            "{ cargo test; }",
            "! cargo test",
            "if true; then cargo test; fi",
            "f() { id; }",
            "export A=1",
            "cargo\u{a0}test",
            "cargo test \u{202e}x",
            "cargo test\r",
            "cargo test 'x",
            "> f",
        ] {
            assert_eq!(split(line), None, "{line:?}");
        }
        assert_eq!(split(&"a".repeat(MAX_LENGTH + 1)), None);
    }
}
