//! Approval of calls: a chain of resolvers, asked in order of priority; the first one with
//! an opinion decides.
//!
//! Pure: resolvers that are functions are not called here. [`decide`] returns the function
//! whose answer it needs and is called again with the answer. `function` interprets such
//! answers.
//!
//! [`ArgumentRules`] inspect the arguments of a call, also of the inner call of `execute_tool`.
//! They depend only on the call's text and are evaluated directly.

mod function;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use crate::tool::ToolUseId;

pub use function::{Function, FunctionId, FunctionKind, OnError, Returned};

/// Name of the resolver that applies the user's options.
pub const CONFIG: &str = "urn:flemma:approval:config";

/// Name of the resolver that applies the chat's frontmatter.
pub const FRONTMATTER: &str = "urn:flemma:approval:frontmatter";

/// Name of the resolver that approves calls on which no other has an opinion.
pub const CATCH_ALL: &str = "urn:flemma:approval:catch-all";

/// Name of the resolver that approves harmless built-in tools. It is asked last.
pub const HARMLESS: &str = "urn:flemma:approval:harmless";

/// Name of the guard, which must consent to automatic approvals of writes to protected
/// files and reads of secrets.
pub const GUARD: &str = "urn:flemma:approval:protected";

/// Name of the rule that has all changes of files reviewed (`tools.review`).
pub const REVIEW: &str = "urn:flemma:approval:review";

/// Name of the resolver behind the preset `$shell-safe`, which approves shell commands that
/// only read. A call approved by it must do nothing else, see [`only_reads`].
pub const SHELL_SAFE: &str = "urn:flemma:approval:shell-safe";

/// Name of the resolver that applies the rules that the user chose at earlier calls. Its
/// approval counts only if no resolver after it denies the call.
pub const REMEMBERED: &str = "urn:flemma:approval:remembered";

/// Name of the rule that approves commands whose trial shows no effect, or changes of files that
/// the other rules approve.
pub const TRIAL: &str = "urn:flemma:approval:trial";

/// Name of the resolver that denies everything but reading while a chat is in plan mode.
pub const PLAN: &str = "urn:flemma:approval:plan";

/// Returns true if `by` approves calls because they only read.
pub fn only_reads(by: &str) -> bool {
    by == SHELL_SAFE
}

/// A resolver's decision; "no opinion" is `None`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Run without asking.
    Approve,
    /// Ask the user.
    RequireApproval,
    /// Refuse, with a result for the model.
    Deny,
}

/// A resolver in the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolver {
    /// Unique, such as `urn:flemma:approval:config`.
    pub name: String,
    /// Higher is asked first; equal priorities are sorted by name.
    pub priority: i32,
    /// The source of its answers.
    pub source: OpinionSource,
    /// True if it approves nothing in a chat whose frontmatter sets `auto_approve`, so that
    /// a chat can be stricter than the options. It still denies.
    pub yields: bool,
    /// True if the chat's frontmatter sets `auto_approve`.
    yielded: bool,
}

impl Resolver {
    /// Creates a resolver that does not yield.
    pub fn new(name: impl Into<String>, priority: i32, source: OpinionSource) -> Self {
        Self {
            name: name.into(),
            priority,
            source,
            yields: false,
            yielded: false,
        }
    }

    /// Creates a resolver that approves nothing if the frontmatter sets `auto_approve`.
    pub fn yielding(name: impl Into<String>, priority: i32, source: OpinionSource) -> Self {
        Self {
            yields: true,
            ..Self::new(name, priority, source)
        }
    }

    /// Drops opinions that a yielded resolver must not have: it may deny, and a function
    /// may also require approval.
    fn limited(&self, opinion: Option<Decision>) -> Option<Decision> {
        let holds = |decision: &Decision| match decision {
            Decision::Approve => false,
            // A list or a rule only repeats the default here, but a function chose it for this
            // call.
            Decision::RequireApproval => {
                matches!(
                    self.source,
                    OpinionSource::Function(_) | OpinionSource::Always(_)
                )
            }
            Decision::Deny => true,
        };
        opinion.filter(|it| !self.yielded || holds(it))
    }

    /// Returns the opinion on a call, with the rule's name if it differs from the
    /// resolver's. Fails with the function whose answer is missing.
    fn opinion(&self, call: &CallKey, answers: &Answers) -> Result<Option<Opinion>, Function> {
        let opinion = match &self.source {
            OpinionSource::List(policy) => policy.opinion(call),
            OpinionSource::ArgumentRules(rules) => rules.opinion(call),
            OpinionSource::Always(decision) => Some((*decision, None)),
            OpinionSource::Unless(decision, names) => {
                (!names.contains(&call.name)).then_some((*decision, None))
            }
            OpinionSource::Function(function) => match answers.get(&(call.clone(), function.id)) {
                Some(answer) => answer.map(|it| (it, None)),
                None => return Err(*function),
            },
        };
        Ok(opinion.filter(|(decision, _)| self.limited(Some(*decision)).is_some()))
    }
}

