//! Classifies a call by its blocks: answered, ended, new, or waiting.

use serde_json::Value;

use super::{Options, Ruling};
use crate::approval::{
    self, Answers, CallKey, Decision, Function, FunctionId, GUARD, REVIEW, Verdict,
};
use crate::document::{Document, PairedCall, ResultKind, Status, ToolUseBlock, Turn};
use crate::json;
use crate::prompt::aborted_call;
use crate::tool::{MALFORMED_CALL, ToolDefinition};

/// Result of a call that a policy denied.
pub const DENIED: &str = "The tool was denied by a policy.";
/// Result of a call that the user rejected without a reason.
pub const REJECTED: &str = "The user rejected this call.";

/// Returns the result of a call that a policy denied, with the policy's reason.
pub(super) fn denied(why: Option<String>) -> String {
    match why {
        Some(why) => format!("{DENIED} {why}"),
        None => DENIED.to_owned(),
    }
}

/// Returns a call's identity. Arguments that are not valid JSON are compared as text.
pub fn key(document: &Document<'_>, call: &ToolUseBlock) -> CallKey {
    read(document, call).0
}

/// Returns a call's identity and arguments, parsed once.
pub(crate) fn read(document: &Document<'_>, call: &ToolUseBlock) -> (CallKey, Option<Value>) {
    let input = document.input(call).ok();
    let key = CallKey {
        id: call.id.clone(),
        name: call.name.to_string(),
        input: match &input {
            Some(value) => json::canonical(value),
            None => document.lossy(call.body.clone()).into_owned(),
        },
    };
    (key, input)
}

/// Returns true if the call has this identity. Parses the arguments only if ID and name
/// match: comparing many calls in a long chat must stay cheap.
pub(super) fn is(document: &Document<'_>, call: &ToolUseBlock, key_of: &CallKey) -> bool {
    call.id == key_of.id && *call.name == *key_of.name && key(document, call) == *key_of
}

/// State of a call according to its blocks, before any policy.
#[derive(Debug, PartialEq)]
pub(super) enum CallState {
    /// The call has its result.
    Answered,
    /// The call ends now without running.
    Ends(CallEnd),
    /// The call can run and has no placeholder yet.
    New(Value),
    /// The call can run; its placeholder has this status.
    Waits(Status, Value),
}

/// End of a call that does not run.
#[derive(Debug, PartialEq)]
pub(super) struct CallEnd {
    /// The result's text.
    pub content: String,
    /// True if the result is marked as an error.
    pub is_error: bool,
    /// The ruling, for the log.
    pub ruling: Ruling,
    /// Why it cannot run, for the log.
    pub reason: Option<&'static str>,
}

impl CallEnd {
    fn unfit(reason: &'static str, content: String) -> Self {
        Self {
            content,
            is_error: true,
            ruling: Ruling::Unfit,
            reason: Some(reason),
        }
    }
}

/// Classifies a call. A call that can't run always ends with a result here, so that the
/// cycle can't loop on it.
pub(super) fn classify(
    document: &Document<'_>,
    turn: &Turn<'_>,
    call: &PairedCall<'_>,
    options: &Options,
) -> CallState {
    // A status or text in the placeholder is the user's answer, even for a call that can't
    // run.
    let written = call
        .result
        .map(|result| (result.kind, document.lossy(result.body.clone())));
    match &written {
        Some((ResultKind::Final { .. }, _)) => return CallState::Answered,
        Some((ResultKind::Placeholder(status), text)) => {
            if let Some(end) = end_by_hand(*status, text) {
                return end;
            }
        }
        None => {}
    }
    let input = match runnable(document, turn, call, options) {
        Ok(input) => input,
        Err((reason, content)) => return CallState::Ends(CallEnd::unfit(reason, content)),
    };
    match written {
        Some((ResultKind::Placeholder(status), _)) => CallState::Waits(status, input),
        _ => CallState::New(input),
    }
}

/// Returns the end that the user gave a call by its status or by writing into its
/// placeholder.
fn end_by_hand(status: Status, text: &str) -> Option<CallState> {
    let blank = text.trim().is_empty();
    let (ruling, content) = match status {
        Status::Pending | Status::Approved if blank => return None,
        Status::Pending | Status::Approved => (Ruling::Answered, text.to_owned()),
        Status::Rejected if blank => (Ruling::Rejected, REJECTED.to_owned()),
        Status::Rejected => (Ruling::Rejected, text.to_owned()),
        // The status alone decides; text in the block is a reason and not a result.
        Status::Denied if blank => (Ruling::Denied, DENIED.to_owned()),
        Status::Denied => (Ruling::Denied, format!("{DENIED}\n\n{text}")),
    };
    Some(CallState::Ends(CallEnd {
        content,
        is_error: ruling != Ruling::Answered,
        ruling,
        reason: None,
    }))
}

