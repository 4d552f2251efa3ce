//! The file for a long output, bounded in size.
//!
//! If the file can't be written, only the rest of the output is lost, never the call.

use std::io;
use std::path::{Path, PathBuf};

use chat::truncate::floor_char_boundary;
use platform::files::make_private_folders;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};

use super::capture::FullOutput;

/// Maximum size of a file (100 MB).
const MAX_ON_DISK: usize = 100 * 1024 * 1024;

/// The size of the write buffer; commands print in small pieces.
const BUFFER: usize = 256 * 1024;

/// A file that is created on demand.
pub(crate) struct Overflow {
    directory: PathBuf,
    prefix: String,
    state: State,
}

enum State {
    NotNeeded,
    Open {
        file: BufWriter<File>,
        path: PathBuf,
        written: usize,
    },
    Full(PathBuf),
    Lost(String),
}

impl Overflow {
    /// A file in `directory` whose name starts with the tool's `name` and the call's `id`.
    pub(crate) fn new(directory: &Path, name: &str, id: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            prefix: prefix(name, id),
            state: State::NotNeeded,
        }
    }

    /// Whether the file was needed, even if it could not be written.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, State::NotNeeded)
    }

    pub(crate) async fn open(&mut self) {
        self.state = match create(&self.directory, &self.prefix) {
            Ok((file, path)) => State::Open {
                file: BufWriter::with_capacity(BUFFER, File::from_std(file)),
                path,
                written: 0,
            },
            Err(error) => State::Lost(error.to_string()),
        };
    }

    pub(crate) async fn write(&mut self, text: &str) {
        let State::Open {
            file,
            path,
            written,
        } = &mut self.state
        else {
            return;
        };
        // Cut at a character, so that the file stays valid UTF-8.
        let room = floor_char_boundary(text, MAX_ON_DISK - *written);
        if let Err(error) = file.write_all(&text.as_bytes()[..room]).await {
            self.state = State::Lost(error.to_string());
            return;
        }
        *written += room;
        if room < text.len() {
            let path = std::mem::take(path);
            let flushed = file.flush().await;
            self.state = flushed.map_or_else(
                |error| State::Lost(error.to_string()),
                |()| State::Full(path),
            );
        }
    }

    /// Closes the file. Removes it if the output turned out to be short.
    pub(crate) async fn finish(self, is_short: bool) -> Option<FullOutput> {
        let full = match self.state {
            State::NotNeeded => return None,
            State::Open { mut file, path, .. } => match file.flush().await {
                Ok(()) => FullOutput::Whole(path),
                Err(error) => FullOutput::Lost(error.to_string()),
            },
            State::Full(path) => FullOutput::Start(path),
            State::Lost(reason) => FullOutput::Lost(reason),
        };
        match &full {
            FullOutput::Whole(path) if is_short => {
                // The result contains the whole output. A file that stays does no harm.
                let _ = tokio::fs::remove_file(path).await;
                None
            }
            _ => Some(full),
        }
    }
}

/// Writes bytes to a file named like an [`Overflow`]. Blocking.
///
/// # Errors
///
/// The file can't be written.
pub(crate) fn keep(directory: &Path, name: &str, id: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let (mut file, path) = create(directory, &prefix(name, id))?;
    io::Write::write_all(&mut file, bytes)?;
    Ok(path)
}

/// The start of a file name. Removes characters of the id that are special in paths.
fn prefix(name: &str, id: &str) -> String {
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
    let safe: String = id.chars().filter(is_plain).collect();
    // An id may be long, and a name has at most 255 bytes.
    format!("{name}-{safe:.40}-")
}

/// Creates a file, and its directory if needed, that only the user can read.
fn create(directory: &Path, prefix: &str) -> io::Result<(std::fs::File, PathBuf)> {
    // Output may contain what only the user may read.
    make_private_folders(directory)?;
    // A random name that is created exclusively, with mode 0600.
    let file = tempfile::Builder::new()
        .prefix(prefix)
        .suffix(".log")
        .tempfile_in(directory)?;
    file.keep().map_err(|error| error.error)
}
