//! Trials: a command runs in a copy-on-write view of the project, without network, and its changes
//! go to a layer. They are shown, and applied once the user or a rule approves them.
//!
//! `layer` reads the layer, and `effects` sorts what is in it and classifies the trial. `bash` runs
//! the command, in the view of `sandbox`, and makes the changes in the project. `scratch` has
//! the ignored folders that later trials of a rule find.

mod effects;
mod layer;
mod scratch;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use platform::paths::below;
use serde_json::Value;
use tokio::runtime::Handle;

pub use self::effects::Outcome;
pub(crate) use self::effects::{Effects, FileEffect, SIGNS};
use self::effects::{Facts, time_limit};
pub(crate) use self::layer::LayerChange;
use self::scratch::{Mounted, Scratch};
use crate::checkpoints::{FileState, changed_since};
use crate::files::{Encoding, RealPath, Unshown};
use crate::private::TemporaryFolder;
use crate::proposal::ProposedFile;
use crate::sandbox::{Overlay, Sandbox};
use crate::state_dir;

/// How much a trial may write: 1 GiB and 20,000 files.
pub(crate) const MOST_BYTES: u64 = 1 << 30;
pub(crate) const MOST_FILES: u64 = 20_000;
/// Most layers that wait for a decision.
const MOST_LAYERS: usize = 8;
/// Most files whose times are compared when another call ends.
const MOST_LOOKED_AT: usize = 200;
/// The bits of a mode that let a file be run.
const EXECUTABLE: u32 = 0o111;
/// Most bytes of texts that are kept for diffs.
const MOST_TEXT: u64 = 4 * 1024 * 1024;

/// The number of layers in this process.
static LAYERS: AtomicUsize = AtomicUsize::new(0);

/// A trial that ended, and what it needs to be applied.
#[derive(Debug)]
pub struct Trial {
    /// The command's output, as the model reads it.
    pub output: String,
    /// Data about its end, for the user.
    pub(crate) details: Option<Value>,
    /// True if the user sees the call as failed.
    pub(crate) is_marked_failed: bool,
    /// The outcome.
    pub outcome: Outcome,
    /// The files that would change, with texts as far as they can be shown.
    pub files: Vec<ProposedFile>,
    /// How long the command took.
    pub took: Duration,
    /// When it ended.
    pub ended: Instant,
    /// The exit code. `None` if it was stopped, or killed by a signal.
    code: Option<i32>,
    pub(crate) effects: Effects,
    /// When it began, in nanoseconds since 1970 by the clock of the file system.
    started: i64,
    folder: PathBuf,
    layer: Layer,
}

/// The folder of one trial. It is removed after a drop.
#[derive(Debug)]
pub(crate) struct Layer {
    folder: Option<TemporaryFolder>,
    path: PathBuf,
    pub(crate) overlays: Vec<Overlay>,
    /// Receives changes of ignored folders. `None` if they are not kept.
    scratch: Option<Scratch>,
    /// The mounts of the view, while the command runs.
    mounted: Vec<Mounted>,
}

/// The result of a trial's command.
pub(crate) struct Ended {
    /// Its output, as the model reads it.
    pub output: String,
    /// Data about its end, for the user.
    pub details: Option<Value>,
    /// True if the user sees the call as failed.
    pub is_marked_failed: bool,
    /// The exit code. `None` if it was stopped, or killed by a signal.
    pub code: Option<i32>,
    /// The time limit that stopped it.
    pub timed_out: Option<Duration>,
    /// True if it wrote more than a trial may.
    pub is_too_large: bool,
    /// Packets that were refused.
    pub refused: u64,
    /// When it started, in nanoseconds since 1970 by the clock of the file system.
    pub started: i64,
    /// How long it took.
    pub took: Duration,
}

