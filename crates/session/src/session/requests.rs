//! The request of a chat: what is asked, and where it goes.
//!
//! How the answer gets into the buffer is in `answer`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::answer::{AnswerBuilder, Ids};
use agent::transport;
use chat::Problem;
use chat::cycle::{Level, Notice};
use chat::prompt::Prompt;
use provider::{StreamEvent, TextCalls};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::answer::Open;
use super::build_request::Expansion;
use super::dry_run::report_request;
use super::{Input, Session};
use crate::digest::sha256;
use crate::editor::Editor;
use crate::endpoint::{self, Destination};
use crate::frontend::SessionEvent;
use crate::models::{Models, Note};
use crate::settings::Settings;
use crate::usage::Tariff;
use crate::{route, status};

/// A pause of an answer in which a cancel can have been pressed.
const PAUSE: Duration = Duration::from_millis(10);

type Inbox = mpsc::UnboundedSender<Input>;
type Batches = mpsc::UnboundedReceiver<Vec<StreamEvent>>;

impl Session {
    pub(super) fn send(&mut self) {
        let document = self.buffer.mirror.document();
        let expansion = self.expansion();
        self.follow_answer(&document);
        self.request.references.unresolved.clear();
        self.note_request();
        let number = self.buffer.next_number();
        let cancel = CancellationToken::new();
        self.request.open = Some(Open::new(number, cancel.clone(), AnswerBuilder::default()));
        let buffer = self.buffer.id;
        self.editor.emit(SessionEvent::RequestStarted { buffer });
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let sending = Sending {
            number,
            settings: self.policy.rules().settings.clone(),
            models: self.shared.models.clone(),
            editor: self.editor.clone(),
            is_tutor: status::is_tutor_chat(self.disk.path.as_deref()),
            cache_key: self.cache_key(),
            inbox,
            cancel,
        };
        tokio::spawn(sending.run(expansion));
    }

    /// What a provider knows this conversation by. The path itself is none of its
    /// business; half of the digest tells two chats apart as well.
    fn cache_key(&self) -> Option<String> {
        let path = self.disk.path.as_deref()?;
        let mut digest = sha256(path.as_os_str().as_encoded_bytes());
        digest.truncate(32);
        Some(digest)
    }

    pub(super) fn label(&mut self, number: u64, label: String, tariff: Option<Tariff>) {
        if let Some(open) = self
            .request
            .open
            .as_mut()
            .filter(|open| open.number == number)
        {
            open.set_label(label);
            open.meter.tariff = tariff;
            open.note = None;
            self.view.redraw();
        }
    }

    pub(super) fn told_apart(&mut self, number: u64, ids: Ids) {
        if let Some(open) = self
            .request
            .open
            .as_mut()
            .filter(|open| open.number == number)
        {
            open.set_ids(ids);
        }
    }

    /// Something that a request does not do as it was asked to. It is said once,
    /// not for each request of the autopilot.
    pub(super) fn remark(&mut self, text: String) {
        if self.request.is_new_remark(&text) {
            self.editor.notify(&Notice {
                level: Level::Warning,
                text,
            });
        }
    }

    /// What the request waits for, shown in place of its label.
    pub(super) fn note(&mut self, number: u64, note: String) {
        if let Some(open) = self
            .request
            .open
            .as_mut()
            .filter(|open| open.number == number)
        {
            self.editor.emit(SessionEvent::RequestNote(note.clone()));
            open.note = Some(note);
            self.view.redraw();
        }
    }
}

/// A request while its provider is looked for, its text is put together, and its answer
/// arrives. A task of its own; all it finds goes to the session's inbox.
struct Sending {
    number: u64,
    settings: Settings,
    models: Arc<dyn Models>,
    editor: Editor,
    is_tutor: bool,
    cache_key: Option<String>,
    inbox: Inbox,
    cancel: CancellationToken,
}

