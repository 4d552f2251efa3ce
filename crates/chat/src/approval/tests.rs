use serde_json::json;

use super::{OpinionSource, Resolver, ResolverChain, *};
use crate::tool::ToolUseId;

fn key(name: &str) -> CallKey {
    CallKey {
        id: ToolUseId::new("x"),
        name: name.to_owned(),
        input: "{}".to_owned(),
    }
}

fn resolver(name: &str, priority: i32, source: OpinionSource) -> Resolver {
    Resolver::new(name, priority, source)
}

fn plugin(id: u64) -> Function {
    Function::resolver(id, OnError::Pass)
}

fn list(approve: &[&str]) -> OpinionSource {
    OpinionSource::List(Policy {
        approve: names(approve),
        ..Policy::default()
    })
}

fn decided(chain: &ResolverChain, name: &str) -> Decision {
    match decide(chain, &key(name), &Answers::new()) {
        Verdict::Decided(decision, _) => decision,
        Verdict::Ask(function) => panic!("{function:?} is asked"),
    }
}

fn names(list: &[&str]) -> BTreeSet<String> {
    list.iter().map(|name| (*name).to_owned()).collect()
}

#[test]
fn the_opinion_with_the_highest_priority_decides() {
    let chain = ResolverChain::new(vec![
        resolver("catch-all", 0, OpinionSource::Always(Decision::Approve)),
        resolver(
            "config",
            100,
            OpinionSource::List(Policy {
                approve: names(&["read"]),
                deny: names(&["bash"]),
                ..Policy::default()
            }),
        ),
        resolver("plugin", 50, OpinionSource::Function(plugin(7))),
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
    assert_eq!(decide(&chain, &key("edit"), &none), Verdict::Ask(plugin(7)));
    let passed = Answers::from([((key("edit"), FunctionId::Editor(7)), None)]);
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
        ..Policy::default()
    };
    assert_eq!(policy.decide("bash"), Some(Decision::Deny));
}

#[test]
fn without_an_opinion_approval_is_required() {
    let verdict = decide(&ResolverChain::default(), &key("read"), &Answers::new());
    assert_eq!(
        verdict,
        Verdict::Decided(Decision::RequireApproval, String::new())
    );
}

#[test]
fn a_frontmatter_with_rules_replaces_the_options_even_if_empty() {
    let chain = ResolverChain::new(vec![
        Resolver::yielding(CONFIG, 100, list(&["write", "read"])),
        Resolver::yielding("my.module", 100, list(&["bash"])),
        resolver(FRONTMATTER, 90, list(&[])),
        resolver("plugin", 50, list(&["calculator"])),
    ]);
    assert_eq!(decided(&chain, "write"), Decision::Approve);
    let strict = chain.with_frontmatter(&list(&["read"]));
    assert_eq!(decided(&strict, "read"), Decision::Approve);
    assert_eq!(decided(&strict, "write"), Decision::RequireApproval);
    assert_eq!(decided(&strict, "bash"), Decision::RequireApproval);
    assert_eq!(decided(&strict, "calculator"), Decision::Approve);
    let empty = chain.with_frontmatter(&list(&[]));
    assert_eq!(decided(&empty, "read"), Decision::RequireApproval);
}

#[test]
fn denials_and_questions_of_the_options_override_the_frontmatter() {
    let call = key("bash");
    let deny = OpinionSource::List(Policy {
        deny: names(&["bash"]),
        ..Policy::default()
    });
    let function = Function::auto_approve(1);
    let chain = |source| {
        let links = vec![
            Resolver::yielding(CONFIG, 100, source),
            resolver(FRONTMATTER, 90, list(&[])),
            resolver("catch-all", 0, OpinionSource::Always(Decision::Approve)),
        ];
        ResolverChain::new(links).with_frontmatter(&list(&["bash"]))
    };
    assert_eq!(decided(&chain(deny), "bash"), Decision::Deny);
    let asks = OpinionSource::Always(Decision::RequireApproval);
    assert_eq!(decided(&chain(asks), "bash"), Decision::RequireApproval);
    let asked = chain(OpinionSource::Function(function));
    assert_eq!(
        decide(&asked, &call, &Answers::new()),
        Verdict::Ask(function)
    );
    for (answer, expected) in [
        (Some(Decision::Deny), Decision::Deny),
        (Some(Decision::RequireApproval), Decision::RequireApproval),
        (Some(Decision::Approve), Decision::Approve),
        (None, Decision::Approve),
    ] {
        let answers = Answers::from([((call.clone(), function.id), answer)]);
        let Verdict::Decided(decision, by) = decide(&asked, &call, &answers) else {
            panic!("asked again");
        };
        let by_options = matches!(expected, Decision::Deny | Decision::RequireApproval);
        assert_eq!(decision, expected, "{answer:?}");
        assert_eq!(by == CONFIG, by_options, "{answer:?}");
    }
    // The function's approval does not count in a chat that has rules of its own.
    let stricter = ResolverChain::new(vec![
        Resolver::yielding(CONFIG, 100, OpinionSource::Function(function)),
        resolver(FRONTMATTER, 90, list(&[])),
    ])
    .with_frontmatter(&list(&[]));
    let answers = Answers::from([((call.clone(), function.id), Some(Decision::Approve))]);
    assert_eq!(
        decide(&stricter, &call, &answers),
        Verdict::Decided(Decision::RequireApproval, String::new())
    );
}

#[test]
fn consecutive_functions_are_asked_together() {
    let frontmatter = Function::frontmatter();
    let chain = ResolverChain::new(vec![
        resolver("a", 200, OpinionSource::Function(plugin(1))),
        resolver("b", 150, list(&["read"])),
        resolver("c", 120, OpinionSource::Function(plugin(2))),
        resolver(FRONTMATTER, 90, OpinionSource::Function(frontmatter)),
        resolver("d", 50, OpinionSource::Function(plugin(3))),
    ]);
    let together = |first, name| chain.asked_together(first, name);
    let editor = FunctionId::Editor;
    assert_eq!(together(editor(1), "bash"), [plugin(1), plugin(2)]);
    // The list decides about `read`, so no resolver below it is asked.
    assert_eq!(together(editor(1), "read"), [plugin(1)]);
    assert_eq!(together(FunctionId::Frontmatter, "bash"), [frontmatter]);
    assert_eq!(together(editor(3), "bash"), [plugin(3)]);
}

#[test]
fn each_function_has_its_own_id() {
    let all = [
        Function::auto_approve(0),
        Function::frontmatter(),
        Function::guard(),
        Function::held(),
        Function::sight(),
        plugin(1),
    ];
    let ids: BTreeSet<FunctionId> = all.iter().map(|it| it.id).collect();
    assert_eq!(ids.len(), all.len());
}

#[test]
fn a_remembered_rule_approves_only_what_no_resolver_denies() {
    let function = OpinionSource::Function(Function::remembered());
    let chain = |rest: Vec<Resolver>| {
        let own = Resolver::yielding(REMEMBERED, 70, function.clone());
        ResolverChain::new(rest.into_iter().chain([own]).collect())
    };
    let said = |decision| Answers::from([((key("bash"), FunctionId::Remembered), decision)]);
    let approves = said(Some(Decision::Approve));
    let always = |decision| resolver("later", 50, OpinionSource::Always(decision));
    let ours = Verdict::Decided(Decision::Approve, REMEMBERED.to_owned());
    let none = chain(vec![]);
    assert_eq!(
        decide(&none, &key("bash"), &Answers::new()),
        Verdict::Ask(Function::remembered())
    );
    assert_eq!(decide(&none, &key("bash"), &approves), ours);
    assert_eq!(
        decide_in_general(&none, &key("bash")),
        Verdict::Decided(Decision::RequireApproval, String::new())
    );
    // The user's rule comes before a resolver that asks, but no denial is passed over.
    let asks = chain(vec![always(Decision::RequireApproval)]);
    assert_eq!(decide(&asks, &key("bash"), &approves), ours);
    let denies = chain(vec![always(Decision::Deny)]);
    let denied = Verdict::Decided(Decision::Deny, "later".to_owned());
    assert_eq!(decide(&denies, &key("bash"), &approves), denied);
    let plugin = chain(vec![resolver(
        "later",
        50,
        OpinionSource::Function(plugin(7)),
    )]);
    let asked = Verdict::Ask(self::plugin(7));
    assert_eq!(decide(&plugin, &key("bash"), &approves), asked);
    // A chat that sets its own rules is stricter.
    let strict = none.with_frontmatter(&list(&[]));
    assert_eq!(
        decide(&strict, &key("bash"), &approves),
        Verdict::Decided(Decision::RequireApproval, String::new())
    );
}

fn call_key(name: &str, input: &Value) -> CallKey {
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
    let call = |name: &str| call_key(name, &json!({}));
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
    let call = call_key("a", &json!({}));
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
        meant(&call_key(EXECUTE_TOOL, &outer), &outer),
        (call_key("bash", &inner), inner)
    );
    let bare = json!({"name": "ping"});
    assert_eq!(
        meant(&call_key(EXECUTE_TOOL, &bare), &bare).0,
        call_key("ping", &json!({}))
    );
    for (name, input) in [("bash", outer.clone()), (EXECUTE_TOOL, json!({"name": 7}))] {
        assert_eq!(
            meant(&call_key(name, &input), &input).0,
            call_key(name, &input)
        );
    }
}
