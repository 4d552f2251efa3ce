//! Who decides about a call: a chain of resolvers, asked from the highest
//! priority down, of which the first that answers decides.
//!
//! Pure: a resolver that is a function of somebody else's is not called here;
//! [`decide`] says that its answer is needed and is called again with it. What
//! such an answer means is in `function`.

mod argument_rules;
mod function;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

pub use argument_rules::{ArgumentRule, ArgumentRules, EXECUTE_TOOL, inside, meant};
pub use function::{Form, Function, FunctionId, OnError, Returned};

use crate::tool::ToolUseId;

/// The resolver that goes by the user's own options.
pub const CONFIG: &str = "urn:flemma:approval:config";
/// The resolver that goes by the frontmatter of the chat.
pub const FRONTMATTER: &str = "urn:flemma:approval:frontmatter";
/// The resolver that approves what no other has an opinion on.
pub const CATCH_ALL: &str = "urn:flemma:approval:catch-all";

/// The resolver that approves built-in tools that can do no harm. It is asked last.
pub const HARMLESS: &str = "urn:flemma:approval:harmless";

/// What keeps some files from being written, and secrets from being read, on an automatic
/// approval.
pub const GUARD: &str = "urn:flemma:approval:protected";

/// Approves shell commands that only read, as the preset `$shell-safe` does. A call that it
/// approves may do no more than that, see [`only_reads`].
pub const SHELL_SAFE: &str = "urn:flemma:approval:shell-safe";

/// Whether a call that `by` approved was approved because it only reads.
pub fn only_reads(by: &str) -> bool {
    by == SHELL_SAFE
}

/// What a resolver can answer; "no opinion" is `None` beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run without asking.
    Approve,
    /// Ask the user.
    RequireApproval,
    /// Refuse; the model is told.
    Deny,
}

/// A link of the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolver {
    /// Unique, such as `urn:flemma:approval:config`.
    pub name: String,
    /// Higher is asked first; equal priorities go by name.
    pub priority: i32,
    /// Where its answers come from.
    pub source: Source,
    /// Whether it approves nothing in a chat whose frontmatter sets `auto_approve`, so
    /// that a chat can be stricter than the options. What it denies stays denied.
    pub yields: bool,
    /// Whether it is in such a chat.
    yielded: bool,
}

impl Resolver {
    /// A link that yields to nobody.
    pub fn new(name: impl Into<String>, priority: i32, source: Source) -> Self {
        Self {
            name: name.into(),
            priority,
            source,
            yields: false,
            yielded: false,
        }
    }

    /// A link that approves nothing where the frontmatter has an `auto_approve` of its own.
    pub fn yielding(name: impl Into<String>, priority: i32, source: Source) -> Self {
        Self {
            yields: true,
            ..Self::new(name, priority, source)
        }
    }

    /// What counts of an opinion. A link that yielded still denies, and what a function
    /// wants to be asked about is asked about.
    fn limited(&self, opinion: Option<Decision>) -> Option<Decision> {
        let holds = |decision: &Decision| match decision {
            Decision::Approve => false,
            Decision::RequireApproval => {
                matches!(self.source, Source::Function(_) | Source::Always(_))
            }
            Decision::Deny => true,
        };
        opinion.filter(|it| !self.yielded || holds(it))
    }

    /// Its opinion on a call, and the name of the rule that has it where that is not the
    /// link's own. Of a function it is the answer, which has to be there.
    fn opinion(&self, call: &CallKey, answers: &Answers) -> Result<Option<Opinion>, Function> {
        let opinion = match &self.source {
            Source::List(policy) => policy.opinion(call),
            Source::ArgumentRules(rules) => rules.opinion(call),
            Source::Always(decision) => Some((*decision, None)),
            Source::Unless(decision, names) => {
                (!names.contains(&call.name)).then_some((*decision, None))
            }
            Source::Function(function) => match answers.get(&(call.clone(), function.id)) {
                Some(answer) => answer.map(|it| (it, None)),
                None => return Err(*function),
            },
        };
        Ok(opinion.filter(|(decision, _)| self.limited(Some(*decision)).is_some()))
    }
}

/// A decision, and the name of the rule that made it.
type Opinion = (Decision, Option<&'static str>);

/// Where a resolver's answers come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Lists of tool names.
    List(Policy),
    /// A function of somebody else's.
    Function(Function),
    /// Rules of our own that look at the arguments.
    ArgumentRules(ArgumentRules),
    /// The same answer for every call.
    Always(Decision),
    /// The same answer for every call but those of tools with these names, on which it
    /// has no opinion.
    Unless(Decision, BTreeSet<String>),
}

/// Tool names to approve and to deny, and rules that look closer at those it does not
/// name. Deny wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Names that run without asking.
    pub approve: BTreeSet<String>,
    /// Names that are refused.
    pub deny: BTreeSet<String>,
    /// Who is asked about calls of tools that are in neither.
    pub argument_rules: ArgumentRules,
}

