//! Contents of files, by the hash of their bytes: compressed, or shared with the original
//! where the file system can do that.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use platform::files::{PrivateOptions, copy_blocks};
use serde::{Deserialize, Serialize};

use super::image::MAX_FILE;
use crate::state_dir;

/// Distinguishes the temporary files of one process.
static NUMBER: AtomicU64 = AtomicU64::new(0);
/// Ending of a content that shares its blocks with the original, so it is not compressed.
const SHARED: &str = "raw";

/// The BLAKE3 hash of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// The hash of these bytes.
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self(*blake3::hash(bytes).as_bytes())
    }

    fn hex(self) -> String {
        blake3::Hash::from_bytes(self.0).to_hex().to_string()
    }
}

impl From<Hash> for String {
    fn from(hash: Hash) -> Self {
        hash.hex()
    }
}

impl TryFrom<String> for Hash {
    type Error = blake3::HexError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Ok(Self(*blake3::Hash::from_hex(text)?.as_bytes()))
    }
}

/// A folder of contents.
#[derive(Debug)]
pub(super) struct Objects {
    folder: PathBuf,
}

impl Objects {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the path of a compressed content.
    pub(super) fn path(&self, hash: Hash) -> PathBuf {
        let hex = hash.hex();
        self.folder.join(&hex[..2]).join(&hex[2..])
    }

    /// Returns true if a content is stored. Does not verify it.
    pub(super) fn has(&self, hash: Hash) -> bool {
        // A crash of the system can leave an empty file.
        self.size(hash) > 0
    }

    /// Bytes that a content takes on disk; 0 if it is not stored.
    pub(super) fn size(&self, hash: Hash) -> u64 {
        let path = self.path(hash);
        let size = |path: &Path| fs::metadata(path).map_or(0, |it| it.len());
        match size(&path) {
            0 => size(&path.with_extension(SHARED)),
            size => size,
        }
    }

    /// Stores a content, unless it is stored already.
    ///
    /// # Errors
    ///
    /// Any error of the file system. Nothing is stored then.
    pub(super) fn put(&self, hash: Hash, content: &[u8]) -> io::Result<()> {
        if self.has(hash) {
            return Ok(());
        }
        self.write(&self.path(hash), |file| {
            let mut encoder = DeflateEncoder::new(file, Compression::fast());
            encoder.write_all(content)?;
            encoder.finish().map(drop)
        })
    }

    /// Stores the content of an open file as a copy that shares its blocks. Returns false if
    /// the file system cannot do that, or the file has another content by now.
    pub(super) fn share(&self, hash: Hash, original: &File) -> bool {
        if self.has(hash) {
            return true;
        }
        let path = self.path(hash).with_extension(SHARED);
        let shared = self.write(&path, |file| copy_blocks(original, file));
        // Verified, because the file may have changed since it was hashed.
        shared.is_ok() && self.get(hash).is_ok()
    }

    /// Writes a new file beside `path` and renames it.
    fn write(&self, path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        state_dir::make_folder(folder)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let new = folder.join(format!(".new-{}-{number}", std::process::id()));
        // Not synced, which would take long. `get` finds what a crash has damaged.
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .private()
            .open(&new)
            .and_then(|mut file| fill(&mut file))
            .and_then(|()| fs::rename(&new, path));
        if written.is_err() {
            let _ = fs::remove_file(&new);
        }
        written
    }

    /// Reads a content and verifies it.
    ///
    /// # Errors
    ///
    /// It is missing, cannot be read, or is damaged. A damaged one is removed.
    pub(super) fn get(&self, hash: Hash) -> io::Result<Vec<u8>> {
        let path = self.path(hash);
        let mut content = Vec::new();
        let read = match File::open(&path) {
            // A damaged stream could expand to any size.
            Ok(file) => DeflateDecoder::new(file)
                .take(MAX_FILE + 1)
                .read_to_end(&mut content),
            // A content that shares its blocks has no compressed file.
            Err(_) => File::open(path.with_extension(SHARED))
                .and_then(|file| file.take(MAX_FILE + 1).read_to_end(&mut content)),
        };
        match read {
            Ok(_) if Hash::of(&content) == hash => return Ok(content),
            // Without permission, it is unknown whether the content is damaged.
            Err(error) if is_missing(&error) => return Err(error),
            _ => {}
        }
        // Removed, so that the next `put` stores it again.
        self.remove(hash);
        Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "its stored content is damaged",
        ))
    }

    /// Removes a content.
    pub(super) fn remove(&self, hash: Hash) {
        let path = self.path(hash);
        // At most one of the two exists.
        let _ = fs::remove_file(path.with_extension(SHARED));
        let _ = fs::remove_file(path);
    }

    /// All contents with their sizes on disk.
    pub(super) fn sizes(&self) -> Vec<(Hash, u64)> {
        let mut found = Vec::new();
        for folder in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let start = folder.file_name();
            for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let name = format!("{}{}", start.display(), entry.file_name().display());
                let hex = name.strip_suffix(&format!(".{SHARED}")).unwrap_or(&name);
                let hash = Hash::try_from(hex.to_owned());
                if let (Ok(hash), Ok(metadata)) = (hash, entry.metadata()) {
                    found.push((hash, metadata.len()));
                }
            }
        }
        found
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
    )
}
