//! Which hidden secrets a command lacked, going by its text and by what it printed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::files::leads_to;
use crate::secrets::Concealed;

/// What programs print that needed a secret and did not name it, by the end of its path.
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
/// Most secrets that a note names.
const MOST_NAMED: usize = 10;

/// A note about the secrets that a call was about and could not see: its arguments name
/// them, or `said` does, which is what a call that failed printed.
pub(crate) fn note(
    concealed: &[Concealed],
    work: &[PathBuf],
    arguments: &Value,
    said: Option<&str>,
) -> Option<String> {
    let texts = arguments.as_object().into_iter().flatten();
    let texts = texts.filter_map(|(_, value)| value.as_str());
    let texts: Vec<&str> = texts.chain(said).collect();
    let home = std::env::home_dir();
    let is_named = |one: &&Concealed| {
        let names = spellings(&one.path, home.as_deref(), work);
        let mut complaints = COMPLAINTS.iter();
        texts
            .iter()
            .any(|text| names.iter().any(|it| has_path(text, it)))
            || said.is_some_and(|said| {
                complaints.any(|(path, words)| one.path.ends_with(path) && said.contains(words))
            })
    };
    let named = concealed.iter().filter(is_named).take(MOST_NAMED);
    let paths: Vec<String> = named
        .map(|it| it.path.display().to_string().escape_debug().to_string())
        .collect();
    (!paths.is_empty()).then(|| {
        format!(
            "[The sandbox hides secrets from commands, so they did not see {}. The user can grant that with \
             sandbox.reveal = {{ \"{}\" }}.]",
            paths.join(", "),
            paths.join("\", \"")
        )
    })
}

/// How a command may name a path: from the root, the home folder, or a folder of the work;
/// there also by its last name alone, after a `cd`.
fn spellings(path: &Path, home: Option<&Path>, work: &[PathBuf]) -> Vec<String> {
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let mut all = vec![text(path)];
    let below = home.and_then(|home| path.strip_prefix(leads_to(home)).ok());
    if let Some(rest) = below.map(text) {
        all.extend(["~", "$HOME", "${HOME}"].map(|home| format!("{home}/{rest}")));
    }
    let is_work = work.iter().any(|it| path.starts_with(leads_to(it)));
    all.extend(
        path.file_name()
            .filter(|_| is_work)
            .map(|it| text(Path::new(it))),
    );
    all
}

/// Whether a text names a path, alone or as the beginning of a longer one.
fn has_path(text: &str, path: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(path).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let mut after = text[at + path.len()..].chars();
        let ends = match after.next() {
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
    fn a_secret_that_a_command_was_about_is_named_with_its_option() {
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
        let told = |command: &str, said: Option<&str>| {
            let work = ["/p".into()];
            note(&concealed, &work, &json!({"command": command}), said).unwrap_or_default()
        };
        for (command, said, path) in [
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
            let told = told(command, said);
            assert!(told.ends_with(&grant), "{command} {said:?}: {told}");
        }
        for command in ["cat .env.example", "cat my.env", "ls /home/me/.ssh2", "ls"] {
            assert_eq!(told(command, None), "", "{command}");
        }
    }
}
