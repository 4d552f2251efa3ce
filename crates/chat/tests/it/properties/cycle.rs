//! Compares the cycle with a model: in any order of events, no call runs without its own
//! decision, and every call has at most one result.

use std::collections::{BTreeMap, BTreeSet};

use chat::approval::{
    Answers, CallKey, Decision, Function, FunctionId, OnError, OpinionSource, Policy, Resolver,
    ResolverChain, Returned, Verdict, decide,
};
use chat::cycle::{AnswerEnd, CycleEvent};
use chat::document::{Block, Diagnostic, Document, ResultKind, Status};
use chat::origin::ChangeSource;
use chat::text::Text;
use chat::tool::{ToolOutcome, ToolUseId};
use proptest::prelude::*;
use proptest::sample::{Index, select, subsequence};

use super::config;
use crate::play::Play;

/// An event. Numbers select among what exists.
#[derive(Debug, Clone)]
enum Act {
    Advance,
    Send,
    Resolve(usize),
    ApproveAll,
    Refuse(usize),
    Finish(usize),
    Fail(usize),
    Cancel,
    Reload,
    Undo(usize),
    Approve(usize),
    /// A paste: a whole past text, or a turn with a call of that status.
    Paste(usize),
    Reject(usize),
    Type(usize),
    DeleteResult(usize),
    Words,
    Answer(Vec<&'static str>),
    AnswerFails,
    Steer,
    FollowUp,
    TakeBack,
}

fn act() -> impl Strategy<Value = Act> {
    let calls = prop::collection::vec(prop::sample::select(vec!["bash", "bash", "nothing"]), 0..3);
    prop_oneof![
        4 => Just(Act::Advance),
        1 => Just(Act::Send),
        2 => (0usize..40).prop_map(Act::Resolve),
        1 => Just(Act::ApproveAll),
        1 => (0usize..40).prop_map(Act::Refuse),
        4 => (0usize..3).prop_map(Act::Finish),
        1 => (0usize..3).prop_map(Act::Fail),
        1 => Just(Act::Cancel),
        1 => Just(Act::Reload),
        3 => (0usize..12).prop_map(Act::Undo),
        4 => (0usize..3).prop_map(Act::Approve),
        2 => (0usize..9).prop_map(Act::Paste),
        1 => (0usize..3).prop_map(Act::Reject),
        1 => (0usize..3).prop_map(Act::Type),
        1 => (0usize..3).prop_map(Act::DeleteResult),
        1 => Just(Act::Words),
        4 => calls.prop_map(Act::Answer),
        1 => Just(Act::AnswerFails),
        1 => Just(Act::Steer),
        2 => Just(Act::FollowUp),
        1 => Just(Act::TakeBack),
    ]
}

/// A chat, its past texts, and the decisions so far.
struct Model {
    play: Play,
    past: Vec<Text>,
    /// Decisions of the user about a call, by ID.
    decisions: BTreeMap<String, usize>,
    runs: BTreeMap<String, usize>,
    answers: usize,
    /// Requests since the last key.
    sent: u32,
    /// Number of messages by the user, which makes each text unique.
    spoken: usize,
    /// Texts that the user sent by commands, and that no undo removed.
    said: Vec<String>,
    /// Number of queued messages: each is a separate turn of the user.
    queued: u32,
}

impl Model {
    fn new(autopilot: bool) -> Self {
        let mut play = Play::typed("@You:\nq");
        play.options.autopilot = autopilot;
        play.options.max_turns = 3;
        Self {
            play,
            past: Vec::new(),
            decisions: BTreeMap::new(),
            runs: BTreeMap::new(),
            answers: 0,
            sent: 0,
            spoken: 0,
            said: Vec::new(),
            queued: 0,
        }
    }

    fn running(&self, at: usize) -> Option<String> {
        let running = self.play.cycle.running();
        let call = running.get(at % running.len().max(1))?;
        Some(call.id.as_str().to_owned())
    }

    /// Returns the opening line of a pending placeholder's fence, and its ID.
    fn pending(&self, at: usize) -> Option<(usize, String)> {
        let document = Document::parse(&self.play.text);
        let waiting: Vec<_> = document
            .turns()
            .flat_map(|turn| turn.calls)
            .filter(|call| call.status() == Some(Status::Pending))
            .filter_map(|call| Some((call.result?.body.start - 1, call.tool_use.id.to_string())))
            .collect();
        waiting.get(at % waiting.len().max(1)).cloned()
    }

    fn replace(&mut self, line: usize, lines: usize, new: &[&str]) {
        self.play.write(line..line + lines, new, ChangeSource::USER);
        self.play.event(CycleEvent::Changed);
    }

