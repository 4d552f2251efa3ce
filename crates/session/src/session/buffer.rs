//! The chat's buffer: its text as the editor has it, and the edit that is in flight.

mod edits;
mod mirror;

use std::sync::Arc;

use chat::document::{Document, Parsed};
use chat::text::{Lines, Text};

pub(super) use self::edits::EditKind;
use self::edits::InFlight;
pub(super) use self::mirror::moved;
use self::mirror::{Loading, Mirror};
use crate::protocol::{Attach, BufferId, Changed, Snapshot};

/// One buffer of the editor.
pub(super) struct Buffer {
    id: BufferId,
    mirror: Mirror,
    /// The number of the mirror's text, in the editor's count.
    seq: u64,
    /// The text while it arrives in pieces.
    loading: Option<Loading>,
    /// A change whose last pieces have not arrived yet.
    partial: Option<Changed>,
    /// The edit that the editor has not answered yet.
    in_flight: Option<InFlight>,
    /// True if it is known which lines of the text were typed here.
    has_origin: bool,
    is_gone: bool,
    /// Numbers edits, anchors and requests.
    last_number: u64,
}

impl Buffer {
    /// Returns a buffer whose text has not arrived yet.
    pub(super) fn new(id: BufferId) -> Self {
        Self {
            id,
            mirror: Mirror::default(),
            seq: 0,
            loading: None,
            partial: None,
            in_flight: None,
            has_origin: false,
            is_gone: false,
            last_number: 0,
        }
    }

    pub(super) fn id(&self) -> BufferId {
        self.id
    }

    pub(super) fn text(&self) -> &Text {
        self.mirror.text()
    }

    /// Returns the parsed text.
    pub(super) fn document(&self) -> Document<'_> {
        self.mirror.document()
    }

    /// Returns the text and its parse tree for another thread; see [`Document::of`].
    pub(super) fn share(&self) -> (Arc<Text>, Arc<Parsed>) {
        self.mirror.share()
    }

    pub(super) fn seq(&self) -> u64 {
        self.seq
    }

    /// Starts to load the text of a buffer that is new to this host.
    pub(super) fn load(&mut self, attach: Attach) {
        self.loading = Some(Loading::of(attach));
    }

    /// Joins the pieces of a change; `None` until the last one has arrived.
    pub(super) fn complete(&mut self, piece: Changed) -> Option<Changed> {
        let changed = match self.partial.take() {
            Some(mut begun) => {
                // Neovim splits a long change so that a key need not wait behind all of it.
                begun.lines.extend(piece.lines);
                begun.more = piece.more;
                begun
            }
            None => piece,
        };
        if changed.more {
            self.partial = Some(changed);
            return None;
        }
        if let Some(loading) = &mut self.loading {
            // Neovim sends all pieces of a snapshot together, so no change can come between
            // them.
            tracing::warn!(buffer = self.id, "a change came before the whole text");
            loading.begin_again();
        }
        Some(changed)
    }

    /// Takes a piece of the whole text. With the last one, returns the text, and the buffer's properties
    /// if it is new to this host.
    pub(super) fn take_piece(&mut self, snapshot: Snapshot) -> Option<(Text, Option<Attach>)> {
        let (done, seq) = (snapshot.done, snapshot.seq);
        self.loading.get_or_insert_default().take_piece(snapshot);
        let mut loading = self.loading.take_if(|_| done)?;
        self.seq = seq;
        // The rest of a change that was cut by the snapshot is part of the whole text.
        self.partial = None;
        let attach = loading.attach.take();
        Some((loading.into_text(), attach))
    }

    /// Replaces the whole text.
    pub(super) fn replace(&mut self, text: Text) {
        self.mirror = Mirror::new(text);
    }

    /// Replaces lines, see [`Text::splice`].
    pub(super) fn splice<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L]) {
        self.mirror.splice(lines, new);
    }

    /// Sets the number of the text that the user made.
    pub(super) fn set_seq(&mut self, seq: u64) {
        self.seq = seq;
    }

    /// Returns true while the text arrives in pieces.
    pub(super) fn is_loading(&self) -> bool {
        self.loading.is_some()
    }

    /// Returns true while the editor has an edit to answer.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.is_some()
    }

    /// Forgets the edit in flight, because the editor will not answer it.
    pub(super) fn close(&mut self) {
        self.in_flight = None;
    }

    pub(super) fn set_gone(&mut self) {
        self.is_gone = true;
    }

    /// Returns true if the buffer was closed.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone
    }

    /// Returns true once it is known which lines were typed here.
    pub(super) fn has_origin(&self) -> bool {
        self.has_origin
    }

    pub(super) fn set_origin_known(&mut self) {
        self.has_origin = true;
    }

    /// Returns a new number for an edit, an anchor, or a request.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }
}
