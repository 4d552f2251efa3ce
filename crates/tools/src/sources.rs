//! Sources of tools that are not built in, and their state.
//!
//! This module knows no particular kind of source. Sources report changes through [`Sources`]
//! from any task; the host applies them to the registry of all chats.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::{BUILTIN, Clash, Precedence, Registry, Tool};

/// A change reported by a source.
pub enum Change {
    /// The source is loading its tools.
    Loading(String),
    /// The tools of the source.
    Ready(String, Precedence, Vec<Arc<dyn Tool>>),
    /// The tools could not be loaded, and why. Earlier tools stay.
    Failed(String, String),
    /// The source was removed.
    Gone(String),
    /// Information for the user that is not a problem.
    Remark(String),
    /// A callback for when all chats have received the changes before it.
    Reached(Box<dyn FnOnce() + Send>),
    /// The sandbox has been probed. No tools changed.
    Probed,
}

/// Reports changes of sources. Cheap to clone; without a host, changes are dropped.
#[derive(Debug, Clone)]
pub struct Sources(mpsc::UnboundedSender<Change>);

impl Sources {
    /// A handle and the receiver of its changes.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Change>) {
        let (sender, changes) = mpsc::unbounded_channel();
        (Self(sender), changes)
    }

    /// Reports that a source is loading. Requests to the model wait until it is ready, failed,
    /// or gone, so the source must report one of these.
    pub fn loading(&self, source: &str) {
        self.say(Change::Loading(source.to_owned()));
    }

    /// Reports the tools of a source. They replace its earlier tools.
    pub fn ready(&self, source: &str, precedence: Precedence, tools: Vec<Arc<dyn Tool>>) {
        self.say(Change::Ready(source.to_owned(), precedence, tools));
    }

    /// Reports that the tools of a source could not be loaded. The problem is shown to the
    /// user.
    pub fn failed(&self, source: &str, problem: String) {
        self.say(Change::Failed(source.to_owned(), problem));
    }

    /// Reports that a source was removed with its tools.
    pub fn gone(&self, source: &str) {
        self.say(Change::Gone(source.to_owned()));
    }

    /// Reports information that is not a problem.
    pub fn remark(&self, text: String) {
        self.say(Change::Remark(text));
    }

    /// Calls `then` when all chats have received the earlier changes.
    pub fn reached(&self, then: impl FnOnce() + Send + 'static) {
        self.say(Change::Reached(Box::new(then)));
    }

    /// Reports that the sandbox has been probed.
    pub fn probed(&self) {
        self.say(Change::Probed);
    }

    fn say(&self, change: Change) {
        // A host that is gone needs no tools.
        drop(self.0.send(change));
    }
}

/// The current tools of all sources.
pub struct Catalogue {
    /// The tools by name.
    pub registry: Registry,
    /// The sources that are still loading.
    pub loading: BTreeSet<String>,
    reported: BTreeSet<String>,
}

impl Catalogue {
    /// A catalogue with only the built-in tools.
    pub fn builtin() -> Self {
        Self {
            registry: Registry::builtin(),
            loading: BTreeSet::new(),
            reported: BTreeSet::new(),
        }
    }

    /// Applies a change. Returns problems to show to the user, each only once.
    pub fn take(&mut self, change: Change) -> Vec<String> {
        let problems = match change {
            Change::Loading(source) => {
                self.loading.insert(source);
                Vec::new()
            }
            Change::Ready(source, precedence, tools) => {
                self.loading.remove(&source);
                let clashes = self.registry.set_source(&source, precedence, tools);
                // A user's tool may replace a built-in one, so that is not a problem.
                let odd = clashes.iter().filter(|it| it.source != BUILTIN);
                odd.map(taken).collect()
            }
            Change::Failed(source, problem) => {
                self.loading.remove(&source);
                // A repeated failure is shown again.
                self.reported.remove(&problem);
                vec![problem]
            }
            Change::Gone(source) => {
                self.loading.remove(&source);
                self.registry.remove_source(&source);
                Vec::new()
            }
            // The front end handles these.
            Change::Remark(_) | Change::Reached(_) | Change::Probed => Vec::new(),
        };
        problems
            .into_iter()
            .filter(|problem| self.reported.insert(problem.clone()))
            .collect()
    }
}

fn taken(clash: &Clash) -> String {
    format!(
        "The tool \"{}\" of {} is left out, because {} has one of that name. Give it another name.",
        clash.name, clash.source, clash.holder
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_waited_for_until_it_is_ready_failed_or_gone() {
        let (sources, mut changes) = Sources::new();
        let mut catalogue = Catalogue::builtin();
        for name in ["a", "b", "c"] {
            sources.loading(name);
        }
        sources.ready("a", Precedence::Found, Vec::new());
        sources.gone("b");
        let mut reported = Vec::new();
        while let Ok(change) = changes.try_recv() {
            reported.extend(catalogue.take(change));
        }
        assert_eq!(catalogue.loading, BTreeSet::from(["c".to_owned()]));
        assert_eq!(reported, Vec::<String>::new());

        let reported = catalogue.take(Change::Failed("c".to_owned(), "c is broken.".to_owned()));
        assert_eq!(reported, ["c is broken."]);
        assert!(catalogue.loading.is_empty());
    }

    #[test]
    fn a_name_that_is_taken_is_told_once() {
        let mut catalogue = Catalogue::builtin();
        let read = || catalogue_tool("read");
        let ready = || Change::Ready("scripts".to_owned(), Precedence::Found, vec![read()]);
        assert_eq!(
            catalogue.take(ready()),
            [
                "The tool \"read\" of scripts is left out, because builtin has one of that name. Give it another name."
            ]
        );
        assert_eq!(catalogue.take(ready()), Vec::<String>::new());
    }

    fn catalogue_tool(name: &str) -> Arc<dyn Tool> {
        Registry::builtin()
            .get(name)
            .unwrap_or_else(|| unreachable!("{name} is built in"))
    }
}
