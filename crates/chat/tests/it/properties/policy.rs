//! Any chain of resolvers: the order of registration does not matter, and neither a denial
//! nor a failure allows a call.

use std::collections::BTreeSet;

use chat::approval::{
    Answers, CallKey, Decision, Function, FunctionId, OnError, OpinionSource, Policy, Resolver,
    ResolverChain, Returned, Verdict, decide,
};
use chat::tool::ToolUseId;
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::config;

const TOOLS: [&str; 3] = ["bash", "read", "write"];

/// A resolver without its name.
#[derive(Debug, Clone)]
struct Link {
    priority: i32,
    source: OpinionSource,
    /// Its answer, if it is a function.
    answer: Option<Decision>,
}

fn decision() -> impl Strategy<Value = Decision> {
    select(vec![
        Decision::Approve,
        Decision::RequireApproval,
        Decision::Deny,
    ])
}

fn names() -> impl Strategy<Value = BTreeSet<String>> {
    subsequence(TOOLS.to_vec(), 0..=TOOLS.len())
        .prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

fn link() -> impl Strategy<Value = Link> {
    let list = (names(), names()).prop_map(|(approve, deny)| {
        OpinionSource::List(Policy {
            approve,
            deny,
            ..Policy::default()
        })
    });
    // The ID becomes unique in the chain.
    let function = Just(OpinionSource::Function(Function::resolver(
        0,
        OnError::Pass,
    )));
    let source = prop_oneof![list, decision().prop_map(OpinionSource::Always), function];
    let priority = select(vec![200, 100, 100, 90, 50, 0]);
    (priority, source, prop::option::of(decision())).prop_map(|(priority, source, answer)| Link {
        priority,
        source,
        answer,
    })
}

fn call(tool: &str) -> CallKey {
    CallKey {
        id: ToolUseId::new("t"),
        name: tool.to_owned(),
        input: "{}".to_owned(),
    }
}

/// Returns the resolvers, each with a unique name and ID, and their answers.
fn made(links: &[Link]) -> (Vec<Resolver>, Answers) {
    let mut answers = Answers::new();
    let resolver = |(at, link): (usize, &Link)| {
        let number = at as u64;
        let source = match link.source {
            OpinionSource::Function(_) => {
                for tool in TOOLS {
                    answers.insert((call(tool), FunctionId::Editor(number)), link.answer);
                }
                OpinionSource::Function(Function::resolver(number, OnError::Pass))
            }
            _ => link.source.clone(),
        };
        Resolver::new(format!("r{at}"), link.priority, source)
    };
    let resolvers = links.iter().enumerate().map(resolver).collect();
    (resolvers, answers)
}

fn verdicts(resolvers: Vec<Resolver>, answers: &Answers) -> Vec<Verdict> {
    let chain = ResolverChain::new(resolvers);
    let verdict = |tool: &&str| decide(&chain, &call(tool), answers);
    TOOLS.iter().map(verdict).collect()
}

fn approves(verdict: &Verdict) -> bool {
    matches!(verdict, Verdict::Decided(Decision::Approve, _))
}

/// Returns true if no call runs after a change that did not run before.
fn nothing_more(before: &[Verdict], after: &[Verdict]) -> bool {
    let both = before.iter().zip(after);
    both.into_iter()
        .all(|(before, after)| approves(before) || !approves(after))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn the_order_of_registration_does_not_matter(
        links in prop::collection::vec(link(), 0..7),
        turn: Index,
    ) {
        let (resolvers, answers) = made(&links);
        let before = verdicts(resolvers.clone(), &answers);
        let mut other = resolvers;
        other.reverse();
        if !other.is_empty() {
            let at = turn.index(other.len());
            other.rotate_left(at);
        }
        prop_assert_eq!(before, verdicts(other, &answers));
    }

    #[test]
    fn another_denial_allows_nothing_more(
        links in prop::collection::vec(link(), 1..7),
        denied in names(),
        at: Index,
        priority in select(vec![300, 100, 95, 50, -1]),
    ) {
        let (resolvers, answers) = made(&links);
        let before = verdicts(resolvers.clone(), &answers);

        let mut one_more = resolvers.clone();
        let deny = Policy { deny: denied.clone(), ..Policy::default() };
        one_more.push(Resolver::new("more", priority, OpinionSource::List(deny)));
        prop_assert!(nothing_more(&before, &verdicts(one_more, &answers)));

        let mut stricter = resolvers;
        let at = at.index(stricter.len());
        if let OpinionSource::List(policy) = &mut stricter[at].source {
            policy.deny.extend(denied);
        }
        prop_assert!(nothing_more(&before, &verdicts(stricter, &answers)));
    }

    #[test]
    fn a_failing_policy_function_allows_nothing(
        above in prop::collection::vec(link(), 0..4),
        below in prop::collection::vec(link(), 0..4),
        of_the_chat: bool,
    ) {
        let function = if of_the_chat { Function::frontmatter() } else { Function::auto_approve(99) };
        let links: Vec<Link> = above.iter().cloned()
            .map(|it| Link { priority: 500, ..it })
            .chain(below.iter().cloned().map(|it| Link { priority: 10, ..it }))
            .collect();
        let (mut resolvers, mut answers) = made(&links);
        let only_above = verdicts(resolvers[..above.len()].to_vec(), &answers);
        resolvers.push(Resolver::new("failing", 100, OpinionSource::Function(function)));
        for tool in TOOLS {
            let (said, problem) = function.read(Returned::Error("it broke"));
            prop_assert!(problem.is_some());
            answers.insert((call(tool), function.id), said);
        }
        prop_assert!(nothing_more(&only_above, &verdicts(resolvers, &answers)));
    }

    #[test]
    fn a_chat_with_its_own_rules_runs_only_what_they_and_unyielding_resolvers_allow(
        links in prop::collection::vec(link(), 0..5),
        theirs in names(),
    ) {
        let (mut resolvers, answers) = made(&links);
        let config = Policy { approve: TOOLS.map(str::to_owned).into(), ..Policy::default() };
        resolvers.push(Resolver::yielding("config", 100, OpinionSource::List(config)));
        let empty = OpinionSource::List(Policy::default());
        resolvers.push(Resolver::new(chat::approval::FRONTMATTER, 90, empty));
        let strict = Policy { approve: theirs.clone(), ..Policy::default() };
        let chain = ResolverChain::new(resolvers.clone()).with_frontmatter(OpinionSource::List(strict));
        let others: Vec<Resolver> = resolvers.into_iter().filter(|it| !it.yields).collect();
        let without = verdicts(others, &answers);
        for (tool, without) in TOOLS.iter().zip(without) {
            let verdict = decide(&chain, &call(tool), &answers);
            prop_assert!(!approves(&verdict) || theirs.contains(*tool) || approves(&without));
        }
    }
}
