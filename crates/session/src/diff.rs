//! Diffs of calls that change files, as front ends show them.

use chat::diff::{FileDiff, LineKind, RowKind, shown};
use chat::preview::one_line;
use serde_json::Value;
use tools::{ProposedFile, Tool, ToolContext, Unshown};

use crate::protocol::{DiffItem, DiffRow};

/// Maximum columns of a file's name and of remarks beside it.
const COLUMNS: usize = 200;

/// Returns what a call would change, by file, for `width` columns; or why it would fail. Of a
/// file with more than `whole` lines to show, only the first ones are shown.
pub async fn of_call(
    tool: &dyn Tool,
    input: &Value,
    context: &ToolContext,
    width: usize,
    whole: usize,
) -> Vec<DiffItem> {
    let proposed = tool.propose(input, context).await;
    // Comparing takes time.
    let made = tokio::task::spawn_blocking(move || match proposed {
        Ok(proposal) => {
            let files = proposal.unwrap_or_default().files;
            files.iter().map(|file| item(file, width, whole)).collect()
        }
        Err(error) => vec![DiffItem {
            labels: one_line(&format!("Would fail: {error}"), COLUMNS),
            width,
            ..DiffItem::default()
        }],
    });
    made.await.unwrap_or_default()
}

fn item(file: &ProposedFile, width: usize, whole: usize) -> DiffItem {
    // A new file is compared with an empty text.
    let before = file.before.as_deref().unwrap_or_default();
    let diff = FileDiff::of(before, file.after.as_deref().unwrap_or_default());
    let shown = shown(&diff, width, whole);
    let rows = shown.rows.into_iter().map(|row| DiffRow {
        kind: kind(row.kind),
        number: row.number.unwrap_or_default(),
        text: row.text,
        changed: row
            .changed
            .iter()
            .flat_map(|it| [it.start, it.end])
            .collect(),
    });
    DiffItem {
        name: one_line(&file.name, COLUMNS),
        counts: diff.counts.to_string(),
        labels: one_line(&labels(file, &diff), COLUMNS),
        width,
        digits: shown.digits,
        rows: rows.collect(),
        more: shown.hidden,
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

/// What lines don't show of a change.
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
