//! Pending calls: each is tried if the user wants that (`--trial`), asked about once, after its
//! diff, and then approved or rejected with the keys that do so in a buffer.

use std::collections::{HashMap, HashSet};
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
use session::frontend::CallTrial;
use session::protocol::{Action, DiffItem};
use session::resolver_calls::facts;
use tokio::task::JoinHandle;
use tools::checkpoints::is_project;
use tools::{ToolContext, state_dir};

use super::output::COLUMNS;
use super::questions::{self, Confirmation};
use super::{HeadlessRun, rejection};
use crate::terminal::Code;

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
        // The key that opens a review decides nothing, and the question is still open. A report comes
        // later.
        if self.questions.is_confirming() || self.output.is_context() {
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
        let is_command = tool.is_some_and(|it| it.can_be_tried(&call.input));
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
        tool.is_some_and(|tool| tool.traits().runs_commands)
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
            Some((name, rejection(&call, reason)?))
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

/// How often `--yes` approves a call again because its file has changed.
const MAX_SHOWN_AGAIN: usize = 10;

/// The calls that were asked about, by message and ID; none is asked about twice.
#[derive(Debug)]
pub struct AskedCalls {
    asked: HashSet<(usize, ToolUseId)>,
    /// How many calls were shown again because their file changed.
    shown_again: usize,
    yes: bool,
}

impl AskedCalls {
    /// Creates a record without calls. With `yes`, all questions are answered with yes.
    pub fn new(yes: bool) -> Self {
        Self {
            asked: HashSet::new(),
            shown_again: 0,
            yes,
        }
    }

    /// Returns true if all questions are answered with yes.
    pub fn are_approved(&self) -> bool {
        self.yes
    }

    /// Records that a call is asked about. Returns false if it was asked about before.
    pub fn insert(&mut self, key: &(usize, ToolUseId)) -> bool {
        self.asked.insert(key.clone())
    }

    /// Lets a call be asked about once more, because its file has changed since it was approved.
    pub fn show_again(&mut self, id: &ToolUseId) {
        self.shown_again += 1;
        // No user ends the loop if a program changes the file again after each yes.
        if !self.yes || self.shown_again <= MAX_SHOWN_AGAIN {
            self.asked.retain(|(_, asked)| asked != id);
        }
    }
}

/// Columns of a diff.
const WIDTH: usize = 100;
/// Maximum lines of a diff that is shown whole.
const WHOLE: usize = 300;

/// A call that is asked about once its diff is made.
#[derive(Debug)]
pub struct PendingDiff {
    call: PendingCall,
    diff: JoinHandle<Vec<DiffItem>>,
}

/// Waits for the diff of the call that is asked about next.
pub async fn diff(pending: &mut Option<PendingDiff>) -> Vec<DiffItem> {
    match pending {
        Some(pending) => (&mut pending.diff).await.unwrap_or_default(),
        None => std::future::pending().await,
    }
}

impl HeadlessRun {
    /// Asks about a call once its diff is made, if it has one.
    fn ask(&mut self, call: PendingCall) {
        if let Some(diff) = self.trials.diff(&call.key.1) {
            let diff = tokio::spawn(async move { diff });
            return self.questions.prepare(PendingDiff { call, diff });
        }
        let (name, input) = match approval::inside(&call.name, &call.input) {
            Some((inner, arguments)) => (inner.to_owned(), arguments),
            None => (call.name.clone(), call.input.clone()),
        };
        let tool = self.host.shared().registry.get(&name);
        let mut context = ToolContext::new(self.stored.folder(), state_dir::path().join("outputs"));
        // Tools may see a /tmp of their own.
        context.files.sandbox = self.inspection().sandbox;
        // In a task of its own, because it reads files while calls and signals go on.
        let diff = tokio::spawn(async move {
            match tool {
                Some(tool) => session::diff::of_call(&*tool, &input, &context, WIDTH, WHOLE).await,
                None => Vec::new(),
            }
        });
        self.questions.prepare(PendingDiff { call, diff });
    }

    /// Asks about the call whose diff is made.
    pub(super) fn ask_with(&mut self, diff: &[DiffItem]) {
        let Some(PendingDiff { call, .. }) = self.questions.take_prepared() else {
            return;
        };
        let is_unsandboxed = self.lacks_sandbox(&call.name);
        // An editor needs the terminal, from which the answer comes.
        let can_edit = !diff.is_empty() && questions::is_at_terminal();
        let question = questions::question(
            &call.name,
            &call.input,
            self.stored.folder(),
            is_unsandboxed,
            diff,
        );
        let shown = self.trials.lines(&call.key.1);
        let question = shown
            .map(|it| format!("[flemma] {it}\n"))
            .collect::<String>()
            + &question;
        let question = question + questions::last_line(can_edit);
        self.output.ask(call.key.1.as_str(), &question, diff);
        self.questions.confirm(call.key, can_edit);
    }
}

/// The calls that were tried.
#[derive(Debug)]
pub struct Trials {
    is_wanted: bool,
    /// The calls whose trials were started, by message and ID.
    begun: HashSet<(usize, ToolUseId)>,
    /// Their outcomes.
    ended: HashMap<ToolUseId, CallTrial>,
    /// Remarks about calls.
    remarks: HashMap<ToolUseId, Vec<String>>,
}

impl Trials {
    /// Creates a record without trials.
    pub fn new(is_wanted: bool) -> Self {
        Self {
            is_wanted,
            begun: HashSet::new(),
            ended: HashMap::new(),
            remarks: HashMap::new(),
        }
    }

    /// Returns true if a call is to be tried now: once, and if the user wants trials.
    pub fn begin(&mut self, call: &(usize, ToolUseId)) -> bool {
        self.is_wanted && self.begun.insert(call.clone())
    }

    /// Records the outcome of a trial.
    pub fn end(&mut self, trial: CallTrial) {
        self.ended.insert(trial.call.id.clone(), trial);
    }

    /// Records a remark about a call.
    pub fn remark(&mut self, call: ToolUseId, remark: String) {
        self.remarks.entry(call).or_default().push(remark);
    }

    /// Returns what a call would change. `None` if it was not tried.
    pub fn diff(&self, call: &ToolUseId) -> Option<Vec<DiffItem>> {
        self.ended.get(call).map(|it| it.diff.clone())
    }

    /// Returns the remarks about a call, and the lines that its trial showed.
    pub fn lines(&self, call: &ToolUseId) -> impl Iterator<Item = &String> {
        let tried = self.ended.get(call).into_iter();
        let tried = tried.flat_map(|it| &it.lines);
        self.remarks(call).chain(tried)
    }

    /// Returns the remarks about a call, in sentences.
    pub fn remarks(&self, call: &ToolUseId) -> impl Iterator<Item = &String> {
        self.remarks.get(call).into_iter().flatten()
    }
}
