//! Detects which hidden secrets a command needed, from its text and its output.

use std::path::{Path, PathBuf};

use platform::paths::visible;
use serde_json::Value;

use crate::files::leads_to;
use crate::secrets::Concealed;

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

/// Whether a text contains a path, alone or as the start of a longer one.
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
    use super::*;
    use crate::secrets::SecretKind;
    use serde_json::json;

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
