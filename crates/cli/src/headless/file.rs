//! The file of a chat. It is read as Neovim reads it, and written as a whole, with its line
//! ends, byte order mark, and mode.
//!
//! A file that another program has changed meanwhile is not written. It is locked while the run
//! works on it, and written after each step, and while an answer arrives so often that little is
//! lost if the process is killed, but writing takes little time.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chat::text::Text;
use platform::files::{FileId, FileStatus};
use platform::paths::canonicalize;
use session::lease::{self, Lease, LeaseError, LeaseHolder};
use session::protocol::Action;
use tokio::time::Instant;
use tools::RealPath;

use super::HeadlessRun;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file, and its state when it was last read or written.
#[derive(Debug)]
pub struct ChatFile {
    /// The real path. No link is followed from here on.
    path: RealPath,
    crlf: bool,
    byte_order_mark: bool,
    stamp: Option<Stamp>,
}

/// Identifies a state of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    id: FileId,
    size: u64,
    modified: i64,
}

impl Stamp {
    fn of(status: &FileStatus) -> Self {
        Self {
            id: status.id,
            size: status.size,
            modified: status.modified,
        }
    }
}

/// Why a file was not written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The file has changed since it was read.
    #[error("another program has changed it")]
    Changed,
    /// An error of the system.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl ChatFile {
    /// Reads a file. A missing one has no text and is created when it is written. Symbolic
    /// links are followed once, here.
    ///
    /// # Errors
    ///
    /// It cannot be read, or is not a regular file.
    pub fn open(path: &Path) -> io::Result<(Self, Option<Text>)> {
        // Through links, so that the file behind a link is written and the link stays.
        let real = match canonicalize(path) {
            Ok(real) => real,
            Err(error) if error.kind() == io::ErrorKind::NotFound => new_path(path)?,
            Err(error) => return Err(error),
        };
        let path = RealPath::of(&real).map_err(|why| io::Error::other(why.to_string()))?;
        let mut file = Self {
            path,
            crlf: false,
            byte_order_mark: false,
            stamp: None,
        };
        if file.path.status()?.is_none() {
            return Ok((file, None));
        }
        let mut bytes = Vec::new();
        let opened = file.path.open_file()?;
        let opened = opened.ok_or_else(|| io::Error::other("it is not a regular file"))?;
        // The open file is stamped before it is read, so that a write meanwhile is detected.
        file.stamp = Some(Stamp::of(&FileStatus::of(&opened)?));
        (&opened).read_to_end(&mut bytes)?;
        let text = file.decode(&bytes);
        Ok((file, Some(text)))
    }

    /// Returns the real path.
    pub fn path(&self) -> &Path {
        self.path.as_path()
    }

    fn decode(&mut self, bytes: &[u8]) -> Text {
        let bytes = match bytes.strip_prefix(BYTE_ORDER_MARK) {
            Some(rest) => {
                self.byte_order_mark = true;
                rest
            }
            None => bytes,
        };
        let whole = bytes.strip_suffix(b"\n").unwrap_or(bytes);
        let lines: Vec<&[u8]> = whole.split(|byte| *byte == b'\n').collect();
        // The last line may lack its line end.
        let ended = lines.len() - usize::from(whole.len() == bytes.len());
        let complete = &lines[..ended];
        // As in Neovim, a single line with another end makes it a file with LF.
        self.crlf = ended > 0 && complete.iter().all(|line| line.ends_with(b"\r"));
        if self.crlf {
            let complete = complete.iter().map(|line| &line[..line.len() - 1]);
            return Text::from_lines(complete.chain(lines[ended..].iter().copied()));
        }
        Text::from_bytes(whole)
    }

    fn encode(&self, text: &Text) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(text.bytes().len() + 4);
        if self.byte_order_mark {
            bytes.extend_from_slice(BYTE_ORDER_MARK);
        }
        // As Neovim does, an empty buffer is written as an empty file.
        if text.bytes().is_empty() {
            return bytes;
        }
        for line in text.bytes().split(|byte| *byte == b'\n') {
            bytes.extend_from_slice(line);
            bytes.extend_from_slice(if self.crlf { b"\r\n" } else { b"\n" });
        }
        bytes
    }

    /// Replaces the file's text atomically.
    ///
    /// # Errors
    ///
    /// See [`WriteError`]. The file is unchanged.
    pub fn write(&mut self, text: &Text) -> Result<(), WriteError> {
        // A write by another program must not be lost.
        if self.stamp()? != self.stamp {
            return Err(WriteError::Changed);
        }
        let written = self.path.write(&self.encode(text))?;
        self.stamp = Some(Stamp::of(&written));
        Ok(())
    }

    /// Writes `text` to a new file beside this one, which cannot be written, and returns its
    /// path.
    ///
    /// # Errors
    ///
    /// The new file cannot be written either.
    pub fn write_beside(&self, text: &Text) -> io::Result<PathBuf> {
        let path = self.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Earlier runs may have left such files, which are not overwritten.
        let free = (1..).map(|count| path.with_file_name(format!("{name}.flemma-{count}")));
        let path = free
            .into_iter()
            // A dangling link takes the name too, so links are not followed.
            .find(|path| fs::symlink_metadata(path).is_err())
            .unwrap_or_else(|| self.path().with_extension("flemma"));
        tools::write_whole(&path, &self.encode(text))?;
        Ok(path)
    }

    fn stamp(&self) -> io::Result<Option<Stamp>> {
        match self.path.open_file() {
            Ok(Some(file)) => Ok(Some(Stamp::of(&FileStatus::of(&file)?))),
            // The name now belongs to a folder or a device.
            Ok(None) => Err(io::Error::other("it is not a regular file")),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Returns the path of a file to create. Its folder must exist: a typo in its name must not
/// create a folder.
fn new_path(path: &Path) -> io::Result<PathBuf> {
    let parent = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name() else {
        return Err(io::Error::other("the path names no file"));
    };
    Ok(canonicalize(parent)?.join(name))
}

/// A chat on disk. In a dry run, the file is neither locked nor written.
#[derive(Debug)]
pub struct StoredChat {
    folder: PathBuf,
    file: Option<ChatFile>,
    /// Keeps other programs from working on the file.
    lease: Option<Lease>,
    saving: Saving,
    is_dry_run: bool,
}

impl StoredChat {
    /// Creates a chat without a file.
    pub fn new(folder: PathBuf, is_dry_run: bool) -> Self {
        Self {
            folder,
            file: None,
            lease: None,
            saving: Saving::default(),
            is_dry_run,
        }
    }

    /// Returns the folder of the chat, or the current one if the chat was not read from a file.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the file's path.
    pub fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(ChatFile::path)
    }

    /// Locks a file before it is read, so that no other program works on it.
    pub fn lock(&mut self, path: &Path) -> Result<(), String> {
        if !self.is_dry_run {
            self.lease = take_lease(path)?;
        }
        Ok(())
    }

    /// Unlocks the file.
    pub fn unlock(&mut self) {
        self.lease.take();
    }

    /// Sets the file that the chat was read from.
    pub fn read_from(&mut self, file: ChatFile) {
        if let Some(folder) = tools::chat_folder(file.path()) {
            self.folder = folder;
        }
        self.file = Some(file);
    }

    /// Sets the file of a new chat, whose folder stays the current one.
    pub fn keep_in(&mut self, file: ChatFile) {
        self.file = Some(file);
    }

    /// Records that the text has changed.
    pub fn changed(&mut self) {
        // Otherwise a write that never happens would be due all the time.
        if self.file.is_some() && !self.is_dry_run {
            self.saving.changed();
        }
    }

    /// Returns when the next write is due.
    pub fn due(&self) -> Option<Instant> {
        self.saving.due()
    }

    /// Returns true if a write failed.
    pub fn is_lost(&self) -> bool {
        self.saving.is_lost()
    }

    /// Writes the file if the text has changed. After an error, which is for the user, nothing more is
    /// written.
    pub fn write(&mut self, text: &Text) -> Result<(), String> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // Copied, because the file is borrowed while it is written.
        let path = file.path().to_owned();
        let written = self.saving.write(|| file.write(text));
        written.map_err(|error| {
            format!(
                "{} cannot be written: {error}. The file is unchanged and the run stops.",
                path.display()
            )
        })
    }

    /// Writes the text to another file, and returns a message about it.
    pub fn write_beside(&self, text: &Text) -> Option<String> {
        Some(match self.file.as_ref()?.write_beside(text) {
            Ok(path) => format!("The chat of this run was written to {}.", path.display()),
            Err(error) => format!("The chat of this run cannot be written anywhere: {error}."),
        })
    }
}

