//! Fingerprints that show whether a file has changed, without keeping its content.

use std::fs::File;
use std::io::{self, Read};

use platform::files::FileStatus;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{MAX_SIZE, RealPath, open_regular};
use crate::error::ToolError;

/// Bytes read at a time.
const PIECE: usize = 64 * 1024;
/// Nanoseconds of a second.
const SECOND: i64 = 1_000_000_000;
/// The fingerprint of a missing file.
const ABSENT: &str = "absent";

/// Identifies the content of a file. For a file larger than [`MAX_SIZE`] it consists of size,
/// times, device, and inode instead of a hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    /// The fingerprint of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        Self::digest(&Sha256::digest(bytes))
    }

    /// The fingerprint of a file on disk, which may be missing. Blocking.
    ///
    /// # Errors
    ///
    /// It is not a regular file or can't be read; a sentence.
    pub fn of_file(path: &RealPath) -> Result<Self, ToolError> {
        let opened = match open_regular(path) {
            Err(ToolError::NotFound(_)) => return Ok(Self::absent()),
            opened => opened?,
        };
        // Hashing gigabytes would delay the key that approves a call.
        if opened.status.size > MAX_SIZE {
            return Ok(Self::large(&opened.status));
        }
        let read = hash(opened.file);
        read.map_err(|error| super::file_error("read", path.as_path(), &error))
    }

    /// The fingerprint of a missing file.
    pub(crate) fn absent() -> Self {
        Self(ABSENT.to_owned())
    }

    /// Whether the file was missing.
    pub fn is_absent(&self) -> bool {
        self.0 == ABSENT
    }

    fn digest(bytes: &[u8]) -> Self {
        let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Self(format!("sha256:{digits}"))
    }

    fn large(it: &FileStatus) -> Self {
        let time = |time: i64| {
            let (seconds, nanos) = (time.div_euclid(SECOND), time.rem_euclid(SECOND));
            format!("{seconds}.{nanos:09}")
        };
        Self(format!(
            "large:{}:{}:{}:{}:{}",
            it.size,
            time(it.modified),
            time(it.changed),
            it.id.device,
            it.id.inode
        ))
    }
}

/// Hashes a file. The size is bounded in case the file grows at the same time.
fn hash(file: File) -> io::Result<Fingerprint> {
    let mut file = file.take(MAX_SIZE + 1);
    let mut hash = Sha256::new();
    let mut piece = vec![0; PIECE];
    loop {
        match file.read(&mut piece) {
            Ok(0) => return Ok(Fingerprint::digest(&hash.finalize())),
            Ok(count) => hash.update(&piece[..count]),
            // A signal interrupted the system call before it read anything.
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_known_by_what_it_holds_and_a_large_one_by_its_place_and_times() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| RealPath::of(&folder.path().join(name)).unwrap();
        let real = at("f");
        let path = real.as_path();
        assert!(Fingerprint::of_file(&real).unwrap().is_absent());
        std::fs::write(path, "one").unwrap();
        let one = Fingerprint::of_file(&real).unwrap();
        assert_eq!(one, Fingerprint::of(b"one"));
        std::fs::write(path, "two").unwrap();
        assert_ne!(Fingerprint::of_file(&real).unwrap(), one);

        let large = at("large");
        let file = std::fs::File::create(large.as_path()).unwrap();
        file.set_len(MAX_SIZE + 1).unwrap();
        let before = Fingerprint::of_file(&large).unwrap();
        assert_eq!(Fingerprint::of_file(&large).unwrap(), before);
        // Swapped for one of the same size.
        let other = folder.path().join("other");
        let file = std::fs::File::create(&other).unwrap();
        file.set_len(MAX_SIZE + 1).unwrap();
        std::fs::rename(&other, large.as_path()).unwrap();
        assert_ne!(Fingerprint::of_file(&large).unwrap(), before);
    }

    #[test]
    fn what_is_no_file_has_none() {
        for path in ["/", "/dev/zero"] {
            let real = RealPath::of(std::path::Path::new(path)).unwrap();
            assert!(Fingerprint::of_file(&real).is_err(), "{path}");
        }
    }
}