/// A decision, and the name of the rule that made it.
type Opinion = (Decision, Option<&'static str>);

/// Source of a resolver's opinions.
#[derive(Debug, Clone, PartialEq)]
pub enum OpinionSource {
    /// Lists of tool names.
    List(Policy),
    /// A function, for example of a plugin.
    Function(Function),
    /// Built-in rules that inspect the arguments.
    ArgumentRules(ArgumentRules),
    /// The same answer for every call.
    Always(Decision),
    /// The same answer for every call except those of the named tools.
    Unless(Decision, BTreeSet<String>),
}

/// Tool names to approve and to deny, and rules for all other tools. Deny wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Tools approved without asking.
    pub approve: BTreeSet<String>,
    /// Tools denied.
    pub deny: BTreeSet<String>,
    /// Rules for tools in neither list.
    pub argument_rules: ArgumentRules,
    /// True if commands on which no rule has an opinion are tried first.
    pub tries: bool,
}

impl Policy {
    /// Returns the lists' opinion on a tool.
    pub fn decide(&self, name: &str) -> Option<Decision> {
        // Checked first: a tool in both lists is denied.
        if self.deny.contains(name) {
            Some(Decision::Deny)
        } else {
            self.approve.contains(name).then_some(Decision::Approve)
        }
    }

    /// Returns the opinion on a call, with the rule's name if a rule decides.
    pub fn opinion(&self, call: &CallKey) -> Option<Opinion> {
        let listed = self.decide(&call.name).map(|it| (it, None));
        // The lists are the user's explicit choice, so they come before rules.
        listed.or_else(|| self.argument_rules.opinion(call))
    }
}

/// Resolvers, in the order in which they are asked.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ResolverChain(Vec<Resolver>);

impl ResolverChain {
    /// Sorts by priority, the highest first, then by name.
    pub fn new(mut resolvers: Vec<Resolver>) -> Self {
        // Names break ties, so that the order does not depend on who registered first.
        resolvers.sort_by(|a, b| {
            b.priority
                .cmp(&a.priority)
                .then_with(|| a.name.cmp(&b.name))
        });
        Self(resolvers)
    }

    /// Returns this chain with one more resolver.
    pub fn with(&self, resolver: Resolver) -> Self {
        Self::new(self.0.iter().cloned().chain([resolver]).collect())
    }

    /// The resolvers in order.
    pub fn resolvers(&self) -> &[Resolver] {
        &self.0
    }

