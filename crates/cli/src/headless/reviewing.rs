//! `e`: the diff of a pending call in the user's editor, as `:Flemma review` shows it in Neovim.
//!
//! The session reads the edited diff, asks again until it can be applied, and decides the call.

use std::env::consts::EXE_SUFFIX;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use platform::files::{FileStatus, PrivateOptions};
use platform::processes::{self, EDITOR};
use serde_bytes::ByteBuf;
use session::frontend::ReviewOutcome;
use session::protocol::{Action, EditorReply, ReviewAnswer, ReviewQuestion};
use tokio::process::Command;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tools::{TemporaryFolder, state_dir};

use super::HeadlessRun;
use crate::problems::in_a_shell;

/// The review of a pending call.
#[derive(Debug, Default)]
pub enum OpenReview {
    /// There is none.
    #[default]
    Closed,
    /// The session works: it makes the diff, or reads the edited one.
    AtSession,
    /// The editor shows the diff.
    Editing {
        /// Receives the diff.
        reply: oneshot::Sender<EditorReply>,
        /// The running editor.
        editor: JoinHandle<Edited>,
    },
    /// The user is asked whether to edit the diff again.
    AskingAgain {
        /// The diff as the user left it, and its problems.
        question: ReviewQuestion,
        /// Receives the diff.
        reply: oneshot::Sender<EditorReply>,
        /// The line that answers.
        line: oneshot::Receiver<Option<String>>,
    },
}

/// The next step of an open review.
#[derive(Debug)]
pub enum ReviewStep {
    /// The editor has ended.
    Edited(Edited),
    /// True if the user edits the diff again.
    Again(bool),
}

impl OpenReview {
    /// Returns true if a call is reviewed.
    pub fn is_open(&self) -> bool {
        !matches!(self, Self::Closed)
    }

    /// Returns true if the user's editor has the terminal.
    pub fn is_in_editor(&self) -> bool {
        matches!(self, Self::Editing { .. })
    }

    /// Waits for the editor or the user.
    pub async fn next(&mut self) -> ReviewStep {
        match self {
            Self::Editing { editor, .. } => {
                let failed = |_| Edited::Failed("The editor could not be started.".to_owned());
                ReviewStep::Edited(editor.await.unwrap_or_else(failed))
            }
            Self::AskingAgain { line, .. } => {
                ReviewStep::Again(is_again(line.await.unwrap_or(None)))
            }
            Self::Closed | Self::AtSession => std::future::pending().await,
        }
    }
}

/// Parses the answer to `[Y/n]`. The end of standard input means that there is no user.
fn is_again(line: Option<String>) -> bool {
    line.is_some_and(|it| matches!(it.trim().to_lowercase().as_str(), "" | "y" | "yes" | "e"))
}

/// Returns the question whether to edit a diff again, below what the user should know.
fn asked_again(question: &ReviewQuestion) -> String {
    let mut lines: Vec<String> = question.note.iter().map(|it| in_a_shell(it)).collect();
    if !question.problems.is_empty() {
        lines.push("This diff cannot be applied:".to_owned());
    }
    let text: Vec<&str> = question.text.lines().collect();
    for problem in &question.problems {
        let number = problem.line + 1;
        // A problem may concern the end of the text.
        let line = text.get(problem.line).copied().unwrap_or_default();
        lines.push(format!("  line {number}: {line}"));
        lines.push(format!("    {}", problem.message));
    }
    lines.push("Edit it again? [Y/n]: ".to_owned());
    let lines: Vec<String> = lines.iter().map(|it| format!("[flemma] {it}")).collect();
    lines.join("\n")
}

impl HeadlessRun {
    /// Starts the review of the call on this line.
    pub(super) fn review(&mut self, line: usize) {
        *self.questions.review_mut() = OpenReview::AtSession;
        self.press(Action::Review, line);
    }

