//! Changes of files that the calls of a run made without asking, shown when the run is over.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use chat::diff::{Counts, FileDiff, review};
use chat::document::Document;
use policy::options::ReviewRule;
use tools::{ProposedFile, Secrets};

use super::Calls;
use super::diffs::Diff;
use crate::diff::of_file;
use crate::protocol::MarkItem;
use crate::session::ctx::Ctx;

/// The id of the mark. A call has none with a colon.
const ID: &str = "flemma:changes";
/// Maximum number of files whose diffs are shown below the line.
const OPEN_FILES: usize = 3;
/// Maximum rows of these diffs.
const OPEN_ROWS: usize = 60;
/// Maximum bytes of texts that are kept for one file.
const KEPT: usize = 512 * 1024;

/// The changes of the run that is going on, or of the last one.
#[derive(Default)]
pub(super) struct RunChanges {
    files: Vec<ChangedFile>,
    is_over: bool,
    /// The diffs for a width.
    diff: RefCell<Option<(usize, Diff)>>,
}

/// A change of a file by a call that a rule approved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangedFile {
    path: PathBuf,
    counts: Counts,
    /// The file before the first and after the last call; `None` if it is secret or too large.
    file: Option<ProposedFile>,
}

impl ChangedFile {
    /// A call's change of a file. A secret's text is not kept.
    pub(super) fn of(file: &ProposedFile, secrets: &Secrets) -> Self {
        let size = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let is_kept = file.unshown.is_none()
            && secrets.find(&file.path).is_none()
            && size(&file.before) + size(&file.after) <= KEPT;
        Self {
            path: file.path.clone(),
            counts: diff(file).counts,
            file: is_kept.then(|| file.clone()),
        }
    }

    /// Adds a later change of the same file.
    fn add(&mut self, later: Self) {
        self.counts = [self.counts, later.counts].into_iter().sum();
        self.file = match (self.file.take(), later.file) {
            (Some(first), Some(last)) => Some(ProposedFile {
                before: first.before,
                ..last
            }),
            _ => None,
        };
        if let Some(file) = &self.file {
            self.counts = diff(file).counts;
        }
    }
}

fn diff(file: &ProposedFile) -> FileDiff<'_> {
    let before = file.before.as_deref().unwrap_or_default();
    FileDiff::of(before, file.after.as_deref().unwrap_or_default())
}

impl RunChanges {
    /// Adds the changes of a call that ended.
    pub(super) fn add(&mut self, changed: Vec<ChangedFile>) {
        for change in changed {
            self.begin();
            match self.files.iter_mut().find(|it| it.path == change.path) {
                Some(known) => known.add(change),
                None => self.files.push(change),
            }
        }
        // Calls of one answer end in any order.
        self.files.sort_by(|one, other| one.path.cmp(&other.path));
    }

    /// Forgets the changes of a run that is over, because another one begins.
    fn begin(&mut self) {
        if std::mem::take(&mut self.is_over) {
            self.files.clear();
        }
        self.diff.take();
    }

    /// The line about the changes.
    fn words(&self) -> String {
        let counts: Counts = self.files.iter().map(|it| it.counts).sum();
        match self.files.len() {
            1 => format!("changed 1 file {counts}"),
            count => format!("changed {count} files {counts}"),
        }
    }

    /// The diffs, unless there are too many to be shown unasked.
    fn open(&self, width: usize) -> Diff {
        let mut known = self.diff.borrow_mut();
        if let Some((of, diff)) = &*known
            && *of == width
        {
            return diff.clone();
        }
        let files = self.files.iter().filter_map(|it| it.file.as_ref());
        let diff: Diff = match self.files.len() {
            1..=OPEN_FILES => files.map(|it| of_file(it, width, OPEN_ROWS)).collect(),
            _ => Diff::default(),
        };
        let rows: usize = diff.iter().map(|it| it.rows.len() + it.more).sum();
        let is_whole = diff.len() == self.files.len() && rows <= OPEN_ROWS;
        let diff = if is_whole { diff } else { Diff::default() };
        *known = Some((width, Arc::clone(&diff)));
        diff
    }
}

/// The diffs of files as text.
pub(in crate::session) fn unified(files: &[ChangedFile]) -> Vec<String> {
    let texts = files.iter().map(|it| match &it.file {
        Some(file) => review::text(&[review::ChangedFile {
            name: &file.name,
            before: file.before.as_deref(),
            after: file.after.as_deref(),
            moved_to: None,
            head: None,
        }]),
        None => format!(
            "{}: {}; its text is not shown.\n",
            it.path.display(),
            it.counts
        ),
    });
    let all: String = texts.collect();
    all.lines().map(str::to_owned).collect()
}

impl Calls {
    /// Notes that nothing happens until the user acts. A run that waits for a decision goes on. Returns
    /// true if there are changes to show.
    pub(in crate::session) fn run_rests(&mut self, ctx: &Ctx) -> bool {
        let changes = &self.run_changes;
        let is_new = !changes.files.is_empty() && !changes.is_over;
        let is_over = is_new && ctx.buffer.document().unanswered_turns().next().is_none();
        self.run_changes.is_over |= is_over;
        is_over
    }

    /// Hides the changes of the last run, because the user goes on.
    pub(in crate::session) fn run_begins(&mut self) {
        self.run_changes.begin();
    }

    /// Returns the line about the changes of the last run above the prompt, with their diffs.
    pub(in crate::session) fn changes_item(
        &self,
        ctx: &Ctx,
        document: &Document<'_>,
        width: usize,
    ) -> Option<MarkItem> {
        let changes = &self.run_changes;
        let line = self.changes_line(ctx, document)?;
        Some(MarkItem {
            id: ID.to_owned(),
            line,
            header_line: line,
            preview: Some(changes.words()),
            diff: changes.open(width),
            ..MarkItem::default()
        })
    }

    /// Returns true if changes of the last run are shown.
    pub(in crate::session) fn has_changes(&self, ctx: &Ctx) -> bool {
        self.changes_line(ctx, &ctx.buffer.document()).is_some()
    }

    /// Returns the line below which the changes of the last run are shown.
    fn changes_line(&self, ctx: &Ctx, document: &Document<'_>) -> Option<usize> {
        let is_shown = ctx.rules().settings.tools.review == ReviewRule::After;
        if !self.run_changes.is_over || !is_shown {
            return None;
        }
        document.messages.last()?.lines.start.checked_sub(1)
    }

    /// The changes of the last run.
    pub(in crate::session) fn run_changes(&self) -> Vec<ChangedFile> {
        self.run_changes.files.clone()
    }
}
