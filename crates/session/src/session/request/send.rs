//! Sends a request: determines where it goes, builds it, and receives the answer's stream.
//!
//! [`super::answer`] writes the answer into the buffer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use agent::transport::{self, WaitNote};
use chat::Problem;
use chat::prompt::Prompt;
use policy::settings::Settings;
use policy::sha256;
use provider::{Endpoint, Parameters, StreamEvent, TextCalls, Unmet};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tools::SeenFiles;

use super::Request;
use super::answer::Open;
use super::build_request::RequestSource;
use super::dry_run::report_request;
use super::sent::SharedLedger;
use super::summary::takes_signed;
use super::unknown_price::PriceCheck;
use crate::editor::Editor;
use crate::endpoint::{self, Destination};
use crate::frontend::SessionEvent;
use crate::models::{ModelBackend, WaitReporter};
use crate::route::{self, Route};
use crate::session::ctx::Ctx;
use crate::session::{Input, WorkInput};
use crate::usage::Tariff;
use crate::{audit, status};

/// A pause in an answer that is long enough for the user to have pressed cancel.
const PAUSE: Duration = Duration::from_millis(10);

type Inbox = mpsc::UnboundedSender<Input>;
type Batches = mpsc::UnboundedReceiver<Vec<StreamEvent>>;

impl Request {
    /// Sends the chat to its provider, as the request with this number. `seen` are files as the model
    /// knows them.
    pub(in crate::session) fn send(&mut self, ctx: &Ctx, number: u64, seen: SeenFiles) {
        let source = self.request_source(ctx, seen);
        // Problems of an earlier request do not concern this one.
        self.references.unresolved.clear();
        let cancel = CancellationToken::new();
        self.open = Some(Open::new(number, cancel.clone()));
        let buffer = ctx.buffer.id();
        ctx.editor.emit(SessionEvent::RequestStarted { buffer });
        // The session holds its own inbox weakly, so that it ends when all other senders are
        // gone.
        let Some(inbox) = ctx.inbox.upgrade() else {
            return;
        };
        let sending = Sending {
            number,
            // A copy: `:Flemma switch` during the request concerns the next one.
            settings: ctx.rules().settings.clone(),
            finder: DestinationFinder::of(ctx),
            editor: ctx.editor.clone(),
            cache_key: cache_key(ctx),
            price_check: self.price_check(ctx),
            inbox,
            cancel,
        };
        tokio::spawn(sending.run(source));
    }

    /// Returns the question about an unknown price, if autopilot has a limit that needs one.
    pub(super) fn price_check(&self, ctx: &Ctx) -> Option<PriceCheck> {
        let options = &ctx.rules().options;
        let max_cost = options.max_cost.filter(|_| options.autopilot)?;
        Some(PriceCheck {
            editor: ctx.editor.clone(),
            buffer: ctx.buffer.id(),
            max_cost,
            agreed: self.agreed.clone(),
        })
    }

    /// Takes over where the request with this number goes, and its prices.
    pub(crate) fn label(&mut self, number: u64, label: String, tariff: Option<Tariff>) {
        if let Some(open) = self.open_as(number) {
            open.set_label(label);
            open.meter.tariff = tariff;
            open.note = None;
        }
    }

    /// Warns the user that requests cannot do everything that was requested. Each warning
    /// is shown once, not for each request of autopilot.
    pub(crate) fn remark(&mut self, ctx: &Ctx, text: String) {
        let is_new = self.remarks.insert(text.clone());
        if is_new {
            ctx.warn(text);
        }
    }

    /// Shows what the request waits for, in place of its label.
    pub(crate) fn note(&mut self, ctx: &Ctx, number: u64, note: WaitNote) {
        if let Some(open) = self.open_as(number) {
            let text = note.text.clone();
            ctx.editor.emit(SessionEvent::RequestNote(text));
            open.note = Some(note);
        }
    }
}

