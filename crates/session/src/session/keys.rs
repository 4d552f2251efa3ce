//! Keys and commands of a chat.

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::CycleEvent;
use chat::origin::ChangeSource;
use chat::write::TextEdit;
use serde_json::Value;
use tools::checkpoints::Request;

use super::calls::{offer_rules, reject};
use super::checkpoints::{BUSY, cut, file_argument, restore_files, rewind};
use super::copies::{export, fork};
use super::naming::rename;
use super::policy::{
    distrust, plan_toggled, report_switch, switched, trust, trust_project, trust_tools,
};
use super::reports::{
    clear_scratch, list_tools, report_autopilot, report_log, report_sandbox, report_status,
};
use super::request::report_usage;
use super::turn_review::{review_changes, review_turn};
use super::view::list_queued;
use super::waiting::rejected_for;
use super::{Gate, Session};
use crate::command_table::unknown;
use crate::protocol::{Action, EditorCommand, Toggle};
use crate::rewinding::ChatTurn;

impl Session {
    /// Takes a key or a command: queues its event, or carries it out.
    pub(super) fn command(&mut self, command: &EditorCommand) {
        let from_insert = command.action == Action::Advance { from_insert: true };
        self.view.set_last_key(command.window, from_insert);
        self.view.redraw();
        // Each key is followed by a report that everything is done, even if it starts nothing.
        self.queue.unsettle();
        // Commands that start no work need neither the chat lock nor a minimum time on the
        // screen.
        if command.action.works() {
            let gate = self.pass_gates(command);
            if gate == Gate::Waiting {
                return;
            }
        }
        self.carry_out(command);
    }

    /// Passes the gates of a command that starts work, in order. Waiting at the first one that
    /// is closed. The gates of the event that follows are in [`Session::prepare`].
    fn pass_gates(&mut self, command: &EditorCommand) -> Gate {
        // The chat lock, which another Neovim may have. A timer tries the key again.
        let lock = self.disk.pass(&self.ctx, command);
        if lock == Gate::Waiting {
            return Gate::Waiting;
        }
        // A call that is shown again, because its file changed. The user presses the key again.
        if !self.calls.has_been_read(&self.ctx, command) {
            self.ctx.inform(
                "Nothing was done: the key came before you could read that a call's file changed. Look at the call, \
                 then press it again.",
            );
            return Gate::Waiting;
        }
        // A pending call in a closed fold, which is opened. The user presses the key again.
        let is_hidden = self.view.unfold_hidden(&self.ctx, command);
        if is_hidden {
            self.ctx.inform(
                "Nothing was done, because a pending call was folded. Look at it, then press the key again.",
            );
            return Gate::Waiting;
        }
        // The first look: a call that has just appeared. The user presses the key again.
        let is_held_back = self.calls.hold_back(&self.ctx, command);
        if is_held_back {
            self.ctx.inform(
                "Nothing was run: the call appeared as you pressed the key. Look at it, then press the key again.",
            );
            return Gate::Waiting;
        }
        // Only after the lock is taken, because this writes results into the chat.
        self.end_cut_off();
        // A key before that waits for the tools of a script or a server: a second one would send
        // twice, so only text is added. Their list wakes it.
        if self.queue.is_waiting_for_tools() && !command.action.has_text() {
            return Gate::Waiting;
        }
        Gate::Ready
    }