fn take_lease(path: &Path) -> Result<Option<Lease>, String> {
    let program = LeaseHolder {
        name: "flemma send".to_owned(),
        pid: std::process::id(),
    };
    match lease::take(&tools::state_dir::path(), path, &program) {
        Ok(lease) => Ok(Some(lease)),
        Err(LeaseError::Held(by)) => Err(format!(
            "{} is open in {by}, so nothing was sent. Continue there, or write or close it there first.",
            path.display()
        )),
        // As in Neovim, this is no reason to stop. If the state folder is the problem, the
        // audit log cannot be written, and then no call runs.
        Err(LeaseError::Unknown(error)) => {
            tracing::warn!(%error, "the chat cannot be locked");
            Ok(None)
        }
    }
}

/// Minimum time between two writes while an answer arrives. At most a second of text may be
/// lost ("Reliability", first promise).
const INTERVAL: Duration = Duration::from_millis(200);
/// Writing takes at most this fraction of the time, as a divisor.
const SHARE: u32 = 10;

/// Decides when the file must be written.
#[derive(Debug, Default)]
pub struct Saving {
    unsaved: bool,
    not_before: Option<Instant>,
    /// True if a write failed: another program may have changed the file.
    lost: bool,
}

impl Saving {
    /// Records that the text has changed.
    pub fn changed(&mut self) {
        self.unsaved = true;
    }

