//! The state folder, and writing of files in it: readable only by the owner, guarded by a lock
//! between hosts, and replaced whole.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use platform::files::{PrivateOptions, make_private_folder, make_private_folders, restrict_folder};
use platform::paths::canonicalize;
use platform::processes::has_ended;
use platform::{places, user};
use tokio::runtime::{Handle, RuntimeFlavor};

use crate::files::leads_to;
use crate::private::{self, TemporaryFile, TemporaryFolder, TemporaryPath, with_free_name};

/// How long to wait for another host's lock. Locks are held for microseconds unless a host is
/// stopped while holding one.
const PATIENCE: Duration = Duration::from_secs(1);
/// The folder of temporary files and folders.
const TEMPORARY: &str = "temporary";
/// Prefix of the name of a folder for chats without a file. The process id follows.
pub(crate) const OF_PROCESS: &str = "process-";
/// How long an unused folder of a chat is kept. systemd keeps files in `/tmp` as long.
const KEPT_FOR: Duration = Duration::from_secs(10 * 86_400);
/// Pause between two attempts, a few times as long as a lock is usually held.
const PAUSE: Duration = Duration::from_micros(200);

/// The state folder: `stdpath("state")/flemma` of the Neovim that started this process.
pub fn path() -> PathBuf {
    let neovim = crate::variable("NVIM_APPNAME").filter(|name| !name.is_empty());
    let neovim = places::neovim_state(neovim.as_deref().unwrap_or("nvim"));
    crate::state_home().join(neovim).join("flemma")
}

/// The folder in it of the tutor's chats, and of the file that they change.
pub fn of_tutor() -> PathBuf {
    path().join("tutor")
}

/// Creates a folder that only the owner can access.
///
/// # Errors
///
/// The folder can't be created.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    make_private_folders(folder)?;
    restrict_folder(folder)
}

/// Creates a temporary folder, out of reach of other users and of sandboxed commands, which may
/// write to `$TMPDIR`.
///
/// # Errors
///
/// The state folder can't be written.
pub fn temporary_folder() -> io::Result<TemporaryFolder> {
    TemporaryFolder::make_in(&temporary()?)
}

/// Returns a free path for a temporary file, which another process of ours may create.
///
/// # Errors
///
/// The state folder can't be written.
pub(crate) fn temporary_path() -> io::Result<TemporaryPath> {
    Ok(TemporaryPath::free_in(&temporary()?))
}

/// Creates a temporary file like [`temporary_folder`]. Its name ends with `ending`.
///
/// # Errors
///
/// The state folder can't be written.
pub fn temporary_file(ending: &str) -> io::Result<TemporaryFile> {
    TemporaryFile::make_in(&temporary()?, ending)
}

/// Returns the folder of all temporary files and folders. The first call in a process removes what
/// killed processes left there.
fn temporary() -> io::Result<PathBuf> {
    static SWEPT: Once = Once::new();
    let state = path();
    make_folder(&state)?;
    // In its real place, because the user may have a link on the way to the state folder.
    let folder = canonicalize(&state)?.join(TEMPORARY);
    make_own_folder(&folder)?;
    SWEPT.call_once(|| private::sweep_with_folders(&folder));
    Ok(folder)
}

/// Creates a folder in one that only this user can write to, or checks that an existing one is a
/// folder of this user, which others then lose access to.
///
/// # Errors
///
/// It can't be created, or something else has its name: a link, or a folder of another user.
pub fn make_own_folder(folder: &Path) -> io::Result<()> {
    match make_private_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Doesn't follow a link.
    let found = fs::symlink_metadata(folder)?;
    if !found.is_dir() || !user::owns(&found) {
        let why = format!("{} is not a folder of yours", folder.display());
        return Err(io::Error::other(why));
    }
    restrict_folder(folder)
}

/// Removes the folders in `base` of chats that were not used for ten days, and those of processes that
/// have ended.
pub(crate) fn sweep_chats(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let is_old = entry.metadata().is_ok_and(|found| is_old(&found));
        if is_old || is_of_dead_process(&entry.file_name()) {
            // The next process tries again what could not be removed.
            private::remove(&entry.path());
        }
    }
}

fn is_old(found: &Metadata) -> bool {
    // Reading counts as well, because a chat may only read its old files.
    let last = [found.modified(), found.accessed()];
    let last = last.into_iter().flatten().max();
    // A time in the future, as after the clock was set back, is not old.
    let age = last.and_then(|last| SystemTime::now().duration_since(last).ok());
    age.is_some_and(|age| age > KEPT_FOR)
}

fn is_of_dead_process(name: &OsStr) -> bool {
    let id = name.to_str().and_then(|name| name.strip_prefix(OF_PROCESS));
    id.and_then(|id| id.parse().ok()).is_some_and(has_ended)
}

/// A lock that excludes other hosts until it is dropped.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// The locked file, for content that only the holder of the lock reads and writes.
    pub(crate) fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // Closing is not enough: a process that starts at this moment has a copy of the file until
        // it runs its program. Closing follows in any case.
        let _ = self.0.unlock();
    }
}

