//! The inputs of a session: from the front end, its tool calls, and its request.

use std::sync::Arc;

use agent::answer::Ids;
use agent::transport::WaitNote;
use chat::approval::{Answers, CallKey};
use chat::cycle::CycleEvent;
use chat::diff::Counts;
use policy::project::ProjectConfig;
use policy::rules::Rules;
use provider::{StreamEvent, Unmet};
use tools::Ran;

use super::Session;
use super::calls::{Basis, ChangedFile, Diff, QuestionEvent, SnapshotsTaken, Tried};
use super::calls::{allowed, decides};
use super::lookup::look_up;
use super::request::{Draft, Drafted, SentReport, Unresolved};
use super::turn_review::turn_reviewed;
use crate::protocol::*;
use crate::resolver_calls::Reason;
use crate::reviewing::ReviewEnd;
use crate::rewinding::ChatTurn;
use crate::shared::Shared;
use crate::turn_reviewing::TurnReviewed;
use crate::usage::Tariff;

/// An input of a session.
pub enum Input {
    /// From the front end.
    Editor(EditorInput),
    /// From the session's own background work.
    Work(WorkInput),
}

/// An input from the front end.
pub enum EditorInput {
    /// The buffer is new to this host, or attached again. Its text follows.
    Attach(Attach),
    /// A piece of the whole text.
    Snapshot(Snapshot),
    /// The user changed the text.
    Changed(Changed),
    /// The file contains the text with this number.
    Saved(u64),
    /// The buffer has another name.
    Renamed(Renamed),
    /// Other lines are visible.
    Viewport(Viewport),
    /// The editor applied or refused an edit.
    Applied(Applied),
    /// A key or a command.
    Command(EditorCommand),
    /// A question about a place in the text.
    Lookup(Lookup),
    /// The buffer was closed.
    Detached,
    /// The options changed.
    Settings(Arc<Shared>),
    /// `:Flemma switch!` ended the chat's own switch; the settings follow.
    SwitchedBack,
    /// The working directory changed.
    Directory(String),
}

/// An input from the session's own background work: its tool calls, its request, and what it reads.
pub enum WorkInput {
    /// Approval functions answered.
    Functions(Answers),
    /// Argument rules answered about shell commands; with messages for the user.
    Inspected(Answers, Vec<String>),
    /// The user chose a rule, in words, at this call.
    Allowed(CallKey, String),
    /// The project's options were read; true if for a key.
    Project(Option<Arc<ProjectConfig>>, bool),
    /// The tool folders were scanned.
    ToolsScanned,
    /// The frontmatter was evaluated, with the number of the evaluation.
    Rules(u64, Box<Rules>),
    /// The user rejected this call, with the message below it as the reason.
    RejectFor(CallKey, String),
    /// A request cannot do everything that was requested.
    Remark(String),
    /// The options that the request cannot carry.
    Unmet(Vec<Unmet>),
    /// References of the text cannot be sent, so nothing was sent.
    Unresolved(Vec<Unresolved>),
    /// A call wrote live output.
    ToolOutput(CallKey, String),
    /// A review of a call ended.
    Reviewed(CallKey, Option<Box<ReviewEnd>>),
    /// The trial of a call ended, or could not be made: a sentence.
    Tried(CallKey, Result<Box<Tried>, String>),
    /// Something happened to a question of a call.
    Question(CallKey, QuestionEvent),
    /// A call ended, and changed this many lines if it changed files.
    ToolEnded(CallKey, Ran, Option<Counts>, Vec<ChangedFile>),
    /// A tool's own preview of a call, for windows of that width; `None` without one.
    Preview(CallKey, usize, Option<String>),
    /// Why pending calls wait.
    Reasons(Vec<(CallKey, Reason)>),
    /// Why a pending call waits, for its window; why it has no review; and whether the window is only
    /// refreshed.
    Decision(CallKey, Option<Reason>, Option<String>, bool),
    /// The diff of a call, and what it depends on.
    Diff(CallKey, Basis, Diff),
    /// The files of pending calls were read.
    Snapshots(SnapshotsTaken),
    /// A tool's explanation of why its call was rejected.
    Refused(CallKey, Option<String>),
    /// The destination of the request with this number, and its prices.
    Label(u64, String, Option<Tariff>),
    /// The reason why the request with this number waits, before its answer begins.
    Note(u64, WaitNote),
    /// The ids of the calls in the chat, for the request with this number. Comes before
    /// its answer.
    Ids(u64, Ids),
    /// The request was recorded in the ledger, or the ledger was emptied.
    Recorded,
    /// The text was compared with what was sent of it.
    SentCompared(SentReport),
    /// The user wrote the review of a turn.
    TurnReviewed(Box<TurnReviewed>),
    /// The request with this number, for a summary, ended.
    Drafted(u64, Box<Drafted>),
    /// The user wrote a draft of a summary.
    DraftWritten(Draft),
    /// The user wants to cut the chat. The text says which files were restored.
    Cut(ChatTurn, Option<String>),
    /// A part of the answer to the request with this number.
    Stream(u64, Vec<StreamEvent>),
}

