//! Changes of a text that its lines don't show.

/// The byte order mark.
const MARK: char = '\u{feff}';

/// A change that lines don't show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    /// The text gets other line endings.
    Endings(Ending, Ending),
    /// A new text has `\r\n`.
    Returns,
    /// The text gets a byte order mark.
    MarkAdded,
    /// The text loses its byte order mark.
    MarkRemoved,
}

/// The line endings of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// `\n`.
    Newline,
    /// `\r\n`.
    ReturnNewline,
    /// Both.
    Mixed,
}

impl Note {
    /// A few words for the user.
    pub fn text(self) -> String {
        match self {
            Self::Endings(from, to) => format!("line endings {} → {}", from.name(), to.name()),
            Self::Returns => "CRLF line endings".to_owned(),
            Self::MarkAdded => "byte order mark added".to_owned(),
            Self::MarkRemoved => "byte order mark removed".to_owned(),
        }
    }
}

impl Ending {
    /// The endings of a text; `None` if it has only one line.
    pub(super) fn of(text: &str) -> Option<Self> {
        let all = memchr::memchr_iter(b'\n', text.as_bytes()).count();
        match text.matches("\r\n").count() {
            _ if all == 0 => None,
            0 => Some(Self::Newline),
            pairs if pairs == all => Some(Self::ReturnNewline),
            _ => Some(Self::Mixed),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Newline => "LF",
            Self::ReturnNewline => "CRLF",
            Self::Mixed => "mixed",
        }
    }
}

/// Returns what lines don't show of a change from `before` to `after`. A text that is emptied
/// has none.
pub(super) fn notes(before: &str, after: &str) -> Vec<Note> {
    if after.is_empty() {
        return Vec::new();
    }
    let endings = match (Ending::of(before), Ending::of(after)) {
        // For a new text, `\n` is expected and needs no note.
        (None, Some(Ending::ReturnNewline)) if before.is_empty() => Some(Note::Returns),
        // A text of one line has no line endings to compare.
        (Some(from), Some(to)) if from != to => Some(Note::Endings(from, to)),
        _ => None,
    };
    let mark = match (before.starts_with(MARK), after.starts_with(MARK)) {
        (false, true) => Some(Note::MarkAdded),
        (true, false) => Some(Note::MarkRemoved),
        _ => None,
    };
    endings.into_iter().chain(mark).collect()
}

/// Returns true unless all lines of both texts end in `\r\n`.
pub(super) fn shows_returns(before: &str, after: &str) -> bool {
    let ends = |text| Ending::of(text).is_none_or(|it| it == Ending::ReturnNewline);
    !ends(before) || !ends(after)
}
