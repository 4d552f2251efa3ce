//! The commands that run in a project, in any program: two files for each, one of which its
//! program keeps locked. The lock ends with the program, so a crash leaves no command behind.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Deserialize, Serialize};

use crate::checkpoints::image::{Image, Name};
use crate::checkpoints::index::now_ns;
use crate::checkpoints::journal::{CallLabel, Checkpoint};
use crate::checkpoints::store::{Store, folder_of, new_id, now};
use crate::files::leads_to;
use crate::state_dir::{self, Lock};

/// Folder of the commands in a project's store.
const RUNNING: &str = "running";
/// Lock of the folder.
const LOCK: &str = "running.lock";
/// What happened to files while commands run.
const NOTES: &str = "notes.jsonl";

/// A file, and a time in nanoseconds since 1970: the user saved it then in any Neovim, or it was so
/// when a command of another program began, which shows what those before had changed.
pub(super) type Note = (Name, i64, Option<Image>);

/// A command, as its file describes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Command {
    /// The id of its checkpoint.
    checkpoint: String,
    label: CallLabel,
    /// When it began, in nanoseconds since 1970.
    began: i64,
}

/// A command that runs until this is dropped.
#[derive(Debug)]
pub(super) struct Registered {
    /// The id of its checkpoint: that of the commands that it overlaps with, or a new one.
    pub(super) checkpoint: String,
    /// When it began, in nanoseconds since 1970. The user's saves are known since.
    pub(super) since: i64,
    /// When the first of those began that it overlaps with.
    pub(super) others_since: Option<i64>,
    /// The locked file.
    path: PathBuf,
    /// Shows that the command runs.
    _runs: Lock,
}

/// Excludes all other programs, and the other commands of this one, from a registry.
struct Entered {
    _programs: Lock,
    _commands: MutexGuard<'static, ()>,
}

/// Waits for the registry in a store's folder.
///
/// # Errors
///
/// As for [`state_dir::lock`].
fn enter(folder: &Path) -> io::Result<Entered> {
    static ENTERED: Mutex<()> = Mutex::new(());
    // Waiting for a lock of the file system is waiting in steps, and commands of one program often
    // begin together.
    let commands = ENTERED.lock().unwrap_or_else(PoisonError::into_inner);
    Ok(Entered {
        _programs: state_dir::lock(folder, LOCK)?,
        _commands: commands,
    })
}

impl Registered {
    /// Registers a command that begins.
    ///
    /// # Errors
    ///
    /// Any error of the file system. Commands of other programs do not know of this one then.
    pub(super) fn begin(store: &Store, label: &CallLabel) -> io::Result<Self> {
        let _registry = enter(store.folder())?;
        let Commands { running, lost } = commands(store.folder())?;
        record_lost(store, lost)?;
        if running.is_empty() {
            // No command needs them any more. They are missing most of the time.
            let _ = fs::remove_file(store.folder().join(NOTES));
        }
        let checkpoint = running.first().map(|it| it.checkpoint.clone());
        let command = Command {
            checkpoint: checkpoint.unwrap_or_else(new_id),
            label: label.clone(),
            began: now_ns(),
        };
        let folder = store.folder().join(RUNNING);
        let name = new_id();
        // Free, because no other command has this name.
        let runs = state_dir::lock(&folder, &name)?;
        // Not the locked file, which other programs cannot read on Windows.
        let path = folder.join(name);
        append(&described(&path), &[&command])?;
        Ok(Self {
            checkpoint: command.checkpoint,
            since: now_ns(),
            others_since: running.iter().map(|it| it.began).min(),
            path,
            _runs: runs,
        })
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        // Otherwise, the next command finds that nothing locks it.
        let _ = remove(&self.path);
    }
}

/// The file that describes the command of a locked file.
fn described(locked: &Path) -> PathBuf {
    locked.with_extension("json")
}

fn remove(locked: &Path) -> io::Result<()> {
    // It is missing if a program was killed in between.
    let _ = fs::remove_file(described(locked));
    fs::remove_file(locked)
}

