//! How calls ended, shown beside the headers of their results.
//!
//! Most of it is computed from the text. The duration and the failure of a call are known
//! only if it ran in this session.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use chat::approval::CallKey;
use chat::diff::Counts;
use chat::document::{Document, ToolResultBlock, ToolUseBlock};
use chat::outcome::{CallRun, outcome};
use chat::preview::{Describe, arguments, counts};
use chat::text::Lines;
use chat::tool::ToolUseId;

use super::View;
use crate::protocol::MarkItem;
use crate::session::ctx::Ctx;

/// Maximum columns of a call's arguments beside its result.
const ARGUMENTS: usize = 60;
/// Maximum results that get a mark: enough for any screen, even with folds.
const MOST: usize = 200;
/// Maximum calls whose readable arguments are cached.
const KEPT: usize = 500;

/// Calls that ended, and the arguments of those on the screen.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// By the id of the call, with a digest of the call: ids may repeat.
    runs: HashMap<ToolUseId, (u64, CallRun)>,
    arguments: RefCell<HashMap<ToolUseId, Arguments>>,
}

/// The arguments of a call, read once per text.
#[derive(Debug, Clone)]
struct Arguments {
    /// Digest of the call's text.
    text: u64,
    /// Digest of the [`CallKey`].
    key: u64,
    line: String,
    /// Lines that the call changes, if they tell.
    counts: Option<Counts>,
}

impl Outcomes {
    /// Remembers how a call ended.
    pub(crate) fn ended(&mut self, call: &CallKey, run: CallRun) {
        // With a digest, because the user may edit the call, or another call may have the same
        // ID.
        self.runs.insert(call.id.clone(), (digest(call), run));
    }

    /// Returns the run of a call; `None` if it did not run in this session.
    pub(super) fn run(
        &self,
        document: &Document<'_>,
        call: &ToolUseBlock,
        tools: &dyn Describe,
    ) -> Option<CallRun> {
        let (ran, run) = self.runs.get(&call.id)?;
        // A call that was edited after it ran did not run as it is now.
        (*ran == self.arguments(document, call, tools).key).then(|| run.clone())
    }

    fn arguments(
        &self,
        document: &Document<'_>,
        call: &ToolUseBlock,
        tools: &dyn Describe,
    ) -> Arguments {
        let lines = call.body.clone().map(|line| document.text().line(line));
        let text = digest(&(&*call.name, lines.collect::<Vec<_>>()));
        let mut known = self.arguments.borrow_mut();
        if let Some(read) = known.get(&call.id).filter(|it| it.text == text) {
            return read.clone();
        }
        let input = document.input(call).ok();
        let read = Arguments {
            text,
            key: digest(&chat::cycle::key(document, call)),
            counts: input.as_ref().and_then(|it| counts(tools, &call.name, it)),
            line: input.map_or_else(String::new, |it| {
                // Arguments that cannot be parsed have a diagnostic, so the line stays empty.
                arguments(tools, &call.name, &it, ARGUMENTS)
            }),
        };
        if known.len() >= KEPT {
            // Simpler than finding the oldest, and one redraw makes the visible ones again.
            known.clear();
        }
        known.insert(call.id.clone(), read.clone());
        read
    }

    fn item(
        &self,
        document: &Document<'_>,
        call: &ToolUseBlock,
        result: &ToolResultBlock,
        tools: &dyn Describe,
    ) -> MarkItem {
        let run = self.run(document, call, tools);
        let Arguments { line, counts, .. } = self.arguments(document, call, tools);
        let ended = outcome(document, call, result, run.as_ref(), counts);
        MarkItem {
            line: result.body.start - 1,
            header_line: result.lines.start,
            state: Some(if ended.failed { "failed" } else { "done" }),
            label: Some(ended.summary),
            detail: Some(line).filter(|it| !it.is_empty()),
            ..MarkItem::default()
        }
    }
}

impl View {
    /// Returns the marks beside the results on the screen.
    pub(super) fn outcome_items(&self, ctx: &Ctx, document: &Document<'_>) -> Vec<MarkItem> {
        let visible = self.lines().filter(|_| !ctx.editor.is_headless());
        let found = visible.iter().flat_map(|lines| results(document, lines));
        // The ids of calls may repeat, but those of marks may not.
        let mut seen: HashMap<ToolUseId, usize> = HashMap::new();
        let mut items = Vec::new();
        for (call, result) in found {
            let number = seen.entry(call.id.clone()).or_default();
            *number += 1;
            items.push(MarkItem {
                id: format!("{} result {number}", call.id),
                ..self
                    .outcomes
                    .item(document, &call, &result, &ctx.shared.registry)
            });
        }
        items
    }
}

/// Returns the results with headers in these lines, each with its call.
fn results(document: &Document<'_>, lines: &Lines) -> Vec<(ToolUseBlock, ToolResultBlock)> {
    let first = document.message_at(lines.start).unwrap_or_default();
    let mut found = Vec::new();
    for at in first..document.messages.len() {
        // A long chat has thousands of results, and the window shows a few.
        if document.messages[at].lines.start >= lines.end || found.len() >= MOST {
            break;
        }
        // Results are in the message after that of the calls.
        let turn = at.checked_sub(1).and_then(|before| document.turn(before));
        for call in turn.iter().flat_map(|turn| &turn.calls) {
            let result = call.result.filter(|_| call.is_answered());
            let result = result.filter(|it| lines.contains(&it.lines.start));
            found.extend(result.map(|it| (call.tool_use.clone(), it.clone())));
        }
    }
    found
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