    /// Queues the event of a key, or starts what a command is for.
    fn carry_out(&mut self, command: &EditorCommand) {
        let line = command.line;
        let goes_on = command.action.has_text()
            || matches!(command.action, Action::Advance { .. } | Action::Send)
            || matches!(
                command.action,
                Action::Undo(_) | Action::Redo | Action::Rewind
            );
        if goes_on {
            self.calls.run_begins();
        }
        let (is_running, is_working) = (!self.calls.is_empty(), self.is_working());
        let (ctx, calls) = (&self.ctx, &mut self.calls);
        let event = match &command.action {
            // A call that asks a question comes first, because it waits for the user.
            Action::Advance { .. } => match calls.asking_line(&ctx.buffer.document()) {
                Some(line) => {
                    self.view.move_cursor(ctx, line, false, true);
                    return ctx.inform(
                        "The call asks you something. Press Alt-Enter on its block to answer.",
                    );
                }
                None => Some(CycleEvent::Advance),
            },
            Action::Send => Some(CycleEvent::Send),
            Action::Resolve => calls.resolve(ctx, line),
            Action::Approve(word) => calls.approve(ctx, line, word.as_deref()),
            Action::Reject(reason) => reject(ctx, line, reason.clone().unwrap_or_default()),
            Action::Steer(text) => Some(CycleEvent::Steer(text.clone())),
            Action::Queue(text) => Some(CycleEvent::FollowUp(text.clone())),
            Action::Ask { text, send } => Some(CycleEvent::Ask {
                text: text.clone(),
                send: *send,
            }),
            Action::TakeBackQueue => Some(CycleEvent::TakeBack(Vec::new())),
            Action::Cancel => self.cancel(),
            Action::CancelTools => Some(CycleEvent::Cancel),
            Action::CancelTool => Some(CycleEvent::CancelTool { line }),
            Action::Decide(number, choice) => calls.decide(ctx, *number, choice),
            Action::EndReview(call) => calls.end_review(ctx, call),
            Action::Allow => return offer_rules(ctx, line),
            Action::Review if calls.has_changes(ctx) => {
                return review_changes(ctx, calls.run_changes());
            }
            Action::Review => return calls.review(ctx, line),
            Action::Try => return calls.try_call(ctx, line),
            Action::TrustTools(trusts) => return trust_tools(ctx, *trusts),
            Action::TrustProject(trusts) => return trust_project(ctx, *trusts),
            Action::TrustChat(true) => return trust(&mut self.ctx),
            Action::TrustChat(false) => {
                // Files that the chat may send are part of the trust.
                self.request.forget_agreed();
                return distrust(&mut self.ctx);
            }
            Action::Switch(words) => return self.switch(words),
            Action::Plan => {
                let (shared, text) = plan_toggled(ctx);
                self.settings_changed(shared);
                return self.ctx.inform(text);
            }
            Action::Fix => return self.fix(line),
            Action::AllowFile => return self.request.allow_file(ctx, line),
            Action::Refresh => return self.request.refresh_references(ctx),
            Action::Fork => return fork(ctx, &self.request, line),
            Action::Export(name) => return export(ctx, name.as_deref()),
            Action::Rename(title) => {
                let is_elsewhere = self.disk.is_elsewhere();
                return rename(ctx, title.as_deref(), is_elsewhere, is_running);
            }
            Action::ToggleReview => return self.policy.toggle_review(&mut self.ctx),
            Action::ReviewTurn(file) => return review_turn(ctx, line, file.as_deref(), is_running),
            Action::Undo(None) => return restore_files(ctx, Request::Undo, is_running),
            Action::Undo(Some(name)) => {
                let file = Request::File(file_argument(ctx, name));
                return restore_files(ctx, file, is_running);
            }
            Action::Redo => return restore_files(ctx, Request::Redo, is_running),
            Action::Rewind => return rewind(ctx, is_working),
            Action::ListQueue => return list_queued(ctx),
            Action::ListTools => return list_tools(ctx, calls),
            Action::Context => return self.request.report_context(ctx),
            Action::Shorten(shortens) => return self.request.shorten(ctx, *shortens),
            Action::Compact(wishes) => Some(CycleEvent::Compact(wishes.clone())),
            Action::Usage(days) => return report_usage(ctx, *days),
            Action::Log => return report_log(ctx),
            Action::Status { verbose } => {
                return report_status(ctx, calls, &self.request, &self.policy, *verbose);
            }
            Action::Sandbox(Toggle::Report) => return report_sandbox(ctx),
            Action::ClearScratch => return clear_scratch(ctx),
            Action::Autopilot(Toggle::Report) => return report_autopilot(ctx),
            Action::Unknown(name) => {
                return ctx.editor.report_problem(&Problem::new(unknown(name), ""));
            }
            // These concern all chats, so they never reach the session of one.
            Action::Autopilot(Toggle::Enable | Toggle::Disable)
            | Action::Sandbox(Toggle::Enable | Toggle::Disable)
            | Action::SwitchAll(_)
            | Action::Tutor
            | Action::Run(_)
            | Action::Jobs
            | Action::Mcp(_)
            | Action::AcceptMcp(_)
            | Action::RestartMcp(_)
            | Action::LogInMcp(_)
            | Action::LogOutMcp(_)
            | Action::TrustMcp => None,
        };
        if let Some(event) = event {
            self.queue.push(event);
        }
    }

