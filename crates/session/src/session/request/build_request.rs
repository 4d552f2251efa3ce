//! Builds a request from the document: resolves the files and expressions that its text
//! refers to. If one cannot be resolved, nothing is sent.
//!
//! Runs on blocking threads: a long chat takes some milliseconds, and keys must not wait.

use std::collections::HashSet;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use agent::answer::Ids;
use chat::Problem;
use chat::context;
use chat::document::{Document, Message, Parsed, Role};
use chat::prompt::{Own, Prompt, Selection, build_with};
use chat::references::Piece;
use chat::result_files;
use chat::summary::SignedSummary;
use chat::text::Text;
use policy::frontmatter::{self, Evaluated, Expansion, Known, Source};
use policy::references::{Agreed, ContextContent, Contexts, Folders, Sources, Trouble, resolve};
use policy::rules::Rules;
use policy::trust::Trust;
use tools::{RealPath, SeenFiles, state_dir};

use super::Request;
use super::contexts::{Collected, ContextPlaces};
use super::references::Unresolved;
use super::sent::{OfferedTools, Referring, SharedLedger, remove_refused};
use super::shorten::{Shortening, shorten_results};
use super::summary::typed_summaries;
use crate::context::ContextFacts;
use crate::endpoint;
use crate::sent::{self, Sending, SentText};
use crate::session::WorkInput;
use crate::session::ctx::{Ctx, Inbox};

/// The remark about thinking that is bound to what a summary replaces.
const UNSENT_THINKING: &str = "The model's earlier thinking is not sent, because it is bound to the messages that the summary replaces.";

/// Everything that a request is built from.
pub(super) struct RequestSource {
    text: Arc<Text>,
    parsed: Arc<Parsed>,
    pub(super) rules: Arc<Rules>,
    folders: Folders,
    /// The chat's path, under which the trust store and the ledger know it.
    pub(super) path: Option<PathBuf>,
    /// The record of what was sent before.
    pub(super) ledger: SharedLedger,
    /// Files as the model knows them.
    pub(super) seen: SeenFiles,
    /// Files that the user allowed to be sent in this session.
    agreed: Agreed,
    /// Summaries whose comment the user typed in this session.
    pub(super) typed: HashSet<usize>,
    /// True unless it is known that the server takes no signed summaries.
    pub(super) takes_signed: bool,
    pub(super) places: ContextPlaces,
    pub(super) inbox: Inbox,
}

/// A request with its references resolved, before it is recorded.
struct Resolved {
    /// The summary that the request begins with, or 0.
    first: usize,
    own: Own,
    tools: OfferedTools,
    /// The summary at `first` as its provider signed it.
    signed: Option<SignedSummary>,
    sending: Sending,
    contexts: Contexts,
    /// Warnings about what is left out.
    warnings: Vec<String>,
}

/// A request that is only looked at.
pub(super) struct Weighed {
    pub(super) facts: ContextFacts,
    source: Arc<RequestSource>,
    /// The summary that the request begins with, or 0.
    pub(super) first: usize,
    pub(super) own: Own,
    tools: OfferedTools,
    /// The summary at `first` as its provider signed it.
    pub(super) signed: Option<SignedSummary>,
}

impl Weighed {
    /// The chat that it was built from.
    pub(super) fn document(&self) -> Document<'_> {
        self.source.document()
    }

    /// Returns true if any answer of the request is known in the form in which this provider sent it.
    pub(super) fn has_exact(&self, document: &Document<'_>, provider: &str) -> bool {
        let ledger = self.source.ledger.lock();
        let mut messages = document.messages[self.first..].iter();
        messages.any(|it| it.role == Role::Assistant && ledger.has_exact(document, it, provider))
    }

    /// Returns the request. Blocking.
    pub(super) fn prompt(&self) -> Prompt {
        self.prompt_until(self.document().messages.len())
    }

    /// Returns the request without the messages from `end` on. Blocking.
    pub(super) fn prompt_until(&self, end: usize) -> Prompt {
        let messages = self.first..end;
        let is_signed = self.signed.is_some();
        let document = self.document();
        let source = &self.source;
        let (prompt, _) = source.prompt(&document, &self.tools, &self.own, messages, is_signed);
        prompt
    }
}

