//! Detects which grants a command needed, from its text and its output.

use std::path::{Path, PathBuf};

use platform::paths::visible;
use serde_json::Value;

use crate::files::leads_to;
use crate::secrets::Concealed;
use crate::variables::withheld;

/// Minimum length of a variable name that is searched for in output. Shorter names are also
/// ordinary words.
const SHORTEST: usize = 5;

/// A permission that the sandbox withholds and the user can grant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Missing {
    /// Texts that a program prints if it needs the permission. One of them is enough.
    pub signs: Vec<String>,
    /// One or two sentences: what is withheld, and which option grants it.
    pub note: String,
}

/// Returns the notes about permissions that a call with this `output` may have needed.
pub(crate) fn notes<'a>(
    missing: &'a [Missing],
    output: &'a str,
) -> impl Iterator<Item = String> + 'a {
    let lacked = missing.iter().filter(move |missing| {
        let mut signs = missing.signs.iter();
        signs.any(|sign| output.contains(sign.as_str()))
    });
    lacked.map(|missing| format!("[{}]", missing.note))
}

/// Returns true if the arguments of a call contain a mode with a setuid or setgid bit, as in
/// `chmod u+s`, `chmod 2755`, or `install -m4755`.
pub(crate) fn sets_bits(input: &Value) -> bool {
    let texts = input.as_object().into_iter().flatten();
    let mut texts = texts.filter_map(|(_, value)| value.as_str());
    // A mode may stand in a shell command with quotes and separators around it.
    let ends = |c: char| c.is_whitespace() || "\"'`;&|(),".contains(c);
    texts.any(|text| text.split(ends).any(is_mode_with_bits))
}

fn is_mode_with_bits(word: &str) -> bool {
    let word = word.trim_start_matches("--mode=").trim_start_matches("-m");
    // Shorter numbers have no such bits.
    let is_octal = (4..=5).contains(&word.len()) && word.bytes().all(|it| it.is_ascii_digit());
    if is_octal {
        return u32::from_str_radix(word, 8).is_ok_and(|mode| mode & 0o6000 != 0);
    }
    let Some((who, what)) = word.split_once(['+', '=']) else {
        return false;
    };
    // Letters that are no mode, as in a C++ option, are left alone.
    let all_in = |text: &str, letters: &str| text.chars().all(|it| letters.contains(it));
    all_in(who, "ugoa") && all_in(what, "rwxXst") && what.contains('s')
}

/// Part of the output of a call that failed to set such a bit.
pub(crate) const BITS_REFUSED: &str = "Operation not permitted";
/// The note for such a call.
pub(crate) const BITS_NOTE: &str = "[The sandbox lets no command set a setuid or setgid bit. The user can set it outside \
                                    of the sandbox.]";

/// Variables of the user that are not passed to commands.
pub(crate) struct HiddenVariables {
    /// Those that the command refers to.
    named: Vec<String>,
    others: Vec<String>,
}

impl HiddenVariables {
    /// The variables, divided by whether these arguments refer to them.
    pub(crate) fn of(input: &Value) -> Self {
        Self::among(withheld(), input)
    }

    fn among(withheld: Vec<String>, input: &Value) -> Self {
        let texts = input.as_object().into_iter().flatten();
        let texts: Vec<&str> = texts.filter_map(|(_, value)| value.as_str()).collect();
        let is_named = |name: &String| {
            // `${NAME` without a brace at the end, because an operator may follow.
            let spellings = [format!("${name}"), format!("${{{name}")];
            texts
                .iter()
                .any(|text| spellings.iter().any(|it| has_word(text, it)))
        };
        let (named, others) = withheld.into_iter().partition(is_named);
        Self { named, others }
    }

