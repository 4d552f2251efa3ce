//! The checkpoints of one project on disk: the journal and the contents, in a folder of the
//! state folder that only the user can read.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use platform::files::free_space;
use platform::user;

use super::index::Index;
use super::journal::{Checkpoint, Journal};
use crate::files::leads_to;
use crate::objects::{Hash, Objects};
use crate::state_dir::{self, Lock};

/// Folder of all projects in the state folder.
const FOLDER: &str = "checkpoints";
/// Lock of the contents: shared by calls, and exclusive while contents are removed.
const CONTENTS: &str = "contents.lock";
/// Names that mark the top of a project.
const TOPS: [&str; 3] = [".git", ".jj", ".hg"];
/// Letters of the hash that names a project's folder.
const NAME: usize = 16;
/// Distinguishes the checkpoints of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);

/// The checkpoints of one project.
#[derive(Debug)]
pub(super) struct Store {
    /// The project's folder.
    pub(super) root: PathBuf,
    folder: PathBuf,
    pub(super) objects: Objects,
}

impl Store {
    /// Opens the store of the project that a folder is in. Creates it if necessary.
    ///
    /// # Errors
    ///
    /// The project is the home folder or one above it, or the store cannot be used; a sentence.
    pub(super) fn open(folder: &Path) -> Result<Self, String> {
        let root = project_in(folder).ok_or_else(|| {
            format!(
                "No checkpoints are kept for {}, because it is not a project.",
                project_of(folder).display()
            )
        })?;
        Self::of(root)
    }

    /// Opens the store of the project `root`, which [`project_in`] returned. Creates it if
    /// necessary.
    ///
    /// # Errors
    ///
    /// The store cannot be used; a sentence.
    pub(super) fn of(root: PathBuf) -> Result<Self, String> {
        let folder = folder_of(&root);
        let objects = Objects::new(folder.join("objects"));
        let store = Self {
            root,
            folder,
            objects,
        };
        store.prepare().map_err(|why| {
            let folder = store.folder.display();
            format!("The checkpoints in {folder} cannot be used: {why}.")
        })?;
        Ok(store)
    }

    /// Checks that the project's disk has room for the old and new contents of all files that will
    /// change, in bytes: a change that fails halfway is reverted, which needs room as well.
    ///
    /// # Errors
    ///
    /// It has not: a clause.
    pub(super) fn check_room(&self, bytes: u64) -> Result<(), &'static str> {
        match free_space(&self.root) {
            Ok(free) if free < bytes => Err("there is not enough room on the disk"),
            // Where the system does not say, the changes may still succeed.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    /// Returns true if a project has a store.
    pub(super) fn exists(root: &Path) -> bool {
        folder_of(root).is_dir()
    }

    fn prepare(&self) -> Result<(), String> {
        let made = state_dir::make_folder(&self.folder);
        made.map_err(|error| error.to_string())?;
        let metadata = fs::symlink_metadata(&self.folder).map_err(|error| error.to_string())?;
        if !metadata.is_dir() {
            return Err("it is not a folder".to_owned());
        }
        // A restore writes what is in here, so it must not come from another user.
        if !user::owns(&metadata) {
            return Err("it belongs to another user".to_owned());
        }
        Ok(())
    }

    /// The folder of the store.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The file of the journal.
    pub(super) fn journal_path(&self) -> PathBuf {
        self.folder.join("journal.jsonl")
    }

    /// The file of the index.
    pub(super) fn index_path(&self) -> PathBuf {
        self.folder.join("index.jsonl")
    }

    /// Locks out other restores, including those of other processes.
    pub(super) fn lock_restores(&self) -> io::Result<Lock> {
        state_dir::lock(&self.folder, "restore.lock")
    }

    /// Writes the index of the project.
    pub(super) fn save_index(&self, index: &Index) -> io::Result<()> {
        let _lock = state_dir::lock(&self.folder, "index.lock")?;
        index.save(&self.index_path())
    }

    /// Keeps all contents until the lock is dropped, because a call's journal line follows only
    /// after its contents. `None` if the store is locked for long, and contents may get lost.
    pub(super) fn keep_contents(&self) -> Option<Lock> {
        state_dir::lock_shared(&self.folder, CONTENTS).ok()
    }

    /// Returns true if a call keeps the contents, in any program.
    pub(super) fn are_contents_kept(&self) -> io::Result<bool> {
        Ok(state_dir::try_lock(&self.folder, CONTENTS)?.is_none())
    }

    /// Reads the journal; an empty one if there is none.
    pub(super) fn read(&self) -> io::Result<Journal> {
        match fs::read(self.journal_path()) {
            Ok(text) => Ok(Journal::parse(&text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Journal::default()),
            Err(error) => Err(error),
        }
    }

    /// The length of the journal in bytes.
    pub(super) fn length(&self) -> u64 {
        fs::metadata(self.journal_path()).map_or(0, |it| it.len())
    }

    /// Reads the lines of the journal that were added since it had the length `from`. It is only
    /// replaced while no call keeps the contents.
    pub(super) fn read_from(&self, from: u64) -> io::Result<Journal> {
        let mut file = match File::open(self.journal_path()) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journal::default()),
            opened => opened?,
        };
        file.seek(SeekFrom::Start(from))?;
        let mut text = Vec::new();
        // Locked, so that the last line is complete.
        let _lock = state_dir::lock(&self.folder, "lock")?;
        file.read_to_end(&mut text)?;
        Ok(Journal::parse(&text))
    }

