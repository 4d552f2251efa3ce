//! The file of a chat. It is read as Neovim reads it, and written as a whole, with its line
//! ends, byte order mark, and mode.
//!
//! A file that another program has changed meanwhile is not written.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use chat::text::Text;
use platform::files::{FileId, FileStatus};
use platform::paths::canonicalize;
use tools::RealPath;

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
        // Of the opened file and before it is read: a change during the reading shows as another
        // stamp.
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
        // What another program wrote meanwhile must not be lost.
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
