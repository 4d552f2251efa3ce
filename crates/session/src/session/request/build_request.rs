//! Builds a request from the document: resolves the files and expressions that its text
//! refers to. If one cannot be resolved, nothing is sent.
//!
//! Runs on blocking threads: a long chat takes some milliseconds, and keys must not wait.

use std::path::PathBuf;
use std::sync::Arc;

use agent::answer::Ids;
use chat::Problem;
use chat::document::{Document, Parsed};
use chat::prompt::{Own, Prompt, build_with};
use chat::text::Text;
use tokio::sync::mpsc;

use super::contexts::{Collected, ContextPlaces, Referring};
use super::references::Unresolved;
use crate::frontmatter::{self, Evaluated, Expansion as Value, Known, Source};
use crate::references::{Agreed, Contexts, Folders, Trouble, resolve};
use crate::rules::Rules;
use crate::session::{Input, Session};
use crate::state_dir;
use crate::trust::Trust;

/// Everything that a request is built from.
pub(super) struct RequestSource {
    text: Arc<Text>,
    parsed: Arc<Parsed>,
    rules: Arc<Rules>,
    folders: Folders,
    /// The chat's path, under which the trust store knows it.
    path: Option<PathBuf>,
    /// Files that the user agreed to send in this session.
    agreed: Agreed,
    places: ContextPlaces,
    inbox: mpsc::WeakUnboundedSender<Input>,
}

/// A request that is ready to be encoded.
pub(super) struct Built {
    pub(super) prompt: Prompt,
    /// Ids of the calls in the chat, which the answer's calls must not repeat.
    pub(super) ids: Ids,
}

impl Session {
    pub(super) fn request_source(&self) -> RequestSource {
        // Shared, not copied: an edit meanwhile makes a copy of its own.
        let (text, parsed) = self.buffer.share();
        RequestSource {
            text,
            parsed,
            rules: self.policy.rules().clone(),
            folders: Folders {
                chat: self.disk.folder(),
                project: self.disk.cwd().to_owned(),
                home: tools::variable_os("HOME").map(PathBuf::from),
                secrets: self.sandbox().secrets(),
            },
            path: self.disk.path().map(PathBuf::from),
            agreed: self.request.references.agreed.clone(),
            places: ContextPlaces {
                buffer: self.buffer.id(),
                editor: self.editor.clone(),
                folder: self.disk.cwd().to_owned(),
            },
            inbox: self.inbox.clone(),
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
        // Shared by two blocking stages, with the wait for Neovim and Git between them. A
        // blocking thread that waited for Neovim would be missing elsewhere.
        let source = Arc::new(self);
        let referring = source.clone().blocking(Self::referring).await?;
        let collected = source.places.collect(&referring).await;
        source
            .blocking(|it| it.resolved(referring, collected))
            .await?
    }

    async fn blocking<T: Send + 'static>(
        self: Arc<Self>,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let done = tokio::task::spawn_blocking(move || work(&self)).await;
        done.map_err(|error| problem(format!("The request cannot be built: {error}.")))
    }

    fn referring(&self) -> Referring {
        let document = Document::of(&self.text, self.parsed.clone());
        chat::references::in_document(&document)
    }

    fn resolved(&self, referring: Referring, collected: Collected) -> Result<Built, Problem> {
        let document = Document::of(&self.text, self.parsed.clone());
        // Relative paths of tools start there, too.
        let folder = &self.folders.chat;
        let (contexts, warnings) = collected.texts(folder, &self.folders.secrets);
        let own = self
            .own(referring, &contexts)
            .map_err(|troubles| self.unresolved(troubles))?;
        // Only now: a request that is not sent needs no warnings.
        for warning in warnings {
            self.deliver(Input::Remark(warning));
        }
        Ok(Built {
            prompt: build_with(&document, &self.rules.offered, &own),
            ids: Ids::of(&document),
        })
    }

    /// Resolves the references of the user's messages.
    fn own(&self, referring: Referring, contexts: &Contexts) -> Result<Own, Vec<Trouble>> {
        let mut own = Own::new();
        let mut troubles = Vec::new();
        // One engine serves all expressions of a chat that has no frontmatter.
        let mut fresh = None;
        // The trust store is read only if there is something to resolve.
        let stored = self.path.as_deref().filter(|_| !referring.is_empty());
        let stored = stored.map(|path| Trust::open(&state_dir::path()).sendable(path));
        let agreed = self.agreed.clone().or(stored.unwrap_or_default());
        for (index, pieces) in referring {
            let mut evaluate = |code: &str| self.value(code, &mut fresh);
            match resolve(&pieces, &self.folders, &mut evaluate, &agreed, contexts) {
                Ok(parts) => drop(own.insert(index, parts)),
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

    /// Passes references that cannot be sent to the session, which shows them.
    fn unresolved(&self, troubles: Vec<Trouble>) -> Problem {
        let lines: Vec<String> = troubles
            .iter()
            .map(|it| format!("Line {}: {}", it.line + 1, it.message))
            .collect();
        let unresolved = troubles.into_iter();
        let unresolved = unresolved.map(|it| Unresolved::of(it, &self.text));
        // The session shows them at their lines; the message below is for the notification.
        self.deliver(Input::Unresolved(unresolved.collect()));
        problem(format!("{} Nothing was sent.", lines.join(" ")))
    }

    fn deliver(&self, input: Input) {
        if let Some(inbox) = self.inbox.upgrade() {
            drop(inbox.send(input));
        }
    }

    /// Returns an expression's value, with the variables of the frontmatter if there is one.
    fn value(&self, code: &str, fresh: &mut Option<Evaluated>) -> Result<Value, String> {
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

fn problem(what: String) -> Problem {
    Problem::new(what, "Correct it and press Ctrl-] again.")
}
