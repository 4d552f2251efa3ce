//! A file that is to be changed: in the editor when it is open there, on disk
//! otherwise.
//!
//! Knows where text comes from and goes to, not what the change is.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use chat::truncate::floor_char_boundary;

use super::open::check_regular;
use super::{Encoding, Fingerprint, MAX_SIZE, RealPath};
use super::{atomic, blocking, check_size, file_error, open_regular};
use crate::buffers::{OpenBuffers, Replaced, Replacement};
use crate::error::ToolError;

/// Most bytes of what autocommands changed that the model is shown.
const DIFFERENCE_BYTES: usize = 4096;
const UNSAVED: &str = "The file is open in the editor with unsaved changes, so the change is in \
                       the editor and not on disk yet.";
const CONFLICT: &str = "On disk, another program changed it: only the user can decide which to \
                        keep.";
const FORMATTED: &str = "The user's editor changed the text as it was saved:";

/// A file that exists or can be made.
pub(crate) struct Target {
    path: RealPath,
    buffers: Arc<dyn OpenBuffers>,
}

/// The text of a file, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileText {
    /// The text, with its line ends and byte order mark.
    pub text: String,
    /// How it is stored. Of an open file the editor knows.
    encoding: Encoding,
}

/// What became of a new text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Size of the file or, while it is unsaved in the editor, of its text.
    pub bytes: u64,
    /// What the model should know beyond success, a sentence each.
    remarks: Vec<String>,
    /// What the file holds, where that is not the text that was to be stored.
    pub(crate) holds: Option<Fingerprint>,
}

impl Target {
    /// The file at `path`, which need not exist.
    ///
    /// # Errors
    ///
    /// [`ToolError::Failed`] when it is not a regular file.
    pub(crate) async fn find(
        path: RealPath,
        buffers: Arc<dyn OpenBuffers>,
    ) -> Result<Self, ToolError> {
        let real = path.clone();
        blocking(move || match real.stat() {
            Ok(Some(stat)) => check_regular(real.as_path(), stat.st_mode),
            Ok(None) => Ok(()),
            // What is wrong with the folders is known better when it is written.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
            Err(error) => Err(file_error("read", real.as_path(), &error)),
        })
        .await?;
        Ok(Self { path, buffers })
    }

    /// The real path.
    pub(crate) fn path(&self) -> &Path {
        self.path.as_path()
    }

    /// The same, for opening it.
    pub(super) fn real(&self) -> &RealPath {
        &self.path
    }

    /// Who may have it open.
    pub(super) fn buffers(&self) -> &dyn OpenBuffers {
        &*self.buffers
    }

    /// The text as the user has it: the buffer's, or the file's.
    ///
    /// # Errors
    ///
    /// When there is no such file, it cannot be read, is too large or no text.
    pub(crate) async fn text(&self) -> Result<FileText, ToolError> {
        if let Some(open) = self.buffers.text(self.path()).await {
            return Ok(FileText {
                text: open.text,
                encoding: Encoding::default(),
            });
        }
        let path = self.path.clone();
        blocking(move || read_text(&path)).await
    }

    /// Makes `text` the file's text; `expected` is what it must still be, or `None`
    /// to replace whatever is there and store UTF-8.
    ///
    /// # Errors
    ///
    /// When it has changed meanwhile or cannot be written; it is then as it was.
    pub(crate) async fn store(
        &self,
        expected: Option<FileText>,
        text: String,
    ) -> Result<Stored, ToolError> {
        if self.buffers.text(self.path()).await.is_some() {
            return self.store_open(expected, &text).await;
        }
        let path = self.path.clone();
        blocking(move || {
            let encoding = expected.as_ref().map_or(Encoding::Utf8, |it| it.encoding);
            let bytes = encoding
                .encode(&text)
                .map_err(|character| cannot_hold(path.as_path(), encoding, character))?;
            if expected.is_some_and(|expected| !is_still(&path, &expected)) {
                return Err(ToolError::Failed(format!(
                    "{} was changed by another program meanwhile; nothing was written. Read it \
                     again.",
                    path.as_path().display()
                )));
            }
            atomic::write_real(&path, &bytes)
                .map_err(|error| write_error(path.as_path(), &error))?;
            Ok(Stored {
                bytes: bytes.len() as u64,
                remarks: Vec::new(),
                holds: Some(Fingerprint::of(&bytes)),
            })
        })
        .await
    }

