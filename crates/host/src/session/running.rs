//! Calls that run, and the user's functions that are asked about them.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use chat::approval::{Answers, CallKey, Decision, Question, read_policy_answer};
use chat::cycle::{Event, step};
use chat::document::Document;
use chat::tool::{ToolOutcome, ToolUseId};
use serde_json::{Value, json};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tools::{Progress, ToolContext};

use super::{Input, Session};
use crate::buffers::EditorBuffers;
use crate::editor::Editor;
use crate::protocol::{BufferId, FunctionAnswer, FunctionCall};

/// Most lines of live output that are kept for showing.
const OUTPUT_LINES: usize = 5;
/// Longest line of it, in characters.
const OUTPUT_WIDTH: usize = 300;

/// A call that runs.
pub(super) struct Call {
    cancel: CancellationToken,
    /// When it started.
    pub(super) started: Instant,
    /// The last lines of its output, the newest unfinished.
    pub(super) output: VecDeque<String>,
}

impl Call {
    /// Asks it to stop.
    pub(super) fn stop(&self) {
        self.cancel.cancel();
    }
}

impl Session {
    /// An approval that the user writes counts for the arguments that stand beside
    /// it at this moment, not for what becomes of them before the next decision.
    pub(super) fn note_approvals(&mut self, written: &[Vec<u8>]) {
        const STATUS: &[u8] = b"flemma:tool";
        let is_status = |line: &Vec<u8>| line.windows(STATUS.len()).any(|it| it == STATUS);
        if written.iter().any(is_status) {
            let document = Document::parse(&self.text);
            step(
                &mut self.cycle,
                Event::Changed,
                &document,
                &self.shared.options,
            );
        }
    }

    pub(super) fn run_tool(&mut self, call: CallKey, input: Value) {
        let Some(tool) = self.shared.registry.get(&call.name) else {
            let gone = ToolOutcome::Failed(format!(
                "There is no tool named \"{}\" any more.",
                call.name
            ));
            return self
                .waiting
                .push_back(Event::ToolsFinished(vec![(call, gone)]));
        };
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let mut context =
            ToolContext::new(self.folder(), crate::status::state_folder().join("outputs"));
        let seconds = self
            .shared
            .settings
            .tools
            .default_timeout
            .clamp(0.1, 86_400.0);
        context.timeout = Duration::from_secs_f64(seconds);
        context.buffers = Arc::new(EditorBuffers(self.editor.clone()));
        context.bash = self.shared.settings.bash();
        context.progress = self.progress(&call);
        let running = Call {
            cancel: context.cancel.clone(),
            started: Instant::now(),
            output: VecDeque::new(),
        };
        self.running.insert(call.clone(), running);
        self.editor.event(
            "FlemmaToolStarted",
            json!({"bufnr": self.buffer, "tool_id": call.id.as_str(), "tool_name": call.name}),
        );
        tokio::spawn(async move {
            let id = ToolUseId::new(call.id.as_str());
            let outcome = tools::run(tool, id, input, context).await;
            drop(inbox.send(Input::ToolEnded(call, outcome)));
        });
    }

    fn progress(&self, call: &CallKey) -> Progress {
        let (inbox, call) = (self.inbox.clone(), call.clone());
        Progress::new(move |output| {
            if let Some(inbox) = inbox.upgrade() {
                drop(inbox.send(Input::ToolOutput(call.clone(), output.to_owned())));
            }
        })
    }

    pub(super) fn tool_output(&mut self, call: &CallKey, output: &str) {
        let Some(running) = self.running.get_mut(call) else {
            return;
        };
        for (at, piece) in output.split('\n').enumerate() {
            if at > 0 || running.output.is_empty() {
                running.output.push_back(String::new());
            }
            if running.output.len() > OUTPUT_LINES {
                running.output.pop_front();
            }
            if let Some(line) = running.output.back_mut() {
                let room = OUTPUT_WIDTH.saturating_sub(line.chars().count());
                line.extend(piece.chars().filter(|c| !c.is_control()).take(room));
            }
        }
        self.view.redraw_soon();
    }

    pub(super) fn tool_ended(&mut self, call: CallKey, outcome: ToolOutcome) {
        if self.running.remove(&call).is_none() {
            return;
        }
        let failed = !matches!(
            outcome,
            ToolOutcome::Done {
                marked_failed: false,
                ..
            }
        );
        self.view.ended(&call, failed);
        self.editor.event(
            "FlemmaToolFinished",
            json!({"bufnr": self.buffer, "tool_id": call.id.as_str(), "tool_name": call.name, "status": if failed { "error" } else { "success" }}),
        );
        self.waiting
            .push_back(Event::ToolsFinished(vec![(call, outcome)]));
    }

    pub(super) fn cancel_tools(&self, calls: &[CallKey]) {
        for running in calls.iter().filter_map(|call| self.running.get(call)) {
            running.stop();
        }
    }

    /// Asks the user's functions about calls, all in one message.
    pub(super) fn ask(&self, questions: Vec<Question>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let (editor, buffer) = (self.editor.clone(), self.buffer);
        tokio::spawn(async move {
            let answers = ask_functions(&editor, buffer, questions).await;
            drop(inbox.send(Input::Functions(answers)));
        });
    }
}

async fn ask_functions(editor: &Editor, buffer: BufferId, questions: Vec<Question>) -> Answers {
    let call = |question: &Question| FunctionCall {
        function: question.function,
        arguments: vec![
            question.call.name.clone().into(),
            question.input.clone(),
            json!({"bufnr": buffer, "tool_id": question.call.id.as_str()}),
        ],
    };
    let replies = editor
        .call_functions(questions.iter().map(call).collect())
        .await
        .unwrap_or_default();
    let mut replies = replies.into_iter();
    questions
        .into_iter()
        .map(|question| ((question.call, question.function), read(replies.next())))
        .collect()
}

/// A function that fails does not approve, and does not pass the question on.
fn read(reply: Option<FunctionAnswer>) -> Option<Decision> {
    let problem = match reply {
        Some(FunctionAnswer {
            ok: true, value, ..
        }) => match read_policy_answer(&value) {
            Ok(decision) => return decision,
            Err(problem) => problem,
        },
        Some(FunctionAnswer { message, .. }) => {
            format!(
                "auto_approve failed, so the call waits: {}",
                message.unwrap_or_default()
            )
        }
        None => "auto_approve gave no answer, so the call waits.".to_owned(),
    };
    tracing::warn!("{problem}");
    Some(Decision::RequireApproval)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_that_throws_or_answers_oddly_makes_the_call_wait() {
        let answer = |ok, value| {
            read(Some(FunctionAnswer {
                ok,
                value,
                message: None,
            }))
        };
        assert_eq!(answer(true, json!(true)), Some(Decision::Approve));
        assert_eq!(answer(true, Value::Null), None);
        assert_eq!(answer(true, json!("deny")), Some(Decision::Deny));
        assert_eq!(
            answer(true, json!("approve")),
            Some(Decision::RequireApproval)
        );
        assert_eq!(answer(false, json!(true)), Some(Decision::RequireApproval));
        assert_eq!(read(None), Some(Decision::RequireApproval));
    }
}