/// Returns the arguments of a call that can run. Otherwise returns why not: a phrase for
/// the log and a message to the model.
fn runnable(
    document: &Document<'_>,
    turn: &Turn<'_>,
    call: &PairedCall<'_>,
    options: &Options,
) -> Result<Value, (&'static str, String)> {
    let tool_use = call.tool_use;
    if let Some(why) = defect(document, turn, call) {
        return Err(why);
    }
    let Some(tool) = options.tools.get(&*tool_use.name) else {
        return Err(("the tool does not exist", unknown(&tool_use.name, options)));
    };
    let input = document.input(tool_use).map_err(|error| {
        let message = format!("The arguments could not be read, so the call was not run: {error}.");
        ("its arguments could not be read", message)
    })?;
    let fits = fits(tool, input, options).and_then(|input| {
        inside(&tool_use.name, &input, options)?;
        Ok(input)
    });
    fits.map_err(|message| ("its arguments do not fit", message))
}

/// Returns why a call can't run whatever tools there are: a phrase for the log and a
/// message to the model.
fn defect(
    document: &Document<'_>,
    turn: &Turn<'_>,
    call: &PairedCall<'_>,
) -> Option<(&'static str, String)> {
    let tool_use = call.tool_use;
    // The arguments may be incomplete, even if they happen to be valid JSON.
    if let Some(reason) = turn.aborted {
        return Some(("the answer was cut off", aborted_call(reason)));
    }
    if call.duplicate {
        let message = format!(
            "Two calls of one answer had the id \"{}\", so neither was run. Make the call again with a unique id.",
            tool_use.id
        );
        return Some(("two calls had one id", message));
    }
    if *tool_use.name == *MALFORMED_CALL {
        let input = document.input(tool_use).unwrap_or_default();
        let why = input["why"]
            .as_str()
            .unwrap_or("it does not have the expected form");
        let message = format!(
            "The call could not be read, so nothing was run: {why}. Write it again in the form that was given."
        );
        return Some(("it could not be read", message));
    }
    None
}

fn unknown(name: &str, options: &Options) -> String {
    let known: Vec<&str> = options.tools.keys().map(String::as_str).collect();
    format!(
        "There is no tool named \"{name}\". Tools: {}.",
        known.join(", ")
    )
}

/// Fills in defaults and checks the arguments against the tool's schema.
fn fits(tool: &ToolDefinition, input: Value, options: &Options) -> Result<Value, String> {
    let name = &tool.name;
    let fits = options.checks.fit(tool, input);
    fits.map_err(|error| {
        format!(
            "The arguments do not fit the schema of \"{name}\", so the call was not run: {error}."
        )
    })
}

/// Checks the call inside an `execute_tool` call.
fn inside(name: &str, input: &Value, options: &Options) -> Result<(), String> {
    // A chain of calls inside calls could hide the last one from the user.
    match approval::inside(name, input) {
        Some((inner, _)) if inner == approval::EXECUTE_TOOL => Err(format!(
            "\"{inner}\" cannot run itself, so nothing was run."
        )),
        Some((inner, arguments)) => callable(inner, arguments, options).map(drop),
        None => Ok(()),
    }
}

/// Fills in and checks the arguments of a call that is in no document.
///
/// # Errors
///
/// The tool does not exist or the arguments do not fit; the message is for the model.
pub fn callable(name: &str, input: Value, options: &Options) -> Result<Value, String> {
    let tool = options
        .tools
        .get(name)
        .ok_or_else(|| unknown(name, options))?;
    let input = fits(tool, input, options)?;
    inside(name, &input, options)?;
    Ok(input)
}

/// Returns the decision of the rules. A call that starts programs is approved automatically
/// only if a sandbox confines it or if it only reads.
pub fn verdict(key: &CallKey, answers: &Answers, options: &Options) -> Verdict {
    let verdict = guarded(key, answers, options);
    let is_free =
        matches!(&verdict, Verdict::Decided(Decision::Approve, by) if !approval::only_reads(by));
    if !is_free || !options.commands.contains(&key.name) {
        return verdict;
    }
    match answers.get(&(key.clone(), FunctionId::Held)) {
        // Not known yet: the host tests whether a sandbox would confine it.
        None => Verdict::Ask(Function::held()),
        Some(None) => verdict,
        Some(Some(decision)) => Verdict::Decided(*decision, GUARD.to_owned()),
    }
}

