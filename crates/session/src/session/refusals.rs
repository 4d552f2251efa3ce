//! Tools that have something to say when the user refuses their calls: they are heard
//! before the key is decided on that carries the refusal out.

use std::collections::BTreeSet;

use chat::approval::CallKey;
use chat::cycle::{Event, key};
use chat::document::{Call, Document, Status};

use super::{Input, Session};

/// Who was heard.
#[derive(Debug, Default)]
pub(super) struct Refusals {
    /// Calls whose tool was told.
    told: BTreeSet<CallKey>,
    /// How many of them have not answered yet.
    awaited: usize,
}

impl Session {
    /// Whether everybody was heard who has a say in what an event does; if not it is to
    /// wait.
    pub(super) fn has_heard_refusals(&mut self, event: &Event) -> bool {
        let refuses = matches!(
            event,
            Event::Advance | Event::Resolve { .. } | Event::Reject { .. }
        );
        if self.request.open.is_some() || !refuses {
            return true;
        }
        for call in self.refused_by(event) {
            self.tell_of_refusal(call);
        }
        self.calls.refusals.awaited == 0
    }

    /// Calls that the user refused and whose tools do not know yet.
    fn refused_by(&self, event: &Event) -> Vec<CallKey> {
        let document = self.buffer.mirror.document();
        let here = |call: &Call<'_>| match event {
            Event::Resolve { line } => covers(call, *line),
            _ => true,
        };
        let is_heard = |call: &CallKey| {
            let tool = self.shared.registry.get(&call.name);
            tool.is_some_and(|tool| tool.hears_refusals())
                && !self.calls.refusals.told.contains(call)
        };
        let refused = match event {
            Event::Reject { line, .. } => open_calls(&document, |call| covers(call, *line)),
            _ => refusals(&document, here),
        };
        refused.into_iter().filter(is_heard).collect()
    }

    fn tell_of_refusal(&mut self, call: CallKey) {
        let tool = self.shared.registry.get(&call.name);
        let (Some(tool), Some(inbox)) = (tool, self.inbox.upgrade()) else {
            return;
        };
        self.calls.refusals.told.insert(call.clone());
        self.calls.refusals.awaited += 1;
        let buffer = self.buffer.id;
        tokio::spawn(async move {
            let input = serde_json::from_str(&call.input).unwrap_or_default();
            let words = tool.refused(&input, buffer).await;
            drop(inbox.send(Input::Refused(call, words)));
        });
    }

    /// A tool was heard.
    pub(super) fn heard_refusal(&mut self, call: CallKey, words: Option<String>) {
        self.calls.refusals.awaited = self.calls.refusals.awaited.saturating_sub(1);
        if let Some(words) = words {
            self.cycle.word_refusal(call, words);
        }
    }
}

fn refusals(document: &Document<'_>, here: impl Fn(&Call<'_>) -> bool) -> Vec<CallKey> {
    let turns = document.unanswered_turns();
    let calls = turns.flat_map(|turn| turn.calls);
    let refused = calls.filter(|call| call.status() == Some(Status::Rejected) && here(call));
    refused.map(|call| key(document, call.tool_use)).collect()
}

/// Calls without a result.
fn open_calls(document: &Document<'_>, here: impl Fn(&Call<'_>) -> bool) -> Vec<CallKey> {
    let calls = document.unanswered_turns().flat_map(|turn| turn.calls);
    let open = calls.filter(|call| !call.is_answered() && here(call));
    open.map(|call| key(document, call.tool_use)).collect()
}

fn covers(call: &Call<'_>, line: usize) -> bool {
    let result = call.result.is_some_and(|it| it.lines.contains(&line));
    result || call.tool_use.lines.contains(&line)
}
