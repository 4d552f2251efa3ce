//! A request whose text refers to values and files: these are fetched, or nothing is
//! sent. On a thread that may wait.

use std::path::PathBuf;
use std::sync::Arc;

use chat::Problem;
use chat::document::Document;
use chat::prompt::{Own, Prompt, build_with};
use chat::text::Text;
use tokio::sync::mpsc;

use super::references::Place;
use super::{Input, Session};
use crate::frontmatter::{self, Evaluated, Expansion as Value, Known, Source};
use crate::references::{Agreed, Folders, Trouble, resolve};
use crate::rules::Rules;
use crate::status::state_folder;
use crate::trust::Trust;

/// What is needed to put the request together.
pub(super) struct Expansion {
    text: Text,
    rules: Arc<Rules>,
    folders: Folders,
    /// The chat, for what the user agreed to in it.
    path: Option<PathBuf>,
    /// What was agreed to in this session.
    agreed: Agreed,
    inbox: mpsc::WeakUnboundedSender<Input>,
}

impl Session {
    pub(super) fn expansion(&self) -> Expansion {
        Expansion {
            text: self.text.text().clone(),
            rules: self.rules.clone(),
            folders: Folders {
                chat: self.folder(),
                project: self.cwd.clone(),
                home: std::env::var_os("HOME").map(PathBuf::from),
            },
            path: self.path.clone(),
            agreed: self.references.agreed.clone(),
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
    pub(super) async fn prompt(self) -> Result<Prompt, Problem> {
        let done = tokio::task::spawn_blocking(move || self.resolved()).await;
        done.unwrap_or_else(|error| {
            Err(problem(format!(
                "The references cannot be resolved: {error}."
            )))
        })
    }

    fn resolved(&self) -> Result<Prompt, Problem> {
        let document = Document::parse(&self.text);
        let mut own = Own::new();
        let mut troubles: Vec<Trouble> = Vec::new();
        let mut fresh = None;
        let stored = self.path.as_deref();
        let stored = stored.map(|path| Trust::open(&state_folder()).sendable(path));
        let agreed = self.agreed.clone().or(stored.unwrap_or_default());
        for (index, pieces) in chat::references::in_document(&document) {
            let mut evaluate = |code: &str| self.value(code, &mut fresh);
            match resolve(&pieces, &self.folders, &mut evaluate, &agreed) {
                Ok(parts) => drop(own.insert(index, parts)),
                Err(found) => troubles.extend(found),
            }
        }
        if troubles.is_empty() {
            return Ok(build_with(&document, &self.rules.offered, &own));
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
