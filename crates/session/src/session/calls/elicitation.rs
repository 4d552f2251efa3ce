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
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tools::{Elicitation, Form, FormReply};

use crate::form;
use crate::session::{Input, Session, WorkInput};

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
    inbox: mpsc::WeakUnboundedSender<Input>,
    call: CallKey,
}

impl User {
    pub(super) fn new(inbox: &mpsc::WeakUnboundedSender<Input>, call: &CallKey) -> Self {
        Self {
            inbox: inbox.clone(),
            call: call.clone(),
        }
    }

    fn deliver(&self, event: QuestionEvent) {
        if let Some(inbox) = self.inbox.upgrade() {
            drop(inbox.send(Input::Work(WorkInput::Question(self.call.clone(), event))));
        }
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

impl Session {
    pub(crate) fn question_event(&mut self, call: &CallKey, event: QuestionEvent) {
        match event {
            QuestionEvent::Asked(form, reply) => self.add_question(call, form, reply),
            QuestionEvent::TakenBack => {
                if let Some(questions) = self.questions(call) {
                    // The call dropped its receiver, so nothing waits for these answers.
                    questions.retain(|it| !it.reply.is_closed());
                }
            }
            QuestionEvent::Filled(number, reply) => self.filled(call, number, reply),
        }
        self.view.redraw();
    }

    fn questions(&mut self, call: &CallKey) -> Option<&mut VecDeque<Question>> {
        let running = self.calls.running.get_mut(call)?;
        Some(&mut running.questions)
    }

    fn add_question(&mut self, call: &CallKey, form: Form, reply: oneshot::Sender<FormReply>) {
        let number = self.buffer.next_number();
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
        if !self.editor.is_headless() {
            self.notify_about_calls(Level::Warning, &text);
        } else if is_first {
            self.open_question(call);
        }
    }

    fn filled(&mut self, call: &CallKey, number: u64, reply: Option<FormReply>) {
        // In Neovim, a question that was left can be answered later.
        let is_headless = self.editor.is_headless();
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
            self.open_question(call);
        }
    }

    /// Opens the question of the call on this line. Returns true if there is one.
    pub(crate) fn answer_question(&mut self, line: usize) -> bool {
        let document = self.buffer.document();
        let covers = |it: &Asking| it.call_lines.contains(&line) || it.result_lines.contains(&line);
        let Some(Asking { call, .. }) = self.asking(&document).into_iter().find(covers) else {
            return false;
        };
        self.open_question(&call);
        true
    }

    /// Moves the cursor to the first call that asks. Returns true if there is one.
    pub(crate) fn go_to_question(&self) -> bool {
        let document = self.buffer.document();
        let Some(first) = self.asking(&document).into_iter().next() else {
            return false;
        };
        self.move_cursor(first.result_lines.end - 1, false, true);
        self.inform("The call asks you something. Press Alt-Enter on its block to answer.");
        true
    }

    /// Returns the calls that ask a question, in order.
    fn asking(&self, document: &Document<'_>) -> Vec<Asking> {
        let turns = document.unanswered_turns();
        let calls = turns.flat_map(|turn| turn.calls);
        let asking = calls.filter_map(|it| {
            let call = chat::cycle::key(document, it.tool_use);
            let questions = &self.calls.running.get(&call)?.questions;
            (!questions.is_empty()).then_some(Asking {
                call,
                call_lines: it.tool_use.lines.clone(),
                result_lines: it.result?.lines.clone(),
            })
        });
        asking.collect()
    }

    /// Starts to ask the user the first question of a call, from the beginning.
    fn open_question(&mut self, call: &CallKey) {
        let (editor, buffer, inbox) = (self.editor.clone(), self.buffer.id(), self.inbox.clone());
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
            if let Some(inbox) = inbox.upgrade() {
                let event = QuestionEvent::Filled(number, reply);
                drop(inbox.send(Input::Work(WorkInput::Question(call, event))));
            }
        }));
    }
}
