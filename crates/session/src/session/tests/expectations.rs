//! How a test changes the text of its chat, and what it expects of the session.

use std::fmt::Write as _;

use chat::text::Lines;
use serde_bytes::ByteBuf;

use super::script::Answer;
use super::{BUFFER, EditorInput, Input, Record, Stage};
use crate::protocol::{Changed, DiagnosticItem, MarkItem};

impl Stage {
    /// Lets one call of `wait` end.
    pub(super) fn open_gate(&self) -> &Self {
        self.gate.add_permits(1);
        self
    }

    /// Continues the open answer.
    pub(super) fn continues(&self, more: Answer) -> &Self {
        self.script.continues(more);
        self
    }

    /// Changes the text like a user who types.
    pub(super) fn types(&self, old: &str, new: &str) -> &Self {
        self.changes(old, new, Some(usize::MAX))
    }

    /// Changes the text like a paste or a plugin.
    pub(super) fn pastes(&self, old: &str, new: &str) -> &Self {
        self.changes(old, new, None)
    }

    /// Replaces `old`, which is within one line, by `new`.
    pub(super) fn changes(&self, old: &str, new: &str, typed: Option<usize>) -> &Self {
        let text = self.text();
        let at = text.lines().position(|it| it.contains(old)).unwrap();
        let line = text.lines().nth(at).unwrap().replacen(old, new, 1);
        let lines: Vec<String> = line.split('\n').map(str::to_owned).collect();
        self.replaces(at..at + 1, &lines, typed)
    }

    pub(super) fn replaces(&self, lines: Lines, new: &[String], typed: Option<usize>) -> &Self {
        let mut record = self.record();
        record.buffer.splice(lines.clone(), new);
        self.send(Input::Editor(EditorInput::Changed(Changed {
            buffer: BUFFER,
            seq: record.buffer.seq(),
            first: lines.start,
            last: lines.end,
            lines: new.iter().map(|it| ByteBuf::from(it.as_str())).collect(),
            more: false,
            typed,
            undone: false,
        })));
        drop(record);
        self
    }

    /// Returns the block of a result, from its header to its fence.
    pub(super) fn result(&self, id: &str) -> String {
        let text = self.text();
        let header = format!("**Tool Result:** `{id}`");
        let Some(start) = text.find(&header) else {
            return String::new();
        };
        let rest = &text[start..];
        let fence = rest.match_indices("\n```").nth(1).unwrap().0;
        rest[..fence + 4].to_owned()
    }

    /// What became of a call: `ran`, `failed`, `waits`, or `denied`.
    pub(super) fn became(&self, id: &str) -> &'static str {
        let block = self.result(id);
        let is = |part: &str| block.contains(part);
        match () {
            () if is("status=pending") => "waits",
            () if is("status=") || block.is_empty() => "undecided",
            () if is("The tool was denied by a policy.") => "denied",
            () if is("(error)") => "failed",
            () => "ran",
        }
    }

    #[track_caller]
    pub(super) fn expect_became<const N: usize>(&self, ids: [&str; N], expected: [&str; N]) {
        assert_eq!(ids.map(|id| self.became(id)), expected, "{}", self.story());
    }

    /// The lines of the report that is shown, with single blanks.
    pub(super) fn report(&self) -> Vec<String> {
        let is_there = |it: &Record| !it.reports().is_empty();
        self.wait("a report", is_there);
        let lines = self.record().reports().into_iter();
        let single = |line: String| line.split_whitespace().collect::<Vec<_>>().join(" ");
        lines.map(single).collect()
    }

    /// Waits until a call is shown with this preview.
    pub(super) fn wait_preview(&self, preview: &str) -> &Self {
        let is_it = |it: &MarkItem| it.preview.as_deref() == Some(preview);
        self.wait(preview, |it| it.marks().iter().any(is_it))
    }

    #[track_caller]
    pub(super) fn expect_diagnostic(&self, part: &str) {
        let is_it = |it: &DiagnosticItem| it.message.contains(part);
        self.wait(part, |it| it.diagnostics().iter().any(is_it));
    }

    #[track_caller]
    pub(super) fn expect_text(&self, expected: &str) {
        assert_eq!(self.text(), expected, "{}", self.story());
    }

    #[track_caller]
    pub(super) fn expect_end(&self, expected: &str) {
        assert!(self.text().ends_with(expected), "{}", self.story());
    }

    #[track_caller]
    pub(super) fn expect_result(&self, id: &str, expected: &str) {
        let expected = format!("**Tool Result:** `{id}`{expected}");
        assert_eq!(self.result(id), expected, "{}", self.story());
    }

    #[track_caller]
    pub(super) fn expect_requests(&self, count: usize) {
        assert_eq!(self.script.requests(), count, "{}", self.story());
    }

    #[track_caller]
    pub(super) fn expect_notice(&self, part: &str) {
        let notices = self.record().notices.clone();
        assert!(notices.iter().any(|it| it.contains(part)), "{notices:#?}");
    }

    /// Returns everything that was recorded, for the message of a failing test.
    pub(super) fn story(&self) -> String {
        let record = self.record();
        let mut story = format!("{}\n", record.text());
        for event in &record.events {
            writeln!(story, "{event:?}").unwrap();
        }
        writeln!(story, "{:#?}\n{:?}", record.notices, record.edits).unwrap();
        story
    }
}