impl Session {
    /// Takes an input. Decisions follow when all waiting inputs were taken.
    pub(super) fn handle(&mut self, input: Input) {
        match input {
            Input::Editor(input) => self.handle_editor(input),
            Input::Work(input) => self.handle_work(input),
        }
    }

    fn handle_editor(&mut self, input: EditorInput) {
        match input {
            EditorInput::Attach(attach) => self.ctx.buffer.load(attach),
            EditorInput::Snapshot(snapshot) => self.snapshot(snapshot),
            EditorInput::Changed(changed) => self.changed(changed),
            EditorInput::Saved(seq) => {
                let is_whole = self.disk.saved(seq == self.ctx.buffer.seq());
                let is_busy = self.ctx.buffer.is_busy();
                if is_whole && !self.request.is_open() && self.calls.is_empty() && !is_busy {
                    self.disk.forget_unfinished();
                }
            }
            EditorInput::Renamed(renamed) => self.renamed(&renamed),
            EditorInput::Viewport(viewport) => self.view.set_viewport(&viewport),
            EditorInput::Applied(applied) => self.applied(applied),
            EditorInput::Command(command) => self.command(&command),
            EditorInput::Lookup(lookup) => look_up(&self.ctx, &self.calls, &lookup),
            EditorInput::Detached => self.ctx.buffer.set_gone(),
            EditorInput::Directory(cwd) => self.change_directory(&cwd),
            EditorInput::Settings(shared) => {
                let shared = self.policy.with_own_target(&self.ctx, shared);
                self.settings_changed(shared);
            }
            EditorInput::SwitchedBack => self.policy.set_switched(false),
        }
    }

