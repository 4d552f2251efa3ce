//! Sends the cycle's questions about calls to the resolvers that answer them.

use chat::approval::{FunctionId, Question};

use crate::resolver_calls::{self, CallGuard};
use crate::session::ctx::Ctx;
use crate::session::{Input, WorkInput};

/// The cycle's questions about calls, by who answers them.
#[derive(Default)]
pub(in crate::session) struct Questions {
    /// For approval functions in the editor.
    editor: Vec<Question>,
    /// True if files are as they were shown.
    pub(in crate::session) sights: Vec<Question>,
    /// For rules that compare only words.
    pub(in crate::session) rules: Vec<Question>,
    /// For rules that inspect commands.
    commands: Vec<Question>,
    /// For the approval function of the frontmatter.
    frontmatter: Vec<Question>,
}

impl Questions {
    /// Sorts questions. All calls are asked about together, because each question costs a round trip
    /// or a thread.
    pub(in crate::session) fn sort(questions: Vec<Question>) -> Self {
        let mut sorted = Self::default();
        for question in questions {
            let to = match &question.function.id {
                FunctionId::Editor(_) => &mut sorted.editor,
                FunctionId::Sight => &mut sorted.sights,
                FunctionId::Remembered => &mut sorted.rules,
                // The inspection of a command looks at files.
                FunctionId::Guard | FunctionId::Held => {
                    if resolver_calls::is_command(&question.call) {
                        &mut sorted.commands
                    } else {
                        &mut sorted.rules
                    }
                }
                FunctionId::Frontmatter => &mut sorted.frontmatter,
            };
            to.push(question);
        }
        sorted
    }

    /// Asks those who answer later. The answers come as inputs.
    pub(in crate::session) fn ask(self, ctx: &Ctx) {
        if !self.editor.is_empty() {
            ask_editor(ctx, self.editor);
        }
        if !self.frontmatter.is_empty() {
            ask_frontmatter(ctx, self.frontmatter);
        }
        if !self.commands.is_empty() {
            inspect(ctx, self.commands);
        }
    }
}

/// Inspects commands, on a blocking thread, because they may refer to many files.
fn inspect(ctx: &Ctx, commands: Vec<Question>) {
    let Some(inbox) = ctx.inbox.upgrade() else {
        return;
    };
    let guard = guard(ctx);
    tokio::task::spawn_blocking(move || {
        let found = guard.answer(commands);
        drop(inbox.send(Input::Work(WorkInput::Inspected(
            found.answers,
            found.messages,
        ))));
    });
}

/// Asks the approval functions in the editor about calls, all in one message.
fn ask_editor(ctx: &Ctx, questions: Vec<Question>) {
    let Some(inbox) = ctx.inbox.upgrade() else {
        return;
    };
    let asked = resolver_calls::together(ctx.rules(), questions);
    let (editor, buffer) = (ctx.editor.clone(), ctx.buffer.id());
    tokio::spawn(async move {
        let answers = resolver_calls::ask_functions(&editor, buffer, asked).await;
        drop(inbox.send(Input::Work(WorkInput::Functions(answers))));
    });
}

/// Asks the approval function of the frontmatter, on a blocking thread.
fn ask_frontmatter(ctx: &Ctx, questions: Vec<Question>) {
    let Some(inbox) = ctx.inbox.upgrade() else {
        return;
    };
    let (rules, buffer) = (ctx.rules.clone(), ctx.buffer.id());
    let editor = ctx.editor.clone();
    tokio::task::spawn_blocking(move || {
        let answers = resolver_calls::ask_frontmatter(&editor, &rules, buffer, questions);
        drop(inbox.send(Input::Work(WorkInput::Functions(answers))));
    });
}

pub(crate) fn guard(ctx: &Ctx) -> CallGuard {
    let folder = ctx.place.folder();
    let (here, sandbox) = (ctx.here(), ctx.sandbox().clone());
    let settings = &ctx.shared.settings;
    CallGuard {
        shared: ctx.shared.clone(),
        inspection: settings.inspection(folder.clone(), here, sandbox),
        chat: ctx.place.path().map(Into::into),
        folder,
    }
}
