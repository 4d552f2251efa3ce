//! Asks about a pending call, after its diff.

use chat::approval;
use session::protocol::DiffItem;
use tokio::task::JoinHandle;
use tools::{ToolContext, state_dir};

use super::PendingCall;
use crate::headless::{HeadlessRun, stdin_prompt};

/// Columns of a diff.
const WIDTH: usize = 100;
/// Maximum lines of a diff that is shown whole.
const WHOLE: usize = 300;

/// A call that is asked about once its diff is made.
#[derive(Debug)]
pub struct PendingDiff {
    call: PendingCall,
    diff: JoinHandle<Vec<DiffItem>>,
}

/// Waits for the diff of the call that is asked about next.
pub async fn diff(pending: &mut Option<PendingDiff>) -> Vec<DiffItem> {
    match pending {
        Some(pending) => (&mut pending.diff).await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

impl HeadlessRun {
    /// Asks about a call once its diff is made, if it has one.
    pub(super) fn ask(&mut self, call: PendingCall) {
        if let Some(diff) = self.trials.diff(&call.key.1) {
            let diff = tokio::spawn(async move { diff });
            return self.questions.prepare(PendingDiff { call, diff });
        }
        let (name, input) = match approval::inside(&call.name, &call.input) {
            Some((inner, arguments)) => (inner.to_owned(), arguments),
            None => (call.name.clone(), call.input.clone()),
        };
        let tool = self.host.shared().registry.get(&name);
        let mut context = ToolContext::new(self.stored.folder(), state_dir::path().join("outputs"));
        // Tools may see a /tmp of their own.
        context.sandbox = self.inspection().sandbox;
        // In a task of its own, because it reads files while calls and signals go on.
        let diff = tokio::spawn(async move {
            match tool {
                Some(tool) => session::diff::of_call(&*tool, &input, &context, WIDTH, WHOLE).await,
                None => Vec::new(),
            }
        });
        self.questions.prepare(PendingDiff { call, diff });
    }

    /// Asks about the call whose diff is made.
    pub(in crate::headless) fn ask_with(&mut self, diff: &[DiffItem]) {
        let Some(PendingDiff { call, .. }) = self.questions.take_prepared() else {
            return;
        };
        let is_unsandboxed = self.lacks_sandbox(&call.name);
        // An editor needs the terminal, from which the answer comes.
        let can_edit = !diff.is_empty() && stdin_prompt::is_at_terminal();
        let question = stdin_prompt::question(
            &call.name,
            &call.input,
            self.stored.folder(),
            is_unsandboxed,
            diff,
        );
        let shown = self.trials.lines(&call.key.1);
        let question = shown
            .map(|it| format!("[flemma] {it}\n"))
            .collect::<String>()
            + &question;
        let question = question + stdin_prompt::last_line(can_edit);
        self.output.ask(call.key.1.as_str(), &question, diff);
        self.questions.confirm(call.key, can_edit);
    }
}
