//! The chat on disk: the lock on its file, and the record of unfinished work.

mod chat_lock;
mod recovery;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::INTERRUPTED;
use chat::document::Document;
use chat::tool::ToolOutcome;
use tokio::time::Instant;
use tools::state_dir;

use self::chat_lock::{ChatLock, KeyGate, LockPlace};
pub(super) use self::recovery::Lost;
use self::recovery::Recovery;
use super::Gate;
use super::ctx::Ctx;
use crate::half_done::Result;
use crate::lease::HeldBy;
use crate::protocol::{Display, EditorCommand, Save, Taken};

/// The state of the chat's file: its lock, and the work that it does not contain yet.
#[derive(Debug, Default)]
pub(super) struct Disk {
    lock: ChatLock,
    /// Unfinished work, until the file contains it.
    recovery: Recovery,
    /// True if the buffer may have changes that are not in the file.
    is_modified: bool,
    /// True if an answer or a result was written since the file was.
    has_news: bool,
    /// Calls that ran for the file when their host ended, until a key reports it there.
    cut_off: Vec<CallKey>,
}

impl Disk {
    /// Returns true while this session holds the chat lock.
    pub(super) fn has_chat(&self) -> bool {
        self.lock.is_held()
    }

    /// Returns true if another program was seen to work on the chat.
    pub(super) fn is_elsewhere(&self) -> bool {
        self.lock.is_elsewhere()
    }

    /// Returns true while a key waits for the chat lock. Later inputs wait too.
    pub(super) fn has_waiting_key(&self) -> bool {
        self.lock.has_waiting_key()
    }

    /// Returns when the chat lock is tried again.
    pub(super) fn next_try(&self) -> Option<Instant> {
        self.lock.next_try()
    }

    /// Takes the lock of a chat that was opened in Neovim's process `process`.
    pub(super) fn open(&mut self, ctx: &Ctx, process: u32, modified: bool) {
        self.lock.set_process(process);
        self.rename(ctx, modified);
    }

    /// Takes the lock of the chat under its new name.
    pub(super) fn rename(&mut self, ctx: &Ctx, modified: bool) {
        self.is_modified = modified;
        self.ask(ctx);
    }

    /// Notes a change of the text, by the user or the host: until it is written, the session
    /// keeps the lock.
    pub(super) fn note_change(&mut self, ctx: &Ctx) {
        // Only the first change since the last save asks, because that reads the state
        // folder.
        let first = !std::mem::replace(&mut self.is_modified, true);
        if first && !self.has_chat() {
            self.ask(ctx);
        }
    }

    /// Notes that the file was written. Returns true if it contains everything.
    pub(super) fn saved(&mut self, is_last_text: bool) -> bool {
        // The user may have changed the text after this version was written. Not assigned, so
        // that an unmodified text stays unmodified.
        self.is_modified &= !is_last_text;
        !self.is_modified
    }

    /// Notes that an answer or a result is written into the buffer.
    pub(super) fn note_news(&mut self) {
        self.has_news = true;
    }

    /// Has the editor save an answer or a result that was written, unless another program has the
    /// chat.
    pub(super) fn save_news(&mut self, ctx: &Ctx) {
        if self.has_news && !ctx.buffer.is_busy() && !ctx.buffer.is_loading() {
            self.has_news = false;
            if self.has_chat() {
                let buffer = ctx.buffer.id();
                ctx.editor.show(Display::Save(Save { buffer }));
            }
        }
    }

    /// Releases the lock of an idle chat while the file contains everything.
    pub(super) fn yield_chat(&mut self) {
        if !self.is_modified {
            self.lock.release();
        }
    }

    /// Passes a key if this session has the chat lock or gets it. Otherwise the key is tried again, or
    /// the user gets a message.
    pub(super) fn pass(&mut self, ctx: &Ctx, command: &EditorCommand) -> Gate {
        let was_elsewhere = self.is_elsewhere();
        let gate = self.lock.pass(&place(ctx), command);
        self.follow_lock(ctx, was_elsewhere);
        match gate {
            KeyGate::Open => Gate::Ready,
            // `take_key` returns the key again.
            KeyGate::Waits => Gate::Waiting,
            KeyGate::Closed(holder) => {
                self.report(ctx, &holder, "so nothing was sent or run here");
                Gate::Waiting
            }
        }
    }

    /// Tries again to take the lock, if that is due. Returns the key that waits for it.
    pub(super) fn try_again(&mut self, ctx: &Ctx) -> Option<EditorCommand> {
        if self.lock.is_due() {
            self.ask(ctx);
        }
        self.lock.take_key()
    }

    fn ask(&mut self, ctx: &Ctx) {
        let was_elsewhere = self.is_elsewhere();
        let holder = self.lock.ask(&place(ctx));
        self.follow_lock(ctx, was_elsewhere);
        if let Some(holder) = holder {
            self.report(
                ctx,
                &holder,
                "so keys here neither send it nor run its calls",
            );
        }
    }

