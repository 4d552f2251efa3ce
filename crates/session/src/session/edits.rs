//! Changes of the text: by the user, and by the host's own edits; and the whole text, when it is
//! opened, reloaded, or attached anew.

use std::collections::VecDeque;

use chat::Problem;
use chat::cycle::{CycleEvent, Effect};
use chat::origin::ChangeSource;
use chat::text::{Lines, Text};
use chat::tool::ToolUseId;
use chat::write::{self, TextEdit};

use super::Session;
use super::buffer::EditKind;
use super::ctx::Ctx;
use super::policy::{look_at_project, note_origin};
use crate::protocol::{
    Anchor, Applied, Attach, AttachReason, Changed, EditOutcome, LineChange, Renamed, Snapshot,
};

impl Session {
    /// Takes a piece of the whole text, and the text with its last piece.
    pub(super) fn snapshot(&mut self, snapshot: Snapshot) {
        let Some((text, attach)) = self.ctx.buffer.take_piece(snapshot) else {
            return;
        };
        self.replace_text(text);
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
                self.disk.note_change(&self.ctx);
                self.queue.push(CycleEvent::Continue);
            }
        }
    }

    /// Replaces the whole text. Lines that differ from the known text arrived in bulk.
    fn replace_text(&mut self, text: Text) {
        let (buffer, cycle) = (&mut self.ctx.buffer, &mut self.ctx.cycle);
        // On the first load, `attached` notes the origin of all lines at once.
        if buffer.has_origin() {
            let known = buffer.text();
            let new: Vec<&[u8]> = (0..text.line_count()).map(|it| text.line(it)).collect();
            cycle.changing(known, &(0..known.line_count()), &new, ChangeSource::BULK);
            cycle.note_undecided(&buffer.document());
        }
        buffer.replace(text);
        if cycle.has_change() {
            cycle.changed(&buffer.document());
        }
    }

    /// Notes the properties of a chat that was opened, or that a new host found.
    fn attached(&mut self, attach: Attach) {
        self.ctx.place.set_path(&attach.path);
        // Before looking for interrupted calls, which may belong to another program.
        self.disk.open(&self.ctx, attach.process, attach.modified);
        self.ctx.place.set_cwd(&attach.cwd);
        look_at_project(&self.ctx);
        self.view.set_width(attach.width);
        note_origin(&mut self.ctx, attach.came);
        self.request.sent.expire();
        let mut interrupted: Vec<ToolUseId> =
            attach.interrupted.into_iter().map(ToolUseId::new).collect();
        match attach.reason {
            // The host that ran these calls is gone, and so are their results.
            AttachReason::Restart => {
                let ended = self.disk.interrupted_calls(&self.ctx);
                interrupted.extend(self.decisions.end_all(ended));
            }
            // Nothing is written when a file is opened; the first key does that.
            AttachReason::Open => self.disk.find_cut_off(&self.ctx),
            AttachReason::Reload => {}
        }
        self.queue.push(CycleEvent::Loaded { interrupted });
        if !attach.queued.is_empty() {
            self.view.note_shown(&self.ctx, &attach.queued);
            self.queue.push(CycleEvent::TakeBack(attach.queued));
        }
        // An answer was arriving when the text was read.
        if self.request.is_open() {
            self.lose_answer(
                "The buffer was reloaded while an answer was arriving, so the answer ends here.",
                "the chat was reloaded while the answer was arriving",
            );
        // Neovim still shows an answer of which this restarted host knows nothing.
        } else if attach.streaming {
            self.request.interrupt("the host stopped");
        } else {
            self.recover();
        }
    }

    /// Changes the buffer's name. Running calls and requests continue under the new path.
    pub(super) fn renamed(&mut self, renamed: &Renamed) {
        self.ctx.place.set_path(&renamed.path);
        self.request.sent.expire();
        self.ctx.forget_sandbox();
        self.disk.rename(&self.ctx, renamed.modified);
        self.view.redraw();
    }

    /// Changes the working directory for calls that start from now on.
    pub(super) fn change_directory(&mut self, cwd: &str) {
        self.ctx.place.set_cwd(cwd);
        // The sandbox of a chat depends on its current folder.
        self.ctx.forget_sandbox();
        look_at_project(&self.ctx);
    }

    /// Takes a change by the user, or a piece of one.
    pub(super) fn changed(&mut self, piece: Changed) {
        // Only the whole change shows whether it is a paste.
        let Some(changed) = self.ctx.buffer.complete(piece) else {
            return;
        };
        // Decide on the text as it was opened before this change: text that is typed,
        // however soon, was not in the file.
        if let Some(loaded) = self.queue.pop_loaded() {
            self.step(loaded);
        }
        let lines = changed.first..changed.last;
        self.change_text(lines, &changed.lines, changed.source());
        self.ctx.buffer.set_seq(changed.seq);
        self.disk.note_change(&self.ctx);
        // The user may have removed the place where the answer grows.
        self.request.note_change();
        self.queue.push_change();
        self.view.redraw();
    }

    /// Changes the mirror's text, and what refers to its lines.
    fn change_text<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L], source: ChangeSource) {
        self.announce_change(&lines, new, source);
        // Both calls parse the document, so they are made only if a placeholder changed.
        if self.ctx.cycle.has_change() {
            self.ctx.cycle.note_undecided(&self.ctx.buffer.document());
        }
        self.ctx.buffer.splice(lines, new);
        if self.ctx.cycle.has_change() {
            self.ctx.cycle.changed(&self.ctx.buffer.document());
        }
    }

    /// Applies changes of the host, which are sorted and disjoint. None of them is an
    /// approval by hand, so the document is parsed once after all of them; each parse takes
    /// as long as the last messages are.
    fn change_by_host(&mut self, changes: &[LineChange]) {
        let mut has_change = false;
        // From the last change to the first, so that their line numbers stay valid.
        for LineChange { first, last, lines } in changes.iter().rev() {
            self.announce_change(&(*first..*last), lines, ChangeSource::Host);
            has_change |= self.ctx.cycle.has_change();
            self.ctx.buffer.splice(*first..*last, lines);
        }
        if has_change {
            self.ctx.cycle.changed(&self.ctx.buffer.document());
        }
    }

    /// Moves everything that refers to lines, and tells the cycle about the coming change.
    fn announce_change<L: AsRef<[u8]>>(&mut self, lines: &Lines, new: &[L], source: ChangeSource) {
        self.queue.follow_change(lines, new.len());
        self.request.follow_change(lines, new.len());
        self.view.follow_change(lines, new.len());
        let Ctx { cycle, buffer, .. } = &mut self.ctx;
        cycle.changing(buffer.text(), lines, new, source);
    }

    /// Sends changes of the host, or those that the user requested: they count as typed. `rest` follows
    /// when they are applied, and `again` is decided if they are stale.
    pub(super) fn apply(
        &mut self,
        source: ChangeSource,
        edits: Vec<TextEdit>,
        rest: VecDeque<Effect>,
        again: CycleEvent,
    ) {
        let changes = self.send_edits(edits, None);
        self.calls.results_written();
        self.ctx.buffer.wait_for(EditKind::Cycle {
            changes,
            rest,
            again,
            source,
        });
    }

    /// Sends a change that the user requested.
    pub(super) fn apply_for_user(&mut self, source: ChangeSource, edits: Vec<TextEdit>) {
        self.apply(source, edits, VecDeque::new(), CycleEvent::Changed);
    }

    /// Sends the marker line above an answer, or the answer's end.
    pub(super) fn apply_marker(&mut self, edit: Option<TextEdit>, anchor: Option<Anchor>) {
        let changes = self.send_edits(edit.into_iter().collect(), anchor);
        self.ctx
            .buffer
            .wait_for(EditKind::Marker { changes, anchor });
    }

    fn send_edits(&mut self, edits: Vec<TextEdit>, anchor: Option<Anchor>) -> Vec<LineChange> {
        let unlock = self.calls.is_empty() && !self.ctx.cycle.has_queue();
        let editor = &self.ctx.editor;
        self.ctx.buffer.send(editor, edits, anchor, unlock)
    }

    /// Takes the editor's answer to an edit.
    pub(super) fn applied(&mut self, applied: Applied) {
        let is_later = self.ctx.buffer.follow_seq(applied.seq);
        if is_later {
            // What the host writes is not in the file either.
            self.disk.note_change(&self.ctx);
        }
        let Some(kind) = self.ctx.buffer.take_answered(applied.edit) else {
            return;
        };
        self.view.redraw();
        match (kind, applied.outcome) {
            (
                EditKind::Cycle {
                    changes,
                    rest,
                    source,
                    ..
                },
                EditOutcome::Applied,
            ) => self.cycle_applied(&changes, source, rest),
            // The text has changed meanwhile, so the cycle decides again on the new one.
            (EditKind::Cycle { again, .. }, EditOutcome::Stale) => self.queue.push_first(again),
            (EditKind::Marker { changes, anchor }, EditOutcome::Applied) => {
                self.change_by_host(&changes);
                if let Some(anchor) = anchor {
                    self.request.marker_written(self.ctx.buffer.text(), anchor);
                }
            }
            // The marker is still missing; the next frame writes it again.
            (EditKind::Marker { .. }, EditOutcome::Stale) => {}
            (EditKind::Append { lines }, EditOutcome::Applied) => {
                if let Some(new) = self.ctx.buffer.appended(&lines, &applied) {
                    let last = new.row + new.lines.len() - 1;
                    self.change_text(new.row..new.row + 1, &new.lines, ChangeSource::Host);
                    self.request.grew(self.ctx.buffer.text(), last, new.end);
                }
            }
            (EditKind::Append { lines }, EditOutcome::Moved) => {
                if let Some(anchor) = self.request.anchor() {
                    let editor = &self.ctx.editor;
                    self.ctx.buffer.append_below(editor, anchor, &lines);
                }
            }
            (EditKind::Append { .. }, EditOutcome::Lost) => self.lose_answer(
                "The place where the answer was being written is gone, so the answer ends here.",
                "its place in the chat was lost",
            ),
            (kind, _) => self.refused(&kind, applied.message),
        }
    }

    /// Takes the changes of a step into the mirror, and carries out what follows them.
    fn cycle_applied(
        &mut self,
        changes: &[LineChange],
        source: ChangeSource,
        rest: VecDeque<Effect>,
    ) {
        if source == ChangeSource::Host {
            self.change_by_host(changes);
        } else {
            // From the last change to the first, so that their line numbers stay valid.
            for change in changes.iter().rev() {
                self.change_text(change.first..change.last, &change.lines, source);
            }
        }
        self.view.redraw_now();
        // Before the next request writes into the text.
        self.disk.save_news(&self.ctx);
        // The cycle continues on this text before any event that is queued already.
        self.queue.push_first(CycleEvent::Continue);
        self.perform(rest, CycleEvent::Continue);
    }

    fn refused(&mut self, kind: &EditKind, message: Option<String>) {
        let why = message.unwrap_or_else(|| "no reason was given".to_owned());
        self.ctx.editor.report_problem(&Problem::new(
            format!("Neovim refused a change of this buffer ({why}), so nothing was written."),
            "Press Ctrl-] to try again.",
        ));
        self.request.forget_interruption();
        // The next key makes the cycle decide on this edit again; an answer is not
        // repeated.
        if !matches!(kind, EditKind::Cycle { .. }) {
            self.lose_answer(
                "The buffer could not be written, so the answer ends here.",
                "the buffer could not be written",
            );
        }
    }

    /// Writes at the end of the last answer why it was cut off.
    pub(super) fn mark_interrupted(&mut self, reason: &str) {
        let edit = write::abort_last(&self.ctx.buffer.document(), reason);
        match edit {
            // Once the mark is in the text there is no edit to make, and the interruption is
            // forgotten.
            Some(edit) => self.apply_marker(Some(edit), None),
            None => self.request.forget_interruption(),
        }
    }
}
