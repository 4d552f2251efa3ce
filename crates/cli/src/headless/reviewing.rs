//! `e`: the diff of a pending call in the user's editor, as `:Flemma review` shows it in Neovim.
//!
//! The session reads what the user made of it, asks again until it can be applied, and decides
//! about the call.

mod editor;

use std::mem;

use serde_bytes::ByteBuf;
use session::frontend::ReviewOutcome;
use session::protocol::{Action, EditorReply, ReviewAnswer, ReviewQuestion};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use self::editor::Edited;
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
        /// What the user does in the editor.
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

/// What an open review was waiting for.
#[derive(Debug)]
pub enum ReviewStep {
    /// The editor has ended.
    Edited(Edited),
    /// Whether the user edits the diff again.
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
        let editor = tokio::spawn(editor::edit(question.text));
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
}
