//! Who decides about a call: a chain of resolvers, asked from the highest
//! priority down, of which the first that answers decides.
//!
//! Pure: a resolver that is a function of somebody else's is not called here;
//! [`decide`] says that its answer is needed and is called again with it.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::tool::ToolUseId;

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

/// Names a function that lives in the user's Neovim.
pub type FunctionId = u64;

/// A link of the chain.
#[derive(Debug, Clone, PartialEq)]
pub struct Resolver {
    /// Unique, such as `urn:flemma:approval:config`.
    pub name: String,
    /// Higher is asked first; equal priorities go by name.
    pub priority: i32,
    /// Where its answers come from.
    pub source: Source,
}

/// Where a resolver's answers come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Lists of tool names.
    List(Policy),
    /// The user's function.
    Function(FunctionId),
    /// The same answer for every call.
    Always(Decision),
}

/// Tool names to approve and to deny. Deny wins.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Policy {
    /// Names that run without asking.
    pub approve: BTreeSet<String>,
    /// Names that are refused.
    pub deny: BTreeSet<String>,
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
    Ask(FunctionId),
}

/// Asks the chain. Without any opinion the user is asked.
pub fn decide(chain: &ResolverChain, call: &CallKey, answers: &Answers) -> Verdict {
    for resolver in &chain.0 {
        let opinion = match &resolver.source {
            Source::List(policy) => policy.decide(&call.name),
            Source::Always(decision) => Some(*decision),
            Source::Function(function) => match answers.get(&(call.clone(), *function)) {
                Some(answer) => *answer,
                None => return Verdict::Ask(*function),
            },
        };
        if let Some(decision) = opinion {
            return Verdict::Decided(decision, resolver.name.clone());
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
    pub function: FunctionId,
}

/// Reads what a policy function returned: `true`, `false`, `"deny"` or nothing.
/// Anything else asks the user, because doubt never approves.
///
/// # Errors
///
/// A sentence for the log when the value is none of these; the decision is then
/// [`Decision::RequireApproval`].
pub fn read_policy_answer(value: &Value) -> Result<Option<Decision>, String> {
    match value {
        Value::Null => Ok(None),
        Value::Bool(true) => Ok(Some(Decision::Approve)),
        Value::Bool(false) => Ok(Some(Decision::RequireApproval)),
        Value::String(word) if word == "deny" => Ok(Some(Decision::Deny)),
        other => Err(format!(
            "auto_approve returned {other}; only true, false, \"deny\" and nil mean something, so the call waits."
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(name: &str) -> CallKey {
        CallKey {
            id: ToolUseId::new("x"),
            name: name.to_owned(),
            input: "{}".to_owned(),
        }
    }

    fn resolver(name: &str, priority: i32, source: Source) -> Resolver {
        Resolver {
            name: name.to_owned(),
            priority,
            source,
        }
    }

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn the_first_answer_from_above_decides() {
        let chain = ResolverChain::new(vec![
            resolver("catch-all", 0, Source::Always(Decision::Approve)),
            resolver(
                "config",
                100,
                Source::List(Policy {
                    approve: names(&["read"]),
                    deny: names(&["bash"]),
                }),
            ),
            resolver("plugin", 50, Source::Function(7)),
        ]);
        let none = Answers::new();
        assert_eq!(
            decide(&chain, &key("read"), &none),
            Verdict::Decided(Decision::Approve, "config".into())
        );
        assert_eq!(
            decide(&chain, &key("bash"), &none),
            Verdict::Decided(Decision::Deny, "config".into())
        );
        assert_eq!(decide(&chain, &key("edit"), &none), Verdict::Ask(7));
        let passed = Answers::from([((key("edit"), 7), None)]);
        assert_eq!(
            decide(&chain, &key("edit"), &passed),
            Verdict::Decided(Decision::Approve, "catch-all".into())
        );
    }

    #[test]
    fn deny_wins_inside_a_list() {
        let policy = Policy {
            approve: names(&["bash"]),
            deny: names(&["bash"]),
        };
        assert_eq!(policy.decide("bash"), Some(Decision::Deny));
    }

    #[test]
    fn without_an_opinion_the_user_is_asked() {
        let verdict = decide(&ResolverChain::default(), &key("read"), &Answers::new());
        assert_eq!(
            verdict,
            Verdict::Decided(Decision::RequireApproval, String::new())
        );
    }

    #[test]
    fn an_odd_answer_never_approves() {
        for odd in [
            serde_json::json!("approve"),
            serde_json::json!(1),
            serde_json::json!({}),
            serde_json::json!("yes"),
        ] {
            assert!(read_policy_answer(&odd).is_err(), "{odd}");
        }
    }
}
