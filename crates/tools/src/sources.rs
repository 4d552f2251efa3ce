//! Where tools come from that are not built in, and whether they are there yet.
//!
//! Knows no kind of source. Whoever finds tools says so through [`Sources`], at any
//! time and from any task; the host puts them into the registry of all chats.

use std::collections::BTreeSet;
use std::sync::Arc;

use tokio::sync::mpsc;

use crate::{BUILTIN, Clash, Precedence, Registry, Tool};

/// Something that a source has to say.
pub enum Change {
    /// Its tools are being found.
    Loading(String),
    /// These are its tools.
    Ready(String, Precedence, Vec<Arc<dyn Tool>>),
    /// They could not be found, and why; those it gave before stay.
    Failed(String, String),
    /// It is there no more.
    Gone(String),
    /// Something that the user should know and that is no problem.
    Remark(String),
    /// What was said before is to reach all chats, and then this is called.
    Reached(Box<dyn FnOnce() + Send>),
    /// Nothing of the tools; what holds them was found out.
    Probed,
}

/// Says what becomes of sources. Cheap to clone; without a host nobody hears it.
#[derive(Debug, Clone)]
pub struct Sources(mpsc::UnboundedSender<Change>);

impl Sources {
    /// A handle, and where its changes arrive.
    pub fn new() -> (Self, mpsc::UnboundedReceiver<Change>) {
        let (sender, changes) = mpsc::unbounded_channel();
        (Self(sender), changes)
    }

    /// The tools of a source are being found: what is to be sent waits until it is
    /// ready, failed or gone, so whoever says this says one of these in any case.
    pub fn loading(&self, source: &str) {
        self.say(Change::Loading(source.to_owned()));
    }

    /// These are the tools of a source, in place of those it gave before.
    pub fn ready(&self, source: &str, precedence: Precedence, tools: Vec<Arc<dyn Tool>>) {
        self.say(Change::Ready(source.to_owned(), precedence, tools));
    }

    /// The tools of a source could not be found. The problem is shown.
    pub fn failed(&self, source: &str, problem: String) {
        self.say(Change::Failed(source.to_owned(), problem));
    }

    /// A source is there no more, and its tools with it.
    pub fn gone(&self, source: &str) {
        self.say(Change::Gone(source.to_owned()));
    }

    /// Something that the user should know and that is no problem.
    pub fn remark(&self, text: String) {
        self.say(Change::Remark(text));
    }

    /// Calls `then` when all that was said before has reached all chats.
    pub fn reached(&self, then: impl FnOnce() + Send + 'static) {
        self.say(Change::Reached(Box::new(then)));
    }

    /// It was found out what holds commands.
    pub fn probed(&self) {
        self.say(Change::Probed);
    }

    fn say(&self, change: Change) {
        // A host that is gone needs no tools.
        drop(self.0.send(change));
    }
}

/// The tools of all sources as they are now.
pub struct Catalogue {
    /// By name.
    pub registry: Registry,
    /// The sources that are not there yet.
    pub loading: BTreeSet<String>,
    told: BTreeSet<String>,
}

impl Catalogue {
    /// The built-in tools.
    pub fn builtin() -> Self {
        Self {
            registry: Registry::builtin(),
            loading: BTreeSet::new(),
            told: BTreeSet::new(),
        }
    }

    /// Takes in a change; returns what the user should know, each thing once.
    pub fn take(&mut self, change: Change) -> Vec<String> {
        let problems = match change {
            Change::Loading(source) => {
                self.loading.insert(source);
                Vec::new()
            }
            Change::Ready(source, precedence, tools) => {
                self.loading.remove(&source);
                let clashes = self.registry.set_source(&source, precedence, tools);
                // That a tool of the user's stands in place of a built-in one is meant so.
                let odd = clashes.iter().filter(|it| it.source != BUILTIN);
                odd.map(taken).collect()
            }
            Change::Failed(source, problem) => {
                self.loading.remove(&source);
                // That it failed once more is worth a word.
                self.told.remove(&problem);
                vec![problem]
            }
            Change::Gone(source) => {
                self.loading.remove(&source);
                self.registry.remove_source(&source);
                Vec::new()
            }
            // These are for whoever has an editor.
            Change::Remark(_) | Change::Reached(_) | Change::Probed => Vec::new(),
        };
        problems
            .into_iter()
            .filter(|problem| self.told.insert(problem.clone()))
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
        let mut told = Vec::new();
        while let Ok(change) = changes.try_recv() {
            told.extend(catalogue.take(change));
        }
        assert_eq!(catalogue.loading, BTreeSet::from(["c".to_owned()]));
        assert_eq!(told, Vec::<String>::new());

        let told = catalogue.take(Change::Failed("c".to_owned(), "c is broken.".to_owned()));
        assert_eq!(told, ["c is broken."]);
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