impl Layer {
    /// Makes the folders of a trial. One that a rule asks for sees what earlier ones wrote to ignored
    /// folders.
    ///
    /// # Errors
    ///
    /// Too many trials wait for a decision, or the project can't be tried: a clause.
    pub(crate) fn make(sandbox: &Sandbox, is_unasked: bool) -> Result<Self, String> {
        let folder = state_dir::temporary_folder().map_err(|error| error.to_string())?;
        let mut layer = Self {
            path: folder.path().to_owned(),
            folder: Some(folder),
            overlays: Vec::new(),
            scratch: Scratch::of(sandbox).filter(|_| is_unasked),
            mounted: Vec::new(),
        };
        if LAYERS.fetch_add(1, Ordering::Relaxed) >= MOST_LAYERS {
            return Err(format!(
                "{MOST_LAYERS} tried calls wait for a decision already"
            ));
        }
        layer.overlays = sandbox.overlays(layer.path())?;
        if let Some(scratch) = &layer.scratch {
            for overlay in &mut layer.overlays {
                let mounted = scratch.mount(&overlay.folder);
                overlay.scratch = mounted.iter().map(|it| it.root.clone()).collect();
                layer.mounted.extend(mounted);
            }
        }
        Ok(layer)
    }

    /// The folder of everything that belongs to the trial.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns true if a trial has written more than it may. Blocking.
    pub(crate) fn is_too_large(uppers: &[PathBuf]) -> bool {
        let (mut bytes, mut files) = (MOST_BYTES, MOST_FILES);
        uppers.iter().any(|upper| {
            let (size, count) = layer::size(upper, bytes, files);
            let is_too_large = size > bytes || count > files;
            bytes = bytes.saturating_sub(size);
            files = files.saturating_sub(count);
            is_too_large
        })
    }

    /// The folders that receive the changes.
    pub(crate) fn uppers(&self) -> Vec<PathBuf> {
        self.overlays.iter().map(|it| it.upper.clone()).collect()
    }

    /// Reads what a command changed, once all of its processes have ended. `folder` is where it ran.
    /// Blocking.
    ///
    /// # Errors
    ///
    /// The layer can't be read.
    pub(crate) fn read(
        mut self,
        ended: Ended,
        sandbox: &Sandbox,
        folder: PathBuf,
    ) -> io::Result<Trial> {
        // Of a trial that was stopped, nothing is used.
        let stopped = match ended.timed_out {
            Some(limit) => Some(time_limit(limit)),
            None => ended.is_too_large.then(too_large),
        };
        let effects = match &stopped {
            Some(_) => Effects::default(),
            None => {
                let found = layer::read(&self.overlays)?;
                effects::sort(found, &self.overlays, sandbox, ended.started)
            }
        };
        self.mounted.clear();
        let outcome = Outcome::of(Facts {
            code: ended.code,
            output: &ended.output,
            refused: ended.refused,
            is_without_effect: effects.is_none(),
            obstacle: effects.obstacle.clone(),
            stopped,
        });
        Ok(Trial {
            files: texts(&effects.files, &folder),
            output: ended.output,
            details: ended.details,
            is_marked_failed: ended.is_marked_failed,
            code: ended.code,
            outcome,
            took: ended.took,
            ended: Instant::now(),
            started: ended.started,
            effects,
            folder,
            layer: self,
        })
    }
}

impl Drop for Layer {
    fn drop(&mut self) {
        LAYERS.fetch_sub(1, Ordering::Relaxed);
        // It can have 20,000 files, and the thread that drops it handles keys.
        let folder = self.folder.take();
        if let Ok(runtime) = Handle::try_current() {
            runtime.spawn_blocking(move || drop(folder));
        }
    }
}

fn too_large() -> String {
    format!("it wrote more than 1 GiB or {MOST_FILES} files")
}

impl Trial {
    /// How the command ended, in words.
    pub fn exit(&self) -> String {
        match self.code {
            Some(code) => format!("exit code {code}"),
            None => "stopped".to_owned(),
        }
    }

