//! The open questions of a run, and standard input, which answers them.

use chat::tool::ToolUseId;
use tokio::sync::oneshot;

use super::output::Output;
use super::prompts::Prompts;
use super::stdin_prompt::{self, Confirmation, StdinLines};
use super::waiting::{self, PendingDiff};
use crate::protocol::{DiffItem, EditorReply, InputPrompt};

/// The open questions of a run.
#[derive(Debug, Default)]
pub struct OpenQuestions {
    stdin: StdinLines,
    /// Questions of running calls.
    prompts: Prompts,
    /// The call that is asked about next.
    diff: Option<PendingDiff>,
    /// The open question about a pending call.
    confirmation: Option<PendingConfirmation>,
}

/// A question about a pending call.
#[derive(Debug)]
struct PendingConfirmation {
    call: (usize, ToolUseId),
    line: oneshot::Receiver<Option<String>>,
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
}

impl OpenQuestions {
    /// Waits for the next step of any open question.
    pub async fn next(&mut self) -> QuestionStep {
        // All three can be dropped while they wait, as each owns nothing that it received.
        tokio::select! {
            diff = waiting::diff(&mut self.diff) => QuestionStep::Diff(diff),
            answer = confirmed(&mut self.confirmation) => QuestionStep::Confirmation(answer),
            line = self.prompts.line() => QuestionStep::Line(line),
        }
    }

    /// Returns true if a pending call is asked about, or will be.
    pub fn is_confirming(&self) -> bool {
        self.confirmation.is_some() || self.diff.is_some()
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
    pub fn confirm(&mut self, call: (usize, ToolUseId)) {
        let line = self.stdin.next();
        self.confirmation = Some(PendingConfirmation { call, line });
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
        Some(pending) => stdin_prompt::answer((&mut pending.line).await.unwrap_or(None)),
        None => std::future::pending().await,
    }
}