    fn handle_work(&mut self, input: WorkInput) {
        let (ctx, calls, queue) = (&self.ctx, &mut self.calls, &mut self.queue);
        match input {
            WorkInput::Project(config, for_key) => {
                // A change of the options makes the rules stale below, so this is read first.
                let is_awaited = for_key && self.policy.is_pending();
                let is_new = self.policy.project_read(config);
                if is_new {
                    self.settings_changed(self.ctx.shared.clone());
                }
                if is_awaited {
                    self.policy.project_is_read();
                }
                return;
            }
            WorkInput::ToolsScanned => return self.policy.tools_scanned(),
            WorkInput::Rules(evaluation, rules) => {
                self.policy.rules_made(&mut self.ctx, evaluation, *rules);
            }
            WorkInput::Functions(answers) => {
                return queue.push(CycleEvent::ResolverAnswered(answers));
            }
            WorkInput::Inspected(answers, messages) => {
                messages.iter().for_each(|it| ctx.inform(it));
                return queue.push(CycleEvent::ResolverAnswered(answers));
            }
            WorkInput::Allowed(call, rule) => {
                if let Some(line) = allowed(ctx, &call) {
                    self.decisions.note_allowed(call.id, rule);
                    queue.push(CycleEvent::Resolve { line });
                }
            }
            WorkInput::RejectFor(call, words) => return self.reject_for(&call, words),
            WorkInput::Remark(text) => return self.request.remark(ctx, text),
            WorkInput::Unmet(options) => {
                // Each is reported once.
                for option in &options {
                    self.request.remark(ctx, option.text.clone());
                }
                self.policy.set_unmet(options);
            }
            WorkInput::Unresolved(references) => self.request.set_unresolved(references),
            WorkInput::ToolOutput(call, output) => {
                calls.tool_output(&call, &output);
                // Live output changes all the time.
                return self.view.redraw_soon();
            }
            WorkInput::Reviewed(call, end) => {
                let window = self.view.last_key().window.unwrap_or_default();
                let command = calls.reviewed(ctx, call, end.map(|it| *it), window);
                if let Some(command) = command {
                    self.command(&command);
                }
            }
            WorkInput::Tried(call, tried) => {
                if let Some(event) = calls.trial_ended(ctx, call, tried) {
                    queue.push(event);
                }
            }
            WorkInput::Question(call, event) => calls.question_event(ctx, &call, event),
            WorkInput::ToolEnded(call, ran, counts, unseen) => {
                return self.tool_ended(call, ran, counts, unseen);
            }
            WorkInput::Preview(call, width, preview) => calls.previewed(call, width, preview),
            WorkInput::Reasons(reasons) => calls.reasons_found(reasons),
            WorkInput::Decision(call, reason, problem, refresh) => {
                return calls.show_decision(ctx, call, reason.as_ref(), problem, refresh);
            }
            WorkInput::Diff(call, basis, diff) => calls.diff_made(&call, basis, diff),
            WorkInput::Snapshots(taken) => {
                if let Some(compared) = calls.snapshots_taken(ctx, taken) {
                    if compared.is_any_changed {
                        // Waiting keys were pressed before the user could see this change.
                        queue.retain(|event| !decides(event));
                    }
                    // Before keys that were pressed later.
                    queue.push_first(CycleEvent::ResolverAnswered(compared.answers));
                }
            }
            WorkInput::Refused(call, words) => {
                calls.heard_refusal();
                if let Some(words) = words {
                    self.ctx.cycle.word_refusal(call, words);
                }
                return;
            }
            WorkInput::Label(number, label, tariff) => self.request.label(number, label, tariff),
            WorkInput::Note(number, note) => self.request.note(ctx, number, note),
            WorkInput::Ids(number, ids) => return self.request.set_ids(number, ids),
            WorkInput::Recorded => return self.request.sent.expire(),
            WorkInput::SentCompared(report) => {
                let is_new = self.request.sent_compared(report);
                if !is_new {
                    return;
                }
            }
            WorkInput::Drafted(number, drafted) => return self.drafted(number, *drafted),
            WorkInput::DraftWritten(draft) => {
                let is_working = self.is_working() || !self.ctx.cycle.is_idle();
                if let Some(summary) = self.request.draft_written(&self.ctx, draft, is_working) {
                    let sends = false;
                    self.queue.push(CycleEvent::Summarize { summary, sends });
                }
                return;
            }
            WorkInput::TurnReviewed(reviewed) => {
                let is_running = !calls.is_empty();
                if !is_running {
                    // The line that sums up the changes is out of date.
                    calls.run_begins();
                }
                turn_reviewed(ctx, *reviewed, is_running);
            }
            WorkInput::Cut(turn, report) => return self.cut(&turn, report),
            WorkInput::Stream(number, events) => return self.stream(number, events),
        }
        self.view.redraw();
    }
}
