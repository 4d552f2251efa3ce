//! The user's editor, on a text in a file that only they can read.

use std::env::consts::EXE_SUFFIX;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use platform::files::{FileStatus, PrivateOptions};
use platform::{command_line, processes};
use tokio::process::Command;
use tools::{TemporaryFolder, state_dir};

/// The name of the file, from which editors know that it is a diff.
const NAME: &str = "review.diff";
/// Variables that editors need besides those of the environment block.
const VARIABLES: [&str; 12] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DISPLAY",
    "EXINIT",
    "NVIM_APPNAME",
    "TMUX",
    "VIM",
    "VIMINIT",
    "VIMRUNTIME",
    "VSCODE_IPC_HOOK_CLI",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// What the user did in the editor.
#[derive(Debug, PartialEq, Eq)]
pub enum Edited {
    /// Wrote the file, which has this text now.
    Written(Vec<u8>),
    /// Left it without writing it.
    Unwritten,
    /// The editor failed, which the text explains.
    Failed(String),
}

/// Opens a text in the user's editor and waits until that ends.
pub async fn edit(text: String) -> Edited {
    // In the state folder, because commands in the sandbox can change files in /tmp.
    edit_in(state_dir::temporary_folder(), &text, &chosen()).await
}

async fn edit_in(folder: io::Result<TemporaryFolder>, text: &str, editor: &str) -> Edited {
    let diff = match folder.and_then(|folder| DiffFile::create(folder, text)) {
        Ok(diff) => diff,
        Err(error) => {
            let problem = format!("The diff could not be written for the editor: {error}.");
            return Edited::Failed(problem);
        }
    };
    match command(editor, &diff.path()).status().await {
        Ok(status) if status.success() => diff.edited(),
        // Editors end with an error if the user wants no change, as Vim does for `:cq`.
        Ok(status) => Edited::Failed(format!(
            "The editor ({editor}) failed ({status}), so nothing was decided."
        )),
        Err(error) => Edited::Failed(format!("The editor could not be started: {error}.")),
    }
}

/// Returns the command line of the user's editor.
fn chosen() -> String {
    let set = |name: &str| tools::variable(name).filter(|it| !it.trim().is_empty());
    let fallback = || {
        if is_installed("nvim") {
            "nvim".to_owned()
        } else {
            command_line::EDITOR.to_owned()
        }
    };
    set("VISUAL")
        .or_else(|| set("EDITOR"))
        .unwrap_or_else(fallback)
}

fn is_installed(program: &str) -> bool {
    let file = format!("{program}{EXE_SUFFIX}");
    let path = tools::variable_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(&file).is_file())
}

fn command(editor: &str, file: &Path) -> Command {
    // The variable may hold arguments and quotes.
    let mut command = Command::from(command_line::with_path(editor, file));
    for name in VARIABLES {
        if let Some(value) = tools::variable_os(name) {
            command.env(name, value);
        }
    }
    // The terminal, even if standard output is a pipe for the model's text.
    let terminal = processes::standard_error();
    command.stdout(terminal.unwrap_or_else(|_| Stdio::inherit()));
    command
}

/// A file for an editor, in a folder that is removed with all that the editor put beside it.
struct DiffFile {
    folder: TemporaryFolder,
    /// As it was written for the editor.
    written: FileStatus,
}

impl DiffFile {
    fn create(folder: TemporaryFolder, text: &str) -> io::Result<Self> {
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .private()
            .open(folder.path().join(NAME))?;
        file.write_all(text.as_bytes())?;
        let written = FileStatus::of(&file)?;
        Ok(Self { folder, written })
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join(NAME)
    }

    /// Returns what the editor left.
    fn edited(&self) -> Edited {
        let path = self.path();
        // As in the review buffer, leaving without writing decides nothing.
        let is_unwritten = FileStatus::at(&path).map(|it| it == self.written);
        match is_unwritten {
            Ok(true) => Edited::Unwritten,
            Ok(false) => fs::read(&path).map_or_else(|error| unreadable(&error), Edited::Written),
            Err(error) => unreadable(&error),
        }
    }
}

fn unreadable(error: &io::Error) -> Edited {
    Edited::Failed(format!(
        "The edited diff could not be read: {error}. Nothing was decided."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn edited(editor: &str) -> Edited {
        let state = tempfile::tempdir().expect("a folder");
        let folder = TemporaryFolder::make_in(state.path());
        let edited = edit_in(folder, "+a\n", editor).await;
        let left = fs::read_dir(state.path()).expect("a folder").count();
        assert_eq!(left, 0, "{editor}");
        edited
    }

    #[tokio::test]
    async fn only_a_written_file_of_an_editor_that_succeeds_counts() {
        let written = |text: &str| Edited::Written(text.into());
        assert_eq!(edited("printf b >>").await, written("+a\nb"));
        // The same text, but written.
        assert_eq!(edited("touch -d '1 hour ago'").await, written("+a\n"));
        assert_eq!(edited("true").await, Edited::Unwritten);
        for (editor, problem) in [
            ("sh -c 'echo b > $0; exit 3'", "exit status: 3"),
            ("no-such-editor", "exit status: 127"),
            ("rm", "could not be read"),
        ] {
            let Edited::Failed(text) = edited(editor).await else {
                panic!("{editor}");
            };
            assert!(text.contains(problem), "{text}");
        }
    }

    #[tokio::test]
    async fn an_editor_has_arguments_in_quotes_and_a_file_that_others_cannot_read() {
        let mode = "sh -c 'stat -c %a:%n $1 > $1.new && mv $1.new $1' 'an argument'";
        let Edited::Written(text) = edited(mode).await else {
            panic!("it was not written");
        };
        let text = String::from_utf8(text).expect("text");
        assert!(
            text.starts_with("600:/") && text.ends_with("/review.diff\n"),
            "{text}"
        );
    }
}