/// A request that is ready to be encoded.
pub(super) struct Built {
    pub(super) prompt: Prompt,
    /// The summary that it begins with, as its provider signed it.
    pub(super) signed: Option<SignedSummary>,
    /// Ids of the calls in the chat, which the answer's calls must not repeat.
    pub(super) ids: Ids,
    /// A sentence about the cost of new tools, unless the provider takes them at their place.
    pub(super) new_tools: Option<String>,
}

impl Request {
    pub(super) fn request_source(&self, ctx: &Ctx, seen: SeenFiles) -> RequestSource {
        // Shared, not copied: an edit meanwhile makes a copy of its own.
        let (text, parsed) = ctx.buffer.share();
        RequestSource {
            text,
            parsed,
            rules: ctx.rules().clone(),
            folders: Folders {
                chat: ctx.place.folder(),
                project: ctx.place.cwd().to_owned(),
                home: tools::variable_os("HOME").map(PathBuf::from),
                secrets: ctx.sandbox().secrets(),
            },
            path: ctx.place.path().map(PathBuf::from),
            ledger: self.sent.ledger(),
            seen,
            agreed: self.references.agreed.clone(),
            typed: typed_summaries(ctx),
            takes_signed: true,
            places: ContextPlaces {
                buffer: ctx.buffer.id(),
                editor: ctx.editor.clone(),
                folder: ctx.place.cwd().to_owned(),
                chat: ctx.place.folder(),
                servers: ctx.shared.servers.clone(),
            },
            inbox: ctx.inbox.clone(),
        }
    }
}

impl RequestSource {
    /// Returns the request with all references resolved.
    ///
    /// # Errors
    ///
    /// References cannot be sent, each with its line; or the thread panicked.
    pub(super) async fn build(self) -> Result<Built, Problem> {
        self.after_lookups(Self::built).await
    }

    /// Returns the parts of the request, and the request, without recording anything.
    ///
    /// # Errors
    ///
    /// The same.
    pub(super) async fn weigh(self) -> Result<Weighed, Problem> {
        self.after_lookups(Self::weighed).await
    }