    /// Returns when the next write is due.
    pub fn due(&self) -> Option<Instant> {
        (self.unsaved && !self.lost).then(|| self.not_before.unwrap_or_else(Instant::now))
    }

    /// Returns true if a write failed.
    pub fn is_lost(&self) -> bool {
        self.lost
    }

    /// Writes if the text has changed. Nothing is written after an error.
    pub fn write<E>(&mut self, write: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        if !self.unsaved {
            return Ok(());
        }
        let started = Instant::now();
        let written = write();
        match written {
            Ok(()) => {
                self.unsaved = false;
                // A slow disk gets more time between writes, so that the stream does not wait.
                let pause = INTERVAL.max(started.elapsed() * SHARE);
                self.not_before = Some(Instant::now() + pause);
            }
            Err(_) => self.lost = true,
        }
        written
    }
}

impl HeadlessRun {
    /// Writes the file if the text has changed.
    pub(super) fn save(&mut self) {
        if self.stored.is_lost() {
            // Once, at the end of the run.
            if self.end.code().is_some()
                && let Some(message) = self.stored.write_beside(self.buffer.text())
            {
                self.output.report(&message);
            }
            return;
        }
        if let Err(problem) = self.stored.write(self.buffer.text()) {
            self.outcome.failed = true;
            self.output.report(&problem);
            // Requests and calls whose outcome cannot be saved must not go on.
            self.press(Action::Cancel, 0);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn open(folder: &Path, content: &[u8]) -> (ChatFile, Text) {
        let path = folder.join("x.chat");
        fs::write(&path, content).unwrap();
        let (file, text) = ChatFile::open(&path).unwrap();
        (file, text.unwrap())
    }

    #[test]
    fn line_ends_and_byte_order_mark_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        for (content, lines, written) in [
            ("@You:\nx\n", "@You:\nx", "@You:\nx\n"),
            ("@You:\r\nx\r\n", "@You:\nx", "@You:\r\nx\r\n"),
            // One line has another end, so the carriage return is text.
            ("@You:\r\nx\n", "@You:\r\nx", "@You:\r\nx\n"),
            ("\u{feff}@You:\n", "@You:", "\u{feff}@You:\n"),
            // Neovim ends the last line when it writes.
            ("@You:", "@You:", "@You:\n"),
            ("@You:\r\nx", "@You:\nx", "@You:\r\nx\r\n"),
            ("@You:\nx\r", "@You:\nx\r", "@You:\nx\r\n"),
            ("@You:\n\n", "@You:\n", "@You:\n\n"),
            ("", "", ""),
        ] {
            let (mut file, text) = open(folder.path(), content.as_bytes());
            assert_eq!(text.bytes(), lines.as_bytes(), "{content:?}");
            file.write(&text).unwrap();
            assert_eq!(fs::read_to_string(file.path()).unwrap(), written);
        }
    }

    #[test]
    fn a_change_by_another_program_is_not_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let (mut file, text) = open(folder.path(), b"mine\n");
        file.write(&text).unwrap();
        fs::write(file.path(), "theirs, and longer\n").unwrap();
        assert!(matches!(file.write(&text), Err(WriteError::Changed)));
        let beside = file.write_beside(&text).unwrap();
        assert_eq!(fs::read_to_string(beside).unwrap(), "mine\n");
        assert_eq!(
            fs::read_to_string(file.path()).unwrap(),
            "theirs, and longer\n"
        );
    }

    #[test]
    fn a_file_in_a_missing_folder_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(ChatFile::open(&folder.path().join("no/x.chat")).is_err());
        let (file, text) = ChatFile::open(&folder.path().join("new.chat")).unwrap();
        assert!(text.is_none() && file.path().ends_with("new.chat"));
    }
}
