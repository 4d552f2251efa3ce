//! Writes the pieces of a scripted answer to a connection, cut and delayed as scripted. Independent
//! of wire formats.

use std::time::Duration;

use crate::Gate;
use crate::answer::{Pace, Step};

/// Interval at which a stalled stream checks whether its client has disconnected.
const STALL: Duration = Duration::from_millis(10);

/// A step of a stream.
pub(crate) enum Piece {
    /// An encoded event, with LF line endings.
    Event(String),
    /// Raw bytes.
    Bytes(Vec<u8>),
    /// Wait until the gate opens.
    Gate(Gate),
    /// Wait until the client disconnects.
    Stall,
}

impl Piece {
    /// Converts a step that is the same in every wire format.
    pub(crate) fn of(step: &Step) -> Option<Self> {
        match step {
            Step::Bytes(bytes) => Some(Self::Bytes(bytes.clone())),
            Step::Gate(gate) => Some(Self::Gate(gate.clone())),
            Step::Stall => Some(Self::Stall),
            _ => None,
        }
    }
}

/// The destination of a body.
pub(crate) trait Outlet {
    /// Writes one chunk. Returns false if the client has disconnected.
    fn write(&mut self, bytes: &[u8]) -> bool;
    /// Returns true if the client has disconnected.
    fn is_gone(&mut self) -> bool;
}

/// How a delivery ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything was sent, as far as the script says.
    Complete,
    /// The script breaks the connection here.
    Cut,
    /// The client disconnected before the end.
    HungUp,
}

/// Plays `pieces` into `outlet`.
pub(crate) fn deliver(pieces: Vec<Piece>, pace: &Pace, outlet: &mut impl Outlet) -> End {
    let last = pace.cut_after.or(pace.end_after).or(pace.stall_after);
    let mut left = last.unwrap_or(usize::MAX);
    let mark = pace
        .byte_order_mark
        .then(|| Piece::Bytes("\u{feff}".into()));
    for piece in mark.into_iter().chain(pieces) {
        let bytes = match piece {
            Piece::Event(event) => spell(&event, pace),
            Piece::Bytes(bytes) => bytes,
            Piece::Gate(gate) => {
                if !gate.pass(|| outlet.is_gone()) {
                    return End::HungUp;
                }
                continue;
            }
            Piece::Stall => return stall(outlet),
        };
        let sent = &bytes[..bytes.len().min(left)];
        left -= sent.len();
        if !write(sent, pace, outlet) {
            return End::HungUp;
        }
        if left == 0 {
            break;
        }
    }
    match left {
        0 if pace.cut_after.is_some() => End::Cut,
        0 if pace.stall_after.is_some() => stall(outlet),
        _ => End::Complete,
    }
}

/// Stalls until the client disconnects.
fn stall(outlet: &mut impl Outlet) -> End {
    while !outlet.is_gone() {
        std::thread::sleep(STALL);
    }
    End::HungUp
}

fn spell(event: &str, pace: &Pace) -> Vec<u8> {
    let comment = if pace.comments {
        ": keep-alive\n\n"
    } else {
        ""
    };
    let mut text = format!("{comment}{event}");
    if pace.crlf {
        // JSON contains no bare newline, so these are the line endings of the stream.
        text = text.replace('\n', "\r\n");
    }
    text.into_bytes()
}

fn write(bytes: &[u8], pace: &Pace, outlet: &mut impl Outlet) -> bool {
    let size = pace.piece.unwrap_or(bytes.len()).max(1);
    bytes.chunks(size).all(|chunk| {
        std::thread::sleep(pace.every.unwrap_or(Duration::ZERO));
        outlet.write(chunk)
    })
}