    fn act(&mut self, act: &Act) {
        self.past.push(self.play.text.clone());
        match act {
            Act::Advance | Act::Send | Act::Resolve(_) | Act::ApproveAll | Act::Refuse(_) => {
                self.key(act)
            }
            Act::Finish(at) | Act::Fail(at) => self.end(*at, matches!(act, Act::Fail(_))),
            Act::Cancel => self.play.event(CycleEvent::Cancel),
            Act::Reload => {
                self.play.cycle.text_read(&self.play.text);
                self.play.event(CycleEvent::Loaded {
                    interrupted: Vec::new(),
                });
            }
            Act::Paste(at) => self.paste(*at),
            Act::Undo(at) => {
                let at = self.past.len().saturating_sub(1 + at);
                self.play.replace(&self.past[at], ChangeSource::Undo);
                self.forget_said();
            }
            Act::Answer(tools) => self.answer(tools),
            Act::AnswerFails if self.play.cycle.is_sending() => {
                self.play.event(CycleEvent::AnswerEnded(AnswerEnd::Failed));
            }
            Act::AnswerFails => {}
            Act::Steer | Act::FollowUp => self.speak(matches!(act, Act::Steer)),
            Act::TakeBack => self.play.event(CycleEvent::TakeBack(Vec::new())),
            edit => self.edit(edit),
        }
        self.check();
    }

    /// An undo or a paste may remove messages, as if the user did.
    fn forget_said(&mut self) {
        let waits: Vec<String> = self.waiting().map(str::to_owned).collect();
        self.said.retain(|text| waits.contains(text));
    }

    /// Pasted text decides nothing.
    fn paste(&mut self, at: usize) {
        if let Some(past) = self
            .past
            .get(self.past.len().saturating_sub(1 + at))
            .filter(|_| at < 5)
        {
            self.play.replace(past, ChangeSource::BULK);
            return self.forget_said();
        }
        self.answers += 1;
        let (id, end) = (format!("p{}", self.answers), self.play.text.line_count());
        let status = ["approved", "pending", "approve"].get(at % 4);
        let result = status.map(|it| {
            format!("\n\n@You:\n**Tool Result:** `{id}`\n\n```flemma:tool status={it}\n```")
        });
        // A policy approves `slow`.
        let turn = format!(
            "\n@Assistant:\n**Tool Use:** `slow` (`{id}`)\n\n```json\n{{}}\n```{}",
            result.unwrap_or_default()
        );
        let lines: Vec<&str> = turn.split('\n').collect();
        self.play.write(end..end, &lines, ChangeSource::BULK);
        self.play.event(CycleEvent::Changed);
    }

    /// Messages that are not in the chat yet.
    fn waiting(&self) -> impl Iterator<Item = &str> {
        let cycle = &self.play.cycle;
        let now = cycle.steering().iter().map(String::as_str);
        now.chain(cycle.follow_ups())
    }

    fn speak(&mut self, now: bool) {
        let text = format!("<say {}>\n```\n@Assistant:", self.spoken);
        self.spoken += 1;
        self.said.push(text.clone());
        if now {
            self.sent = 0;
            self.play.event(CycleEvent::Steer(text));
        } else {
            self.queued += 1;
            self.play.event(CycleEvent::FollowUp(text));
        }
    }

    fn key(&mut self, act: &Act) {
        self.sent = 0;
        match act {
            Act::Resolve(line) => {
                let line = line % self.play.text.line_count();
                self.decide_at(line);
                self.play.event(CycleEvent::Resolve { line });
            }
            Act::ApproveAll => {
                let document = Document::parse(&self.play.text);
                let calls = document.turns().flat_map(|turn| turn.calls);
                let waits = calls.filter(|call| call.status() == Some(Status::Pending));
                let ids: Vec<String> = waits.map(|it| it.tool_use.id.to_string()).collect();
                for id in ids {
                    *self.decisions.entry(id).or_default() += 1;
                }
                self.play.event(CycleEvent::ApproveAll);
            }
            Act::Refuse(line) => {
                let line = line % self.play.text.line_count();
                let reason = "@You:\n```\nno".to_owned();
                self.play.event(CycleEvent::Reject { line, reason });
            }
            Act::Send => self.play.event(CycleEvent::Send),
            _ => self.play.event(CycleEvent::Advance),
        }
    }

    /// Alt-Enter on a call is a decision about it.
    fn decide_at(&mut self, line: usize) {
        let document = Document::parse(&self.play.text);
        let turns: Vec<_> = document.turns().flat_map(|turn| turn.calls).collect();
        let call = turns.iter().find(|call| {
            call.tool_use.lines.contains(&line)
                || call.result.is_some_and(|it| it.lines.contains(&line))
        });
        if let Some(call) = call {
            *self
                .decisions
                .entry(call.tool_use.id.to_string())
                .or_default() += 1;
        }
    }

    fn end(&mut self, at: usize, failed: bool) {
        let Some(id) = self.running(at) else { return };
        let outcome = if failed {
            ToolOutcome::Failed("it broke".to_owned())
        } else {
            ToolOutcome::Done {
                content: format!("@You:\n```\n{id}"),
                marked_failed: false,
            }
        };
        self.play.end(&id, outcome);
    }

