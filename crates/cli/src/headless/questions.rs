//! The open questions of a run, and standard input, which answers them.

use chat::tool::ToolUseId;
use session::protocol::{DiffItem, EditorReply, InputPrompt};
use tokio::sync::oneshot;

use super::output::Output;
use super::prompts::TerminalPrompts;
use super::reviewing::{OpenReview, ReviewStep};
use super::stdin_prompt::{self, Confirmation, StdinLines};
use super::waiting::{self, PendingDiff};

/// The open questions of a run.
#[derive(Debug, Default)]
pub struct OpenQuestions {
    stdin: StdinLines,
    /// Questions of running calls.
    prompts: TerminalPrompts,
    /// The call that is asked about next.
    diff: Option<PendingDiff>,
    /// The open question about a pending call.
    confirmation: Option<PendingConfirmation>,
    /// The review of a pending call.
    review: OpenReview,
}

/// A question about a pending call.
#[derive(Debug)]
struct PendingConfirmation {
    call: (usize, ToolUseId),
    line: oneshot::Receiver<Option<String>>,
    /// True if the user may edit what the call would change.
    can_edit: bool,
}

/// What an open question was waiting for.
#[derive(Debug)]
pub enum QuestionStep {
    /// The diff that is shown with the question about a call.
    Diff(Vec<DiffItem>),
    /// The answer to the question about a call.
    Confirmation(Confirmation),
    /// The line that answers a question of a running call.
    Line(Option<String>),
    /// What a review was waiting for.
    Review(ReviewStep),
}

impl OpenQuestions {
    /// Waits for the next step of any open question.
    pub async fn next(&mut self) -> QuestionStep {
        // All can be dropped while they wait, as each owns nothing that it received.
        tokio::select! {
            diff = waiting::diff(&mut self.diff) => QuestionStep::Diff(diff),
            answer = confirmed(&mut self.confirmation) => QuestionStep::Confirmation(answer),
            line = self.prompts.line() => QuestionStep::Line(line),
            step = self.review.next() => QuestionStep::Review(step),
        }
    }

    /// Returns true if a pending call is asked about or reviewed, or will be.
    pub fn is_confirming(&self) -> bool {
        self.confirmation.is_some() || self.diff.is_some() || self.review.is_open()
    }

    /// Returns true if the user's editor has the terminal.
    pub fn is_in_editor(&self) -> bool {
        self.review.is_in_editor()
    }

    /// Returns the review of a pending call.
    pub fn review_mut(&mut self) -> &mut OpenReview {
        &mut self.review
    }

    /// Requests a line of standard input.
    pub fn next_line(&mut self) -> oneshot::Receiver<Option<String>> {
        self.stdin.next()
    }

    /// Sets the call that is asked about once its diff is made.
    pub fn prepare(&mut self, call: PendingDiff) {
        self.diff = Some(call);
    }

    /// Takes the call whose diff is made.
    pub fn take_prepared(&mut self) -> Option<PendingDiff> {
        self.diff.take()
    }

    /// Requests a line for the question about this call.
    pub fn confirm(&mut self, call: (usize, ToolUseId), can_edit: bool) {
        let line = self.stdin.next();
        self.confirmation = Some(PendingConfirmation {
            call,
            line,
            can_edit,
        });
    }

    /// Takes the call whose question was answered.
    pub fn take_confirmed(&mut self) -> Option<(usize, ToolUseId)> {
        self.confirmation.take().map(|pending| pending.call)
    }

    /// Queues a question of a running call.
    pub fn prompt(
        &mut self,
        prompt: InputPrompt,
        reply: oneshot::Sender<EditorReply>,
        output: &mut Output,
    ) {
        self.prompts.push(prompt, reply, &mut self.stdin, output);
    }

    /// Handles the line that answers a question of a running call.
    pub fn prompted(&mut self, line: Option<String>, output: &mut Output) {
        self.prompts.answer(line, &mut self.stdin, output);
    }
}

async fn confirmed(pending: &mut Option<PendingConfirmation>) -> Confirmation {
    match pending {
        // The sender is gone only if the thread that reads has failed.
        Some(pending) => {
            let line = (&mut pending.line).await.unwrap_or(None);
            stdin_prompt::answer(line, pending.can_edit)
        }
        None => std::future::pending().await,
    }
}
