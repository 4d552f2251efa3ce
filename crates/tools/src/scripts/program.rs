//! Selects the program that runs a script: the one in its `#!` line, or Python.
//!
//! Pure; the caller reads the line.

/// Maximum length of the first line in bytes. The kernel's limit is 256.
pub(crate) const LONGEST_LINE: usize = 1024;

/// The program that runs a script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Program {
    /// The program's name or path.
    pub name: String,
    /// Its arguments before the script.
    pub arguments: Vec<String>,
    /// Whether it is Python, which gets the modules `llmr`.
    pub is_python: bool,
}

/// Selects the program for a script with this name whose first bytes are `start`.
///
/// # Errors
///
/// No program is known. The text says what to do.
pub(crate) fn find(script: &str, start: &[u8]) -> Result<Program, String> {
    let line = start
        .split(|&byte| byte == b'\n')
        .next()
        .unwrap_or_default();
    let line = String::from_utf8_lossy(line);
    if let Some(named) = line.strip_prefix("#!") {
        return from_line(named).ok_or_else(|| {
            format!("The first line of {script} is \"#!\" and names no program. Name one")
        });
    }
    if script.ends_with(".py") {
        return Ok(program("python3", Vec::new()));
    }
    Err(format!(
        "Nothing says what runs {script}. Begin it with a line such as #!/usr/bin/env bash, or give it a name that \
         ends in .py"
    ))
}

fn from_line(named: &str) -> Option<Program> {
    let mut words = named.split_whitespace().map(str::to_owned);
    let first = words.next()?;
    let mut rest: Vec<String> = words.collect();
    if base(&first) != "env" {
        // The kernel takes the rest of the line as one argument.
        let one = named.trim().strip_prefix(&first)?.trim();
        let arguments = if one.is_empty() {
            Vec::new()
        } else {
            vec![one.to_owned()]
        };
        return Some(program(&first, arguments));
    }
    // This program splits the words itself, which is what `-S` asks env for.
    rest.retain(|word| word != "-S");
    let by_env = |word: &String| word.starts_with('-') || word.contains('=');
    match rest.split_first()? {
        // Variables and options are meant for env itself, so env is started with all words.
        (word, _) if by_env(word) => Some(program(&first, rest)),
        (name, arguments) => Some(program(name, arguments.to_vec())),
    }
}

fn program(name: &str, arguments: Vec<String>) -> Program {
    let base = base(name);
    Program {
        is_python: base.starts_with("python") || base.starts_with("pypy"),
        name: name.to_owned(),
        arguments,
    }
}

fn base(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_the_program_and_python_is_recognised() {
        for (start, name, arguments, is_python) in [
            ("import os\n", "python3", &[][..], true),
            ("", "python3", &[], true),
            ("#!/usr/bin/env python3\n", "python3", &[], true),
            (
                "#!/opt/venv/bin/python3.12 -X dev\n",
                "/opt/venv/bin/python3.12",
                &["-X dev"],
                true,
            ),
            (
                "#!/usr/bin/env -S uv run --script\n",
                "uv",
                &["run", "--script"],
                false,
            ),
            ("#!/usr/bin/env bash\r\n", "bash", &[], false),
            ("#! /bin/sh -eu", "/bin/sh", &["-eu"], false),
            (
                "#!/usr/bin/env A=b node\n",
                "/usr/bin/env",
                &["A=b", "node"],
                false,
            ),
        ] {
            let found = find("s.py", start.as_bytes()).unwrap();
            assert_eq!(found.name, name, "{start}");
            assert_eq!(found.arguments, arguments, "{start}");
            assert_eq!(found.is_python, is_python, "{start}");
        }
    }

    #[test]
    fn a_script_that_nothing_runs_says_so() {
        for (script, start) in [
            ("s.sh", "echo\n"),
            ("s", ""),
            ("s.py", "#!\n"),
            ("s.py", "#!/usr/bin/env\n"),
        ] {
            assert!(find(script, start.as_bytes()).is_err(), "{script} {start}");
        }
    }
}
