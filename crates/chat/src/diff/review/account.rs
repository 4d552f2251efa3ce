//! What became of each hunk in a review, for the model.

use super::place::{LineChange, of_hunk};
use super::{ChangedFile, ReviewedFile};
use crate::diff::{FileDiff, MOST_CONTEXT};

/// A hunk of the original diff, or one that the user added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedHunk {
    /// The first line of the old text that it changes, from 1.
    pub line: usize,
    /// Its fate in the review.
    pub fate: Fate,
}

/// The fate of a hunk in the review. Texts have a `-` or `+` before each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is applied as it was.
    Kept,
    /// It is not applied.
    Dropped,
    /// These lines are changed instead.
    Rewritten(String),
    /// The user added it.
    Added(String),
}

/// Compares the hunks of the original diff with what is changed now.
pub(super) fn fates(
    diff: &FileDiff<'_>,
    changes: &[LineChange],
    old: &[&str],
) -> Vec<ReviewedHunk> {
    let mut rest: Vec<&LineChange> = changes.iter().collect();
    let mut hunks = Vec::new();
    for hunk in diff.hunks(MOST_CONTEXT) {
        // Including the end, because lines may be added below the last one.
        let range = hunk.before.start..=hunk.before.end;
        let is_here = |it: &&LineChange| range.contains(&it.gone.start);
        let (here, others) = rest.into_iter().partition::<Vec<_>, _>(is_here);
        rest = others;
        let original = of_hunk(&hunk, old);
        let fate = match here.is_empty() {
            true => Fate::Dropped,
            false if here.iter().copied().eq(&original) => Fate::Kept,
            false => Fate::Rewritten(printed(&here, old)),
        };
        // The hunk begins with unchanged lines, unless the change is at the top of the file.
        let line = original
            .first()
            .map_or(hunk.before.start, |it| it.gone.start);
        hunks.push(ReviewedHunk {
            line: line + 1,
            fate,
        });
    }
    hunks.extend(rest.into_iter().map(|change| ReviewedHunk {
        line: change.gone.start + 1,
        fate: Fate::Added(printed(&[change], old)),
    }));
    // The user's own hunks were appended and may belong above others.
    hunks.sort_by_key(|it| it.line);
    hunks
}

fn printed(changes: &[&LineChange], old: &[&str]) -> String {
    let lines = changes.iter().flat_map(|change| {
        let gone = old[change.gone.clone()].iter().map(|it| ('-', *it));
        gone.chain(change.new.iter().map(|it| ('+', &**it)))
    });
    let lines = lines.map(|(sign, line)| format!("{sign}{}\n", line.trim_end_matches('\n')));
    lines.collect()
}

/// Says what the user changed, for the model. `None` if the change is applied as proposed.
pub fn account(files: &[ChangedFile<'_>], reviewed: &[ReviewedFile]) -> Option<String> {
    let pairs = || files.iter().zip(reviewed);
    let is_kept = |(file, reviewed): (&ChangedFile<'_>, &ReviewedFile)| {
        !reviewed.is_dropped && reviewed.after.as_deref() == file.after
    };
    if pairs().all(is_kept) {
        return None;
    }
    let mut text = "The user changed this call in a review before it was applied:".to_owned();
    for (file, reviewed) in pairs() {
        if reviewed.is_dropped {
            text.push_str(&format!("\n- {}: dropped, nothing was changed.", file.name));
            continue;
        }
        let count = reviewed.hunks.len();
        for (at, hunk) in reviewed.hunks.iter().enumerate() {
            let fate = match &hunk.fate {
                Fate::Kept => "applied as proposed.".to_owned(),
                Fate::Dropped => "dropped, not applied.".to_owned(),
                Fate::Rewritten(lines) => format!("rewritten. Applied instead:\n{lines}"),
                Fate::Added(lines) => format!("added by the user:\n{lines}"),
            };
            let number = at + 1;
            text.push_str(&format!(
                "\n- {}, hunk {number} of {count} (line {}): {}",
                file.name,
                hunk.line,
                fate.trim_end()
            ));
        }
    }
    Some(text)
}
