//! Offers to keep chats out of Git, where the user has them in a project: `git add -A` would stage
//! them. Never does so unasked.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chat::cycle::{Level, Notice};
use platform::paths::slashed;
use serde::Deserialize;
use tools::{Program, state_dir};

use crate::editor::Editor;
use crate::form::Prompts;

/// The line that is added to `info/exclude`.
const PATTERN: &str = "*.chat";
/// Longest time that Git may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// A folder for chats that the user chose.
#[derive(Debug, Deserialize)]
pub struct ChatFolder {
    /// Its path, absolute.
    folder: PathBuf,
}

impl ChatFolder {
    /// Asks once about a folder whose chats Git would stage.
    pub async fn offer(&self, editor: &Editor) {
        // The folders in which the user does not want that.
        let declined = state_dir::path().join("chats-in-git");
        let name = slashed(&self.folder);
        let list = fs::read_to_string(&declined).unwrap_or_default();
        if list.lines().any(|it| it == name) {
            return;
        }
        let Some(file) = self.exclude_file().await else {
            return;
        };
        let items = [
            "Leave that as it is".to_owned(),
            format!("Add {PATTERN} to .git/info/exclude"),
        ];
        let title = "Git does not ignore the chats of this folder:";
        let (path, line) = match editor.prompts(0).choose(title, &items).await {
            Some(0) => (&declined, &*name),
            Some(_) => (&file, PATTERN),
            None => return,
        };
        let notice = match append(path, line) {
            Err(error) => Notice {
                level: Level::Error,
                text: format!("{} was not written: {error}.", path.display()),
            },
            Ok(()) if line == PATTERN => Notice {
                level: Level::Info,
                text: format!(
                    "Git ignores chats here now: {PATTERN} is in {}.",
                    path.display()
                ),
            },
            Ok(()) => return,
        };
        editor.notify(&notice);
    }

    /// Returns the repository's `info/exclude` if Git would stage a chat of the folder.
    async fn exclude_file(&self) -> Option<PathBuf> {
        let ignored = self.git(&["check-ignore", "-q", "a.chat"]).await?;
        // 0: ignored; 128: no repository.
        if ignored.status.code() != Some(1) {
            return None;
        }
        let path = self
            .git(&["rev-parse", "--git-path", "info/exclude"])
            .await?;
        let path = String::from_utf8_lossy(&path.stdout);
        let path = path.trim_end();
        (!path.is_empty()).then(|| self.folder.join(path))
    }

    async fn git(&self, arguments: &[&str]) -> Option<tools::ProgramOutput> {
        let folder = self.folder.to_string_lossy();
        let argv = [&["git", "-C", &folder], arguments].concat();
        let argv: Vec<String> = argv.into_iter().map(str::to_owned).collect();
        Program::ask(&argv, PATIENCE).await.ok()
    }
}

fn append(path: &Path, line: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let before = fs::read(path).unwrap_or_default();
    let gap = if before.is_empty() || before.ends_with(b"\n") {
        ""
    } else {
        "\n"
    };
    let mut file = File::options().create(true).append(true).open(path)?;
    file.write_all(format!("{gap}{line}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_line_is_added_below_the_others() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("info/exclude");
        append(&file, "a").unwrap();
        fs::write(&file, "a").unwrap();
        append(&file, "b").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "a\nb\n");
    }
}
