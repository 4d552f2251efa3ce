//! Rules that inspect the arguments of a call, and the inner call of `execute_tool`.
//!
//! Pure: a rule depends only on the call's text and is evaluated directly, unlike function
//! resolvers.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;

use super::{CallKey, Decision};

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
mod tests {
    use super::*;
    use crate::approval::{OpinionSource, Resolver, ResolverChain};
    use crate::tool::ToolUseId;
    use serde_json::json;

    fn key(name: &str, input: &Value) -> CallKey {
        CallKey {
            id: ToolUseId::new("x"),
            name: name.to_owned(),
            input: crate::json::canonical(input),
        }
    }

    /// Denies one tool and says why.
    #[derive(Debug)]
    struct Denies(&'static str);

    impl ArgumentRule for Denies {
        fn decide(&self, call: &CallKey) -> Option<Decision> {
            (call.name == self.0).then_some(Decision::Deny)
        }

        fn name(&self) -> Option<&'static str> {
            Some(self.0)
        }

        fn reason(&self, call: &CallKey) -> Option<String> {
            self.decide(call).map(|_| format!("No {}.", self.0))
        }
    }

    #[test]
    fn the_first_rule_with_an_opinion_decides() {
        let mut rules = ArgumentRules::default();
        assert!(rules.is_empty());
        let (first, second) = (Arc::new(Denies("a")), Arc::new(Denies("b")));
        rules.add(first.clone());
        rules.add(second.clone());
        assert!(!rules.is_empty());
        let call = |name: &str| key(name, &json!({}));
        assert_eq!(rules.decide(&call("b")), Some(Decision::Deny));
        assert_eq!(rules.opinion(&call("b")), Some((Decision::Deny, Some("b"))));
        assert_eq!(rules.decide(&call("c")), None);
        let chain = ResolverChain::new(vec![
            Resolver::new("other", 200, OpinionSource::Always(Decision::Deny)),
            Resolver::new("ours", 100, OpinionSource::ArgumentRules(rules.clone())),
        ]);
        let reason = |link: &str, name: &str| chain.reason(link, &call(name));
        assert_eq!(reason("ours", "b").as_deref(), Some("No b."));
        assert_eq!(reason("ours", "c"), None);
        assert_eq!(reason("other", "b"), None);
        assert_eq!(reason("none", "b"), None);
    }

    #[derive(Debug)]
    struct DeniesAll;

    impl ArgumentRule for DeniesAll {
        fn decide(&self, _: &CallKey) -> Option<Decision> {
            Some(Decision::Deny)
        }
    }

    #[test]
    fn a_rule_has_no_name_or_reason_by_default() {
        let mut rules = ArgumentRules::default();
        rules.add(Arc::new(DeniesAll));
        let call = key("a", &json!({}));
        assert_eq!(rules.opinion(&call), Some((Decision::Deny, None)));
        assert_eq!(rules.reason(&call), None);
        rules.add(Arc::new(Denies("a")));
        assert_eq!(rules.reason(&call).as_deref(), Some("No a."));
    }

    #[test]
    fn lists_are_equal_if_they_share_their_rules() {
        let (first, second) = (Arc::new(Denies("a")), Arc::new(Denies("a")));
        let of = |all: &[Arc<Denies>]| {
            let mut rules = ArgumentRules::default();
            all.iter().for_each(|it| rules.add(it.clone()));
            rules
        };
        assert_eq!(
            of(std::slice::from_ref(&first)),
            of(std::slice::from_ref(&first))
        );
        assert_ne!(
            of(std::slice::from_ref(&first)),
            of(std::slice::from_ref(&second))
        );
        assert_ne!(
            of(std::slice::from_ref(&first)),
            of(&[first.clone(), second])
        );
        assert_ne!(of(&[]), of(&[first]));
    }

    #[test]
    fn the_inner_call_is_decided_about() {
        let outer = json!({"name": "bash", "arguments": {"command": "ls"}});
        let inner = json!({"command": "ls"});
        assert_eq!(
            meant(&key(EXECUTE_TOOL, &outer), &outer),
            (key("bash", &inner), inner)
        );
        let bare = json!({"name": "ping"});
        assert_eq!(
            meant(&key(EXECUTE_TOOL, &bare), &bare).0,
            key("ping", &json!({}))
        );
        for (name, input) in [("bash", outer.clone()), (EXECUTE_TOOL, json!({"name": 7}))] {
            assert_eq!(meant(&key(name, &input), &input).0, key(name, &input));
        }
    }
}
