//! The arguments of open calls as fields of a form, in place of their JSON.
//!
//! A call that is pending or runs has those below its preview that are not in it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use chat::approval::{CallKey, meant};
use chat::document::{Document, ToolUseBlock};
use chat::fields::{BRIEF, FieldRow, Fields, THOROUGH, fields, without_shown};
use chat::marks::Mark;
use chat::preview::Describe;
use chat::text::Lines;
use chat::tool::ToolUseId;
use serde_json::Value;

use super::View;
use crate::diff::stated;
use crate::protocol::{DiffItem, FieldItem, MarkItem};
use crate::session::ctx::Ctx;

/// Maximum calls that get fields: enough for any screen, even with folds.
const MOST: usize = 100;
/// Maximum calls whose fields are cached.
const KEPT: usize = 300;
/// Columns that the front end puts before fields and their diffs.
const INDENT: usize = 2;
/// Maximum lines of a change that is shown whole.
const WHOLE: usize = 30;

/// A hint below the cut fields of a call that waits.
const CUT: &str = "K shows all of it.";

/// The fields of calls on the screen.
#[derive(Debug, Default)]
pub(super) struct FieldCache {
    known: RefCell<HashMap<ToolUseId, Known>>,
}

/// The fields of a call, made once per text and width.
#[derive(Debug, Clone)]
struct Known {
    /// Digest of what they were made from.
    basis: u64,
    rows: Arc<[FieldItem]>,
    diff: Arc<[DiffItem]>,
    /// True if the rows leave something out.
    is_cut: bool,
}

impl FieldCache {
    /// Returns the mark with the fields of a call. `None` if its arguments can't be read.
    fn item(
        &self,
        document: &Document<'_>,
        call: &ToolUseBlock,
        tools: &dyn Describe,
        width: usize,
    ) -> Option<MarkItem> {
        let lines = call.body.clone().map(|line| document.text().line(line));
        // The width belongs to it too, because the rows are wrapped for it.
        let basis = digest(&(&*call.name, lines.collect::<Vec<_>>(), width));
        let known = self.known(&call.id, basis, || {
            let input = document.input(call).ok()?;
            // The diff shows what the arguments state and reads no file, which may have changed
            // since.
            let made = fields(tools, &call.name, &input, width, BRIEF);
            let files = made.files.iter();
            let diff_width = width.saturating_sub(INDENT);
            Some(Known {
                basis,
                rows: made.rows.into_iter().map(wire).collect(),
                diff: files.map(|it| stated(it, diff_width, WHOLE)).collect(),
                is_cut: made.is_cut,
            })
        })?;
        let fence = call.body.start - 1;
        Some(MarkItem {
            // Above the fence, because what is hidden has no virtual lines.
            line: fence - 1,
            header_line: call.lines.start,
            fields: known.rows,
            diff: known.diff,
            json: Some((fence, call.lines.end)),
            ..MarkItem::default()
        })
    }

    /// Returns the fields of a call, which are made once.
    fn known(
        &self,
        id: &ToolUseId,
        basis: u64,
        make: impl FnOnce() -> Option<Known>,
    ) -> Option<Known> {
        // Cloned at once, so that the cache is not borrowed while `make` runs.
        let known = self.known.borrow().get(id).cloned();
        if let Some(known) = known.filter(|it| it.basis == basis) {
            return Some(known);
        }
        let known = make()?;
        let mut all = self.known.borrow_mut();
        if all.len() >= KEPT {
            // Simpler than finding the oldest, and one redraw makes the visible ones again.
            all.clear();
        }
        all.insert(id.clone(), known.clone());
        Some(known)
    }
}

fn wire(row: FieldRow) -> FieldItem {
    FieldItem(row.name, row.text, row.is_remark)
}