/// Returns the key under which a provider caches this conversation: half of a digest of
/// the path, so that the provider does not learn the path itself.
fn cache_key(ctx: &Ctx) -> Option<String> {
    let path = ctx.place.path()?;
    let mut digest = sha256(path.as_os_str().as_encoded_bytes());
    // 128 bits are enough for no two chats to be the same.
    digest.truncate(32);
    Some(digest)
}

/// Finds where a chat's requests go.
pub(super) struct DestinationFinder {
    pub(super) models: Arc<dyn ModelBackend>,
    route: Route,
    is_tutor: bool,
}

impl DestinationFinder {
    pub(super) fn of(ctx: &Ctx) -> Self {
        Self {
            models: ctx.shared.models.clone(),
            route: ctx.shared.route.clone(),
            is_tutor: status::is_tutor_chat(ctx.place.path()),
        }
    }

    pub(super) async fn find(
        &self,
        settings: &Settings,
        note: &(dyn Fn(String) + Sync),
    ) -> Result<Destination, Problem> {
        // The tutor's chat asks no provider, whatever the options say.
        if self.is_tutor {
            return Ok(Destination::Tutor);
        }
        let mut found = self.route.find(settings.clone(), note).await;
        if let Ok(Destination::Server(endpoint, parameters)) = &mut found {
            let list = self.models.listed(endpoint, &parameters.model);
            endpoint::refine(endpoint, parameters, settings, &list);
        }
        found
    }
}

/// The task of a request: finds its provider, builds its body, and receives its answer.
/// Everything it finds goes to the session's inbox.
struct Sending {
    number: u64,
    settings: Settings,
    finder: DestinationFinder,
    editor: Editor,
    cache_key: Option<String>,
    price_check: Option<PriceCheck>,
    inbox: Inbox,
    cancel: CancellationToken,
}