    /// Through the editor, which writes the file that was resolved or none.
    async fn store_open(
        &self,
        expected: Option<FileText>,
        text: &str,
    ) -> Result<Stored, ToolError> {
        let before = self.identity().await?;
        let new = Replacement {
            expected: expected.as_ref().map(|it| it.text.as_str()),
            text,
            as_utf8: expected.is_none(),
            file: before,
        };
        let replaced = self.buffers.replace(self.path(), new).await;
        let replaced = replaced.map_err(ToolError::Failed)?;
        // The editor writes in place: another file here is another one than it wrote.
        if replaced.saved && before.is_some() && self.identity().await? != before {
            return Err(ToolError::Failed(format!(
                "{} became another file while the editor wrote it. Read it again.",
                self.path().display()
            )));
        }
        Ok(Stored::of(replaced))
    }

    /// Device and inode of the file, or `None` when there is none.
    async fn identity(&self) -> Result<Option<(u64, u64)>, ToolError> {
        let path = self.path.clone();
        blocking(move || {
            let stat = path.stat();
            let stat = stat.map_err(|error| file_error("read", path.as_path(), &error))?;
            #[allow(clippy::useless_conversion, reason = "a signed number on macOS")]
            let device = |number| u64::try_from(number).unwrap_or_default();
            Ok(stat.map(|it| (device(it.st_dev), it.st_ino)))
        })
        .await
    }
}

impl Stored {
    fn of(replaced: Replaced) -> Self {
        let mut remarks = Vec::new();
        if !replaced.saved {
            remarks.push(UNSAVED.to_owned());
        }
        if replaced.conflict {
            remarks.push(CONFLICT.to_owned());
        }
        if let Some(difference) = replaced.difference {
            let difference = &difference[..floor_char_boundary(&difference, DIFFERENCE_BYTES)];
            remarks.push(format!("{FORMATTED}\n{}", difference.trim_end()));
        }
        Self {
            bytes: replaced.bytes,
            remarks,
            holds: replaced.text.map(|it| Fingerprint::of(it.as_bytes())),
        }
    }

    /// What the model should know beyond success, with a blank before it.
    pub(crate) fn remark(&self) -> String {
        self.remarks.iter().map(|it| format!(" {it}")).collect()
    }

    /// The size in words.
    pub(crate) fn size(&self) -> String {
        let unit = if self.bytes == 1 { "byte" } else { "bytes" };
        format!("{} {unit}", self.bytes)
    }
}

fn read_text(path: &RealPath) -> Result<FileText, ToolError> {
    let opened = open_regular(path)?;
    let path = path.as_path();
    check_size(path, opened.metadata.len())?;
    let mut bytes = Vec::new();
    let read = opened.file.take(MAX_SIZE + 1).read_to_end(&mut bytes);
    read.map_err(|error| file_error("read", path, &error))?;
    check_size(path, bytes.len() as u64)?;
    let (text, encoding) = Encoding::decode(bytes).ok_or_else(|| {
        ToolError::Failed(format!(
            "{} is a binary file, so an edit could damage it. Use bash.",
            path.display()
        ))
    })?;
    Ok(FileText { text, encoding })
}

fn is_still(path: &RealPath, expected: &FileText) -> bool {
    read_text(path).is_ok_and(|text| text == *expected)
}

fn cannot_hold(path: &Path, encoding: Encoding, character: char) -> ToolError {
    ToolError::Failed(format!(
        "{} is stored as {}, which cannot hold {character}. Nothing was changed.",
        path.display(),
        encoding.name()
    ))
}

fn write_error(path: &Path, error: &io::Error) -> ToolError {
    let reason = match error.kind() {
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        io::ErrorKind::NotADirectory => "a part of its path is a file".to_owned(),
        _ => error.to_string(),
    };
    ToolError::Failed(format!(
        "{} cannot be written: {reason}. It is as it was.",
        path.display()
    ))
}