    /// Returns true if a file that would change has been changed since the trial began, so that the
    /// outcome can't be applied. Looks at the disk.
    pub fn is_outdated(&self) -> bool {
        let mut files = self.effects.files.iter().take(MOST_LOOKED_AT);
        files.any(|it| {
            let is_missing = it.path.symlink_metadata().is_err();
            is_missing != (it.before == FileState::Absent) || changed_since(&it.path, self.started)
        })
    }

    /// The changes that no diff shows: of ignored files and of folders. One clause each.
    pub fn remarks(&self) -> Vec<String> {
        let shown = |path: &Path| below(path, &self.folder);
        let mut remarks = Vec::new();
        for (path, count) in &self.effects.ignored {
            remarks.push(match (count, path.is_dir() || *count > 1) {
                (1, _) => format!("1 ignored file in {}", shown(path)),
                (count, _) => format!("{count} ignored files in {}", shown(path)),
            });
        }
        for folder in &self.effects.folders {
            remarks.push(if folder.is_dir() {
                format!("removes the folder {}", shown(folder))
            } else {
                format!("makes the empty folder {}", shown(folder))
            });
        }
        remarks
    }

    /// Keeps what the command wrote to ignored folders for later trials, outside of the project. Returns
    /// a note for the model about where it is. `None` if there is nothing. Blocking.
    pub(crate) fn keep_ignored(&self) -> Option<String> {
        let (kept, lost): (Vec<&PathBuf>, Vec<&PathBuf>) = self
            .effects
            .ignored
            .keys()
            .partition(|place| self.keep(place).is_ok());
        let list = |places: Vec<&PathBuf>| {
            let names = places.iter().map(|it| below(it, &self.folder));
            Some(names.collect::<Vec<_>>().join(", ")).filter(|it| !it.is_empty())
        };
        let clauses = [
            list(kept).map(|it| format!("{it} was kept for later trials, not in the project")),
            list(lost).map(|it| format!("changes of {it} are not in the project")),
        ];
        let clauses: Vec<String> = clauses.into_iter().flatten().collect();
        (!clauses.is_empty()).then(|| format!("(tried: {})", clauses.join("; ")))
    }

    fn keep(&self, place: &Path) -> io::Result<()> {
        let changes = self.effects.others.iter();
        let changes: Vec<&LayerChange> = changes.filter(|it| it.path.starts_with(place)).collect();
        let overlay = changes
            .first()
            .and_then(|it| self.layer.overlays.get(it.overlay));
        let (Some(scratch), Some(overlay)) = (&self.layer.scratch, overlay) else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        scratch.keep(overlay, place, &changes)
    }

    /// The changes that need no checkpoint, as the user approves them, with those of earlier trials that
    /// they build on. Blocking.
    pub(crate) fn other_changes(&self) -> Vec<LayerChange> {
        let mut changes = BTreeMap::new();
        for place in self.effects.ignored.keys() {
            let earlier = self.layer.scratch.iter().flat_map(|it| it.files(place));
            changes.extend(earlier.map(|it| (it.path.clone(), it)));
        }
        let own = self.effects.others.iter().cloned();
        changes.extend(own.map(|it| (it.path.clone(), it)));
        changes.into_values().collect()
    }

    /// A note for plan mode: what stood in the way of the command, and that its changes were discarded.
    /// `None` if there is neither.
    pub(crate) fn discarded(&self) -> Option<String> {
        let ignored: usize = self.effects.ignored.values().sum();
        let tmp = self.effects.tmp.iter().filter(|it| !it.is_folder).count();
        let changes = match self.files.len() + ignored + tmp {
            0 if self.effects.is_none() => None,
            0 => Some("its changes were discarded".to_owned()),
            1 => Some("changes of 1 file were discarded".to_owned()),
            count => Some(format!("changes of {count} files were discarded")),
        };
        let reason = self.outcome.reason();
        let reason = reason.map(|why| format!("the command ran in a trial, and {why}"));
        let clauses: Vec<String> = reason.into_iter().chain(changes).collect();
        (!clauses.is_empty()).then(|| format!("(plan mode: {})", clauses.join("; ")))
    }

