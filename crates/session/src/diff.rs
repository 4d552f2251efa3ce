//! Diffs of calls that change files, as front ends show them.

use chat::diff::{FileDiff, LineKind, Row, RowKind, StatedFile, shown};
use chat::preview::one_line;
use serde_json::Value;
use tools::{ProposedFile, Tool, ToolContext, Unshown};

use crate::protocol::{DiffItem, DiffRow};

/// Maximum columns of a file's name and of remarks beside it.
const COLUMNS: usize = 200;

/// Returns what a call would change, by file, for `width` columns; or why it would fail. Of a
/// file with more than `whole` lines, only the first ones are shown.
pub async fn of_call(
    tool: &dyn Tool,
    input: &Value,
    context: &ToolContext,
    width: usize,
    whole: usize,
) -> Vec<DiffItem> {
    let proposed = tool.propose(input, context).await;
    // Comparing large texts would block the thread that handles keys.
    let made = tokio::task::spawn_blocking(move || match proposed {
        Ok(proposal) => {
            let files = proposal.unwrap_or_default().files;
            files
                .iter()
                .map(|file| of_file(file, width, whole))
                .collect()
        }
        Err(error) => vec![DiffItem {
            labels: one_line(&format!("Would fail: {error}"), COLUMNS),
            width,
            ..DiffItem::default()
        }],
    });
    made.await.unwrap_or_default()
}

/// Returns the change of one file, for `width` columns. Of a file with more than `whole` lines, only
/// the first ones are shown.
pub fn of_file(file: &ProposedFile, width: usize, whole: usize) -> DiffItem {
    // A new file is compared with an empty text.
    let before = file.before.as_deref().unwrap_or_default();
    let diff = FileDiff::of(before, file.after.as_deref().unwrap_or_default());
    let shown = shown(&diff, width, whole);
    DiffItem {
        name: one_line(&file.name, COLUMNS),
        counts: diff.counts.to_string(),
        labels: one_line(&labels(file, &diff), COLUMNS),
        width,
        digits: shown.digits,
        rows: shown.rows.into_iter().map(wire).collect(),
        more: shown.hidden,
    }
}

/// Returns what the arguments of a call say that it changes in a file. Its rows have no
/// numbers, because the arguments don't say where in the file the texts are.
pub fn stated(file: &StatedFile, width: usize, whole: usize) -> DiffItem {
    let mut item = DiffItem {
        name: one_line(&file.name, COLUMNS),
        counts: file.counts().to_string(),
        labels: one_line(file.remark.as_deref().unwrap_or_default(), COLUMNS),
        width,
        ..DiffItem::default()
    };
    let mut left = whole;
    for (before, after) in &file.texts {
        let shown = shown(&FileDiff::of(before, after), width, left);
        if !item.rows.is_empty() && !shown.rows.is_empty() {
            item.rows.push(wire(Row::gap()));
        }
        left = left.saturating_sub(shown.rows.len());
        // A piece of a file usually ends without a line end, which means nothing here.
        let rows = shown.rows.into_iter();
        let rows = rows.filter(|row| row.kind != RowKind::Remark);
        item.rows.extend(rows.map(|row| {
            wire(Row {
                number: None,
                ..row
            })
        }));
        item.more += shown.hidden;
    }
    item
}

fn wire(row: Row) -> DiffRow {
    let changed = row.changed.iter();
    DiffRow {
        kind: kind(row.kind),
        number: row.number.unwrap_or_default(),
        changed: changed.flat_map(|it| [it.start, it.end]).collect(),
        text: row.text,
    }
}

fn kind(kind: RowKind) -> &'static str {
    match kind {
        RowKind::Line(LineKind::Context) => "context",
        RowKind::Line(LineKind::Added) => "add",
        RowKind::Line(LineKind::Removed) => "delete",
        RowKind::Gap | RowKind::Remark => "remark",
    }
}

/// Returns the changes that lines don't show.
fn labels(file: &ProposedFile, diff: &FileDiff<'_>) -> String {
    let is_kept = !file.is_new() && file.moved_to.is_none();
    let fate = match (&file.after, file.unshown) {
        (None, _) => Some("deleted"),
        (_, Some(Unshown::Binary)) => Some("replaces a binary file"),
        (_, Some(Unshown::TooLarge)) => Some("replaces a file that is too large to show"),
        (_, Some(Unshown::Unreadable)) => Some("replaces a file that cannot be read"),
        (Some(_), None) if is_kept && diff.is_empty() => Some("no change"),
        _ => None,
    };
    let moved = file.moved_to.as_ref();
    let moved = moved.map(|to| format!("moved to {}", to.display()));
    let notes = diff.notes.iter().map(|note| note.text());
    let labels = fate
        .map(str::to_owned)
        .into_iter()
        .chain(moved)
        .chain(notes);
    let labels = labels.chain(file.remarks.iter().cloned());
    labels.collect::<Vec<_>>().join(" · ")
}