/// Returns the calls whose commands run now, in any program.
pub(super) fn labels(store: &Store) -> Vec<CallLabel> {
    let commands = enter(store.folder()).and_then(|_registry| commands(store.folder()));
    let running = commands.unwrap_or_default().running.into_iter();
    running.map(|it| it.label).collect()
}

/// Adds the calls to the journal whose programs ended before them.
pub(in crate::checkpoints) fn find_lost(store: &Store) -> io::Result<()> {
    let _registry = enter(store.folder())?;
    record_lost(store, commands(store.folder())?.lost)
}

/// Adds calls to the journal that have no checkpoint, and removes their files.
fn record_lost(store: &Store, lost: Vec<(PathBuf, Option<Command>)>) -> io::Result<()> {
    for (path, command) in lost {
        if let Some(command) = command {
            store.append(&Checkpoint {
                id: new_id(),
                at: now(),
                calls: vec![command.label],
                lost: true,
                ..Checkpoint::default()
            })?;
        }
        remove(&path)?;
    }
    Ok(())
}

/// The commands of a folder.
#[derive(Default)]
struct Commands {
    /// Those that run, the first one first.
    running: Vec<Command>,
    /// The locked files of those whose program ended before them.
    lost: Vec<(PathBuf, Option<Command>)>,
}

/// Finds the commands of a project. The caller holds the lock of the folder.
fn commands(folder: &Path) -> io::Result<Commands> {
    let mut found = Commands::default();
    let folder = folder.join(RUNNING);
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(found),
        Err(error) => return Err(error),
    };
    let names = entries
        .flatten()
        .filter_map(|it| it.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|it| !it.contains('.')).collect();
    // A name begins with the time.
    names.sort();
    for name in names {
        let path = folder.join(&name);
        let content = fs::read(described(&path)).unwrap_or_default();
        let command = serde_json::from_slice(&content).ok();
        match state_dir::try_lock(&folder, &name)? {
            Some(_left) => found.lost.push((path, command)),
            None => found.running.extend(command),
        }
    }
    Ok(found)
}

/// Records that the user saved a file, for the commands that run in a folder above it, in any
/// program. The change is the user's, even if a command also changed the file.
pub fn user_saved(path: &Path) {
    let path = leads_to(path);
    for root in path.ancestors().skip(1) {
        let folder = folder_of(root);
        if folder.join(RUNNING).is_dir()
            && let Err(error) = add_save(&folder, &path)
        {
            tracing::warn!(%error, "commands that run do not know that a file was saved");
        }
    }
}

fn add_save(folder: &Path, path: &Path) -> io::Result<()> {
    let at = now_ns();
    let _registry = enter(folder)?;
    if commands(folder)?.running.is_empty() {
        return Ok(());
    }
    append(
        &folder.join(NOTES),
        &[(Name(path.to_owned()), at, None)] as &[Note],
    )
}

/// Notes how files are when a command begins.
pub(super) fn note_seen(store: &Store, seen: &[Note]) {
    let noted =
        enter(store.folder()).and_then(|_registry| append(&store.folder().join(NOTES), seen));
    if let Err(error) = noted {
        tracing::warn!(%error, "other programs do not know what their commands have changed");
    }
}

/// Adds lines to a file. The caller holds the lock of the folder.
fn append<T: Serialize>(path: &Path, lines: &[T]) -> io::Result<()> {
    let mut bytes = Vec::new();
    for line in lines {
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
    }
    state_dir::append(path, &bytes)
}

/// Returns what was noted since a time, in nanoseconds since 1970.
pub(super) fn notes_since(store: &Store, time: i64) -> Vec<Note> {
    let text = enter(store.folder()).and_then(|_registry| fs::read(store.folder().join(NOTES)));
    // It is missing if nothing was noted.
    let text = text.unwrap_or_default();
    let lines = text.split(|it| *it == b'\n');
    let notes = lines.filter_map(|it| serde_json::from_slice::<Note>(it).ok());
    notes.filter(|(_, at, _)| *at >= time).collect()
}
