//! Decides which calls run: by name, or by asking the program.
//!
//! The `chat` crate has the rules, as in the editor.

use std::collections::BTreeSet;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use chat::Problem;
use chat::approval::{
    Answers, CATCH_ALL, CONFIG, CallKey, Decision, Function, FunctionId, OnError, OpinionSource,
    Policy, Resolver, ResolverChain,
};

use super::Call;

/// ID of the program's function.
const ASK: u64 = 1;

type MayRun = Pin<Box<dyn Future<Output = bool> + Send>>;

/// The program's approval settings.
#[derive(Clone)]
pub(crate) struct Approval {
    names: BTreeSet<String>,
    denied: BTreeSet<String>,
    all: bool,
    ask: Option<Arc<dyn Fn(Call) -> MayRun + Send + Sync>>,
}

impl Default for Approval {
    fn default() -> Self {
        Self {
            names: BTreeSet::from(["$readonly".to_owned()]),
            denied: BTreeSet::new(),
            all: false,
            ask: None,
        }
    }
}

impl Approval {
    pub(crate) fn approve(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        self.names.extend(names.into_iter().map(Into::into));
    }

    pub(crate) fn deny(&mut self, names: impl IntoIterator<Item = impl Into<String>>) {
        self.denied.extend(names.into_iter().map(Into::into));
    }

    pub(crate) fn approve_all(&mut self) {
        self.all = true;
    }

    pub(crate) fn ask<F>(&mut self, ask: impl Fn(Call) -> F + Send + Sync + 'static)
    where
        F: Future<Output = bool> + Send + 'static,
    {
        self.ask = Some(Arc::new(move |call| Box::pin(ask(call))));
    }

    /// Asks the program whether a call may run; false without a function.
    pub(crate) fn may_run(&self, call: Call) -> MayRun {
        match &self.ask {
            Some(ask) => ask(call),
            None => Box::pin(std::future::ready(false)),
        }
    }

    /// Converts the program's decision into a resolver's answer.
    pub(crate) fn answers(call: CallKey, may_run: bool) -> Answers {
        let word = if may_run {
            Decision::Approve
        } else {
            Decision::Deny
        };
        Answers::from([((call, FunctionId::Editor(ASK)), Some(word))])
    }

    /// Returns the resolvers in order. `asking` are the tools that must be approved by
    /// name.
    ///
    /// # Errors
    ///
    /// A preset does not exist.
    pub(crate) fn chain(&self, asking: BTreeSet<String>) -> Result<ResolverChain, Problem> {
        let policy = Policy {
            approve: expanded(&self.names)?,
            deny: expanded(&self.denied)?,
            ..Policy::default()
        };
        // The highest priority decides first: names, then `approve_all`, then the function.
        let mut links = vec![Resolver::new(CONFIG, 100, OpinionSource::List(policy))];
        if self.all {
            let all = OpinionSource::Unless(Decision::Approve, asking);
            links.push(Resolver::new(CATCH_ALL, 90, all));
        }
        if self.ask.is_some() {
            // A function that panics must not approve.
            let asked = OpinionSource::Function(Function::resolver(ASK, OnError::Deny));
            links.push(Resolver::new("program", 50, asked));
        }
        // No user can review a pending call, so deny it.
        let rest = OpinionSource::Always(Decision::Deny);
        links.push(Resolver::new("no user", 0, rest));
        Ok(ResolverChain::new(links))
    }
}

/// Returns the names with presets replaced by their tools.
fn expanded(names: &BTreeSet<String>) -> Result<BTreeSet<String>, Problem> {
    let mut names_of_tools = BTreeSet::new();
    for name in names {
        match tools::preset(name) {
            Some(members) => names_of_tools.extend(members.map(str::to_owned)),
            // Only presets begin with `$`, and a misspelled one must not pass as a tool's name.
            None if name.starts_with('$') => {
                return Err(Problem::new(
                    format!("No preset is named \"{name}\", so nothing was sent."),
                    format!("Presets: {}.", tools::PRESETS.join(", ")),
                ));
            }
            None => {
                names_of_tools.insert(name.clone());
            }
        }
    }
    Ok(names_of_tools)
}

impl fmt::Debug for Approval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Approval")
            .field("names", &self.names)
            .field("denied", &self.denied)
            .field("all", &self.all)
            .field("asks", &self.ask.is_some())
            .finish()
    }
}