impl Sending {
    async fn run(mut self, mut source: RequestSource) {
        let cancel = self.cancel.clone();
        let destination = tokio::select! {
            // Biased, so that a request that was cancelled before asks no key store.
            biased;
            () = cancel.cancelled() => return,
            found = self.destination() => found,
        };
        let mut destination = tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            agreed = self.agree_to_price(destination) => agreed,
        };
        let label = destination.as_ref().map(route::label).unwrap_or_default();
        let tariff = destination.as_ref().ok().and_then(tariff);
        // Before the prompt is built, which may take a while, so that the spinner names the
        // model.
        self.deliver(Input::Work(WorkInput::Label(self.number, label, tariff)));
        let ledger = source.ledger.clone();
        source.takes_signed = match &destination {
            Ok(Destination::Server(endpoint, parameters)) => takes_signed(endpoint, parameters),
            Ok(Destination::Tutor) | Err(_) => false,
        };
        // An MCP server that is asked for a resource may be slow, too.
        let built = tokio::select! {
            biased;
            () = cancel.cancelled() => return,
            built = source.build() => built,
        };
        let prompt = built.map(|built| {
            self.deliver(Input::Work(WorkInput::Ids(self.number, built.ids)));
            self.write_sent(ledger);
            if let (Some(text), Ok(to)) = (built.new_tools, &destination)
                && !takes_later_tools(to)
            {
                self.deliver(Input::Work(WorkInput::Remark(text)));
            }
            if let Ok(Destination::Server(_, parameters)) = &mut destination {
                parameters.signed_summary = built.signed;
            }
            built.prompt
        });
        self.deliver(Input::Work(WorkInput::Unmet(unmet(
            &destination,
            &self.settings,
        ))));
        for text in self.remarks(&destination, &prompt) {
            self.deliver(Input::Work(WorkInput::Remark(text)));
        }
        let calls = text_calls(&destination, &prompt);
        if let Some(batches) = self.exchange(destination, prompt) {
            self.relay(batches, calls).await;
        }
    }

    /// Writes to disk what the request contains, while it is sent.
    fn write_sent(&self, ledger: SharedLedger) {
        self.deliver(Input::Work(WorkInput::Recorded));
        audit::in_background(move || ledger.write());
    }

    /// Starts to receive the answer. Returns `None` for a dry run, which sends nothing.
    fn exchange(
        &self,
        destination: Result<Destination, Problem>,
        prompt: Result<Prompt, Problem>,
    ) -> Option<Batches> {
        let (events, batches) = mpsc::unbounded_channel();
        if self.editor.is_dry_run() {
            let problem = report_request(&self.editor, destination, prompt).err()?;
            drop(events.send(vec![StreamEvent::Error(problem)]));
        } else {
            let (models, note) = (self.finder.models.clone(), Box::new(self.note()));
            let cancel = self.cancel.clone();
            let exchange = exchange(models, destination, prompt, events, note, cancel);
            tokio::spawn(exchange);
        }
        Some(batches)
    }

    fn deliver(&self, input: Input) {
        // The session may have been closed meanwhile, which concerns this task no longer.
        drop(self.inbox.send(input));
    }

    /// Returns a function that shows what the request waits for.
    fn note(&self) -> impl Fn(WaitNote) + Send + Sync + use<> {
        let (inbox, number) = (self.inbox.clone(), self.number);
        move |note| drop(inbox.send(Input::Work(WorkInput::Note(number, note))))
    }

    async fn destination(&mut self) -> Result<Destination, Problem> {
        let note = self.note();
        let note = |text: String| note(text.into());
        let mut found = self.finder.find(&self.settings, &note).await;
        if let Ok(Destination::Server(_, parameters)) = &mut found {
            // Only a provider gets the key; the tutor would have no use for it.
            parameters.cache_key = self.cache_key.take();
        }
        found
    }

    /// Returns the destination if the user accepts an unknown price, or if there is no such
    /// question.
    async fn agree_to_price(
        &self,
        destination: Result<Destination, Problem>,
    ) -> Result<Destination, Problem> {
        let destination = destination?;
        // A dry run costs nothing.
        let check = self.price_check.as_ref();
        if let Some(check) = check.filter(|_| !self.editor.is_dry_run()) {
            check.ask(&destination).await?;
        }
        Ok(destination)
    }

    /// Returns what the user should know before the answer: parts that the provider does not
    /// take, and calls that will come as text.
    fn remarks(
        &self,
        destination: &Result<Destination, Problem>,
        prompt: &Result<Prompt, Problem>,
    ) -> Vec<String> {
        let Ok(to) = destination else {
            return Vec::new();
        };
        let prompt = prompt.as_ref().ok();
        let end = end_of_model(to);
        let lost = prompt.and_then(|it| not_taken(to, it));
        let refused = prompt.and_then(|it| not_offered(to, it));
        // Neovim shows such calls in the chat anyway.
        let text_calls = prompt.filter(|_| self.editor.is_headless());
        let text_calls = text_calls.and_then(|it| calls_in_words(to, it));
        let all = [end, lost, refused, text_calls].into_iter();
        all.flatten().collect()
    }

    /// Passes the answer on as it arrives.
    async fn relay(&self, mut batches: Batches, mut calls: Option<TextCalls>) {
        let mut heard = Instant::now();
        while let Some(mut batch) = batches.recv().await {
            // A process that was stopped finds text and keys at the same time when it
            // continues. A cancel that was pressed before is taken first.
            if heard.elapsed() >= PAUSE {
                self.editor.frontend().catch_up().await;
            }
            heard = Instant::now();
            if let Some(calls) = &mut calls {
                // Models without tools write calls as text, which is turned into calls here.
                batch = calls.read(batch);
            }
            self.deliver(Input::Work(WorkInput::Stream(self.number, batch)));
        }
    }
}

/// Returns true if new tools change nothing before them in a request.
fn takes_later_tools(destination: &Destination) -> bool {
    match destination {
        Destination::Server(endpoint, parameters) => {
            provider::takes_later_tools(endpoint, parameters)
        }
        Destination::Tutor => true,
    }
}

