//! The request of a chat: what is asked, and where it goes.
//!
//! How the answer gets into the buffer is in `answer`.

use std::time::{Duration, Instant};

use agent::answer::{Answer, Ids};
use agent::transport;
use chat::Problem;
use chat::cycle::{Level, Notice};
use chat::prompt::Prompt;
use provider::{StreamEvent, TextCalls};
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::answer::Open;
use super::rehearsal::rehearse_request;
use super::{Input, Session};
use crate::credentials::Keyed;
use crate::digest::sha256;
use crate::endpoint::{self, Destination};
use crate::settings::Settings;
use crate::usage::Tariff;
use crate::{route, rpc, status, tutor};

/// A pause of an answer in which a cancel can have been pressed.
const PAUSE: Duration = Duration::from_millis(10);
/// How long the words behind a pause wait for a signal that came before them.
const SIGNALS_FIRST: Duration = Duration::from_millis(20);

impl Session {
    pub(super) fn send(&mut self) {
        let document = self.text.document();
        let expansion = self.expansion();
        self.follow_answer(&document);
        self.references.unresolved.clear();
        self.note_request();
        let number = self.number();
        let cancel = CancellationToken::new();
        self.request = Some(Open::new(number, cancel.clone(), Answer::default()));
        self.later
            .event("FlemmaRequestStarted", json!({"bufnr": self.buffer}));
        let Some(inbox) = self.inbox.upgrade() else {
            return;
        };
        let settings = self.rules.settings.clone();
        let rehearsal = self.editor.is_rehearsal().then(|| self.editor.clone());
        let given = settings.clone();
        // In Neovim the calls are seen in the chat.
        let in_shell = self.editor.is_here();
        let is_tutor = status::is_tutor_chat(self.path.as_deref());
        let cache_key = self.cache_key();
        tokio::spawn(async move {
            let (events, mut batches) = mpsc::unbounded_channel();
            let notes = inbox.clone();
            let note = move |text| drop(notes.send(Input::Note(number, text)));
            let found = async {
                if is_tutor {
                    return Ok(Destination::Tutor);
                }
                route::find(settings, &note).await
            };
            let mut destination = tokio::select! {
                biased;
                () = cancel.cancelled() => return,
                found = found => found,
            };
            if let Ok(Destination::Server(_, parameters)) = &mut destination {
                parameters.cache_key = cache_key;
            }
            let label = destination.as_ref().map(route::label).unwrap_or_default();
            let unmet = destination.as_ref().ok().and_then(|it| unmet(it, &given));
            let tariff = destination.as_ref().ok().and_then(tariff);
            drop(inbox.send(Input::Label(number, label, tariff)));
            let prompt = expansion.ready().await.map(|ready| {
                drop(inbox.send(Input::Ids(number, ready.ids)));
                ready.prompt
            });
            let lost = destination.iter().zip(&prompt);
            let lost = lost.filter_map(|(to, prompt)| not_taken(to, prompt));
            let both = destination.iter().zip(&prompt).filter(|_| in_shell);
            let in_words = both.filter_map(|(to, prompt)| calls_in_words(to, prompt));
            for text in unmet.into_iter().chain(lost).chain(in_words) {
                drop(inbox.send(Input::Remark(text)));
            }
            let mut calls = text_calls(&destination, &prompt);
            if let Some(editor) = rehearsal {
                let Err(problem) = rehearse_request(&editor, destination, prompt) else {
                    return;
                };
                drop(events.send(vec![StreamEvent::Error(problem)]));
            } else {
                tokio::spawn(exchange(destination, prompt, events, note, cancel));
            }
            let mut heard = Instant::now();
            while let Some(mut batch) = batches.recv().await {
                // A process that was stopped finds words and keys at once when it goes on. A
                // cancel that was pressed meanwhile is taken first.
                match heard.elapsed() >= PAUSE {
                    true if in_shell => sleep(SIGNALS_FIRST).await,
                    true => rpc::read_first().await,
                    false => {}
                }
                heard = Instant::now();
                if let Some(calls) = &mut calls {
                    batch = calls.read(batch);
                }
                drop(inbox.send(Input::Stream(number, batch)));
            }
        });
    }

    /// What a provider knows this conversation by. The path itself is none of its
    /// business; half of the digest tells two chats apart as well.
    fn cache_key(&self) -> Option<String> {
        let path = self.path.as_deref()?;
        let mut digest = sha256(path.as_os_str().as_encoded_bytes());
        digest.truncate(32);
        Some(digest)
    }

    pub(super) fn label(&mut self, number: u64, label: String, tariff: Option<Tariff>) {
        if let Some(open) = self.request.as_mut().filter(|open| open.number == number) {
            open.set_label(label);
            open.meter.tariff = tariff;
            open.note = None;
            self.view.redraw();
        }
    }

    pub(super) fn told_apart(&mut self, number: u64, ids: Ids) {
        if let Some(open) = self.request.as_mut().filter(|open| open.number == number) {
            open.set_ids(ids);
        }
    }

    /// Something that a request does not do as it was asked to. It is said once,
    /// not for each request of the autopilot.
    pub(super) fn remark(&mut self, text: String) {
        if self.remarks.insert(text.clone()) {
            self.editor.notify(&Notice {
                level: Level::Warning,
                text,
            });
        }
    }

    /// What the request waits for, shown in place of its label.
    pub(super) fn note(&mut self, number: u64, note: String) {
        if let Some(open) = self.request.as_mut().filter(|open| open.number == number) {
            self.editor.tell_here("note", &note);
            open.note = Some(note);
            self.view.redraw();
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

/// Asks whoever it is, until the answer ends.
async fn exchange(
    destination: Result<Destination, Problem>,
    prompt: Result<Prompt, Problem>,
    events: transport::Events,
    note: impl Fn(String) + Send + Sync,
    cancel: CancellationToken,
) {
    match (destination, prompt) {
        (Ok(Destination::Tutor), Ok(prompt)) => tutor::send(prompt, events, cancel).await,
        (Ok(Destination::Server(endpoint, parameters)), Ok(prompt)) => {
            let asker = Keyed(note);
            transport::send(prompt, endpoint, *parameters, events, &asker, cancel).await;
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
