//! Finds the checkpoints that a restore reverts.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use super::{Request, Restore, unreadable};
use crate::checkpoints::commands;
use crate::checkpoints::image::Name;
use crate::checkpoints::journal::{
    CallLabel, Checkpoint, FileChange, Journal, JournalScope, Reverted,
};
use crate::checkpoints::store::Store;

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
    let found = requested(&journal, &scope, request);
    let lost = match request {
        Request::Redo => Vec::new(),
        _ => journal.lost_after(&scope, found.first().copied()).collect(),
    };
    let problem = problem(&journal, lacking(&journal, &scope, request, &found), &lost);
    if found.is_empty() {
        // Damage may be why nothing was found, so the user must read about it.
        return problem.map_or(Ok(None), Err);
    }
    let labels = found.iter().flat_map(|it| &it.calls);
    let calls = labels
        .map(|it| (it.call.clone(), it.tool.clone()))
        .collect();
    let reverted = Reverted {
        of: found.iter().map(|it| it.id.clone()).collect(),
        redo: matches!(request, Request::Redo),
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
        reverted,
        calls,
        items: Vec::new(),
        problem,
    }))
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
        Request::Undo | Request::LastTurns(_) if found.is_empty() => removed.count(),
        Request::Undo | Request::LastTurns(_) | Request::Redo => 0,
    }
}

/// The checkpoints that a request selects, the oldest first.
fn requested<'a>(
    journal: &'a Journal,
    scope: &JournalScope,
    request: &Request,
) -> Vec<&'a Checkpoint> {
    match request {
        Request::Undo => journal.calls(scope).pop().into_iter().collect(),
        Request::Redo => journal.last_undo(scope).into_iter().collect(),
        Request::Turns { from, calls } => {
            let mut found = journal.calls(scope);
            found.retain(|it| it.is_since(*from, calls));
            found
        }
        Request::LastTurns(count) => last_turns(journal.calls(scope), *count),
    }
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

/// The changes of each file by these checkpoints, the newest first.
pub(super) fn chains(journal: &Journal, ids: &[String]) -> BTreeMap<Name, Vec<FileChange>> {
    let mut chains: BTreeMap<Name, Vec<(_, FileChange)>> = BTreeMap::new();
    for checkpoint in journal.find(ids) {
        let mut own: BTreeMap<&Name, Vec<FileChange>> = BTreeMap::new();
        for change in &checkpoint.files {
            own.entry(&change.path).or_default().push(change.clone());
        }
        for (path, changes) in own {
            let chain = chains.entry(path.clone()).or_default();
            let timed = joined(changes).into_iter();
            // What commands changed until an edit comes before the edit.
            let timed = timed.map(|it| match it.span {
                Some(span) => ((span.until, false), it),
                None => ((checkpoint.end(), true), it),
            });
            chain.extend(timed);
        }
    }
    let newest_first = |mut chain: Vec<(_, FileChange)>| {
        chain.sort_by_key(|it| it.0);
        chain.into_iter().rev().map(|it| it.1).collect()
    };
    let chains = chains.into_iter();
    chains.map(|(path, it)| (path, newest_first(it))).collect()
}

/// Joins what several programs found of the same changes, the oldest first: if the spans of two
/// overlap, both show parts of one change.
fn joined(mut changes: Vec<FileChange>) -> Vec<FileChange> {
    if changes.iter().all(|it| it.span.is_some()) {
        changes.sort_by_key(|it| it.span);
    }
    let mut joined: Vec<FileChange> = Vec::new();
    for change in changes {
        if let Some(last) = joined.last_mut()
            && let (Some(span), Some(other)) = (&mut last.span, change.span)
            && other.from < span.until
        {
            if other.until > span.until {
                span.until = other.until;
                last.after = change.after;
            }
            last.made = last.made.max(change.made);
        } else {
            joined.push(change);
        }
    }
    joined
}
