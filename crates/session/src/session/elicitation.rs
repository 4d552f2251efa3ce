//! Questions of calls that run: shown beside their blocks, and answered by the user who
//! presses Alt-Enter there. On the command line they are asked at once.
//!
//! A question is gone when its call no longer waits for it; nothing answers it instead.

use std::collections::VecDeque;

use async_trait::async_trait;
use chat::approval::CallKey;
use chat::cycle::{Level, Notice};
use chat::document::Document;
use chat::text::Lines;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tools::{Elicitation, Form, FormReply};

use super::{Input, Session};
use crate::form;

/// What happened to questions.
pub enum News {
    /// A call asks.
    Asked(Form, oneshot::Sender<FormReply>),
    /// A call waits no more for one of its answers.
    TakenBack,
    /// The user answered the question of this number, or left.
    Filled(u64, Option<FormReply>),
}

/// A question that stands.
pub(super) struct Question {
    number: u64,
    /// What is asked.
    pub(super) form: Form,
    reply: oneshot::Sender<FormReply>,
    /// Where it is being answered.
    dialogue: Option<JoinHandle<()>>,
}

/// A call that asks, and where it stands.
struct Asking {
    call: CallKey,
    call_lines: Lines,
    /// Those of its placeholder.
    lines: Lines,
}

/// The user of a chat, as one of its calls knows them.
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

    fn tell(&self, news: News) {
        if let Some(inbox) = self.inbox.upgrade() {
            drop(inbox.send(Input::Asked(self.call.clone(), news)));
        }
    }
}

#[async_trait]
impl Elicitation for User {
    async fn ask(&self, form: Form) -> FormReply {
        // Told last of all, also when nobody waits for the answer any more.
        let _over = Over(self);
        let (reply, answer) = oneshot::channel();
        self.tell(News::Asked(form, reply));
        answer.await.unwrap_or(FormReply::Cancelled)
    }
}

struct Over<'a>(&'a User);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.tell(News::TakenBack);
    }
}

impl Session {
    pub(super) fn asked(&mut self, call: CallKey, news: News) {
        match news {
            News::Asked(form, reply) => self.question(&call, form, reply),
            News::TakenBack => {
                if let Some(running) = self.calls.running.get_mut(&call) {
                    running.questions.retain(|it| !it.reply.is_closed());
                }
            }
            News::Filled(number, reply) => self.filled(&call, number, reply),
        }
        self.view.redraw();
    }

    fn question(&mut self, call: &CallKey, form: Form, reply: oneshot::Sender<FormReply>) {
        let number = self.buffer.next_number();
        let Some(running) = self.calls.running.get_mut(call) else {
            return;
        };
        let text = format!(
            "{} asks you something during the call \"{}\". Press Alt-Enter on its block to answer.",
            form.by, call.id
        );
        running.questions.push_back(Question {
            number,
            form,
            reply,
            dialogue: None,
        });
        if self.editor.is_headless() {
            if running.questions.len() == 1 {
                self.open_question(call);
            }
            return;
        }
        self.editor.notify(&Notice {
            level: Level::Warning,
            text,
        });
    }

    fn filled(&mut self, call: &CallKey, number: u64, reply: Option<FormReply>) {
        // On the command line whoever leaves is not asked again.
        let reply = match self.editor.is_headless() {
            true => reply.or(Some(FormReply::Cancelled)),
            false => reply,
        };
        let Some((running, reply)) = self.calls.running.get_mut(call).zip(reply) else {
            return;
        };
        let questions = &mut running.questions;
        if let Some(at) = questions.iter().position(|it| it.number == number)
            && let Some(question) = questions.remove(at)
        {
            tracing::info!(call = %call.id, number, "a question was answered");
            drop(question.reply.send(reply));
        }
        if self.editor.is_headless() {
            self.open_question(call);
        }
    }

    /// Alt-Enter on a call that asks. Whether there is one on this line.
    pub(super) fn answers_question(&mut self, line: usize) -> bool {
        let document = self.buffer.mirror.document();
        let covers = |it: &Asking| it.call_lines.contains(&line) || it.lines.contains(&line);
        let Some(Asking { call, .. }) = self.asking(&document).into_iter().find(covers) else {
            return false;
        };
        self.open_question(&call);
        true
    }

    /// Ctrl-] while a call asks: the cursor goes there. Whether one does.
    pub(super) fn goes_to_question(&self) -> bool {
        let document = self.buffer.mirror.document();
        let Some(first) = self.asking(&document).into_iter().next() else {
            return false;
        };
        self.move_cursor(first.lines.end - 1, false, true);
        self.inform("The call asks you something. Press Alt-Enter on its block to answer.");
        true
    }

    /// The calls that ask, in order.
    fn asking(&self, document: &Document<'_>) -> Vec<Asking> {
        let turns = document.unanswered_turns();
        let calls = turns.flat_map(|turn| turn.calls);
        let asking = calls.filter_map(|it| {
            let call = chat::cycle::key(document, it.tool_use);
            let questions = &self.calls.running.get(&call)?.questions;
            (!questions.is_empty()).then_some(Asking {
                call,
                call_lines: it.tool_use.lines.clone(),
                lines: it.result?.lines.clone(),
            })
        });
        asking.collect()
    }

    /// Begins to ask the user. What was begun before and not finished is forgotten.
    fn open_question(&mut self, call: &CallKey) {
        let (editor, buffer, inbox) = (self.editor.clone(), self.buffer.id, self.inbox.clone());
        let running = self.calls.running.get_mut(call);
        let Some(question) = running.and_then(|it| it.questions.front_mut()) else {
            return;
        };
        if let Some(before) = question.dialogue.take() {
            before.abort();
        }
        let (form, number, call) = (question.form.clone(), question.number, call.clone());
        question.dialogue = Some(tokio::spawn(async move {
            let reply = form::fill(&editor.prompts(buffer), &form).await;
            if let Some(inbox) = inbox.upgrade() {
                drop(inbox.send(Input::Asked(call, News::Filled(number, reply))));
            }
        }));
    }
}

/// What is shown of the first question of a call, in windows of that width.
pub(super) fn lines(questions: &VecDeque<Question>, width: usize) -> Option<Vec<String>> {
    let mut lines = form::lines(&questions.front()?.form, width);
    lines.push("Alt-Enter answers. Ctrl-C cancels the call.".to_owned());
    Some(lines)
}