/// Waits for the lock file `name` in a folder, both of which are created if needed.
///
/// # Errors
///
/// `TimedOut` if another host holds the lock for more than a second, or the folder or file
/// can't be created.
pub fn lock(folder: &Path, name: &str) -> io::Result<Lock> {
    lock_by(lock_file(folder, name)?, File::try_lock)
}

/// Waits for a lock that any number of holders share, and that excludes [`lock`] and
/// [`try_lock`] of the same name.
///
/// # Errors
///
/// As for [`lock`].
pub fn lock_shared(folder: &Path, name: &str) -> io::Result<Lock> {
    lock_by(lock_file(folder, name)?, File::try_lock_shared)
}

/// Takes a lock like [`lock`], or returns `None` if another holds it.
///
/// # Errors
///
/// The folder or file can't be created.
pub fn try_lock(folder: &Path, name: &str) -> io::Result<Option<Lock>> {
    let file = lock_file(folder, name)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock(file))),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn lock_file(folder: &Path, name: &str) -> io::Result<File> {
    let open = || {
        OpenOptions::new()
            // Creating a file requires write access, and Windows locks none that was opened for
            // that alone.
            .create(true)
            .read(true)
            .write(true)
            .truncate(false)
            .private()
            .open(folder.join(name))
    };
    // The folder is there nearly always, and each command takes several locks.
    match open() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make_folder(folder)?;
            open()
        }
        opened => opened,
    }
}

type Attempt = fn(&File) -> Result<(), TryLockError>;

fn lock_by(file: File, attempt: Attempt) -> io::Result<Lock> {
    match attempt(&file) {
        Ok(()) => Ok(Lock(file)),
        Err(TryLockError::Error(error)) => Err(error),
        Err(TryLockError::WouldBlock) => aside(|| wait_for(file, attempt)),
    }
}

fn wait_for(file: File, attempt: Attempt) -> io::Result<Lock> {
    let begun = Instant::now();
    loop {
        match attempt(&file) {
            Ok(()) => return Ok(Lock(file)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "another Neovim keeps it locked",
                ));
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
}

/// Appends to a file that only its owner can read, in one write. Creates it if it is missing. The caller
/// holds the lock that all writers of the file take.
///
/// # Errors
///
/// Any error of the file system. The file may end with a part of the content then.
pub fn append(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new()
        .create(true)
        .append(true)
        .private()
        .open(path)?;
    file.write_all(content)
}

/// Replaces a file by one that only its owner can read. The caller holds the lock that all
/// writers of the file take.
///
/// # Errors
///
/// Any error of the file system. The old file is unchanged then.
pub fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let new = write_new(path, content)?;
    aside(|| new.file.sync_all())?;
    new.replace(path)
}

/// Replaces a file like [`replace`], also under the lock, but without waiting for the disk, so a system crash may
/// lose the change.
///
/// # Errors
///
/// Any error of the file system. The old file is unchanged then.
pub fn replace_unsynced(path: &Path, content: &[u8]) -> io::Result<()> {
    write_new(path, content)?.replace(path)
}

/// Writes a temporary file beside `path`. The first call for a folder in a process removes what
/// killed processes left there.
fn write_new(path: &Path, content: &[u8]) -> io::Result<TemporaryFile> {
    static SWEPT: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let folder = path.parent().unwrap_or(path);
    let mut swept = SWEPT.lock().unwrap_or_else(PoisonError::into_inner);
    if swept.insert(folder.to_owned()) {
        private::sweep(folder);
    }
    drop(swept);
    let mut new = TemporaryFile::make_in(folder, "")?;
    new.file.write_all(content)?;
    Ok(new)
}

