//! Sends the cycle's questions about calls to the resolvers that answer them.

use std::sync::Arc;

use chat::approval::{FunctionId, Question};
use chat::cycle::CycleEvent;
use policy::sandbox;
use policy::settings::Here;
use tools::Sandbox;

use crate::resolver_calls::{self, CallGuard};
use crate::session::{Input, Session, WorkInput};

impl Session {
    /// Sends each question to its resolver. The answers come as inputs or events.
    pub(crate) fn ask_resolvers(&mut self, questions: Vec<Question>) {
        // All calls are asked about together, because each question costs a round trip or a
        // thread.
        let mut editor = Vec::new();
        let mut snapshots = Vec::new();
        let mut rules = Vec::new();
        let mut frontmatter = Vec::new();
        for question in questions {
            match &question.function.id {
                id if id.is_editor() => editor.push(question),
                FunctionId::Sight => snapshots.push(question),
                FunctionId::Guard | FunctionId::Held | FunctionId::Remembered => {
                    rules.push(question);
                }
                _ => frontmatter.push(question),
            }
        }
        if !editor.is_empty() {
            self.ask_editor(editor);
        }
        if !snapshots.is_empty() {
            self.look_again(snapshots);
        }
        if !frontmatter.is_empty() {
            self.ask_frontmatter(frontmatter);
        }
        if !rules.is_empty() {
            self.ask_guard(rules);
        }
    }

    /// Asks the approval functions in the editor about calls, all in one message.
    fn ask_editor(&self, questions: Vec<Question>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let asked = resolver_calls::together(self.policy.rules(), questions);
        let (editor, buffer) = (self.editor.clone(), self.buffer.id());
        tokio::spawn(async move {
            let answers = resolver_calls::ask_functions(&editor, buffer, asked).await;
            drop(inbox.send(Input::Work(WorkInput::Functions(answers))));
        });
    }

    /// Asks the approval function of the frontmatter, on a blocking thread.
    fn ask_frontmatter(&self, questions: Vec<Question>) {
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let (rules, buffer) = (self.policy.rules.clone(), self.buffer.id());
        let editor = self.editor.clone();
        tokio::task::spawn_blocking(move || {
            let answers = resolver_calls::ask_frontmatter(&editor, &rules, buffer, questions);
            drop(inbox.send(Input::Work(WorkInput::Functions(answers))));
        });
    }

    /// Has the guard answer questions about calls.
    fn ask_guard(&mut self, questions: Vec<Question>) {
        let guard = self.guard();
        let (commands, others) = questions.into_iter().partition::<Vec<_>, _>(|it| {
            // A rule compares only words; the inspection of a command looks at files.
            let is_rule = it.function.id == FunctionId::Remembered;
            resolver_calls::is_command(&it.call) && !is_rule
        });
        if !others.is_empty() {
            let found = guard.answer(others);
            found.messages.iter().for_each(|it| self.inform(it));
            self.keep_paths(found.paths);
            self.decisions.note_rules(found.rules);
            self.queue
                // Known at once, so no other event may come between.
                .push_first(CycleEvent::ResolverAnswered(found.answers));
        }
        // On a blocking thread, because shell commands may refer to many files.
        if !commands.is_empty()
            && let Some(inbox) = self.inbox.upgrade()
        {
            tokio::task::spawn_blocking(move || {
                let found = guard.answer(commands);
                drop(inbox.send(Input::Work(WorkInput::Inspected(
                    found.answers,
                    found.messages,
                ))));
            });
        }
    }

    pub(crate) fn guard(&self) -> CallGuard {
        let folder = self.disk.folder();
        let (here, sandbox) = (self.here(), self.sandbox().clone());
        let settings = &self.shared.settings;
        CallGuard {
            shared: self.shared.clone(),
            inspection: settings.inspection(folder.clone(), here, sandbox),
            chat: self.disk.path().map(Into::into),
            folder,
        }
    }

    /// Returns the sandbox of the chat's calls.
    pub(crate) fn sandbox(&self) -> &Arc<Sandbox> {
        let settings = &self.policy.rules().settings.sandbox;
        self.policy
            .sandbox(|| Arc::new(sandbox::of_chat(settings, self.here())))
    }

    /// Returns the folders that rules about this chat refer to.
    fn here(&self) -> Here<'_> {
        Here {
            cwd: self.disk.cwd(),
            chat: self.disk.path(),
        }
    }
}