    /// A note about the variables that the call may have needed. `output` is the output of a
    /// call that failed.
    pub(crate) fn note(&self, output: Option<&str>) -> Option<String> {
        let output = output.unwrap_or_default();
        // Programs that read a variable themselves name it in their error.
        let complained = self
            .others
            .iter()
            .filter(|name| name.len() >= SHORTEST && has_word(output, name));
        let names: Vec<&str> = self
            .named
            .iter()
            .chain(complained)
            .map(String::as_str)
            .collect();
        let (first, rest) = names.split_first()?;
        let all = rest.iter().fold(format!("\"{first}\""), |all, name| {
            format!("{all}, \"{name}\"")
        });
        let verb = if rest.is_empty() { "is" } else { "are" };
        Some(format!(
            "[{} {verb} set in the user's environment and not passed to commands. The user can change that with \
             sandbox.env = {{ {all} }}.]",
            names.join(", "),
        ))
    }
}

/// Returns true if `text` contains `word`, and not only as a part of longer names.
fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        let starts = !word.starts_with(is_part) || !before.is_some_and(is_part);
        starts && !after.is_some_and(is_part)
    })
}

// Detects which hidden secrets a command needed, from its text and its output.

/// Errors of programs that needed a secret and don't name its file, by the end of its path.
const COMPLAINTS: [(&str, &str); 9] = [
    (".aws", "Unable to locate credentials"),
    (".config/gcloud", "gcloud auth login"),
    (".config/gh", "gh auth login"),
    (".docker/config.json", "no basic auth credentials"),
    (".git-credentials", "could not read Username"),
    (".gnupg", "gpg failed to sign the data"),
    (".npmrc", "ENEEDAUTH"),
    (".ssh", "Host key verification failed"),
    (".ssh", "Permission denied (publickey"),
];
/// Maximum number of secrets that a note names.
const MOST_NAMED: usize = 10;

/// A note about hidden secrets that the arguments of a call name, or the `output` of a call
/// that failed.
pub(crate) fn note(
    concealed: &[Concealed],
    work: &[PathBuf],
    arguments: &Value,
    output: Option<&str>,
) -> Option<String> {
    let texts = arguments.as_object().into_iter().flatten();
    let texts = texts.filter_map(|(_, value)| value.as_str());
    let texts: Vec<&str> = texts.chain(output).collect();
    let home = std::env::home_dir();
    let is_named = |one: &&Concealed| {
        let names = spellings(&one.path, home.as_deref(), work);
        let mut complaints = COMPLAINTS.iter();
        texts
            .iter()
            .any(|text| names.iter().any(|it| has_path(text, it)))
            || output.is_some_and(|output| {
                complaints.any(|(path, words)| one.path.ends_with(path) && output.contains(words))
            })
    };
    let named = concealed.iter().filter(is_named).take(MOST_NAMED);
    let paths: Vec<String> = named.map(|it| visible(&it.path)).collect();
    (!paths.is_empty()).then(|| {
        format!(
            "[The sandbox hides secrets from commands, so they did not see {}. The user can grant that with \
             sandbox.reveal = {{ \"{}\" }}.]",
            paths.join(", "),
            paths.join("\", \"")
        )
    })
}

/// The spellings of a path in commands: absolute and with a home folder. In a working folder
/// also the file name alone, as after a `cd`.
fn spellings(path: &Path, home: Option<&Path>, work: &[PathBuf]) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut all = vec![text(path)];
    let below = home.and_then(|home| path.strip_prefix(leads_to(home)).ok());
    if let Some(rest) = below.map(text) {
        all.extend(["~", "$HOME", "${HOME}"].map(|home| format!("{home}/{rest}")));
    }
    let is_work = work.iter().any(|it| path.starts_with(leads_to(it)));
    // Elsewhere, a name such as `config` is too common to mean the secret.
    all.extend(
        path.file_name()
            .filter(|_| is_work)
            .map(|it| text(Path::new(it))),
    );
    all
}