/// Runs slow work without blocking the other tasks of this thread, which serves all chats of a
/// host.
fn aside<T>(work: impl FnOnce() -> T) -> T {
    match Handle::try_current().map(|handle| handle.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

// The folder that a chat's relative paths start from: its own, or the project's if the chat is in
// the state folder.

/// The folder in the state folder that has a folder of chats for each project. The plugin makes
/// them.
const BY_PROJECT: &str = "by-project";
/// The file in such a folder that holds the project's path.
const PROJECT: &str = "project";

/// Returns the folder that the relative paths of a chat start from, for its absolute path. It need
/// not exist.
pub fn chat_folder(chat: &Path) -> Option<PathBuf> {
    folder_in(chat, &path())
}

fn folder_in(chat: &Path, state: &Path) -> Option<PathBuf> {
    let own = chat.parent()?;
    let is_ours = own.parent().map(leads_to) == Some(leads_to(&state.join(BY_PROJECT)));
    let project = is_ours.then(|| fs::read_to_string(own.join(PROJECT)).ok());
    let project = project
        .flatten()
        .map(|it| PathBuf::from(it.trim_end_matches('\n')));
    Some(
        project
            .filter(|it| it.is_absolute())
            .unwrap_or_else(|| own.to_owned()),
    )
}

// The folder for persistent state: trust, pins, logs, long outputs.
//
// A program that can write there can grant itself trust, so the folder must never be one that
// another user could have created.

/// Returns `$XDG_STATE_HOME`, or else `.local/state` in the home folder from `$HOME` or the
/// user database; on Windows, `AppData/Local`. A user without a home gets a private folder below `$TMPDIR`.
pub fn state_home() -> PathBuf {
    let absolute = |path: PathBuf| path.is_absolute().then_some(path);
    let variable = crate::variable_os("XDG_STATE_HOME").map(PathBuf::from);
    let home = || std::env::home_dir().and_then(absolute);
    variable
        .and_then(absolute)
        .or_else(|| Some(home()?.join(places::STATE)))
        .unwrap_or_else(homeless)
}

/// A private temporary folder, the same for the lifetime of this process.
fn homeless() -> PathBuf {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    let find = || private_folder(&std::env::temp_dir());
    FOLDER.get_or_init(find).clone()
}

/// Creates a folder below `temporary` that only this user can access. Its name is predictable
/// unless another user has taken it.
fn private_folder(temporary: &Path) -> PathBuf {
    let usual = temporary.join(format!("flemma-{}", user::file_name_part()));
    if make_private(&usual).is_ok() {
        return usual;
    }
    let make = |name: &str| make_private_folder(&temporary.join(name));
    match with_free_name(make) {
        Ok(((), name)) => temporary.join(name),
        // Nothing can be written there: state is lost, and every question is asked again.
        Err(_) => PathBuf::from("/nonexistent"),
    }
}

/// Creates a folder, or checks that an existing one belongs to this user alone.
fn make_private(folder: &Path) -> io::Result<()> {
    match make_private_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Doesn't follow a link, which another user could have created.
    let found = fs::symlink_metadata(folder)?;
    if found.is_dir() && user::has_alone(&found) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    #[test]
    fn folders_of_ended_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let mut ended = std::process::Command::new("true").spawn().unwrap();
        ended.wait().unwrap();
        let [ours, dead] = [std::process::id(), ended.id()].map(|it| format!("{OF_PROCESS}{it}"));
        let names = [&*ours, "0123abcd", &dead];
        for name in names {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        sweep_chats(folder.path());
        let left = names.map(|name| folder.path().join(name).exists());
        assert_eq!(left, [true, true, false]);
    }

    #[test]
    fn a_shared_lock_excludes_only_those_that_do_not_share_it() {
        let folder = tempfile::tempdir().unwrap();
        let shared = lock_shared(folder.path(), "lock").unwrap();
        drop(lock_shared(folder.path(), "lock").unwrap());
        assert!(try_lock(folder.path(), "lock").unwrap().is_none());
        drop(shared);
        assert!(try_lock(folder.path(), "lock").unwrap().is_some());
    }

    #[test]
    fn who_waits_for_a_lock_keeps_no_other_work_of_the_thread_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock(folder.path(), "lock").unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .build()
            .unwrap();
        let path = folder.path().to_owned();
        let waits = runtime.spawn(async move { lock(&path, "lock").is_ok() });
        let lets_go = runtime.spawn(async move { drop(held) });
        assert!(runtime.block_on(waits).unwrap());
        runtime.block_on(lets_go).unwrap();
    }

    #[test]
    fn a_chat_in_the_state_folder_belongs_to_its_project() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("by-project/p-1");
        fs::create_dir_all(&folder).unwrap();
        let of = |chat: PathBuf| folder_in(&chat, state.path()).unwrap();
        assert_eq!(of(folder.join("a.chat")), folder);
        fs::write(folder.join("project"), "/home/me/p\n").unwrap();
        assert_eq!(of(folder.join("a.chat")), Path::new("/home/me/p"));
        fs::write(folder.join("project"), "p\n").unwrap();
        assert_eq!(of(folder.join("a.chat")), folder);
        // A project's own file of that name means nothing.
        let other = state.path().join("p");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("project"), "/elsewhere\n").unwrap();
        assert_eq!(of(other.join("a.chat")), other);
    }

    fn usual(temporary: &Path) -> PathBuf {
        temporary.join(format!("flemma-{}", user::file_name_part()))
    }

    #[test]
    fn a_user_without_a_home_gets_the_same_private_folder_each_time() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = private_folder(temporary.path());
        assert_eq!(folder, usual(temporary.path()));
        assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        assert_eq!(private_folder(temporary.path()), folder);
    }

    #[test]
    fn a_folder_that_others_could_have_made_is_not_used() {
        type Prepare = fn(&Path);
        let prepared: [Prepare; 3] = [
            |path| {
                fs::create_dir(path).unwrap();
                fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
            },
            |path| {
                let other = path.with_extension("other");
                fs::create_dir(&other).unwrap();
                fs::set_permissions(&other, Permissions::from_mode(0o700)).unwrap();
                symlink(other, path).unwrap();
            },
            |path| fs::write(path, "").unwrap(),
        ];
        for prepare in prepared {
            let temporary = tempfile::tempdir().unwrap();
            prepare(&usual(temporary.path()));
            let folder = private_folder(temporary.path());
            assert_ne!(folder, usual(temporary.path()));
            assert_eq!(folder.parent(), Some(temporary.path()));
            assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
        }
    }
}
