//! The buffer's text as the editor tells it: whole at first, then change by change.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use chat::cycle::Event;
use chat::document::{Document, Parsed};
use chat::text::{Lines, Text};
use chat::tool::ToolUseId;

use super::{Loading, Session};
use crate::protocol::{Attach, Changed, Snapshot};

/// The text, and what was read in it.
#[derive(Default)]
pub(super) struct Mirror {
    text: Text,
    read: RefCell<Option<Read>>,
}

/// What was read in the text, and from which line on the text is another one since.
struct Read {
    parsed: Arc<Parsed>,
    changed: Option<usize>,
}

impl Mirror {
    fn new(text: Text) -> Self {
        Self {
            text,
            read: RefCell::default(),
        }
    }

    /// The text itself.
    pub(super) fn text(&self) -> &Text {
        &self.text
    }

    /// The document. However often it is asked for, only what changed is read.
    pub(super) fn document(&self) -> Document<'_> {
        let document = match self.read.take() {
            None => Document::parse(&self.text),
            Some(Read {
                parsed,
                changed: Some(line),
            }) => Document::parse_again(&self.text, parsed, line),
            Some(Read { parsed, .. }) => Document::of(&self.text, parsed),
        };
        self.read.replace(Some(Read {
            parsed: document.parsed(),
            changed: None,
        }));
        document
    }

    /// Replaces lines, see [`Text::splice`].
    pub(super) fn splice<L: AsRef<[u8]>>(&mut self, lines: Lines, new: &[L]) {
        if let Some(read) = self.read.get_mut() {
            let line = read.changed.map_or(lines.start, |it| it.min(lines.start));
            read.changed = Some(line);
        }
        self.text.splice(lines, new);
    }
}

impl Session {
    pub(super) fn snapshot(&mut self, snapshot: Snapshot) {
        let loading = self.loading.get_or_insert(Loading {
            attach: None,
            lines: Vec::new(),
        });
        loading.lines.extend(
            snapshot
                .lines
                .into_iter()
                .map(serde_bytes::ByteBuf::into_vec),
        );
        if !snapshot.done {
            return;
        }
        self.seq = snapshot.seq;
        let Some(loading) = self.loading.take() else {
            return;
        };
        self.text = Mirror::new(Text::from_lines(loading.lines));
        // The text was replaced under whatever was on its way.
        self.edit = None;
        self.view.redraw();
        match loading.attach {
            Some(attach) => self.attached(attach),
            None => self.waiting.push_back(Event::Continue),
        }
    }

    fn attached(&mut self, attach: Attach) {
        self.path = Some(PathBuf::from(&attach.path)).filter(|path| !path.as_os_str().is_empty());
        self.hold_chat(attach.process);
        self.cwd = PathBuf::from(attach.cwd);
        self.view.set_width(attach.width);
        self.note_origin(attach.came);
        let interrupted = attach.interrupted.into_iter().map(ToolUseId::new).collect();
        self.waiting.push_back(Event::Loaded { interrupted });
        if self.request.is_some() {
            self.lose_request(
                "The buffer was reloaded while an answer was arriving, so the answer ends here.",
            );
        } else {
            self.interrupted = attach.streaming;
        }
    }

    pub(super) fn changed(&mut self, changed: Changed) {
        let lines: Vec<Vec<u8>> = changed
            .lines
            .into_iter()
            .map(serde_bytes::ByteBuf::into_vec)
            .collect();
        if let Some(loading) = &mut self.loading {
            // Between two pieces of a snapshot nothing else can come.
            tracing::warn!(buffer = self.buffer, "a change came before the whole text");
            loading.lines.clear();
        }
        // What was opened is looked at before it changes: what is typed, however
        // soon, was not in the file.
        if matches!(self.waiting.front(), Some(Event::Loaded { .. }))
            && let Some(loaded) = self.waiting.pop_front()
        {
            self.step(loaded);
        }
        self.text.splice(changed.first..changed.last, &lines);
        self.seq = changed.seq;
        self.note_approvals(&lines);
        if !changed.more {
            if self.waiting.back() != Some(&Event::Changed) {
                self.waiting.push_back(Event::Changed);
            }
            self.view.redraw();
            if let Some(origin) = &mut self.origin {
                origin.changed(self.text.text());
            }
        }
    }
}