    /// Stops what was started last: what waits for tools, trials, or else the request and all calls.
    fn cancel(&mut self) -> Option<CycleEvent> {
        let is_taken_back = self.queue.take_back();
        if is_taken_back {
            // The rules made for the cancelled key must not serve the next one.
            self.policy.expire();
            self.ctx
                .inform("Nothing was sent: you cancelled it before the tools were loaded.");
            return None;
        }
        let are_stopped = self.calls.stop_trials(&self.ctx);
        (!are_stopped).then_some(CycleEvent::Cancel)
    }

    /// Switches this chat to another provider, model, or parameters.
    fn switch(&mut self, words: &Value) {
        match switched(&self.ctx, words) {
            Err(problem) => self.ctx.editor.report_problem(&problem),
            Ok((shared, message)) => {
                self.policy.set_switched(true);
                self.settings_changed(shared);
                report_switch(&self.ctx, message);
            }
        }
    }

    /// Returns true while the chat's text or its files may be about to change.
    pub(super) fn is_working(&self) -> bool {
        self.ctx.buffer.is_busy() || self.request.is_open() || !self.calls.is_empty()
    }

    /// Feeds the calls that were cut off to the cycle, which writes their results.
    fn end_cut_off(&mut self) {
        let ended = self.disk.take_cut_off(&self.ctx);
        if !ended.is_empty() {
            let ids = self.decisions.end_all(ended);
            self.queue.push(CycleEvent::Interrupted(ids));
        }
    }

    /// Rejects a call for a message that was typed below it, which leaves the prompt.
    pub(super) fn reject_for(&mut self, call: &CallKey, words: String) {
        let Some((rejection, edits)) = rejected_for(&self.ctx, call, words) else {
            return self
                .ctx
                .inform("The call is not pending any more, so it was not rejected.");
        };
        self.queue.push(rejection);
        if !edits.is_empty() && !self.ctx.buffer.is_busy() {
            self.apply_for_user(ChangeSource::USER, edits);
        }
    }

    /// Cuts the chat below a turn, and reports what was restored.
    pub(super) fn cut(&mut self, turn: &ChatTurn, report: Option<String>) {
        let edit = if self.is_working() {
            Err(BUSY)
        } else {
            cut(&self.ctx.buffer.document(), turn)
        };
        match edit {
            Ok(edit) => self.apply_for_user(ChangeSource::USER, vec![edit]),
            Err(why) => self.ctx.inform(why),
        }
        // Afterwards, because a message at the prompt goes with the text that is removed.
        if let Some(report) = report {
            self.ctx.inform(&report);
        }
    }

    /// `:Flemma fix`: applies the fix of a diagnostic on this line, or in its block. An
    /// approval that it writes counts as typed, at the next key.
    fn fix(&mut self, line: usize) {
        let document = self.ctx.buffer.document();
        let Some(fix) = document.fix_at(line).cloned() else {
            return self
                .ctx
                .inform("There is nothing on this line that can be fixed automatically.");
        };
        // A fix replaces lines that running work may be about to change.
        if self.is_working() {
            return self.ctx.inform(BUSY);
        }
        // The user requested exactly this change, so it counts as typed. But settings that came
        // with the file do not become the user's when they are moved to the top.
        let is_own = document.message_at(fix.lines.start).is_some()
            || self
                .ctx
                .cycle
                .are_typed(self.ctx.buffer.text(), fix.lines.clone());
        let source = if is_own {
            ChangeSource::USER
        } else {
            ChangeSource::BULK
        };
        let edit = TextEdit {
            lines: fix.lines,
            replacement: fix.replacement,
        };
        self.apply_for_user(source, vec![edit]);
    }
}