    /// The names and texts of changed files, if the trial did nothing but write texts, at most this
    /// many files and bytes.
    pub fn written(&self, files: usize, bytes: usize) -> Option<Vec<(&str, &str)>> {
        let is_written = |it: &&ProposedFile| it.unshown.is_none() && it.remarks.is_empty();
        let mut written = Vec::new();
        for file in &self.files {
            let file = Some(file).filter(is_written)?;
            written.push((file.path.to_str()?, file.after.as_deref()?));
        }
        let size: usize = written.iter().map(|it| it.1.len()).sum();
        let is_small = written.len() <= files && size <= bytes;
        (is_small && self.effects.folders.is_empty()).then_some(written)
    }

    /// Returns true if a review can show all of its changes: all of them are texts.
    pub fn is_reviewable(&self) -> bool {
        let is_text = |it: &ProposedFile| it.unshown.is_none() && it.remarks.is_empty();
        !self.files.is_empty() && self.files.iter().all(is_text)
    }
}

/// Removes the scratch layer of the chat whose commands have this sandbox, except for what a running
/// trial sees. Returns the ignored folders that it had. Blocking.
///
/// # Errors
///
/// Another process uses the layer.
pub fn clear_scratch(sandbox: &Sandbox) -> io::Result<BTreeSet<PathBuf>> {
    Scratch::of(sandbox).map_or(Ok(BTreeSet::new()), |it| it.clear())
}

/// The changes of files as a diff shows them.
fn texts(files: &[FileEffect], folder: &Path) -> Vec<ProposedFile> {
    let mut left = MOST_TEXT;
    let mut shown = |file: &FileEffect| {
        let before = text(&file.before, Some(&file.path), &mut left);
        let after = text(&file.after, file.source.as_deref(), &mut left);
        let mut remarks = Vec::new();
        if let (Some(old), Some(new)) = (file.before.mode(), file.after.mode())
            && old != new
        {
            remarks.push(format!("mode {old:o} → {new:o}"));
        }
        // No rule about texts lets a call make a program.
        if let (FileState::Absent, Some(mode)) = (&file.before, file.after.mode())
            && mode & EXECUTABLE != 0
        {
            remarks.push(format!("new, mode {mode:o}"));
        }
        for (file_state, word) in [(&file.before, "was"), (&file.after, "becomes")] {
            if let FileState::Link(target) = file_state {
                remarks.push(format!("{word} a link to {}", target.0.display()));
            }
        }
        ProposedFile {
            name: below(&file.path, folder),
            path: file.path.clone(),
            unshown: before.as_ref().err().or(after.as_ref().err()).copied(),
            before: before.unwrap_or_default(),
            after: after.unwrap_or(Some(String::new())),
            moved_to: None,
            remarks,
        }
    };
    files.iter().map(&mut shown).collect()
}

/// Returns the text of a file. `None` if nothing is there.
fn text(
    file_state: &FileState,
    path: Option<&Path>,
    left: &mut u64,
) -> Result<Option<String>, Unshown> {
    let path = match file_state {
        FileState::Absent => return Ok(None),
        // Its remark says where it leads.
        FileState::Link(_) => return Ok(Some(String::new())),
        FileState::File { .. } => path.ok_or(Unshown::Unreadable)?,
        FileState::NotCovered(_) => return Err(Unshown::TooLarge),
    };
    let path = RealPath::exact(path.to_owned());
    let file = path.open_file().ok().flatten().ok_or(Unshown::Unreadable)?;
    let mut bytes = Vec::new();
    file.take(*left + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| Unshown::Unreadable)?;
    *left = left
        .checked_sub(bytes.len() as u64)
        .ok_or(Unshown::TooLarge)?;
    match Encoding::decode(bytes) {
        // Another encoding could not be stored as it is shown.
        Some((text, Encoding::Utf8)) => Ok(Some(text)),
        _ => Err(Unshown::Binary),
    }
}