/// Returns the chain's decision. If the chain approves a tool that accesses files, or a
/// command because it only reads, the guard, which inspects the machine, must approve too.
fn guarded(key: &CallKey, answers: &Answers, options: &Options) -> Verdict {
    let verdict = approval::decide(&options.chain, key, answers);
    let Verdict::Decided(Decision::Approve, by) = &verdict else {
        return verdict;
    };
    let name = &key.name;
    let lists = [&options.guarded, &options.reading, &options.inspected];
    // These lists name all tools that access files, and those whose commands are inspected.
    let is_looked_at = lists.iter().any(|list| list.contains(name));
    if !is_looked_at && !approval::only_reads(by) {
        return verdict;
    }
    let looked = match answers.get(&(key.clone(), FunctionId::Guard)) {
        None => return Verdict::Ask(Function::guard()),
        // Only after the guard, whose denial is final.
        Some(None) if options.reviews && options.guarded.contains(name) => {
            return Verdict::Decided(Decision::RequireApproval, REVIEW.to_owned());
        }
        Some(None) => return verdict,
        Some(Some(decision)) => *decision,
    };
    let guarded = Verdict::Decided(looked, GUARD.to_owned());
    // A denial is final. A call that is approved as one that only reads gets another look.
    if looked == Decision::Deny || !approval::only_reads(by) {
        return guarded;
    }
    // The call doesn't only read, but another rule may approve it anyway.
    match approval::decide_by(&options.chain, key, answers, false) {
        Verdict::Decided(Decision::RequireApproval, _) => guarded,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::approval::{
        ArgumentRule, ArgumentRules, OpinionSource, Policy, Resolver, ResolverChain, SHELL_SAFE,
        only_reads,
    };
    use crate::text::Text;
    use crate::tool::ToolUseId;

    #[derive(Debug)]
    struct Reads;

    impl ArgumentRule for Reads {
        fn decide(&self, _: &CallKey) -> Option<Decision> {
            Some(Decision::Approve)
        }

        fn name(&self) -> Option<&'static str> {
            Some(SHELL_SAFE)
        }
    }

    fn options(late: &[&str]) -> Options {
        let mut rules = ArgumentRules::default();
        rules.add(Arc::new(Reads));
        let reads = Policy {
            argument_rules: rules,
            ..Policy::default()
        };
        let late = Policy {
            approve: late.iter().map(|it| (*it).to_owned()).collect(),
            ..Policy::default()
        };
        Options {
            chain: ResolverChain::new(vec![
                Resolver::new("config", 100, OpinionSource::List(reads)),
                Resolver::new("late", -100, OpinionSource::List(late)),
            ]),
            ..Options::default()
        }
    }

    #[test]
    fn a_call_has_a_key_if_id_name_and_arguments_are_equal() {
        let text =
            Text::from("@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{ \"n\": 1 }\n```\n");
        let document = Document::parse(&text);
        let call = document.calls().next().expect("a call");
        let same = |id: &str, name: &str, input: &str| {
            let key = CallKey {
                id: ToolUseId::new(id),
                name: name.to_owned(),
                input: input.to_owned(),
            };
            is(&document, call, &key)
        };
        assert!(same("a", "bash", r#"{"n":1}"#));
        assert!(!same("b", "bash", r#"{"n":1}"#));
        assert!(!same("a", "read", r#"{"n":1}"#));
        assert!(!same("a", "bash", r#"{"n":2}"#));
        assert_eq!(key(&document, call).input, r#"{"n":1}"#);
    }

    #[test]
    fn the_guard_inspects_calls_that_are_approved_for_only_reading() {
        let key = CallKey {
            id: ToolUseId::new("t"),
            name: "bash".to_owned(),
            input: "{}".to_owned(),
        };
        let guard =
            |said: Option<Decision>| Answers::from([((key.clone(), FunctionId::Guard), said)]);
        let decided = |decision, by: &str| Verdict::Decided(decision, by.to_owned());
        let none = options(&[]);
        let asked = verdict(&key, &Answers::new(), &none);
        assert_eq!(asked, Verdict::Ask(Function::guard()));
        let by = |said, options: &Options| verdict(&key, &guard(said), options);
        assert_eq!(by(None, &none), decided(Decision::Approve, SHELL_SAFE));
        assert!(only_reads(SHELL_SAFE) && !only_reads("config"));
        let (wait, deny) = (Decision::RequireApproval, Decision::Deny);
        assert_eq!(by(Some(wait), &none), decided(wait, GUARD));
        assert_eq!(by(Some(deny), &none), decided(deny, GUARD));
        // Another rule approves it for another reason, but a denial still wins.
        let late = options(&["bash"]);
        assert_eq!(by(Some(wait), &late), decided(Decision::Approve, "late"));
        assert_eq!(by(Some(deny), &late), decided(deny, GUARD));
        // The guard inspects a tool that reads files, whichever rule approves it.
        let mut reading = options(&["bash"]);
        reading.reading = ["bash".to_owned()].into();
        assert_eq!(
            verdict(&key, &Answers::new(), &reading),
            Verdict::Ask(Function::guard())
        );
        assert_eq!(by(Some(deny), &reading), decided(deny, GUARD));
        // The guard also inspects a tool that may only be used for reading.
        let mut inspected = options(&["bash"]);
        inspected.inspected = ["bash".to_owned()].into();
        assert_eq!(by(Some(deny), &inspected), decided(deny, GUARD));
    }
}