    /// Calls `finish` on another thread, once the editor, Git, and servers have been asked.
    async fn after_lookups<T: Send + 'static>(
        self,
        finish: fn(Arc<Self>, &Referring, Collected) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        // Shared by two blocking stages, with the wait for Neovim, Git, and servers between them. A
        // blocking thread that waited for Neovim would be missing elsewhere.
        let source = Arc::new(self);
        let referring = source.clone().blocking(|it| it.referring()).await?;
        let collected = source.places.collect(referring.unknown()).await;
        source
            .blocking(move |it| finish(it, &referring, collected))
            .await?
    }

    async fn blocking<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(Arc<Self>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let done = tokio::task::spawn_blocking(move || work(self)).await;
        done.map_err(|error| problem(format!("The request cannot be built: {error}.")))
    }

    pub(super) fn document(&self) -> Document<'_> {
        Document::of(&self.text, self.parsed.clone())
    }

    fn resolved(
        &self,
        document: &Document<'_>,
        referring: &Referring,
        collected: Collected,
    ) -> Result<Resolved, Vec<Trouble>> {
        // Relative paths of tools start there, too.
        let folder = &self.folders.chat;
        let (contexts, warnings) = collected.texts(folder, &self.folders.secrets);
        let mut ledger = self.ledger.lock();
        let first = ledger.summary(document, &self.typed);
        let mut sending = Sending {
            text: SentText::of(document, first),
            summary: ledger.new_summary(document, first),
            ..Sending::default()
        };
        drop(ledger);
        let mut own = self.own(referring, &contexts, &mut sending)?;
        let tools = self.offered(document, first, &mut own, &mut sending);
        // With the tools and the system prompt that the request would have.
        let basis = || {
            let summary = Selection {
                is_signed: true,
                ..Selection::as_written(first..first + 1)
            };
            let prompt = build_with(document, &tools.first, &own, &summary);
            sent::basis(&prompt, &endpoint::web_tools(&self.rules.settings))
        };
        let ledger = self.takes_signed.then(|| self.ledger.lock());
        let signed = ledger.and_then(|it| it.signed(document, first, basis));
        Ok(Resolved {
            first,
            own,
            tools,
            signed,
            sending,
            contexts,
            warnings,
        })
    }

    fn built(
        self: Arc<Self>,
        referring: &Referring,
        collected: Collected,
    ) -> Result<Built, Problem> {
        let document = self.document();
        let Resolved {
            first,
            own,
            tools,
            signed,
            sending,
            contexts,
            warnings,
        } = self
            .resolved(&document, referring, collected)
            .map_err(|troubles| self.unresolved(troubles))?;
        // Before the request is recorded, with which a summary that was typed is no longer new.
        let messages = first..document.messages.len();
        let is_signed = signed.is_some();
        let (prompt, unsent) = self.prompt(&document, &tools, &own, messages, is_signed);
        // Only now: a request that is not sent needs no remarks.
        let remarks = referring.damaged().into_iter().chain(warnings);
        let remarks = remarks.chain(unsent.map(str::to_owned));
        for remark in remarks.chain(self.changed_files(referring)) {
            self.inbox.deliver(WorkInput::Remark(remark));
        }
        // At once, because the next request may be built before this is on disk.
        if !self.places.editor.is_dry_run() {
            self.look_for_changed_resources(referring, &contexts);
            self.remember_files(referring, &contexts, &sending);
            self.ledger.record(sending);
        }
        Ok(Built {
            prompt,
            signed,
            ids: Ids::of(&document),
            new_tools: tools.news,
        })
    }

    fn weighed(
        self: Arc<Self>,
        referring: &Referring,
        collected: Collected,
    ) -> Result<Weighed, Problem> {
        let document = self.document();
        let Resolved {
            first,
            own,
            tools,
            signed,
            ..
        } = self
            .resolved(&document, referring, collected)
            .map_err(|troubles| Problem::new(described(&troubles), "Correct it first."))?;
        let has_answer = document
            .messages
            .iter()
            .any(|it| it.role == Role::Assistant);
        let ledger = self.ledger.lock();
        // A request without an answer may never have reached the provider.
        let sent = ledger.text().filter(|_| has_answer);
        let facts = ContextFacts {
            parts: context::parts(&document, &tools.first, &own, first, |id, it| {
                ledger.result_tokens(id, it)
            }),
            shortenable: Shortening::find(&document, first, &ledger).savings(),
            answered: { ledger.answered_with(&document, first) }.filter(|_| has_answer),
            sent: sent.map(|it| match it.edited(&document, first) {
                Some(edited) => edited.line,
                None => it.end(&document, first),
            }),
            ..ContextFacts::default()
        };
        drop(ledger);
        Ok(Weighed {
            facts,
            source: self.clone(),
            first,
            own,
            tools,
            signed,
        })
    }

    /// Returns the request with some messages, and a remark about thinking that it leaves out because
    /// of the summary.
    fn prompt(
        &self,
        document: &Document<'_>,
        tools: &OfferedTools,
        own: &Own,
        messages: Range<usize>,
        is_signed: bool,
    ) -> (Prompt, Option<&'static str>) {
        let first = messages.start;
        let ledger = self.ledger.lock();
        let variable = |name: &str| tools::variable(name);
        let target = endpoint::target(&self.rules.settings, &variable);
        // Search results are only sent along with the tools that found them.
        let has_web = endpoint::web_tools(&self.rules.settings).is_on();
        let exact = |message: &Message| {
            let exact = has_web.then(|| ledger.exact(document, message, &target.provider));
            exact.flatten()
        };
        let selection = Selection {
            messages,
            is_signed,
            exact: &exact,
        };
        let mut prompt = build_with(document, &tools.first, own, &selection);
        let bound = ledger.bound_thinking(document, first, is_signed);
        let bound = bound.filter(|_| target.binds_thinking);
        let is_unsent = remove_refused(document, first, &ledger, bound, &mut prompt);
        shorten_results(&ledger, &mut prompt);
        result_files::attach(&mut prompt, |id, line| ledger.result_file(id, line));
        (prompt, is_unsent.then_some(UNSENT_THINKING))
    }

    /// Resolves the references of the user's messages.
    fn own(
        &self,
        referring: &Referring,
        contexts: &Contexts,
        sending: &mut Sending,
    ) -> Result<Own, Vec<Trouble>> {
        let mut own = Own::new();
        let mut troubles = Vec::new();
        // One engine serves all expressions of a chat that has no frontmatter.
        let mut fresh = None;
        // The trust store is read only if there is something to resolve.
        let stored = self.path.as_deref().filter(|_| !referring.is_empty());
        let stored = stored.map(|path| Trust::open(&state_dir::path()).sendable(path));
        let agreed = self.agreed.clone().or(stored.unwrap_or_default());
        let sources = Sources {
            folders: &self.folders,
            agreed: &agreed,
            contexts,
        };
        for (index, message) in referring.messages() {
            let mut evaluate = |code: &str| self.value(code, &mut fresh);
            match resolve(&message.pieces, &message.kept, &sources, &mut evaluate) {
                Ok(resolved) => {
                    own.insert(index, resolved.parts);
                    let found = resolved.found.into_iter();
                    let found = found.filter_map(|(at, it)| Some((*message.places.get(&at)?, it)));
                    sending.found.extend(found);
                }
                // All problems are collected, so that the user corrects them in one go.
                Err(found) => troubles.extend(found),
            }
        }
        if troubles.is_empty() {
            Ok(own)
        } else {
            Err(troubles)
        }
    }

    /// Remembers the texts of files that the request contains, as `read` does: a later `write` is
    /// merged with what was changed since, or refused.
    fn remember_files(&self, referring: &Referring, contexts: &Contexts, sending: &Sending) {
        let ledger = self.ledger.lock();
        for (_, message) in referring.messages() {
            for (at, place) in &message.places {
                if let Some(value) = message.kept.get(at) {
                    let sent = ledger.reference(*place).and_then(|it| it.file.as_ref());
                    if let Some((file, text)) = sent.zip(value.text()) {
                        // The model may have read the file since.
                        self.seen.add_earlier(&file.path, text);
                    }
                }
                // `@buffer:NAME` is the text of a file, too.
                if let Piece::Context { source, .. } = &message.pieces[*at]
                    && let Some(Ok(ContextContent::Text(context))) = contexts.get(source)
                    && let Some(file) = &context.file
                    && let Ok(path) = RealPath::of(&file.path)
                {
                    self.seen.add(path.as_path(), &context.text);
                }
            }
        }
        for (_, found) in &sending.found {
            if let Some((file, text)) = found.file.as_ref().zip(found.value.text()) {
                self.seen.add(&file.path, text);
            }
        }
    }

    /// Passes references that cannot be sent to the session, which shows them.
    fn unresolved(&self, troubles: Vec<Trouble>) -> Problem {
        let described = described(&troubles);
        let unresolved = troubles.into_iter();
        let unresolved = unresolved.map(|it| Unresolved::of(it, &self.text));
        // The session shows them at their lines; the message below is for the notification.
        self.inbox
            .deliver(WorkInput::Unresolved(unresolved.collect()));
        problem(format!("{described} Nothing was sent."))
    }

    /// Returns an expression's value, with the variables of the frontmatter if there is one.
    fn value(&self, code: &str, fresh: &mut Option<Evaluated>) -> Result<Expansion, String> {
        // Expressions see the variables that the frontmatter made.
        if let Some(evaluated) = &self.rules.evaluated {
            return evaluated.expression(code);
        }
        let evaluated = match fresh {
            Some(evaluated) => evaluated,
            None => {
                let empty = Source {
                    language: "lua".to_owned(),
                    ..Source::default()
                };
                let engine = frontmatter::evaluate(&empty, &Known::default());
                fresh.insert(engine.map_err(|failure| failure.message)?)
            }
        };
        evaluated.expression(code)
    }
}

fn described(troubles: &[Trouble]) -> String {
    let lines = troubles.iter();
    let lines: Vec<String> = lines
        .map(|it| format!("Line {}: {}", it.line + 1, it.message))
        .collect();
    lines.join(" ")
}

fn problem(what: String) -> Problem {
    Problem::new(what, "Correct it and press Ctrl-] again.")
}