/// Returns a warning about a model that the provider no longer offers, or not for long.
fn end_of_model(destination: &Destination) -> Option<String> {
    let Destination::Server(_, parameters) = destination else {
        return None;
    };
    let end = parameters.about.end(&parameters.model, &audit::today())?;
    Some(format!("{end} Choose another model."))
}

/// Returns the options that a request to this destination cannot carry.
fn unmet(destination: &Result<Destination, Problem>, settings: &Settings) -> Vec<Unmet> {
    match destination {
        Ok(Destination::Server(endpoint, parameters)) => {
            endpoint::unmet(endpoint, settings, parameters)
        }
        Ok(Destination::Tutor) | Err(_) => Vec::new(),
    }
}

/// Returns a warning about files of which the model sees only the names.
fn not_taken(destination: &Destination, prompt: &Prompt) -> Option<String> {
    let Destination::Server(endpoint, parameters) = destination else {
        return None;
    };
    let names = provider::not_taken(prompt, endpoint.protocol, &parameters.about);
    let who = recipient(endpoint, parameters);
    (!names.is_empty()).then(|| {
        format!(
            "{who} takes no such files, so the model sees only the names of: {}.",
            names.join(", ")
        )
    })
}

/// Names the provider and the model of a request.
fn recipient(endpoint: &Endpoint, parameters: &Parameters) -> String {
    match parameters.model.as_str() {
        "" => endpoint.provider.clone(),
        model => format!("{} ({model})", endpoint.provider),
    }
}

/// Returns a warning about tools that the provider would refuse, with all requests.
fn not_offered(destination: &Destination, prompt: &Prompt) -> Option<String> {
    let Destination::Server(endpoint, parameters) = destination else {
        return None;
    };
    // Tools that are described as text are not checked by a provider.
    if parameters.text_tools {
        return None;
    }
    let refused = provider::left_out(prompt, endpoint.protocol);
    let reasons: Vec<String> = refused
        .iter()
        .map(|tool| format!("{}, because {}", tool.name, tool.reason))
        .collect();
    (!reasons.is_empty()).then(|| {
        format!(
            "{} is not offered tools that it would refuse: {}.",
            recipient(endpoint, parameters),
            reasons.join("; ")
        )
    })
}

/// Returns a note that the model can't call tools by itself, if there are any.
fn calls_in_words(destination: &Destination, prompt: &Prompt) -> Option<String> {
    let Destination::Server(endpoint, parameters) = destination else {
        return None;
    };
    let model = match parameters.model.as_str() {
        "" => &endpoint.provider,
        model => model,
    };
    (parameters.text_tools && !prompt.tools.is_empty()).then(|| {
        // Without offered tools, there is nothing to describe.
        format!(
            "{model} can't call tools by itself. They are described in the prompt, and its calls are read from its text."
        )
    })
}

/// Sends the prompt, and the answer or the reason why there is none to `events`.
async fn exchange(
    models: Arc<dyn ModelBackend>,
    destination: Result<Destination, Problem>,
    prompt: Result<Prompt, Problem>,
    events: transport::Events,
    note: WaitReporter,
    cancel: CancellationToken,
) {
    // The place where requests go is checked first, because without a provider no reference
    // matters.
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

/// Returns the parser of calls in the answer's text, if the model can't make calls.
fn text_calls(
    destination: &Result<Destination, Problem>,
    prompt: &Result<Prompt, Problem>,
) -> Option<TextCalls> {
    match (destination, prompt) {
        (Ok(Destination::Server(_, parameters)), Ok(prompt)) if parameters.text_tools => {
            Some(TextCalls::new(prompt.all_tools().cloned().collect()))
        }
        _ => None,
    }
}

/// Returns the prices of a request; the tutor costs nothing.
pub(super) fn tariff(destination: &Destination) -> Option<Tariff> {
    match destination {
        Destination::Tutor => None,
        Destination::Server(endpoint, parameters) => Some(Tariff::of(endpoint, parameters)),
    }
}
