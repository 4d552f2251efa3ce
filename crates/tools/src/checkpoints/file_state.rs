//! The state of a path: a file with its content's hash, a symbolic link, or nothing.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use platform::files::FileKind;
use platform::paths;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::files::RealPath;
use crate::objects::{Hash, Objects};

/// Largest file that a checkpoint holds, in bytes (16 MiB).
pub(super) const MAX_FILE: u64 = 16 * 1024 * 1024;
/// Minimum size in bytes of a content that shares its blocks with the file, if the file system
/// supports that. Smaller contents take less when they are compressed.
const SHARE_FROM: usize = 256 * 1024;
/// The bits of a mode that a checkpoint restores.
const MODE: u32 = 0o7777;

/// The state of a path: a file, a link, or nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileState {
    /// Nothing.
    Absent,
    /// A regular file.
    File {
        /// The hash of its content.
        hash: Hash,
        /// Its permission bits.
        mode: u32,
    },
    /// A symbolic link.
    Link(StoredPath),
    /// Something that no checkpoint covers; the reason.
    NotCovered(String),
}

/// A path, which may not be UTF-8.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StoredPath(pub PathBuf);

/// A file state with the content of a file.
pub(crate) struct Captured {
    /// The state.
    pub(crate) file_state: FileState,
    pub(super) content: Option<Vec<u8>>,
    /// The file on disk that has the content.
    pub(super) file: Option<File>,
    /// True for text that was not saved.
    pub(super) unsaved: bool,
}

impl FileState {
    /// The file state of a regular file with this content.
    pub(crate) fn file(content: &[u8], mode: u32) -> Self {
        Self::File {
            hash: Hash::of(content),
            mode: mode & MODE,
        }
    }

    /// The hash of a file's content, and its mode.
    pub(super) fn as_file(&self) -> Option<(Hash, u32)> {
        match self {
            Self::File { hash, mode } => Some((*hash, *mode)),
            _ => None,
        }
    }

    /// The hash of a file's content.
    pub(super) fn hash(&self) -> Option<Hash> {
        self.as_file().map(|(hash, _)| hash)
    }

    /// Why no checkpoint covers it, if none does.
    pub(super) fn lack(&self) -> Option<&str> {
        match self {
            Self::NotCovered(why) => Some(why),
            _ => None,
        }
    }

    /// The mode of a file.
    pub(crate) fn mode(&self) -> Option<u32> {
        self.as_file().map(|(_, mode)| mode)
    }
}

impl Captured {
    /// Reads what is at a path on disk, without following links. Blocking.
    pub(crate) fn on_disk(path: &RealPath) -> Self {
        match read(path) {
            Ok(captured) => captured,
            Err(error) => Self::not_covered(format!("it cannot be read: {error}")),
        }
    }

    /// A file with this content.
    pub(super) fn file(content: Vec<u8>, mode: u32) -> Self {
        let file_state = FileState::file(&content, mode);
        Self {
            content: Some(content),
            ..Self::of(file_state)
        }
    }

    /// A file state that no checkpoint covers.
    pub(super) fn not_covered(why: impl Into<String>) -> Self {
        Self::of(FileState::NotCovered(why.into()))
    }

    pub(super) fn of(file_state: FileState) -> Self {
        Self {
            file_state,
            content: None,
            file: None,
            unsaved: false,
        }
    }

    /// Stores the content. A file state that cannot be stored becomes one that is not covered.
    pub(super) fn store(self, objects: &Objects) -> FileState {
        let (FileState::File { hash, .. }, Some(content)) = (&self.file_state, &self.content)
        else {
            return self.file_state;
        };
        let file = self.file.as_ref().filter(|_| content.len() >= SHARE_FROM);
        if file.is_some_and(|it| objects.share(*hash, it)) {
            return self.file_state;
        }
        match objects.put(*hash, content) {
            Ok(()) => self.file_state,
            Err(error) => FileState::NotCovered(format!("it could not be stored: {error}")),
        }
    }
}

fn read(path: &RealPath) -> io::Result<Captured> {
    let status = match path.status() {
        Ok(Some(status)) => status,
        Ok(None) => return Ok(Captured::of(FileState::Absent)),
        Err(error) => {
            let mut above = path.as_path().ancestors().skip(1);
            // A part of the path is a file or a link, so nothing is there.
            let is_in_file = error.kind() == io::ErrorKind::NotADirectory;
            if is_in_file || above.any(Path::is_symlink) {
                return Ok(Captured::of(FileState::Absent));
            }
            return Err(error);
        }
    };
    match status.kind {
        FileKind::File => read_file(path, status.mode),
        FileKind::Link => {
            let (folder, name) = path.open_parent()?;
            Ok(Captured::of(FileState::Link(StoredPath(
                folder.read_link(name)?,
            ))))
        }
        FileKind::Folder => Ok(Captured::not_covered("it is a folder")),
        // A pipe, socket, or device has no content that could be restored.
        _ => Ok(Captured::not_covered("it is not a regular file")),
    }
}

fn read_file(path: &RealPath, mode: u32) -> io::Result<Captured> {
    // Something else may have replaced it since its status was read.
    let Some(file) = path.open_file()? else {
        return Ok(Captured::not_covered("it is not a regular file"));
    };
    let mut content = Vec::new();
    // Not by the size in the status: the file may be growing.
    (&file).take(MAX_FILE + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_FILE {
        return Ok(Captured::not_covered("it is larger than 16 MB"));
    }
    Ok(Captured {
        file: Some(file),
        ..Captured::file(content, mode)
    })
}

impl StoredPath {
    /// The path.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Serialize for StoredPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Nearly all names are UTF-8, and text is shorter than a list of numbers.
        match self.0.to_str() {
            Some(text) => serializer.serialize_str(text),
            None => paths::bytes(self.0.as_os_str()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for StoredPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        /// A path as it is stored.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Stored {
            Text(String),
            Bytes(Vec<u8>),
        }
        Ok(Self(match Stored::deserialize(deserializer)? {
            Stored::Text(text) => text.into(),
            Stored::Bytes(bytes) => paths::from_bytes(bytes).into(),
        }))
    }
}
