//! A file to be modified, through the editor if it is open there and on disk otherwise.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use chat::truncate::floor_char_boundary;
use platform::files::FileId;

use super::path::{Parents, check_regular};
use super::text::{Before, Expected, FileText, Unshown};
use super::{
    Encoding, Fingerprint, MAX_SIZE, RealPath, atomic, blocking, check_size, file_error,
    open_regular,
};
use crate::buffers::{OpenBuffers, Replaced, Replacement};
use crate::error::ToolError;

/// Maximum number of bytes shown of an autocommand's changes.
const DIFFERENCE_BYTES: usize = 4096;
const UNSAVED: &str = "The file is open in the editor with unsaved changes, so the change is in \
                       the editor and not on disk yet.";
const CONFLICT: &str = "On disk, another program changed it: only the user can decide which to \
                        keep.";
const FORMATTED: &str = "The user's editor changed the text as it was saved:";

/// A file that exists or can be created.
#[derive(Clone)]
pub(crate) struct FileTarget {
    path: RealPath,
    buffers: Arc<dyn OpenBuffers>,
}

/// The result of storing a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Stored {
    /// Size of the file or, if it is unsaved in the editor, of its text.
    pub bytes: u64,
    /// Remarks for the model besides success, a sentence each.
    remarks: Vec<String>,
    /// The content of the file, if it differs from the text to be stored.
    pub(crate) holds: Option<Fingerprint>,
}