    fn answer(&mut self, tools: &[&'static str]) {
        if !self.play.cycle.is_sending() {
            return;
        }
        self.answers += 1;
        let ids: Vec<String> = (0..tools.len())
            .map(|call| format!("t{}_{call}", self.answers))
            .collect();
        let calls: Vec<_> = tools
            .iter()
            .zip(&ids)
            .map(|(tool, id)| (*tool, id.as_str(), r#"{"command":"ls"}"#))
            .collect();
        self.play.answer("Well.", &calls);
    }

    fn edit(&mut self, act: &Act) {
        match act {
            Act::Approve(at) => {
                if let Some((line, id)) = self.pending(*at) {
                    *self.decisions.entry(id).or_default() += 1;
                    self.replace(line, 1, &["```flemma:tool status=approved"]);
                }
            }
            Act::Reject(at) => {
                if let Some((line, _)) = self.pending(*at) {
                    self.replace(line, 1, &["```flemma:tool status=rejected", "No."]);
                }
            }
            Act::Type(at) => {
                if let Some((line, _)) = self.pending(*at) {
                    self.replace(line + 1, 0, &["by hand"]);
                }
            }
            Act::DeleteResult(at) => {
                let document = Document::parse(&self.play.text);
                let blocks = document
                    .messages
                    .iter()
                    .flat_map(|it| document.blocks_of(it));
                let results: Vec<_> = blocks
                    .filter_map(|block| match block {
                        Block::ToolResult(result) => Some(result.lines.clone()),
                        _ => None,
                    })
                    .collect();
                if let Some(lines) = results.get(at % results.len().max(1)) {
                    self.replace(lines.start, lines.len(), &[]);
                }
            }
            _ => {
                let end = self.play.text.line_count();
                self.replace(end, 0, &["", "more words"]);
            }
        }
    }

    /// Invariants after every act.
    fn check(&mut self) {
        for line in self.play.log() {
            if let Some(id) = line.strip_prefix("run ") {
                *self.runs.entry(id.to_owned()).or_default() += 1;
            }
            self.sent += u32::from(line == "send");
        }
        for (id, runs) in &self.runs {
            let decisions = self.decisions.get(id).copied().unwrap_or_default();
            assert!(
                *runs <= decisions,
                "{id} ran {runs} times on {decisions} decisions"
            );
        }
        assert!(
            self.sent <= (self.play.options.max_turns + 1) * (self.queued + 1),
            "{} requests without a key",
            self.sent
        );
        let mut running = self.play.cycle.running().to_vec();
        running.dedup();
        assert_eq!(
            running,
            self.play.cycle.running(),
            "a call runs twice at once"
        );
        self.check_results();
        self.check_words();
    }

    /// A message is either in the chat or waiting, never both.
    fn check_words(&self) {
        let chat = self.play.string();
        for text in &self.said {
            let name = text.lines().next().unwrap();
            let waits = self.waiting().filter(|waiting| *waiting == text).count();
            assert_eq!(chat.matches(name).count() + waits, 1, "{name} in\n{chat}");
        }
    }

    fn check_results(&self) {
        let document = Document::parse(&self.play.text);
        let orphan = |it: &Diagnostic| it.message.starts_with("No call of the answer before");
        assert!(
            !document.diagnostics.iter().any(orphan),
            "{}",
            self.play.string()
        );
        for turn in document.turns() {
            for call in &turn.calls {
                let unknown = *call.tool_use.name == *"nothing";
                let done = matches!(call.result.map(|it| it.kind), Some(ResultKind::Final { is_error }) if !is_error);
                let by_hand = call
                    .result
                    .is_some_and(|it| document.lossy(it.body.clone()) == "by hand");
                assert!(!unknown || !done || by_hand, "{}", self.play.string());
            }
        }
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn every_run_has_its_own_decision(acts in prop::collection::vec(act(), 1..40), autopilot: bool) {
        let mut model = Model::new(autopilot);
        model.act(&Act::Advance);
        model.act(&Act::Answer(vec!["bash", "bash"]));
        for act in &acts {
            model.act(act);
        }
    }
}

// Any chain of resolvers: the order of registration does not matter, and neither a denial
// nor a failure allows a call.

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
        let chain = ResolverChain::new(resolvers.clone()).with_frontmatter(&OpinionSource::List(strict));
        let others: Vec<Resolver> = resolvers.into_iter().filter(|it| !it.yields).collect();
        let without = verdicts(others, &answers);
        for (tool, without) in TOOLS.iter().zip(without) {
            let verdict = decide(&chain, &call(tool), &answers);
            prop_assert!(!approves(&verdict) || theirs.contains(*tool) || approves(&without));
        }
    }
}
