//! Contents by the hash of their bytes, in a folder: compressed, as they are, or shared with
//! the original file where the file system can do that.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use platform::files::copy_blocks;
use serde::{Deserialize, Serialize};

use crate::private::{self, TemporaryFile};
use crate::state_dir;

/// Ending of a content that is not compressed.
const PLAIN: &str = "raw";
/// The block size of most file systems, in bytes. A smaller content takes one block whether or not it is
/// compressed, and setting up the compressor takes longer than writing the content.
const BLOCK: usize = 4096;
/// Largest content that is read, in bytes (32 MiB).
const MAX_CONTENT: u64 = 32 * 1024 * 1024;

/// The BLAKE3 hash of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Hash([u8; 32]);

impl Hash {
    /// Returns the hash of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
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

/// Computes a [`Hash`] piece by piece.
#[derive(Debug, Clone, Default)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the hash of all bytes so far.
    pub fn finish(&self) -> Hash {
        Hash(*self.0.finalize().as_bytes())
    }
}

/// A folder of contents.
#[derive(Debug)]
pub struct Objects {
    folder: PathBuf,
}

impl Objects {
    /// Returns the contents in a folder, which need not exist.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the path of a compressed content.
    pub fn path(&self, hash: Hash) -> PathBuf {
        let hex = hash.hex();
        self.folder.join(&hex[..2]).join(&hex[2..])
    }

    /// Returns true if a content is stored. Does not verify it.
    pub fn has(&self, hash: Hash) -> bool {
        // A crash of the system can leave an empty file.
        self.size(hash) > 0
    }

    /// Bytes that a content takes on disk; 0 if it is not stored.
    pub fn size(&self, hash: Hash) -> u64 {
        let path = self.path(hash);
        let size = |path: &Path| fs::metadata(path).map_or(0, |it| it.len());
        match size(&path) {
            0 => size(&path.with_extension(PLAIN)),
            size => size,
        }
    }

    /// Stores a content, unless it is stored already.
    ///
    /// # Errors
    ///
    /// Any error of the file system. Nothing is stored then.
    pub fn put(&self, hash: Hash, content: &[u8]) -> io::Result<()> {
        // An empty file would count as one that a crash left.
        if (1..=BLOCK).contains(&content.len()) {
            return self.put_plain(hash, content);
        }
        if self.has(hash) {
            return Ok(());
        }
        self.write(&self.path(hash), |file| {
            let mut encoder = DeflateEncoder::new(file, Compression::fast());
            encoder.write_all(content)?;
            encoder.finish().map(drop)
        })
    }

    /// Stores a content like [`Objects::put`], without compressing it: ten times as fast.
    ///
    /// # Errors
    ///
    /// As for [`Objects::put`].
    pub fn put_plain(&self, hash: Hash, content: &[u8]) -> io::Result<()> {
        if self.has(hash) {
            return Ok(());
        }
        let path = self.path(hash).with_extension(PLAIN);
        self.write(&path, |file| file.write_all(content))
    }

    /// Stores the content of an open file as a copy that shares its blocks. Returns false if
    /// the file system cannot do that, or the file has another content by now.
    pub fn share(&self, hash: Hash, original: &File) -> bool {
        if self.has(hash) {
            return true;
        }
        let path = self.path(hash).with_extension(PLAIN);
        let shared = self.write(&path, |file| copy_blocks(original, file));
        // Verified, because the file may have changed since it was hashed.
        shared.is_ok() && self.get(hash).is_ok()
    }

    /// Writes a new file beside `path` and renames it.
    fn write(&self, path: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        let folder = path.parent().unwrap_or(&self.folder);
        state_dir::make_folder(folder)?;
        let mut new = TemporaryFile::make_in(folder, "")?;
        // Not synced, which would take long. `get` finds what a crash has damaged.
        fill(&mut new.file)?;
        new.replace(path)
    }

    /// Reads a content and verifies it.
    ///
    /// # Errors
    ///
    /// It is missing, cannot be read, or is damaged. A damaged one is removed.
    pub fn get(&self, hash: Hash) -> io::Result<Vec<u8>> {
        let path = self.path(hash);
        let mut content = Vec::new();
        let read = match File::open(&path) {
            // A damaged stream could expand to any size.
            Ok(file) => DeflateDecoder::new(file)
                .take(MAX_CONTENT + 1)
                .read_to_end(&mut content),
            // A content is compressed or not, never both.
            Err(_) => File::open(path.with_extension(PLAIN))
                .and_then(|file| file.take(MAX_CONTENT + 1).read_to_end(&mut content)),
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
    pub fn remove(&self, hash: Hash) {
        let path = self.path(hash);
        // At most one of the two exists.
        let _ = fs::remove_file(path.with_extension(PLAIN));
        let _ = fs::remove_file(path);
    }

    /// All contents with their sizes on disk.
    pub fn sizes(&self) -> Vec<(Hash, u64)> {
        let mut found = Vec::new();
        for folder in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let start = folder.file_name();
            // What a process that was killed while it wrote has left.
            private::sweep(&folder.path());
            for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let name = format!("{}{}", start.display(), entry.file_name().display());
                let hex = name.strip_suffix(&format!(".{PLAIN}")).unwrap_or(&name);
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