impl View {
    /// Adds to the mark of a call without a result the arguments that its preview does not have
    /// whole, and hides its JSON if everything in it is shown.
    pub(super) fn add_fields(
        &self,
        ctx: &Ctx,
        item: &mut MarkItem,
        mark: &Mark,
        changes_files: impl Fn(&CallKey) -> bool,
    ) {
        let width = self.width();
        let Some(preview) = item.preview.as_ref().filter(|_| !ctx.editor.is_headless()) else {
            return;
        };
        // A diff shows exactly what the call does, which its arguments only ask for.
        if !item.diff.is_empty() {
            let is_whole = |it: &DiffItem| it.more == 0 && !it.rows.is_empty();
            item.json = item.diff.iter().all(is_whole).then_some(mark.arguments);
            return;
        }
        let call = &mark.call;
        let basis = digest(&(&*call.name, &*call.input, preview, width));
        let known = self.fields.known(&call.id, basis, || {
            let made = fields_below(ctx, call, preview, width, changes_files)?;
            Some(Known {
                basis,
                rows: made.rows.into_iter().map(wire).collect(),
                diff: Arc::default(),
                is_cut: made.is_cut,
            })
        });
        if let Some(known) = known {
            item.fields = known.rows;
            item.json = (!known.is_cut).then_some(mark.arguments);
        }
    }

    /// Returns the marks with the fields of answered calls on the screen.
    pub(super) fn field_items(&self, ctx: &Ctx, document: &Document<'_>) -> Vec<MarkItem> {
        let visible = self.lines().filter(|_| !ctx.editor.is_headless());
        let found = visible.iter().flat_map(|lines| answered(document, lines));
        let width = self.width();
        // The ids of calls may repeat, but those of marks may not.
        // Counted in the order of the text, so that a mark keeps its id from frame to frame.
        let mut seen: HashMap<&ToolUseId, usize> = HashMap::new();
        let mut items = Vec::new();
        for call in found {
            let number = seen.entry(&call.id).or_default();
            *number += 1;
            let tools = &ctx.shared.registry;
            let item = self.fields.item(document, call, tools, width);
            items.extend(item.map(|item| MarkItem {
                id: format!("{} call {number}", call.id),
                ..item
            }));
        }
        items
    }
}

/// Returns what is shown of a call's arguments below its preview.
fn fields_below(
    ctx: &Ctx,
    call: &CallKey,
    preview: &str,
    width: usize,
    changes_files: impl Fn(&CallKey) -> bool,
) -> Option<Fields> {
    let input: Value = serde_json::from_str(&call.input).ok()?;
    // Its diff follows, so its arguments would only flash.
    if changes_files(call) {
        return Some(Fields {
            is_cut: true,
            ..Fields::default()
        });
    }
    // The name of a call inside another is in the preview.
    let (meant, input) = meant(call, &input);
    let rest = without_shown(input, preview);
    let tools = &ctx.shared.registry;
    let mut made = fields(tools, &meant.name, &rest, width, THOROUGH);
    if made.is_cut {
        made.rows.push(FieldRow {
            name: String::new(),
            text: CUT.to_owned(),
            is_remark: true,
        });
    }
    Some(made)
}

/// Returns the calls in these lines that have results.
fn answered<'d>(document: &'d Document<'_>, lines: &Lines) -> Vec<&'d ToolUseBlock> {
    let first = document.message_at(lines.start).unwrap_or_default();
    let mut found = Vec::new();
    for at in first..document.messages.len() {
        // A long chat has thousands of calls, and the window shows a few.
        if document.messages[at].lines.start >= lines.end || found.len() >= MOST {
            break;
        }
        let turn = document.turn(at);
        let calls = turn.into_iter().flat_map(|turn| turn.calls);
        let calls = calls.filter(|call| call.is_answered() && meets(call.tool_use, lines));
        found.extend(calls.map(|call| call.tool_use));
    }
    found
}

fn meets(call: &ToolUseBlock, lines: &Lines) -> bool {
    call.lines.start < lines.end && lines.start < call.lines.end
}

fn digest(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