impl Policy {
    /// The list's opinion on a tool.
    pub fn decide(&self, name: &str) -> Option<Decision> {
        if self.deny.contains(name) {
            Some(Decision::Deny)
        } else {
            self.approve.contains(name).then_some(Decision::Approve)
        }
    }

    /// The list's opinion on a call, and the name of the rule that has it where that is
    /// not the list itself.
    pub fn opinion(&self, call: &CallKey) -> Option<Opinion> {
        let listed = self.decide(&call.name).map(|it| (it, None));
        listed.or_else(|| self.argument_rules.opinion(call))
    }
}

/// Resolvers in the order in which they are asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolverChain(Vec<Resolver>);

impl ResolverChain {
    /// Sorts by priority, the highest first, then by name.
    pub fn new(mut resolvers: Vec<Resolver>) -> Self {
        resolvers.sort_by(|a, b| {
            b.priority
                .cmp(&a.priority)
                .then_with(|| a.name.cmp(&b.name))
        });
        Self(resolvers)
    }

    /// The resolvers in order.
    pub fn resolvers(&self) -> &[Resolver] {
        &self.0
    }

    /// The chain of a chat whose frontmatter sets `auto_approve`, also to an empty
    /// list: the [`FRONTMATTER`] link has that opinion, and those that yield approve
    /// nothing. A chain from which that link was taken goes on without it.
    pub fn with_frontmatter(&self, source: Source) -> Self {
        Self(
            self.0
                .iter()
                .map(|resolver| match &resolver.source {
                    // A function of that name is somebody's replacement for it.
                    Source::List(_) if resolver.name == FRONTMATTER => Resolver {
                        source: source.clone(),
                        ..resolver.clone()
                    },
                    _ => Resolver {
                        yielded: resolver.yields,
                        ..resolver.clone()
                    },
                })
                .collect(),
        )
    }

    /// What the link of that name says to the model about a call that it denies.
    pub fn reason(&self, name: &str, call: &CallKey) -> Option<String> {
        let mut links = self.0.iter();
        match &links.find(|link| link.name == name)?.source {
            Source::ArgumentRules(rules) => rules.reason(call),
            _ => None,
        }
    }

    /// `first` and the functions that are asked next should it pass, as far as they
    /// live where it does and nothing else may decide in between: whoever carries a
    /// question there can take all of them along. `name` is the tool's.
    pub fn asked_together(&self, first: FunctionId, name: &str) -> Vec<Function> {
        let is_first = |resolver: &&Resolver| matches!(&resolver.source, Source::Function(it) if it.id == first);
        let links = self.0.iter().skip_while(|it| !is_first(it));
        let mut together = Vec::new();
        for resolver in links {
            match &resolver.source {
                Source::Function(it) if it.id.is_editor() == first.is_editor() => {
                    together.push(*it);
                }
                Source::List(policy) if resolver.limited(policy.decide(name)).is_none() => {}
                _ => break,
            }
        }
        together
    }
}

/// What a decision is about. Two calls with equal keys are the same act.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    /// The call's id.
    pub id: ToolUseId,
    /// The tool's name.
    pub name: String,
    /// The arguments in canonical spelling, see [`crate::json::canonical`].
    pub input: String,
}

/// Answers of function resolvers, as far as they are known; `None` passes.
pub type Answers = BTreeMap<(CallKey, FunctionId), Option<Decision>>;

/// The chain's word on a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Decided, by the resolver of that name; empty when none had an opinion.
    Decided(Decision, String),
    /// This function has to answer first.
    Ask(Function),
}

/// Asks the chain. Without any opinion the user is asked.
pub fn decide(chain: &ResolverChain, call: &CallKey, answers: &Answers) -> Verdict {
    decide_by(chain, call, answers, true)
}

/// As [`decide`]; without `reads`, no call is approved because it only reads: a look at
/// the machine said otherwise.
pub fn decide_by(chain: &ResolverChain, call: &CallKey, answers: &Answers, reads: bool) -> Verdict {
    for resolver in &chain.0 {
        match resolver.opinion(call, answers) {
            Ok(Some((_, Some(SHELL_SAFE)))) if !reads => {}
            Ok(Some((decision, name))) => {
                let name = name.unwrap_or(&resolver.name);
                return Verdict::Decided(decision, name.to_owned());
            }
            Ok(None) => {}
            Err(function) => return Verdict::Ask(function),
        }
    }
    Verdict::Decided(Decision::RequireApproval, String::new())
}

/// A call to show to a function resolver.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The call.
    pub call: CallKey,
    /// Its arguments.
    pub input: Value,
    /// Who is asked.
    pub function: Function,
}

#[cfg(test)]
mod tests;
