//! Finds the checkpoints that a restore reverts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::turn::Parts;
use super::{Request, Restore, unreadable};
use crate::checkpoints::aside::Aside;
use crate::checkpoints::commands;
use crate::checkpoints::image::Name;
use crate::checkpoints::journal::{
    CallLabel, Checkpoint, FileChange, Journal, JournalScope, Reverted, Span,
};
use crate::checkpoints::store::Store;

/// The changes of each file, the newest first.
pub(super) type Chains = BTreeMap<Name, Vec<FileChange>>;

/// Finds the checkpoints that a request is about.
pub(super) fn find(
    folder: &Path,
    scope: JournalScope,
    request: &Request,
) -> Result<Option<Restore>, String> {
    let store = Arc::new(Store::open(folder)?);
    if let Err(error) = commands::find_lost(&store) {
        tracing::warn!(%error, "calls whose program ended may be missing in the journal");
    }
    let journal = store.read();
    let journal = journal.map_err(|error| unreadable(&error).to_string())?;
    let request = &recorded(&journal, &scope, request);
    let (found, only) = requested(&journal, &scope, request, &store.root);
    let lost = match request {
        Request::Redo => Vec::new(),
        _ => journal.lost_after(&scope, found.first().copied()).collect(),
    };
    let mut problem = problem(&journal, lacking(&journal, &scope, request, &found), &lost);
    if found.is_empty() {
        // Damage may be why nothing was found, so the user must read about it.
        return problem.map_or(Ok(None), Err);
    }
    let ids: Vec<String> = found.iter().map(|it| it.id.clone()).collect();
    if journal.is_half_reverted(&ids) {
        let half = "An earlier restore of these files did not end, so some of them may be restored already.";
        problem = Some(problem.map_or(half.to_owned(), |it| format!("{half} {it}")));
    }
    let mut aside = Aside::default();
    found.iter().for_each(|it| aside.add(it.aside.clone()));
    let remarks = problem.into_iter().chain(aside.remarks(&store.root));
    let remarks: Vec<String> = remarks.collect();
    let problem = (!remarks.is_empty()).then(|| remarks.join(" "));
    let labels = found.iter().flat_map(|it| &it.calls);
    let calls = labels
        .map(|it| (it.call.clone(), it.tool.clone()))
        .collect();
    let reverted = Reverted {
        of: ids,
        redo: matches!(request, Request::Redo),
        only,
    };
    let first = found.first().and_then(|it| it.calls.first());
    Ok(Some(Restore {
        store,
        label: match scope {
            JournalScope::Chat(label) => label,
            // A restore from a shell has no chat of its own, so it is recorded for that of the
            // call.
            JournalScope::Project => first.cloned().unwrap_or_default(),
        },
        reverted: Some(reverted),
        parts: Parts::default(),
        calls,
        items: Vec::new(),
        problem,
    }))
}

/// The request with the number that its turn had when its calls were recorded.
fn recorded(journal: &Journal, scope: &JournalScope, request: &Request) -> Request {
    match request {
        Request::Turns { from, calls } => Request::Turns {
            from: journal.recorded_turn(scope, *from, calls),
            calls: calls.clone(),
        },
        other => other.clone(),
    }
}

/// Says what cannot be restored: what is in damaged lines, what was removed, and what was never
/// found.
fn problem(journal: &Journal, lacking: usize, lost: &[&CallLabel]) -> Option<String> {
    let mut problems = Vec::new();
    if journal.damaged > 0 {
        problems.push(format!(
            "{} lines of the checkpoints' journal are damaged; what they say cannot be restored.",
            journal.damaged
        ));
    }
    if lacking > 0 {
        let (calls, it) = match lacking {
            1 => ("checkpoint of 1 earlier call was".to_owned(), "it"),
            _ => (
                format!("checkpoints of {lacking} earlier calls were"),
                "they",
            ),
        };
        problems.push(format!(
            "The {calls} removed to make room (checkpoints.limit), so what {it} changed stays."
        ));
    }
    if let Some(last) = lost.first() {
        let others = match lost.len() - 1 {
            0 => String::new(),
            count => format!(" and {count} more"),
        };
        problems.push(format!(
            "What {} ({}){others} changed has no checkpoint, because Flemma ended before the command did.",
            last.tool, last.call
        ));
    }
    (!problems.is_empty()).then(|| problems.join(" "))
}

