//! The chat's buffer: its text as the editor has it, and the edit that is on its way.

use super::edits::InFlight;
use super::mirror::{Loading, Mirror};
use crate::protocol::{BufferId, Changed};

/// One buffer of the editor.
pub(super) struct Buffer {
    pub(super) id: BufferId,
    pub(super) mirror: Mirror,
    /// The number of the mirror's text, in the editor's count.
    pub(super) seq: u64,
    /// Where the text came from and its lines so far, while it arrives.
    pub(super) loading: Option<Loading>,
    /// A change whose last pieces are on their way.
    pub(super) partial: Option<Changed>,
    /// The edit that the editor has not answered yet.
    pub(super) in_flight: Option<InFlight>,
    /// Whether it is known which lines of the text were typed here.
    pub(super) has_origin: bool,
    pub(super) is_gone: bool,
    /// Numbers edits, anchors and requests.
    last_number: u64,
}

impl Buffer {
    /// A buffer whose text has not arrived yet.
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

    /// A new number for an edit, an anchor, or a request.
    pub(super) fn next_number(&mut self) -> u64 {
        self.last_number += 1;
        self.last_number
    }

    /// The number given last.
    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }
}
