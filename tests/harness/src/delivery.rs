//! From a scripted answer to the writes of a connection: the pieces of a body in
//! order, cut and delayed as the script says. It knows no wire format.

use std::time::Duration;

use crate::Gate;
use crate::answer::{Pace, Step};

/// How often a stalled stream looks whether its client has left.
const STALL: Duration = Duration::from_millis(10);

/// A thing that a stream does next.
pub(crate) enum Piece {
    /// One event in the wire format's spelling, with LF line ends.
    Event(String),
    /// Bytes that are sent as they are.
    Bytes(Vec<u8>),
    /// Wait until it opens.
    Gate(Gate),
    /// Wait until the client leaves.
    Stall,
}

impl Piece {
    /// The steps that are the same in every wire format.
    pub(crate) fn of(step: &Step) -> Option<Self> {
        match step {
            Step::Bytes(bytes) => Some(Self::Bytes(bytes.clone())),
            Step::Gate(gate) => Some(Self::Gate(gate.clone())),
            Step::Stall => Some(Self::Stall),
            _ => None,
        }
    }
}

/// What a body is delivered to.
pub(crate) trait Outlet {
    /// Writes one chunk. False once the client has left.
    fn write(&mut self, bytes: &[u8]) -> bool;
    /// Whether the client has left.
    fn is_gone(&mut self) -> bool;
}

/// How a delivery ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Everything was sent, or as much as the script wants.
    Complete,
    /// The script breaks the connection here.
    Cut,
    /// The client left before the end.
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

/// Says nothing until the client leaves.
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
        // JSON holds no bare line end, so these are the ends of the stream's lines.
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
