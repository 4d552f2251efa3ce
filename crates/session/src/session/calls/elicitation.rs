//! Questions of running calls to the user. They are shown beside the call, and Alt-Enter
//! answers them; the command line asks them at once.
//!
//! A question disappears when its call no longer waits for the answer.

use std::collections::VecDeque;

use async_trait::async_trait;
use chat::approval::CallKey;
use chat::cycle::Level;
use chat::document::Document;
use chat::text::Lines;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tools::{Elicitation, Form, FormReply};

use super::Calls;
use crate::form;
use crate::session::WorkInput;
use crate::session::ctx::Ctx;
use crate::session::ctx::Inbox;

/// An event of a question.
pub enum QuestionEvent {
    /// A call asks.
    Asked(Form, oneshot::Sender<FormReply>),
    /// A call no longer waits for one of its answers.
    TakenBack,
    /// The user answered the question with this number; `None` if they left it open.
    Filled(u64, Option<FormReply>),
}

/// A question that is not answered yet.
pub(super) struct Question {
    number: u64,
    form: Form,
    reply: oneshot::Sender<FormReply>,
    /// The task that asks the user.
    dialogue: Option<JoinHandle<()>>,
}

impl Question {
    /// Returns the lines that show it, for windows of `width` columns.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut lines = form::lines(&self.form, width);
        lines.push("Alt-Enter answers. Ctrl-C cancels the call.".to_owned());
        lines
    }
}

/// Lines of a call that asks a question.
struct Asking {
    call: CallKey,
    call_lines: Lines,
    result_lines: Lines,
}

/// Asks the user of a chat on behalf of one of its calls.
pub(super) struct User {
    inbox: Inbox,
    call: CallKey,
}

impl User {
    pub(super) fn new(inbox: &Inbox, call: &CallKey) -> Self {
        Self {
            inbox: inbox.clone(),
            call: call.clone(),
        }
    }

    fn deliver(&self, event: QuestionEvent) {
        let input = WorkInput::Question(self.call.clone(), event);
        self.inbox.deliver(input);
    }
}

#[async_trait]
impl Elicitation for User {
    async fn ask(&self, form: Form) -> FormReply {
        // Sent even if this future is dropped because its call was cancelled.
        let _taken_back = TakenBack(self);
        let (reply, answer) = oneshot::channel();
        self.deliver(QuestionEvent::Asked(form, reply));
        // The sender is dropped with the question if the session ends.
        answer.await.unwrap_or(FormReply::Cancelled)
    }
}

/// Takes a question back when it is dropped.
struct TakenBack<'a>(&'a User);

impl Drop for TakenBack<'_> {
    fn drop(&mut self) {
        self.0.deliver(QuestionEvent::TakenBack);
    }
}

impl Calls {
    /// Takes what happened to a question of a call.
    pub(crate) fn question_event(&mut self, ctx: &Ctx, call: &CallKey, event: QuestionEvent) {
        match event {
            QuestionEvent::Asked(form, reply) => self.add_question(ctx, call, form, reply),
            QuestionEvent::TakenBack => {
                if let Some(questions) = self.questions(call) {
                    // The call dropped its receiver, so nothing waits for these answers.
                    questions.retain(|it| !it.reply.is_closed());
                }
            }
            QuestionEvent::Filled(number, reply) => self.filled(ctx, call, number, reply),
        }
    }

    fn questions(&mut self, call: &CallKey) -> Option<&mut VecDeque<Question>> {
        let running = self.running.get_mut(call)?;
        Some(&mut running.questions)
    }

    fn add_question(
        &mut self,
        ctx: &Ctx,
        call: &CallKey,
        form: Form,
        reply: oneshot::Sender<FormReply>,
    ) {
        self.last_question += 1;
        let number = self.last_question;
        let Some(questions) = self.questions(call) else {
            return;
        };
        let text = format!(
            "{} asks you something during the call \"{}\". Press Alt-Enter on its block to answer.",
            form.by, call.id
        );
        questions.push_back(Question {
            number,
            form,
            reply,
            dialogue: None,
        });
        // Without a screen, questions are asked one after another; in Neovim the user opens
        // them.
        let is_first = questions.len() == 1;
        if !ctx.editor.is_headless() {
            ctx.notify_about_calls(Level::Warning, &text);
        } else if is_first {
            self.open_question(ctx, call);
        }
    }

    fn filled(&mut self, ctx: &Ctx, call: &CallKey, number: u64, reply: Option<FormReply>) {
        // In Neovim, a question that was left can be answered later.
        let is_headless = ctx.editor.is_headless();
        let reply = reply.or(is_headless.then_some(FormReply::Cancelled));
        let Some((questions, reply)) = self.questions(call).zip(reply) else {
            return;
        };
        if let Some(at) = questions.iter().position(|it| it.number == number)
            && let Some(question) = questions.remove(at)
        {
            tracing::info!(call = %call.id, number, "a question was answered");
            drop(question.reply.send(reply));
        }
        if is_headless {
            self.open_question(ctx, call);
        }
    }

    /// Opens the question of the call on this line. Returns true if there is one.
    pub(crate) fn answer_question(&mut self, ctx: &Ctx, line: usize) -> bool {
        let document = ctx.buffer.document();
        let covers = |it: &Asking| it.call_lines.contains(&line) || it.result_lines.contains(&line);
        let Some(Asking { call, .. }) = self.asking(&document).into_iter().find(covers) else {
            return false;
        };
        self.open_question(ctx, &call);
        true
    }

    /// Returns the line of the first call that asks.
    pub(crate) fn asking_line(&self, document: &Document<'_>) -> Option<usize> {
        let first = self.asking(document).into_iter().next()?;
        Some(first.result_lines.end - 1)
    }

    /// Returns the calls that ask a question, in order.
    fn asking(&self, document: &Document<'_>) -> Vec<Asking> {
        let turns = document.unanswered_turns();
        let calls = turns.flat_map(|turn| turn.calls);
        let asking = calls.filter_map(|it| {
            let call = chat::cycle::key(document, it.tool_use);
            let questions = &self.running.get(&call)?.questions;
            (!questions.is_empty()).then_some(Asking {
                call,
                call_lines: it.tool_use.lines.clone(),
                result_lines: it.result?.lines.clone(),
            })
        });
        asking.collect()
    }

    /// Starts to ask the user the first question of a call, from the beginning.
    fn open_question(&mut self, ctx: &Ctx, call: &CallKey) {
        let (editor, buffer, inbox) = (ctx.editor.clone(), ctx.buffer.id(), ctx.inbox.clone());
        let Some(question) = self.questions(call).and_then(VecDeque::front_mut) else {
            return;
        };
        // The user opened the question again, so its earlier prompt is obsolete.
        if let Some(before) = question.dialogue.take() {
            before.abort();
        }
        let (form, number, call) = (question.form.clone(), question.number, call.clone());
        question.dialogue = Some(tokio::spawn(async move {
            let reply = form::fill(&editor.prompts(buffer), &form).await;
            let event = QuestionEvent::Filled(number, reply);
            inbox.deliver(WorkInput::Question(call, event));
        }));
    }
}