    /// Tells the editor whether another program works on the chat, if that changed. It then looks for
    /// that program's changes of the file.
    fn follow_lock(&mut self, ctx: &Ctx, was_elsewhere: bool) {
        let elsewhere = self.is_elsewhere();
        if elsewhere == was_elsewhere {
            return;
        }
        if !elsewhere {
            // The other program may have been killed while its calls ran.
            self.find_cut_off(ctx);
        }
        let buffer = ctx.buffer.id();
        ctx.editor.show(Display::Taken(Taken { buffer, elsewhere }));
    }

    fn report(&self, ctx: &Ctx, holder: &HeldBy, consequence: &str) {
        let name = self.lock.name(holder);
        ctx.editor.report_problem(&Problem::new(
            format!("This chat is open in {name}, {consequence}. Your text here is kept."),
            "Continue there; or save or close it there, and press the key here again.",
        ));
    }

    /// Notes that a request is sent: the chat will have one more answer.
    pub(super) fn note_request(&mut self, document: &Document<'_>) {
        self.recovery.note_request(document);
    }

    /// Notes that the answer is in the buffer; `tail` is its end.
    pub(super) fn note_answer_end(&mut self, tail: &str) {
        self.recovery.note_answer_end(tail);
    }

    /// Notes the result of a call, which is about to be written into the buffer.
    pub(super) fn note_result(&mut self, result: Result) {
        self.recovery.note_result(result);
    }

    /// Forgets the record of unfinished work, because the file contains everything.
    pub(super) fn forget_unfinished(&mut self) {
        self.recovery.forget();
    }

    /// Brings the record on disk up to date. Without the chat lock it belongs to another
    /// program. Returns true if a record was found, from which the text is to be restored.
    pub(super) fn store_unfinished(&mut self, ctx: &Ctx) -> bool {
        if ctx.editor.is_headless() || ctx.buffer.is_loading() || !self.has_chat() {
            return false;
        }
        let is_found = self.recovery.follow(&state_dir::path(), ctx.place.path());
        if let Err(error) = self.recovery.write() {
            tracing::warn!(%error, "the record of unfinished work cannot be written");
        }
        is_found
    }

    /// Returns what the record contains and the text lacks.
    pub(super) fn lost(&self, document: &Document<'_>) -> Option<Lost> {
        self.recovery.lost(document)
    }

    /// Returns true if the text contains a part of the answer of the open or last request.
    pub(super) fn has_begun(&self, document: &Document<'_>) -> bool {
        self.recovery.has_begun(document)
    }

    /// Looks for calls that ran for this file when their host ended.
    pub(super) fn find_cut_off(&mut self, ctx: &Ctx) {
        self.cut_off = self.calls_without_end(ctx);
    }

    /// Takes the calls that were cut off, and their end.
    pub(super) fn take_cut_off(&mut self, ctx: &Ctx) -> Vec<(CallKey, ToolOutcome)> {
        end_interrupted(ctx, std::mem::take(&mut self.cut_off))
    }

    /// Returns the calls that ran when the host before this one ended, and their end.
    pub(super) fn interrupted_calls(&self, ctx: &Ctx) -> Vec<(CallKey, ToolOutcome)> {
        end_interrupted(ctx, self.calls_without_end(ctx))
    }

    /// Returns calls without a result that started according to the log and did not end.
    /// The mark that says so may be missing because the host was killed before it drew it.
    fn calls_without_end(&self, ctx: &Ctx) -> Vec<CallKey> {
        let document = ctx.buffer.document();
        let calls = document.turns().flat_map(|turn| turn.calls);
        let waiting = calls.filter(|call| call.status().is_some());
        let waiting = waiting.map(|call| chat::cycle::key(&document, call.tool_use));
        let waiting: Vec<CallKey> = waiting.collect();
        // Another program may still be running them.
        if waiting.is_empty() || self.is_elsewhere() {
            return Vec::new();
        }
        let found = ctx.shared.audit.without_end(ctx.place.path(), &waiting);
        found.unwrap_or_else(|error| {
            tracing::warn!(%error, "cannot find out whether calls of this chat ran before");
            Vec::new()
        })
    }
}

fn place(ctx: &Ctx) -> LockPlace<'_> {
    LockPlace {
        state: state_dir::path(),
        chat: ctx.place.path(),
        is_headless: ctx.editor.is_headless(),
    }
}

/// Returns the end of calls whose host was killed.
fn end_interrupted(ctx: &Ctx, calls: Vec<CallKey>) -> Vec<(CallKey, ToolOutcome)> {
    let ends = calls.into_iter().map(|call| {
        sweep_after(ctx, &call);
        (call, ToolOutcome::Failed(INTERRUPTED.to_owned()))
    });
    ends.collect()
}

/// Removes temporary files that a call left beside its target when its host was killed.
fn sweep_after(ctx: &Ctx, call: &CallKey) {
    let input = serde_json::from_str::<serde_json::Value>(&call.input).ok();
    // Tools that write files name their target `path`.
    let path = input.and_then(|it| it.get("path")?.as_str().map(PathBuf::from));
    let target = path.map(|it| ctx.place.folder().join(it));
    if let Some(folder) = target.as_deref().and_then(Path::parent) {
        // A call that was killed while writing may have left one.
        tools::sweep_unfinished(folder);
    }
}