    /// Returns the chain for a chat whose frontmatter sets `auto_approve`, even to an empty
    /// list. Its opinion replaces the [`FRONTMATTER`] resolver, and yielding resolvers
    /// approve nothing. If that resolver was removed, it is not added again.
    pub fn with_frontmatter(&self, source: &OpinionSource) -> Self {
        Self(
            self.0
                .iter()
                .map(|resolver| match &resolver.source {
                    // A function with this name replaces the built-in resolver.
                    OpinionSource::List(_) if resolver.name == FRONTMATTER => Resolver {
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

    /// Returns a resolver's reason for denying a call, for the model.
    pub fn reason(&self, name: &str, call: &CallKey) -> Option<String> {
        let mut links = self.0.iter();
        match &links.find(|link| link.name == name)?.source {
            OpinionSource::ArgumentRules(rules) => rules.reason(call),
            _ => None,
        }
    }

    /// Returns `first` and the functions that follow it if it passes, as long as they run
    /// in the same place and no other resolver can decide in between. One message can carry
    /// all their questions. `name` is the tool's.
    pub fn asked_together(&self, first: FunctionId, name: &str) -> Vec<Function> {
        let is_first = |resolver: &&Resolver| matches!(&resolver.source, OpinionSource::Function(it) if it.id == first);
        let links = self.0.iter().skip_while(|it| !is_first(it));
        let mut together = Vec::new();
        for resolver in links {
            match &resolver.source {
                OpinionSource::Function(it) if it.id.is_editor() == first.is_editor() => {
                    together.push(*it);
                }
                // A list without an opinion on this tool can't decide in between.
                OpinionSource::List(policy) if resolver.limited(policy.decide(name)).is_none() => {}
                _ => break,
            }
        }
        together
    }
}

/// Identity of a call. Calls with equal keys are the same call.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CallKey {
    /// The call's ID.
    pub id: ToolUseId,
    /// The tool's name.
    pub name: String,
    /// The arguments in canonical form, see [`crate::json::canonical`].
    pub input: String,
}

/// Known answers of function resolvers; `None` means no opinion.
pub type Answers = BTreeMap<(CallKey, FunctionId), Option<Decision>>;

/// Result of asking the chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// A decision and the resolver's name; empty if none had an opinion.
    Decided(Decision, String),
    /// The answer of this function is needed first.
    Ask(Function),
}

/// Asks the chain about a call. Without any opinion, approval is required.
pub fn decide(chain: &ResolverChain, call: &CallKey, answers: &Answers) -> Verdict {
    decide_by(chain, call, answers, true)
}

/// Like [`decide`]. If `reads` is false, no call is approved for only reading, because the
/// guard found otherwise.
pub fn decide_by(chain: &ResolverChain, call: &CallKey, answers: &Answers, reads: bool) -> Verdict {
    let mut is_remembered = false;
    for resolver in &chain.0 {
        match resolver.opinion(call, answers) {
            // The guard found that the call does more than read.
            Ok(Some((_, Some(SHELL_SAFE)))) if !reads => {}
            // The rule was chosen for some arguments, and a later denial may know better.
            Ok(Some((Decision::Approve, _))) if resolver.name == REMEMBERED => is_remembered = true,
            // After a remembered approval, only a denial counts.
            Ok(Some((decision, _))) if is_remembered && decision != Decision::Deny => {}
            Ok(Some((decision, name))) => {
                let name = name.unwrap_or(&resolver.name);
                return Verdict::Decided(decision, name.to_owned());
            }
            Ok(None) => {}
            Err(function) => return Verdict::Ask(function),
        }
    }
    if is_remembered {
        // No later resolver denied it.
        Verdict::Decided(Decision::Approve, REMEMBERED.to_owned())
    } else {
        // Without any opinion, the user decides.
        Verdict::Decided(Decision::RequireApproval, String::new())
    }
}

/// Like [`decide`], as if no rule were remembered. For reports on tools rather than on calls.
pub fn decide_in_general(chain: &ResolverChain, call: &CallKey) -> Verdict {
    let key = (call.clone(), FunctionId::Remembered);
    decide(chain, call, &Answers::from([(key, None)]))
}

/// A question to a function resolver.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// The call.
    pub call: CallKey,
    /// Its arguments.
    pub input: Value,
    /// The function to ask.
    pub function: Function,
}

/// A built-in rule that inspects a call's arguments.
pub trait ArgumentRule: fmt::Debug + Send + Sync {
    /// Returns the rule's decision, or `None` without an opinion.
    fn decide(&self, call: &CallKey) -> Option<Decision>;

    /// Returns the name to log; `None` means the resolver's.
    fn name(&self) -> Option<&'static str> {
        None
    }

    /// Returns the reason for a denial, for the model.
    fn reason(&self, _call: &CallKey) -> Option<String> {
        None
    }
}

/// A list of rules; the first one with an opinion decides. Lists are equal if they share
/// the same rules.
#[derive(Debug, Clone, Default)]
pub struct ArgumentRules(Vec<Arc<dyn ArgumentRule>>);

impl ArgumentRules {
    /// Appends a rule.
    pub fn add(&mut self, rule: Arc<dyn ArgumentRule>) {
        self.0.push(rule);
    }

    /// Returns true if there are no rules.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the first opinion.
    pub fn decide(&self, call: &CallKey) -> Option<Decision> {
        self.0.iter().find_map(|rule| rule.decide(call))
    }

    /// Returns the first opinion with the rule's name.
    pub fn opinion(&self, call: &CallKey) -> Option<(Decision, Option<&'static str>)> {
        let mut opinions = self.0.iter();
        opinions.find_map(|rule| Some((rule.decide(call)?, rule.name())))
    }

    /// Returns the first reason.
    pub fn reason(&self, call: &CallKey) -> Option<String> {
        self.0.iter().find_map(|rule| rule.reason(call))
    }
}

impl PartialEq for ArgumentRules {
    fn eq(&self, other: &Self) -> bool {
        let pairs = self.0.iter().zip(&other.0);
        self.0.len() == other.0.len() && pairs.into_iter().all(|(a, b)| Arc::ptr_eq(a, b))
    }
}

impl Eq for ArgumentRules {}

/// Name of the tool that runs another tool.
pub const EXECUTE_TOOL: &str = "execute_tool";

/// Returns the call to decide about and its arguments: for [`EXECUTE_TOOL`], the inner
/// call, to which all rules apply.
pub fn meant(call: &CallKey, input: &Value) -> (CallKey, Value) {
    // All other tools decide about their own calls only.
    let Some((name, inner)) = inside(&call.name, input) else {
        return (call.clone(), input.clone());
    };
    let key = CallKey {
        // Results and approvals refer to the outer call by this ID.
        id: call.id.clone(),
        name: name.to_owned(),
        input: crate::json::canonical(&inner),
    };
    (key, inner)
}

/// Returns the tool and arguments inside a call of [`EXECUTE_TOOL`].
pub fn inside<'a>(name: &str, input: &'a Value) -> Option<(&'a str, Value)> {
    if name != EXECUTE_TOOL {
        return None;
    }
    let inner = input.get("name")?.as_str()?;
    // Some models omit empty arguments.
    let arguments = match input.get("arguments") {
        None | Some(Value::Null) => Value::Object(serde_json::Map::new()),
        Some(arguments) => arguments.clone(),
    };
    Some((inner, arguments))
}

#[cfg(test)]
mod tests;
