//! Takes the whole text of a buffer: when it is opened, reloaded, or attached anew.

use chat::cycle::CycleEvent;
use chat::origin::ChangeSource;
use chat::text::Text;
use chat::tool::ToolUseId;

use super::mirror::Mirror;
use crate::protocol::{Attach, Snapshot};
use crate::session::Session;

impl Session {
    /// Takes a piece of the whole text, and the text with its last piece.
    pub(crate) fn snapshot(&mut self, snapshot: Snapshot) {
        let (done, seq) = (snapshot.done, snapshot.seq);
        let loading = self.buffer.loading.get_or_insert_default();
        loading.take_piece(snapshot);
        let Some(mut loading) = self.buffer.loading.take_if(|_| done) else {
            return;
        };
        self.buffer.seq = seq;
        // The rest of a change that was cut by the snapshot is part of the whole text.
        self.buffer.partial = None;
        let attach = loading.attach.take();
        self.replace_text(loading.into_text());
        // The editor still answers an edit in flight: as stale or lost, or as applied to
        // this text, because Neovim also sends the whole text without being asked.
        // Line numbers of the old text mean nothing in the new one.
        self.view.forget_folds();
        self.view.redraw();
        match attach {
            Some(attach) => self.attached(attach),
            // The text was sent anew within a session, so the cycle looks at it again without
            // loading.
            None => {
                self.note_change();
                self.queue.push(CycleEvent::Continue);
            }
        }
    }

    /// Replaces the whole text. Lines that differ from the known text arrived in bulk.
    fn replace_text(&mut self, text: Text) {
        // On the first load, `attached` notes the origin of all lines at once.
        if self.buffer.has_origin {
            let known = self.buffer.text();
            let new: Vec<&[u8]> = (0..text.line_count()).map(|it| text.line(it)).collect();
            self.cycle
                .changing(known, &(0..known.line_count()), &new, ChangeSource::BULK);
            self.cycle.note_undecided(&self.buffer.document());
        }
        self.buffer.mirror = Mirror::new(text);
        if self.cycle.has_change() {
            self.cycle.changed(&self.buffer.document());
        }
    }

    /// Notes the properties of a chat that was opened, or that a new host found.
    fn attached(&mut self, attach: Attach) {
        self.disk.set_path(&attach.path);
        // Before looking for interrupted calls, which may belong to another program.
        self.hold_chat(attach.process, attach.modified);
        self.disk.set_cwd(&attach.cwd);
        self.look_at_project();
        self.view.set_width(attach.width);
        self.note_origin(attach.came);
        self.request.sent.expire();
        let mut interrupted: Vec<ToolUseId> =
            attach.interrupted.into_iter().map(ToolUseId::new).collect();
        match attach.reason.as_str() {
            // The host that ran these calls is gone, and so are their results.
            "restart" => interrupted.extend(self.interrupted_calls()),
            // Nothing is written when a file is opened; the first key does that.
            "open" => self.find_cut_off(),
            _ => {}
        }
        self.queue.push(CycleEvent::Loaded { interrupted });
        if !attach.queued.is_empty() {
            self.note_shown(&attach.queued);
            self.queue.push(CycleEvent::TakeBack(attach.queued));
        }
        self.resume_answer(attach.streaming);
    }

    /// Ends an answer that was arriving when the text was read. `streaming` is true if a
    /// host that ended was writing one.
    fn resume_answer(&mut self, streaming: bool) {
        if self.request.is_open() {
            self.lose_request(
                "The buffer was reloaded while an answer was arriving, so the answer ends here.",
                "the chat was reloaded while the answer was arriving",
            );
        // Neovim still shows an answer of which this restarted host knows nothing.
        } else if streaming {
            self.request.interrupt("the host stopped");
        } else {
            self.recover();
        }
    }

    /// Changes the working directory for calls that start from now on.
    pub(crate) fn change_directory(&mut self, cwd: &str) {
        self.disk.set_cwd(cwd);
        // The sandbox of a chat depends on its current folder.
        self.policy.forget_sandbox();
        self.look_at_project();
    }
}