impl Sending {
    async fn run(mut self, expansion: Expansion) {
        let cancel = self.cancel.clone();
        let destination = tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            found = self.destination() => found,
        };
        let label = destination.as_ref().map(route::label).unwrap_or_default();
        let tariff = destination.as_ref().ok().and_then(tariff);
        self.tell(Input::Label(self.number, label, tariff));
        let prompt = expansion.ready().await.map(|ready| {
            self.tell(Input::Ids(self.number, ready.ids));
            ready.prompt
        });
        for text in self.remarks(&destination, &prompt) {
            self.tell(Input::Remark(text));
        }
        let calls = text_calls(&destination, &prompt);
        let (events, batches) = mpsc::unbounded_channel();
        if self.editor.is_dry_run() {
            let Err(problem) = report_request(&self.editor, destination, prompt) else {
                return;
            };
            drop(events.send(vec![StreamEvent::Error(problem)]));
        } else {
            let note = self.note();
            let models = self.models.clone();
            tokio::spawn(exchange(
                models,
                destination,
                prompt,
                events,
                Box::new(note),
                cancel,
            ));
        }
        self.relay(batches, calls).await;
    }

    fn tell(&self, input: Input) {
        drop(self.inbox.send(input));
    }

    /// Tells the user what is waited for.
    fn note(&self) -> impl Fn(String) + Send + Sync + use<> {
        let (inbox, number) = (self.inbox.clone(), self.number);
        move |text| drop(inbox.send(Input::Note(number, text)))
    }

    async fn destination(&mut self) -> Result<Destination, Problem> {
        if self.is_tutor {
            return Ok(Destination::Tutor);
        }
        let mut found = route::find(self.settings.clone(), &self.note()).await;
        if let Ok(Destination::Server(_, parameters)) = &mut found {
            parameters.cache_key = self.cache_key.take();
        }
        found
    }

    /// What the user is to know about a request before its answer: options that the provider
    /// cannot follow, parts that it does not take, and calls that will come as text.
    fn remarks(
        &self,
        destination: &Result<Destination, Problem>,
        prompt: &Result<Prompt, Problem>,
    ) -> Vec<String> {
        let Ok(to) = destination else {
            return Vec::new();
        };
        let prompt = prompt.as_ref().ok();
        let unmet = unmet(to, &self.settings);
        let lost = prompt.and_then(|it| not_taken(to, it));
        // Neovim shows such calls in the chat.
        let in_words = prompt.filter(|_| self.editor.is_headless());
        let in_words = in_words.and_then(|it| calls_in_words(to, it));
        unmet.into_iter().chain(lost).chain(in_words).collect()
    }

    /// Passes on the answer as it arrives.
    async fn relay(&self, mut batches: Batches, mut calls: Option<TextCalls>) {
        let mut heard = Instant::now();
        while let Some(mut batch) = batches.recv().await {
            // A process that was stopped finds words and keys at once when it goes on. A
            // cancel that was pressed meanwhile is taken first.
            if heard.elapsed() >= PAUSE {
                self.editor.frontend().catch_up().await;
            }
            heard = Instant::now();
            if let Some(calls) = &mut calls {
                batch = calls.read(batch);
            }
            self.tell(Input::Stream(self.number, batch));
        }
    }
}

/// What of the settings the request cannot follow.
fn unmet(destination: &Destination, settings: &Settings) -> Option<String> {
    match destination {
        Destination::Server(endpoint, parameters) => {
            endpoint::unmet(&endpoint.provider, settings, parameters)
        }
        Destination::Tutor => None,
    }
}

/// Which files the model sees no more of than their names.
fn not_taken(destination: &Destination, prompt: &Prompt) -> Option<String> {
    let Destination::Server(endpoint, parameters) = destination else {
        return None;
    };
    let names = provider::not_taken(prompt, endpoint.protocol, &parameters.about);
    let who = match parameters.model.as_str() {
        "" => endpoint.provider.clone(),
        model => format!("{} ({model})", endpoint.provider),
    };
    (!names.is_empty()).then(|| {
        format!(
            "{who} takes no such files, so the model sees only the names of: {}.",
            names.join(", ")
        )
    })
}

/// Says that a model can't call tools by itself, where there are tools to call.
fn calls_in_words(destination: &Destination, prompt: &Prompt) -> Option<String> {
    let Destination::Server(endpoint, parameters) = destination else {
        return None;
    };
    let model = match parameters.model.as_str() {
        "" => &endpoint.provider,
        model => model,
    };
    (parameters.text_tools && !prompt.tools.is_empty()).then(|| {
        format!(
            "{model} can't call tools by itself. They are described in the prompt, and its calls are read from its text."
        )
    })
}

/// Sends the prompt and passes on the answer, or why there is none.
async fn exchange(
    models: Arc<dyn Models>,
    destination: Result<Destination, Problem>,
    prompt: Result<Prompt, Problem>,
    events: transport::Events,
    note: Note,
    cancel: CancellationToken,
) {
    match (destination, prompt) {
        (Ok(destination), Ok(prompt)) => {
            models
                .answer(destination, prompt, events, note, cancel)
                .await;
        }
        (Err(problem), _) | (_, Err(problem)) => {
            drop(events.send(vec![StreamEvent::Error(problem)]))
        }
    }
}

/// Who reads the calls out of the answer's text, if the model can make none.
fn text_calls(
    destination: &Result<Destination, Problem>,
    prompt: &Result<Prompt, Problem>,
) -> Option<TextCalls> {
    match (destination, prompt) {
        (Ok(Destination::Server(_, parameters)), Ok(prompt)) if parameters.text_tools => {
            Some(TextCalls::new(prompt.tools.clone()))
        }
        _ => None,
    }
}

/// By what a request is charged; the tutor costs nothing.
fn tariff(destination: &Destination) -> Option<Tariff> {
    match destination {
        Destination::Tutor => None,
        Destination::Server(endpoint, parameters) => Some(Tariff::of(endpoint, parameters)),
    }
}