    /// Adds a line to the journal.
    pub(super) fn append(&self, line: &Checkpoint) -> io::Result<()> {
        let _lock = state_dir::lock(&self.folder, "lock")?;
        // A line that a crash tore ends before the new one begins.
        let mut bytes = vec![b'\n'];
        serde_json::to_writer(&mut bytes, line)?;
        bytes.push(b'\n');
        state_dir::append(&self.journal_path(), &bytes)
    }

    /// Removes the oldest turns until all contents fit into `limit` bytes. Contents in
    /// `exempt` stay. Returns the number of turns that were removed: 0 while another call keeps
    /// the contents.
    pub(super) fn shrink(&self, limit: u64, exempt: impl Fn(&Hash) -> bool) -> io::Result<usize> {
        // Listed without the lock, because that takes long. Contents that are added later stay.
        let sizes = self.objects.sizes();
        let total: u64 = sizes.iter().map(|(_, size)| size).sum();
        if total <= limit {
            return Ok(0);
        }
        // The contents of a call that runs are in no line of the journal yet.
        let Some(_contents) = state_dir::try_lock(&self.folder, CONTENTS)? else {
            return Ok(0);
        };
        // Locked, so that no line is added between reading and replacing the journal.
        let _lock = state_dir::lock(&self.folder, "lock")?;
        let mut journal = self.read()?;
        let mut turns = 0;
        loop {
            let needed = journal.hashes();
            let stays = |(hash, _): &&(Hash, u64)| needed.contains(hash) || exempt(hash);
            let kept: u64 = sizes.iter().filter(stays).map(|(_, size)| size).sum();
            if kept <= limit || !journal.remove_oldest_turn() {
                // The journal first, so that it never refers to a content that is gone.
                self.replace(&journal)?;
                let unneeded = sizes.iter().filter(|it| !stays(it));
                unneeded.for_each(|(hash, _)| self.objects.remove(*hash));
                return Ok(turns);
            }
            turns += 1;
        }
    }

    fn replace(&self, journal: &Journal) -> io::Result<()> {
        let mut bytes = Vec::new();
        for checkpoint in &journal.checkpoints {
            serde_json::to_writer(&mut bytes, checkpoint)?;
            bytes.push(b'\n');
        }
        state_dir::replace(&self.journal_path(), &bytes)
    }
}

/// The folder of a project's store.
pub(super) fn folder_of(root: &Path) -> PathBuf {
    // A hash, because a path may be longer than a name and contains slashes.
    let name = String::from(Hash::of(root.as_os_str().as_encoded_bytes()));
    state_dir::path().join(FOLDER).join(&name[..NAME])
}

/// A new id, of a checkpoint or of a session.
pub fn new_id() -> String {
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    format!("{}-{}-{number}", now(), std::process::id())
}

/// Milliseconds since 1970.
pub(super) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| u64::try_from(it.as_millis()).unwrap_or(u64::MAX))
}

/// Returns false for a folder whose files are not all of one project: the home folder and those
/// above it, such as `/`.
pub fn is_project(folder: &Path) -> bool {
    project_in(folder).is_some()
}

/// The top of the project that a folder is in. `None` for the home folder and those above it.
pub(super) fn project_in(folder: &Path) -> Option<PathBuf> {
    let home = real_home();
    let root = top_of(folder, home.as_deref());
    let is_above = root.parent().is_none() || home.is_some_and(|it| it.starts_with(&root));
    (!is_above).then_some(root)
}

/// The top of the project that a folder is in, without links: the nearest folder with a
/// repository, below the home folder, or the folder itself.
pub fn project_of(folder: &Path) -> PathBuf {
    top_of(folder, real_home().as_deref())
}

fn real_home() -> Option<PathBuf> {
    std::env::home_dir().map(|it| leads_to(&it))
}

fn top_of(folder: &Path, home: Option<&Path>) -> PathBuf {
    let folder = leads_to(folder);
    // A repository in the home folder, as for dotfiles, makes it no project.
    let inside = |it: &&Path| home != Some(*it) && it.parent().is_some();
    let is_top = |it: &&Path| TOPS.iter().any(|name| it.join(name).exists());
    let top = folder.ancestors().take_while(inside).find(is_top);
    top.map(Path::to_owned).unwrap_or(folder)
}
