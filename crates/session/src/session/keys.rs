//! Keys and commands of a chat, and where they move the cursor.

use std::collections::VecDeque;

use chat::Problem;
use chat::cycle::CycleEvent;
use chat::document::Document;
use chat::origin::ChangeSource;
use chat::write::TextEdit;
use tools::checkpoints::Request;

use super::Session;
use crate::protocol::{Action, Cursor, Display, EditorCommand, Toggle};

impl Session {
    /// Takes a key or a command: queues its event, or carries it out.
    pub(super) fn command(&mut self, command: EditorCommand) {
        let from_insert = command.action == Action::Advance { from_insert: true };
        self.view.set_last_key(command.window, from_insert);
        // Each key is followed by a report that everything is done, even if it starts nothing.
        self.queue.unsettle();
        // Commands that start no work need neither the chat lock nor a minimum time on the
        // screen.
        if command.action.works() && !self.pass_gates(&command) {
            return;
        }
        self.carry_out(&command);
    }

    /// Passes the gates of a command that starts work, in order. Returns false at the first one that
    /// is closed. The gates of the event that follows are in [`Session::prepare`].
    fn pass_gates(&mut self, command: &EditorCommand) -> bool {
        // The chat lock, which another Neovim may have. A timer tries the key again.
        if !self.take_lock(command) {
            return false;
        }
        // A call that is shown again, because its file changed. The user presses the key again.
        if !self.has_been_read(command) {
            self.inform(
                "Nothing was done: the key came before you could read that a call's file changed. Look at the call, \
                 then press it again.",
            );
            return false;
        }
        // A pending call in a closed fold, which is opened. The user presses the key again.
        if self.unfold_hidden(command) {
            self.inform(
                "Nothing was done, because a pending call was folded. Look at it, then press the key again.",
            );
            return false;
        }
        // The first look: a call that has just appeared. The user presses the key again.
        if self.hold_back(command) {
            self.inform(
                "Nothing was run: the call appeared as you pressed the key. Look at it, then press the key again.",
            );
            return false;
        }
        // Only after the lock is taken, because this writes results into the chat.
        self.end_cut_off();
        // A key before that waits for the tools of a script or a server: a second one would send
        // twice, so only text is added. Their list wakes it.
        !self.is_waiting_for_tools() || command.action.has_text()
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
            self.run_begins();
        }
        match &command.action {
            Action::Advance { .. } => {
                // A call that asks a question comes first, because it waits for the user.
                if !self.go_to_question() {
                    self.queue.push(CycleEvent::Advance);
                }
            }
            Action::Send => self.queue.push(CycleEvent::Send),
            Action::Resolve => self.resolve(line),
            Action::Approve(word) => self.approve(line, word.as_deref()),
            Action::Allow => self.offer_rules(line),
            Action::Reject(reason) => self.reject(line, reason.clone().unwrap_or_default()),
            Action::Steer(text) => self.speak(CycleEvent::Steer(text.clone())),
            Action::Queue(text) => self.speak(CycleEvent::FollowUp(text.clone())),
            Action::Ask { text, send } => self.speak(CycleEvent::Ask {
                text: text.clone(),
                send: *send,
            }),
            Action::TakeBackQueue => self.speak(CycleEvent::TakeBack(Vec::new())),
            Action::Cancel => self.cancel(),
            Action::CancelTools => self.queue.push(CycleEvent::Cancel),
            Action::CancelTool => self.queue.push(CycleEvent::CancelTool { line }),
            Action::Review => self.review_at(line),
            Action::Try => self.try_call(line),
            Action::Decide(number, choice) => self.decide(*number, choice),
            Action::EndReview(call) => self.end_review(call),
            Action::TrustTools(trusts) => self.trust_tools(*trusts),
            Action::TrustProject(trusts) => self.trust_project(*trusts),
            Action::TrustChat(true) => self.trust(),
            Action::TrustChat(false) => self.distrust(),
            Action::Switch(words) => self.switch(words),
            Action::Plan => self.toggle_plan(),
            Action::Fix => self.fix(line),
            Action::AllowFile => self.allow_file(line),
            Action::Refresh => self.refresh_references(),
            Action::Fork => self.fork(line),
            Action::Export(name) => self.export(name.as_deref()),
            Action::Rename(title) => self.rename(title.as_deref()),
            Action::ToggleReview => self.toggle_review(),
            Action::ReviewTurn(file) => self.review_turn(line, file.as_deref()),
            Action::Undo(None) => self.restore_files(Request::Undo),
            Action::Undo(Some(name)) => self.restore_files(Request::File(self.file_argument(name))),
            Action::Redo => self.restore_files(Request::Redo),
            Action::Rewind => self.rewind(),
            Action::ListQueue => self.list_queued(),
            Action::ListTools => self.list_tools(),
            Action::Usage(days) => self.report_usage(*days),
            Action::Log => self.report_log(),
            Action::Status { verbose } => self.report_status(*verbose),
            Action::Sandbox(Toggle::Report) => self.report_sandbox(),
            Action::ClearScratch => self.clear_scratch(),
            Action::Autopilot(Toggle::Report) => self.report_autopilot(),
            Action::Unknown(name) => self.editor.report_problem(&Problem::new(
                format!("The host knows no command \"{name}\"."),
                "",
            )),
            // These concern all chats, so they never reach the session of one.
            Action::Autopilot(Toggle::Enable | Toggle::Disable)
            | Action::Sandbox(Toggle::Enable | Toggle::Disable)
            | Action::SwitchAll(_)
            | Action::Tutor
            | Action::Run(_)
            | Action::Mcp(_)
            | Action::AcceptMcp(_)
            | Action::RestartMcp(_)
            | Action::TrustMcp => {}
        }
    }

    /// Runs or resolves the call at a line.
    fn resolve(&mut self, line: usize) {
        if self.answer_question(line) {
            return;
        }
        if self.mention_trial(line) {
            return;
        }
        self.queue.push(CycleEvent::Resolve { line });
    }

    /// Stops what was started last: what waits for tools, trials, or else the request and all calls.
    fn cancel(&mut self) {
        if self.take_back_waiting() {
            return;
        }
        if self.stop_trials() {
            return;
        }
        self.queue.push(CycleEvent::Cancel);
    }

    /// Opens the review that a line is about.
    fn review_at(&mut self, line: usize) {
        if self.has_changes() {
            self.review_changes();
        } else if !self.answer_question(line) {
            self.review(line);
        }
    }

    /// `:Flemma fix`: applies the fix of a diagnostic on this line, or in its block. An
    /// approval that it writes counts as typed, at the next key.
    fn fix(&mut self, line: usize) {
        let document = self.buffer.document();
        let Some(fix) = document.fix_at(line).cloned() else {
            return self.inform("There is nothing on this line that can be fixed automatically.");
        };
        // A fix replaces lines that running work may be about to change.
        if self.buffer.is_busy() || self.request.is_open() || !self.calls.is_empty() {
            return self.inform("This chat is busy; try again when nothing is running.");
        }
        // The user requested exactly this change, so it counts as typed. But settings that came
        // with the file do not become the user's when they are moved to the top.
        let is_own = document.message_at(fix.lines.start).is_some()
            || self.cycle.are_typed(self.buffer.text(), fix.lines.clone());
        let source = if is_own {
            ChangeSource::USER
        } else {
            ChangeSource::BULK
        };
        let edit = TextEdit {
            lines: fix.lines,
            replacement: fix.replacement,
        };
        self.apply_for(source, vec![edit], VecDeque::new(), CycleEvent::Changed);
    }

    /// Moves the cursor to a prompt or a block, where the user follows the chat. A direct
    /// answer to a key (`asked`) also moves a cursor that is still where the key was.
    pub(super) fn move_cursor(&self, line: usize, insert: bool, asked: bool) {
        // Above the prompt are its marker, a blank line, and the answer's last line.
        let from = insert.then(|| line.saturating_sub(3));
        self.send_cursor(Cursor {
            insert: insert && self.view.last_key().is_insert,
            asked,
            from,
            to: self.block_end(line),
            ..self.cursor_at(line)
        });
    }

    /// Moves the cursor to the end if it is in the last message, so that the window follows
    /// the answer.
    pub(super) fn follow_answer(&self, document: &Document<'_>) {
        let from = document.messages.last().map(|last| last.lines.start);
        self.send_cursor(Cursor {
            from,
            ..self.cursor_at(document.text().line_count() - 1)
        });
    }

    fn cursor_at(&self, line: usize) -> Cursor {
        Cursor {
            buffer: self.buffer.id(),
            line,
            column: 0,
            window: self.view.last_key().window,
            insert: false,
            asked: false,
            from: None,
            to: None,
        }
    }

    fn send_cursor(&self, cursor: Cursor) {
        self.editor.show(Display::Cursor(cursor));
    }

    /// Returns the last line of the result block that starts on `line`.
    fn block_end(&self, line: usize) -> Option<usize> {
        let document = self.buffer.document();
        document.turn_at(line).and_then(|turn| {
            let mut results = turn.calls.iter().filter_map(|call| call.result);
            results
                .find(|result| result.lines.start == line)
                .map(|result| result.lines.end - 1)
        })
    }
}
