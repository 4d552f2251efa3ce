//! Pending calls: each is asked about once, then approved or rejected with the keys that do
//! so in a buffer.

mod asked;
mod asking;
mod trials;

use std::path::Path;
use std::sync::Arc;

use chat::approval::{self, CallKey};
use chat::cycle;
use chat::document::{Document, Status};
use chat::preview::preview;
use chat::tool::ToolUseId;
use policy::remembered::{AllowScope, offers};
use policy::sandbox;
use policy::settings::Here;
use policy::settings::judges::Inspection;
use session::protocol::Action;
use session::resolver_calls::facts;
use tools::checkpoints::is_project;

pub use self::asked::AskedCalls;
pub use self::asking::{PendingDiff, diff};
pub use self::trials::Trials;
use super::HeadlessRun;
use super::compose;
use super::output::COLUMNS;
use super::stdin_prompt::Confirmation;
use crate::exit_code::Code;

/// The result of a call that the user rejected.
const REJECTED: &str = "The user cancelled this call.";
/// The result of a call about which standard input had no answer.
const UNANSWERED: &str = "No user could be asked whether this call may run, so it was denied.";

/// A pending call.
#[derive(Debug)]
struct PendingCall {
    /// Its message and ID.
    key: (usize, ToolUseId),
    /// The line of its placeholder.
    line: usize,
    name: String,
    input: serde_json::Value,
}

impl HeadlessRun {
    /// Handles the end of all work that a key started: asks about a pending call, or ends the
    /// run.
    pub(super) fn rested(&mut self, limited: bool) {
        // The key that opens a review decides nothing, and the question is still open.
        if self.questions.is_confirming() {
            return;
        }
        // So that a user who is asked can read the call in the file.
        self.save();
        self.report_new_blocks();
        self.outcome.limited = limited;
        // A dry run stops at the first pending call, because calls don't run.
        if self.dry_run.is_some() {
            return self.end_dry_run();
        }
        // After a cancel or an error, the user decides about pending calls later.
        let has_stopped = self.outcome.cancelled || self.outcome.failed;
        match self.first_pending().filter(|_| !has_stopped) {
            Some(call) => self.decide(call),
            None => self.end(),
        }
    }

    fn decide(&mut self, call: PendingCall) {
        let tool = self.host.shared().registry.get(&call.name);
        let is_command = tool.is_some_and(|it| it.can_be_tried());
        if is_command && self.trials.begin(&call.key) {
            return self.press(Action::Try, call.line);
        }
        // The key did not approve the call, so pressing it again would not either.
        if !self.asked.insert(&call.key) {
            let message = format!(
                "The call \"{}\" is still pending. The chat says why.",
                call.key.1
            );
            self.output.report(&message);
            self.outcome.failed = true;
            return self.end();
        }
        if !self.asked.are_approved() {
            return self.ask(call);
        }
        if self.lacks_sandbox(&call.name) {
            let warning = "UNSANDBOXED: commands run with all of your rights.";
            self.output.report(warning);
        }
        self.approve_call(call.line);
    }

    /// Asks about the first pending call once more, because the user decided nothing.
    pub(super) fn ask_again(&mut self) {
        match self.first_pending() {
            Some(call) => self.ask(call),
            None => self.end(),
        }
    }

    fn end(&mut self) {
        // Keeps messages that were not sent: the session writes them to the prompt.
        if self.end.take_back_queue() {
            return self.press(Action::TakeBackQueue, 0);
        }
        // The notice about a limit of cost says everything.
        if self.outcome.limited && self.outcome.requests >= self.end.max_turns() {
            let message = format!("round limit ({}) reached", self.end.max_turns());
            self.output.report(&message);
        }
        if !self.outcome.denied.is_empty() {
            let message = format!("Denied by a rule: {}.", self.outcome.denied.join(", "));
            self.output.report(&message);
        }
        if !self.outcome.refused.is_empty() {
            let message = format!(
                "Denied: {}. --approve NAME approves a tool, --yes all of them.",
                self.outcome.refused.join(", ")
            );
            self.output.report(&message);
        }
        self.end.set(self.outcome.code());
    }

    fn first_pending(&self) -> Option<PendingCall> {
        let document = Document::parse(self.text());
        pending_calls(&document).into_iter().next()
    }

    /// Returns true if a tool runs commands that should have a sandbox and do not.
    fn lacks_sandbox(&self, tool: &str) -> bool {
        let shared = self.host.shared();
        let sandbox = &shared.settings.sandbox;
        let tool = shared.registry.get(tool);
        tool.is_some_and(|tool| tool.runs_commands())
            && sandbox.enabled
            && tools::find_out(&sandbox.backend()).is_err()
    }

    /// Returns the previews of all pending calls, for a dry run.
    pub(super) fn pending_previews(&self) -> Vec<String> {
        let document = Document::parse(self.text());
        let tools = &self.host.shared().registry;
        let calls = pending_calls(&document).into_iter();
        calls
            .map(|call| preview(tools, &call.name, &call.input, COLUMNS))
            .collect()
    }

