//! The request is put together. Values and files that its text refers to are fetched,
//! or nothing is sent. On a thread that may wait: a long chat takes some milliseconds,
//! and keys are served meanwhile.

use std::path::PathBuf;
use std::sync::Arc;

use agent::answer::Ids;
use chat::Problem;
use chat::document::{Document, Parsed};
use chat::prompt::{Own, Prompt, build_with};
use chat::text::Text;
use tokio::sync::mpsc;

use super::references::Place;
use super::{Input, Session};
use crate::frontmatter::{self, Evaluated, Expansion as Value, Known, Source};
use crate::references::{Agreed, Folders, Trouble, resolve};
use crate::rules::Rules;
use crate::state_dir;
use crate::trust::Trust;

/// What is needed to put the request together.
pub(super) struct Expansion {
    text: Arc<Text>,
    parsed: Arc<Parsed>,
    rules: Arc<Rules>,
    folders: Folders,
    /// The chat, for what the user agreed to in it.
    path: Option<PathBuf>,
    /// What was agreed to in this session.
    agreed: Agreed,
    inbox: mpsc::WeakUnboundedSender<Input>,
}

/// A request that is put together.
pub(super) struct Ready {
    pub(super) prompt: Prompt,
    /// Of the calls in the chat, from which the answer's are told apart.
    pub(super) ids: Ids,
}

impl Session {
    pub(super) fn expansion(&self) -> Expansion {
        let (text, parsed) = self.buffer.mirror.share();
        Expansion {
            text,
            parsed,
            rules: self.policy.rules().clone(),
            folders: Folders {
                chat: self.folder(),
                project: self.disk.cwd.clone(),
                home: tools::variable_os("HOME").map(PathBuf::from),
                secrets: self.sandbox().secrets(),
            },
            path: self.disk.path.clone(),
            agreed: self.request.references.agreed.clone(),
            inbox: self.inbox.clone(),
        }
    }
}

impl Expansion {
    /// The request with every reference resolved.
    ///
    /// # Errors
    ///
    /// What cannot be sent, each with its line; or the thread was lost.
    pub(super) async fn ready(self) -> Result<Ready, Problem> {
        let done = tokio::task::spawn_blocking(move || self.resolved()).await;
        done.unwrap_or_else(|error| {
            Err(problem(format!(
                "The request cannot be put together: {error}."
            )))
        })
    }

    fn resolved(&self) -> Result<Ready, Problem> {
        let document = Document::of(&self.text, self.parsed.clone());
        let referring = chat::references::in_document(&document);
        let mut own = Own::new();
        let mut troubles: Vec<Trouble> = Vec::new();
        let mut fresh = None;
        let stored = self.path.as_deref().filter(|_| !referring.is_empty());
        let stored = stored.map(|path| Trust::open(&state_dir::path()).sendable(path));
        let agreed = self.agreed.clone().or(stored.unwrap_or_default());
        for (index, pieces) in referring {
            let mut evaluate = |code: &str| self.value(code, &mut fresh);
            match resolve(&pieces, &self.folders, &mut evaluate, &agreed) {
                Ok(parts) => drop(own.insert(index, parts)),
                Err(found) => troubles.extend(found),
            }
        }
        if troubles.is_empty() {
            let offered = &self.rules.offered;
            let prompt = build_with(&document, offered, &own);
            return Ok(Ready {
                prompt,
                ids: Ids::of(&document),
            });
        }
        let lines: Vec<String> = troubles
            .iter()
            .map(|it| format!("Line {}: {}", it.line + 1, it.message))
            .collect();
        if let Some(inbox) = self.inbox.upgrade() {
            let place = |trouble| Place::of(trouble, &self.text);
            let places = troubles.into_iter().map(place).collect();
            drop(inbox.send(Input::Unresolved(places)));
        }
        Err(problem(format!("{} Nothing was sent.", lines.join(" "))))
    }

    /// An expression's value, with the variables of the frontmatter if there is one.
    fn value(&self, code: &str, fresh: &mut Option<Evaluated>) -> Result<Value, String> {
        if let Some(evaluated) = &self.rules.evaluated {
            return evaluated.expression(code);
        }
        if fresh.is_none() {
            let empty = Source {
                language: "lua".to_owned(),
                ..Source::default()
            };
            let made = frontmatter::evaluate(&empty, &Known::default());
            *fresh = Some(made.map_err(|failure| failure.message)?);
        }
        match fresh {
            Some(evaluated) => evaluated.expression(code),
            None => Err("there is no engine for expressions".to_owned()),
        }
    }
}

fn problem(what: String) -> Problem {
    Problem::new(what, "Mend it and press Ctrl-] again.")
}
