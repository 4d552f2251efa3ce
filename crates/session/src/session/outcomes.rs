//! How calls ended, beside the headers of their results, for as long as these stand.
//!
//! What the text alone says is known of every result; how long a call took, and that a
//! command's exit code is its own, is remembered of the calls that ran in this session.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use chat::approval::CallKey;
use chat::document::{Document, ToolResult, ToolUse};
use chat::outcome::{Run, outcome};
use chat::preview::{Describe, arguments};
use chat::text::Lines;
use chat::tool::ToolUseId;

use super::Session;
use crate::protocol::MarkItem;

/// Most columns of a call's arguments beside its result.
const ARGUMENTS: usize = 60;
/// Enough results for any screen, however much of a chat is folded away on it.
const MOST: usize = 200;
/// Most calls whose arguments are kept in readable form.
const KEPT: usize = 500;

/// The calls that ended, and the arguments of those that are on the screen.
#[derive(Debug, Default)]
pub(super) struct Outcomes {
    /// By the id of the call; a digest tells calls of one id apart.
    runs: HashMap<ToolUseId, (u64, Run)>,
    read: RefCell<HashMap<ToolUseId, Read>>,
}

/// The arguments of a call, which are read once for each text of them.
#[derive(Debug, Clone)]
struct Read {
    /// Digest of the call's text.
    text: u64,
    /// Digest of the [`CallKey`].
    key: u64,
    arguments: String,
}

impl Outcomes {
    /// Remembers how a call ended.
    pub(super) fn ended(&mut self, call: &CallKey, run: Run) {
        self.runs.insert(call.id.clone(), (digest(call), run));
    }

    /// The run of the call that stands here; none when it did not run in this session.
    pub(super) fn run(
        &self,
        document: &Document<'_>,
        call: &ToolUse,
        tools: &dyn Describe,
    ) -> Option<Run> {
        let (ran, run) = self.runs.get(&call.id)?;
        (*ran == self.read(document, call, tools).key).then_some(*run)
    }

    fn read(&self, document: &Document<'_>, call: &ToolUse, tools: &dyn Describe) -> Read {
        let lines = call.body.clone().map(|line| document.text().line(line));
        let text = digest(&(&*call.name, lines.collect::<Vec<_>>()));
        let mut known = self.read.borrow_mut();
        if let Some(read) = known.get(&call.id).filter(|it| it.text == text) {
            return read.clone();
        }
        let input = document.input(call).ok();
        let read = Read {
            text,
            key: digest(&chat::cycle::key(document, call)),
            arguments: input.map_or_else(String::new, |it| {
                arguments(tools, &call.name, &it, ARGUMENTS)
            }),
        };
        if known.len() >= KEPT {
            known.clear();
        }
        known.insert(call.id.clone(), read.clone());
        read
    }

    fn item(
        &self,
        document: &Document<'_>,
        call: &ToolUse,
        result: &ToolResult,
        tools: &dyn Describe,
    ) -> MarkItem {
        let ended = outcome(document, call, result, self.run(document, call, tools));
        let said = self.read(document, call, tools).arguments;
        MarkItem {
            line: result.body.start - 1,
            header_line: result.lines.start,
            state: Some(if ended.failed { "failed" } else { "done" }),
            label: Some(ended.summary),
            detail: Some(said).filter(|it| !it.is_empty()),
            ..MarkItem::default()
        }
    }
}

impl Session {
    /// What stands beside the results on the screen.
    pub(super) fn outcome_items(&self, document: &Document<'_>) -> Vec<MarkItem> {
        let visible = self.view.lines().filter(|_| !self.editor.is_headless());
        let found = visible.iter().flat_map(|lines| results(document, lines));
        // Ids may repeat; a mark needs a name of its own.
        let mut seen: HashMap<ToolUseId, usize> = HashMap::new();
        let mut items = Vec::new();
        for (call, result) in found {
            let number = seen.entry(call.id.clone()).or_default();
            *number += 1;
            items.push(MarkItem {
                id: format!("{} result {number}", call.id),
                ..self
                    .view
                    .outcomes
                    .item(document, &call, &result, &self.shared.registry)
            });
        }
        items
    }
}

/// The results with headers in these lines, each with its call.
fn results(document: &Document<'_>, lines: &Lines) -> Vec<(ToolUse, ToolResult)> {
    let first = document.message_at(lines.start).unwrap_or_default();
    let mut found = Vec::new();
    for at in first..document.messages.len() {
        if document.messages[at].lines.start >= lines.end || found.len() >= MOST {
            break;
        }
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