impl FileTarget {
    /// The file at `path`, which may not exist yet.
    ///
    /// # Errors
    ///
    /// [`ToolError::Failed`] if it is not a regular file.
    pub(crate) async fn find(
        path: RealPath,
        buffers: Arc<dyn OpenBuffers>,
    ) -> Result<Self, ToolError> {
        let real = path.clone();
        blocking(move || match real.status() {
            Ok(Some(status)) => check_regular(real.as_path(), status.kind),
            Ok(None) => Ok(()),
            // Writing reports problems with the folders more precisely.
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

    /// The resolved path, for opening the file.
    pub(crate) fn real(&self) -> &RealPath {
        &self.path
    }

    /// The editor, which may have the file open.
    pub(crate) fn buffers(&self) -> &dyn OpenBuffers {
        &*self.buffers
    }

    /// The current text: the buffer's if the file is open, otherwise the file's.
    ///
    /// # Errors
    ///
    /// The file does not exist, can't be read, is too large, or is binary.
    pub(crate) async fn text(&self) -> Result<FileText, ToolError> {
        if let Some(open) = self.buffers.text(self.path()).await {
            return Ok(FileText {
                text: open.text,
                // The editor encodes the text when it writes the file.
                encoding: Encoding::default(),
            });
        }
        let path = self.path.clone();
        blocking(move || read_text(&path).map_err(|(_, error)| error)).await
    }

    /// The current content, for a tool that can replace any.
    ///
    /// # Errors
    ///
    /// The file became something else than a regular file.
    pub(crate) async fn before(&self) -> Result<Before, ToolError> {
        if let Some(open) = self.buffers.text(self.path()).await {
            return Ok(Before::Text(FileText {
                text: open.text,
                encoding: Encoding::default(),
            }));
        }
        let path = self.path.clone();
        blocking(move || match read_text(&path) {
            Ok(text) => Ok(Before::Text(text)),
            Err((_, ToolError::NotFound(_))) => Ok(Before::Absent),
            Err((why, _)) => Ok(Before::Other(why)),
        })
        .await
    }

    /// Replaces the text of the file, or creates it, if it is still as expected.
    ///
    /// # Errors
    ///
    /// The file has changed in the meantime or can't be written. It is unchanged then.
    pub(crate) async fn store(
        &self,
        expected: Expected,
        text: String,
    ) -> Result<Stored, ToolError> {
        if self.buffers.text(self.path()).await.is_some() {
            // Otherwise the buffer and the file would differ.
            return self.store_open(&expected, &text).await;
        }
        let path = self.path.clone();
        blocking(move || {
            let encoding = expected.encoding().unwrap_or_default();
            let bytes = encoding
                .encode(&text)
                .map_err(|character| cannot_hold(path.as_path(), encoding, character))?;
            // As late as possible: until the rename, other programs can still write to the file.
            if !is_still(&path, &expected) {
                return Err(interfered(path.as_path(), "changed"));
            }
            let old = path.status().ok().flatten();
            let written = match expected {
                Expected::Absent => atomic::create_real(&path, &bytes),
                _ => atomic::write_real(&path, &bytes),
            };
            let written = written.map_err(|error| write_error(path.as_path(), &error))?;
            let others = old
                .filter(|it| it.id != written.id)
                .map_or(0, |it| it.links.saturating_sub(1));
            Ok(Stored {
                bytes: bytes.len() as u64,
                remarks: (others > 0)
                    .then(|| left_names(others))
                    .into_iter()
                    .collect(),
                holds: Some(Fingerprint::of(&bytes)),
            })
        })
        .await
    }

    /// Stores the text through the editor, which writes the resolved file or none.
    async fn store_open(&self, expected: &Expected, text: &str) -> Result<Stored, ToolError> {
        let before = self.identity().await?;
        let new = Replacement {
            expected: expected.text(),
            text,
            as_utf8: expected.encoding().is_none(),
            file: before,
        };
        let replaced = self.buffers.replace(self.path(), new).await;
        let replaced = replaced.map_err(ToolError::Failed)?;
        // The editor writes in place, so a different inode means that another file took its
        // place.
        if replaced.saved && before.is_some() && self.identity().await? != before {
            return Err(ToolError::Failed(format!(
                "{} became another file while the editor wrote it. Read it again.",
                self.path().display()
            )));
        }
        Ok(Stored::of(replaced))
    }

    /// Identifies the file; `None` if it does not exist.
    async fn identity(&self) -> Result<Option<FileId>, ToolError> {
        let path = self.path.clone();
        blocking(move || {
            let status = path.status();
            let status = status.map_err(|error| file_error("read", path.as_path(), &error))?;
            Ok(status.map(|it| it.id))
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
            // Without the last line end, because other remarks follow.
            remarks.push(format!("{FORMATTED}\n{}", difference.trim_end()));
        }
        Self {
            bytes: replaced.bytes,
            remarks,
            holds: replaced.text.map(|it| Fingerprint::of(it.as_bytes())),
        }
    }

    /// The remarks, each preceded by a space.
    pub(crate) fn remark(&self) -> String {
        self.remarks.iter().map(|it| format!(" {it}")).collect()
    }

    /// The size in words.
    pub(crate) fn size(&self) -> String {
        let unit = if self.bytes == 1 { "byte" } else { "bytes" };
        format!("{} {unit}", self.bytes)
    }
}

/// The text of a file on disk.
///
/// # Errors
///
/// It can't be read, is too large, or is binary.
pub(crate) fn read_text(path: &RealPath) -> Result<FileText, (Unshown, ToolError)> {
    let unreadable = |error| (Unshown::Unreadable, error);
    let too_large = |error| (Unshown::TooLarge, error);
    let opened = open_regular(path).map_err(unreadable)?;
    let path = path.as_path();
    check_size(path, opened.status.size).map_err(too_large)?;
    let mut bytes = Vec::new();
    let read = opened.file.take(MAX_SIZE + 1).read_to_end(&mut bytes);
    read.map_err(|error| unreadable(file_error("read", path, &error)))?;
    // The file may have grown since its size was read.
    check_size(path, bytes.len() as u64).map_err(too_large)?;
    let (text, encoding) = Encoding::decode(bytes).ok_or_else(|| {
        let problem = format!(
            "{} is a binary file, so an edit could damage it. Use bash.",
            path.display()
        );
        (Unshown::Binary, ToolError::Failed(problem))
    })?;
    Ok(FileText { text, encoding })
}

/// Says that a hard link was broken.
fn left_names(others: u64) -> String {
    let names = match others {
        1 => "another name (a hard link), which still leads".to_owned(),
        _ => format!("{others} other names (hard links), which still lead"),
    };
    format!("The file had {names} to the old content: it is now a file of its own.")
}

fn is_still(path: &RealPath, expected: &Expected) -> bool {
    match expected {
        Expected::Replaced(expected) | Expected::Changed(expected) => {
            read_text(path).is_ok_and(|text| text == *expected)
        }
        // That no file is there is checked by the system.
        Expected::Any | Expected::Absent => true,
    }
}

fn cannot_hold(path: &Path, encoding: Encoding, character: char) -> ToolError {
    ToolError::Failed(format!(
        "{} is stored as {}, which cannot hold {character}. Nothing was changed.",
        path.display(),
        encoding.name()
    ))
}

fn interfered(path: &Path, how: &str) -> ToolError {
    ToolError::Failed(format!(
        "{} was {how} by another program in the meantime, so nothing was written. Read it again.",
        path.display()
    ))
}

pub(super) fn write_error(path: &Path, error: &io::Error) -> ToolError {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return interfered(path, "created");
    }
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

// Deletes and renames files, without following links and never over another file.

impl FileTarget {
    /// Deletes the file, if it has the text `expected` and no unsaved changes. Returns its
    /// permissions.
    ///
    /// # Errors
    ///
    /// As described, or an error of the system. The file is unchanged then.
    pub(crate) async fn remove(&self, expected: &FileText) -> Result<u32, ToolError> {
        // A buffer with unsaved changes would write the file again.
        self.check_saved().await?;
        let (path, text) = (self.real().clone(), expected.text.clone());
        blocking(move || {
            check_text(&path, &text)?;
            let removed = path.open_parent().and_then(|(folder, name)| {
                let mode = path.status()?.map(|it| it.permissions());
                folder.remove_file(name)?;
                Ok(mode.unwrap_or_default())
            });
            removed.map_err(|error| file_error("deleted", path.as_path(), &error))
        })
        .await
    }

    /// Creates a file again that was deleted.
    ///
    /// # Errors
    ///
    /// A file is there again, or an error of the system.
    pub(crate) async fn recreate(&self, text: FileText, mode: u32) -> Result<(), ToolError> {
        let path = self.real().clone();
        blocking(move || {
            let bytes = text.bytes().unwrap_or_default();
            let created = atomic::create_real(&path, &bytes).and_then(|_| {
                // After the write, because the mode may forbid writing.
                let (folder, name) = path.open_parent()?;
                folder.set_permissions(name, mode)
            });
            created.map_err(|error| file_error("created", path.as_path(), &error))
        })
        .await
    }

    /// Renames the file to `to`, where no file may be, if it has the text `expected` and no
    /// unsaved changes. Missing folders are created.
    ///
    /// # Errors
    ///
    /// As described, or an error of the system. The file is unchanged then.
    pub(crate) async fn rename(&self, to: &FileTarget, expected: &str) -> Result<(), ToolError> {
        self.check_saved().await?;
        let (path, to, text) = (self.real().clone(), to.real().clone(), expected.to_owned());
        blocking(move || {
            check_text(&path, &text)?;
            let failed = |error| file_error("renamed", path.as_path(), &error);
            let (from, old) = path.open_parent().map_err(failed)?;
            let (_, new) = to.split().map_err(failed)?;
            let parents = Parents::make(&to).map_err(failed)?;
            // Unlike rename(2), this never replaces a file.
            let renamed = from.rename_to_free(old, &parents.folder, new);
            renamed.map_err(failed)?;
            parents.keep();
            Ok(())
        })
        .await
    }

    /// Checks that the file has no unsaved changes in the editor.
    async fn check_saved(&self) -> Result<(), ToolError> {
        match self.buffers().text(self.path()).await {
            Some(open) if open.modified => Err(ToolError::Failed(format!(
                "{} has unsaved changes in the editor, so it can be neither deleted nor moved.",
                self.path().display()
            ))),
            _ => Ok(()),
        }
    }
}

fn check_text(path: &RealPath, expected: &str) -> Result<(), ToolError> {
    match read_text(path) {
        Ok(now) if now.text == expected => Ok(()),
        _ => Err(changed(path.as_path())),
    }
}

fn changed(path: &Path) -> ToolError {
    ToolError::Failed(format!(
        "{} was changed by another program in the meantime. Read it again.",
        path.display()
    ))
}