    /// Handles the answer to the open question.
    pub(super) fn confirmed(&mut self, answer: Confirmation) {
        let Some(asked) = self.questions.take_confirmed() else {
            return;
        };
        match answer {
            Confirmation::Yes => {
                // The call may be gone, because a signal can cancel it meanwhile.
                if let Some(call) = self.first_pending().filter(|it| it.key == asked) {
                    self.approve_call(call.line);
                }
            }
            Confirmation::Edit => {
                if let Some(call) = self.first_pending().filter(|it| it.key == asked) {
                    self.review(call.line);
                }
            }
            Confirmation::Always => {
                if let Some(call) = self.first_pending().filter(|it| it.key == asked) {
                    match self.allow(&call) {
                        Ok(rule) => {
                            self.output.report(&rule);
                            self.approve_call(call.line);
                        }
                        Err(problem) => {
                            self.output.report(&problem);
                            self.ask(call);
                        }
                    }
                }
            }
            Confirmation::No(None) => self.reject(&asked, REJECTED),
            Confirmation::No(Some(reason)) => self.reject(&asked, &reason),
            Confirmation::EndOfInput => {
                // The model learns what would have run without a user, and can try that.
                let reason = self.unanswered(&asked);
                self.reject(&asked, &reason);
            }
        }
    }

    /// Stores the narrowest rule for calls like this one: in this project if there is one. Returns what
    /// was allowed, or why nothing was.
    fn allow(&self, call: &PendingCall) -> Result<String, String> {
        let key = CallKey {
            id: call.key.1.clone(),
            name: call.name.clone(),
            input: chat::json::canonical(&call.input),
        };
        let (meant, input) = approval::meant(&key, &call.input);
        let shared = self.host.shared();
        let path = self.stored.path();
        let folder = path.and_then(Path::parent).unwrap_or(self.stored.folder());
        let facts = facts(&shared.registry, folder, path, &meant, &input);
        let offers = offers(&facts).map_err(|why| {
            format!("No rule can allow calls like this one: it contains {why}. Answer y or n.")
        })?;
        let (scope, place) = if is_project(folder) {
            (
                AllowScope::Project(facts.project.clone()),
                "in this project",
            )
        } else {
            (AllowScope::Always, "everywhere")
        };
        let Some(offer) = offers.first() else {
            return Err("No rule can allow calls like this one. Answer y or n.".to_owned());
        };
        let known = shared.remembered.rules()?;
        shared
            .remembered
            .add(&offer.addition(&scope, &known, &facts).rules)?;
        Ok(format!(
            "Allowed from now on {place}: {}. The rule is in {}.",
            chat::preview::one_line(&offer.name, COLUMNS),
            shared.remembered.path().display()
        ))
    }

    /// Returns the result of a call about which no user could be asked. For a command, or a
    /// call that names a secret, includes what prevented its automatic approval.
    fn unanswered(&self, key: &(usize, ToolUseId)) -> String {
        let call = self.first_pending().filter(|it| it.key == *key);
        let problem = call.and_then(|call| self.problem(call));
        let remarks = self.trials.remarks(&key.1).cloned();
        let sentences = [UNANSWERED.to_owned()].into_iter().chain(remarks);
        sentences.chain(problem).collect::<Vec<_>>().join(" ")
    }

    fn problem(&self, call: PendingCall) -> Option<String> {
        let key = CallKey {
            id: call.key.1,
            name: call.name,
            input: chat::json::canonical(&call.input),
        };
        // A call of one tool can carry a call of another, whose rules apply.
        let (meant, input) = approval::meant(&key, &call.input);
        let inspection = self.inspection();
        if let Some(problem) = inspection.problem(&meant) {
            return Some(problem.to_string());
        }
        let tool = self.host.shared().registry.get(&meant.name)?;
        let secret = inspection.secret(tool.as_ref(), &input)?;
        Some(format!(
            "{secret}. The user can grant it with {}.",
            secret.grant()
        ))
    }

    /// Returns the rules for shell commands and secrets, as they apply to this chat.
    fn inspection(&self) -> Inspection {
        let settings = &self.host.shared().settings;
        let path = self.stored.path();
        let here = Here {
            cwd: self.stored.folder(),
            chat: path,
        };
        let folder = path.and_then(tools::chat_folder);
        let folder = folder.unwrap_or_else(|| self.stored.folder().to_owned());
        let sandbox = sandbox::of_chat(&settings.sandbox, here);
        settings.inspection(folder, here, Arc::new(sandbox))
    }

    /// Presses Alt-Enter on a pending call.
    fn approve_call(&mut self, line: usize) {
        self.press(Action::Resolve, line);
    }

    /// Writes the rejection into the call's placeholder and presses Alt-Enter on it.
    fn reject(&mut self, key: &(usize, ToolUseId), reason: &str) {
        let document = Document::parse(self.buffer.text());
        let turn = document.turn(key.0);
        let calls = turn.into_iter().flat_map(|turn| turn.calls);
        let mut calls = calls.filter(|call| call.tool_use.id == key.1);
        // The placeholder must still be there: its text is the rejection.
        let Some((name, edit)) = calls.find_map(|call| {
            let name = cycle::key(&document, call.tool_use).name;
            Some((name, compose::rejection(&call, reason)?))
        }) else {
            self.end.set(Code::Error);
            return;
        };
        let line = edit.lines.start;
        self.outcome.refused.push(format!("{name} ({})", key.1));
        self.outcome.worked = true;
        self.type_lines(edit.lines, &edit.replacement);
        self.press(Action::Resolve, line);
    }
}

/// Returns the pending calls in the order of the document.
fn pending_calls(document: &Document<'_>) -> Vec<PendingCall> {
    let mut found = Vec::new();
    for turn in document.turns() {
        for call in &turn.calls {
            if call.status() != Some(Status::Pending) {
                continue;
            }
            found.extend(call.result.map(|result| PendingCall {
                key: (turn.assistant, call.tool_use.id.clone()),
                line: result.lines.start,
                name: call.tool_use.name.to_string(),
                input: document.input(call.tool_use).unwrap_or_default(),
            }));
        }
    }
    found
}