/// Returns true if a text contains a path, alone or as the start of a longer one.
fn has_path(text: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + path.len()..].chars();
        let ends = match after.next() {
            // The end of a sentence, unless an extension follows.
            Some('.') => !after.next().is_some_and(is_part),
            next => !next.is_some_and(is_part),
        };
        ends && !before.is_some_and(|c| is_part(c) || c == '.')
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::secrets::SecretKind;

    #[test]
    fn a_note_names_a_missing_variable_and_its_option() {
        let note = |command: &str, output: Option<&str>| {
            let withheld = ["GITHUB_TOKEN", "AWS_PROFILE"].map(str::to_owned).to_vec();
            HiddenVariables::among(withheld, &json!({"command": command})).note(output)
        };
        let one = note("curl -H \"Bearer ${GITHUB_TOKEN:-}\" x", None).unwrap_or_default();
        assert!(
            one.contains("GITHUB_TOKEN is set")
                && one.contains("sandbox.env = { \"GITHUB_TOKEN\" }"),
            "{one}"
        );
        let failed = note(
            "gh pr list",
            Some("set the GITHUB_TOKEN environment variable"),
        );
        assert!(failed.is_some());
        let two = note("echo $GITHUB_TOKEN $AWS_PROFILE", None).unwrap_or_default();
        assert!(
            two.contains("{ \"GITHUB_TOKEN\", \"AWS_PROFILE\" }"),
            "{two}"
        );
        assert_eq!(note("echo $GITHUB_TOKENS", Some("MY_GITHUB_TOKEN")), None);
        assert_eq!(note("gh pr list", None), None);
    }

    #[test]
    fn setuid_and_setgid_modes_are_detected() {
        for command in [
            "chmod u+s x",
            "chmod 'ug+rws' x",
            "chmod +s x; ls",
            "chmod o-x,g=s x",
            "chmod 4755 x",
            "chmod 02755 x",
            "install -m6711 a b",
            "install --mode=u+s a b",
        ] {
            assert!(sets_bits(&json!({"command": command})), "{command}");
        }
        for command in [
            "chmod 0755 x",
            "chmod 1777 x",
            "chmod +x s",
            "ls -s 4096x",
            "a=b+sum",
        ] {
            assert!(!sets_bits(&json!({"command": command})), "{command}");
        }
    }

    #[test]
    fn output_with_a_sign_gets_the_note() {
        let missing = [Missing {
            signs: vec!["no agent".to_owned()],
            note: "Grant it.".to_owned(),
        }];
        assert_eq!(
            notes(&missing, "x: no agent\n").next().as_deref(),
            Some("[Grant it.]")
        );
        assert_eq!(notes(&missing, "fine").count(), 0);
    }

    #[test]
    fn a_note_names_a_needed_secret_and_its_option() {
        let conceal = |path: &str, is_folder| Concealed {
            path: path.into(),
            kind: SecretKind::Key,
            is_folder,
            seen: Vec::new(),
        };
        let concealed = [
            conceal("/p/conf/.env", false),
            conceal("/home/me/.ssh", true),
            conceal("/home/me/.aws", true),
        ];
        let noted = |command: &str, output: Option<&str>| {
            let work = ["/p".into()];
            note(&concealed, &work, &json!({"command": command}), output).unwrap_or_default()
        };
        for (command, output, path) in [
            ("cat conf/.env", None, "/p/conf/.env"),
            ("cd conf && . ./.env", None, "/p/conf/.env"),
            (
                "make",
                Some("open /p/conf/.env: permission denied"),
                "/p/conf/.env",
            ),
            (
                "make",
                Some("cat: conf/.env: Permission denied"),
                "/p/conf/.env",
            ),
            ("ls /home/me/.ssh/", None, "/home/me/.ssh"),
            (
                "git push",
                Some("Host key verification failed."),
                "/home/me/.ssh",
            ),
            (
                "aws s3 ls",
                Some("Unable to locate credentials."),
                "/home/me/.aws",
            ),
        ] {
            let grant = format!("sandbox.reveal = {{ \"{path}\" }}.]");
            let note = noted(command, output);
            assert!(note.ends_with(&grant), "{command} {output:?}: {note}");
        }
        for command in ["cat .env.example", "cat my.env", "ls /home/me/.ssh2", "ls"] {
            assert_eq!(noted(command, None), "", "{command}");
        }
    }
}