/// Number of calls that a request is about and whose changes were removed.
fn lacking(
    journal: &Journal,
    scope: &JournalScope,
    request: &Request,
    found: &[&Checkpoint],
) -> usize {
    let removed = journal.removed(scope);
    match request {
        Request::Turns { from, calls } => removed.filter(|it| it.is_since(*from, calls)).count(),
        // Without changes that are left, the last turns are those that were removed.
        Request::Undo | Request::File(_) | Request::LastTurns(_) if found.is_empty() => {
            removed.count()
        }
        Request::Undo | Request::File(_) | Request::LastTurns(_) | Request::Redo => 0,
    }
}

/// The checkpoints that a request selects, the oldest first, and the file if it is about one.
fn requested<'a>(
    journal: &'a Journal,
    scope: &JournalScope,
    request: &Request,
    root: &Path,
) -> (Vec<&'a Checkpoint>, Vec<Name>) {
    let found = match request {
        Request::File(file) => {
            let found = journal.last_of(scope, &file.places(root));
            let found = found.map(|(it, path)| (vec![it], vec![path.clone()]));
            return found.unwrap_or_default();
        }
        Request::Undo => journal.calls(scope).pop().into_iter().collect(),
        Request::Redo => journal.last_undo(scope).into_iter().collect(),
        Request::Turns { from, calls } => {
            let mut found = journal.calls(scope);
            found.retain(|it| it.is_since(*from, calls));
            found
        }
        Request::LastTurns(count) => last_turns(journal.calls(scope), *count),
    };
    (found, Vec::new())
}

/// The checkpoints of the last turns.
fn last_turns(mut calls: Vec<&Checkpoint>, count: usize) -> Vec<&Checkpoint> {
    let mut turns = Vec::new();
    let mut is_recent = |checkpoint: &&&Checkpoint| {
        let label = checkpoint.calls.first();
        let turn = label.map(|it| (it.chat.clone(), it.session.clone(), it.turn));
        if !turns.contains(&turn) {
            turns.push(turn);
        }
        turns.len() <= count
    };
    let kept = calls.iter().rev().take_while(|it| is_recent(it)).count();
    calls.drain(..calls.len() - kept);
    calls
}

/// The changes of each file that a restore reverts, the newest first.
pub(super) fn chains(journal: &Journal, reverted: &Reverted) -> Chains {
    let mut chains = Chains::new();
    for change in journal.changes(reverted) {
        let chain = chains.entry(change.path.clone()).or_default();
        chain.push(change.clone());
    }
    for chain in chains.values_mut() {
        *chain = joined(std::mem::take(chain));
        chain.reverse();
    }
    chains
}

/// Joins what several programs found of the same changes, the oldest first: if the spans of two
/// overlap, both show parts of one change.
fn joined(mut changes: Vec<FileChange>) -> Vec<FileChange> {
    changes.sort_by_key(|it| (it.span.from, it.span.until));
    let mut joined: Vec<FileChange> = Vec::new();
    for change in changes {
        let last = joined.last_mut();
        let Span { from, until } = change.span;
        // An edit of text that is only in the editor is within no change of the file.
        let is_found = from < until;
        match last.filter(|it| is_found && from < it.span.until) {
            Some(last) => {
                if until > last.span.until {
                    (last.span.until, last.after) = (until, change.after);
                }
                last.made = last.made.max(change.made);
            }
            None => joined.push(change),
        }
    }
    joined
}