    /// Shows the diff of a review.
    pub(super) fn show_review(
        &mut self,
        question: ReviewQuestion,
        reply: oneshot::Sender<EditorReply>,
    ) {
        // The user removed all changes and then dismissed the question for a reason, so nothing
        // is decided.
        if question.text.trim().is_empty() {
            return self.end_editing(None, reply);
        }
        if question.note.is_none() && question.problems.is_empty() {
            return self.edit(question, reply);
        }
        self.output
            .ask(&question.call, &asked_again(&question), &[]);
        let line = self.questions.next_line();
        *self.questions.review_mut() = OpenReview::AskingAgain {
            question,
            reply,
            line,
        };
    }

    fn edit(&mut self, question: ReviewQuestion, reply: oneshot::Sender<EditorReply>) {
        // In a task of its own, because calls and signals go on meanwhile.
        let editor = tokio::spawn(edit(question.text));
        *self.questions.review_mut() = OpenReview::Editing { reply, editor };
    }

    /// Continues with a review.
    pub(super) fn review_step(&mut self, step: ReviewStep) {
        match (step, mem::take(self.questions.review_mut())) {
            (ReviewStep::Edited(edited), OpenReview::Editing { reply, .. }) => {
                let text = self.edited(edited);
                self.end_editing(text, reply);
            }
            (
                ReviewStep::Again(true),
                OpenReview::AskingAgain {
                    question, reply, ..
                },
            ) => self.edit(question, reply),
            (_, OpenReview::AskingAgain { reply, .. }) => self.end_editing(None, reply),
            // Each step comes from the review that waited for it.
            (_, review) => *self.questions.review_mut() = review,
        }
    }

    /// Returns the diff if the user wrote it.
    fn edited(&mut self, edited: Edited) -> Option<Vec<u8>> {
        match edited {
            Edited::Written(text) => return Some(text),
            Edited::Unwritten => self
                .output
                .report("The diff was not written, so nothing was decided."),
            Edited::Failed(problem) => self.output.report(&problem),
        }
        None
    }

    /// Gives the session the diff, or nothing if the user decided nothing.
    fn end_editing(&mut self, text: Option<Vec<u8>>, reply: oneshot::Sender<EditorReply>) {
        *self.questions.review_mut() = OpenReview::AtSession;
        let text = text.map(ByteBuf::from);
        // Fails if the session is gone.
        drop(reply.send(EditorReply::Reviewed(ReviewAnswer { text })));
    }

    /// Handles the end of a review.
    pub(super) fn review_ended(&mut self, outcome: ReviewOutcome) {
        *self.questions.review_mut() = OpenReview::Closed;
        match outcome {
            ReviewOutcome::Approved => {}
            ReviewOutcome::Rejected(call) => {
                let refused = format!("{} ({})", call.name, call.id);
                self.outcome.refused.push(refused);
                self.outcome.worked = true;
            }
            ReviewOutcome::Undecided => self.ask_again(),
        }
    }
}

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

/// The outcome of editing a diff.
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
async fn edit(text: String) -> Edited {
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
            EDITOR.to_owned()
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
    let mut command = Command::from(processes::with_path(editor, file));
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
    use session::protocol::{ReviewLine, ReviewSubject};

    use super::*;

    #[test]
    fn the_lines_that_cannot_be_applied_are_shown_with_their_numbers() {
        let problem = |line, message: &str| ReviewLine {
            line,
            message: message.to_owned(),
        };
        let question = ReviewQuestion {
            buffer: 1,
            call: "t_1".to_owned(),
            subject: ReviewSubject::Call,
            text: "diff --git a/f b/f\noops\n".to_owned(),
            note: None,
            problems: vec![problem(1, "No sign."), problem(2, "No end.")],
        };
        assert_eq!(
            asked_again(&question),
            "[flemma] This diff cannot be applied:\n[flemma]   line 2: oops\n[flemma]     No sign.\n\
             [flemma]   line 3: \n[flemma]     No end.\n[flemma] Edit it again? [Y/n]: "
        );
    }

    #[test]
    fn an_empty_line_edits_again_and_the_end_of_input_does_not() {
        for (line, again) in [
            (Some("\n"), true),
            (Some("Y\n"), true),
            (Some("n\n"), false),
            (Some("what\n"), false),
            (None, false),
        ] {
            assert_eq!(is_again(line.map(str::to_owned)), again, "{line:?}");
        }
    }

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
