//! A file that is to be changed: in the editor when it is open there, on disk
//! otherwise.
//!
//! Knows where text comes from and goes to, not what the change is.

use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::open::check_regular;
use super::{Fingerprint, RealPath, atomic, blocking, file_error, open_regular};
use crate::buffers::OpenBuffers;
use crate::tool::{ToolContext, ToolError};

/// Largest file that is changed; it is held in memory (64 MB).
const MAX_SIZE: u64 = 64 * 1024 * 1024;

/// A file that exists or can be made.
pub(crate) struct Target {
    path: RealPath,
    buffers: Arc<dyn OpenBuffers>,
}

/// Where a new text went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    /// Into the file.
    OnDisk,
    /// Into the editor's buffer, which has unsaved changes of the user.
    InBuffer,
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
    /// When there is no such file, it cannot be read, is too large or not UTF-8.
    pub(crate) async fn text(&self) -> Result<String, ToolError> {
        if let Some(open) = self.buffers.text(self.path()).await {
            return Ok(open.text);
        }
        let path = self.path.clone();
        blocking(move || read_text(&path)).await
    }

    /// As [`Target::store`], for a call that has the file's lock: where the user approved
    /// it by hand, only while the file is as they saw it.
    ///
    /// # Errors
    ///
    /// It is not, or as [`Target::store`]; it is then as it was.
    pub(crate) async fn store_as_shown(
        &self,
        ctx: &ToolContext,
        expected: Option<String>,
        text: String,
    ) -> Result<Stored, ToolError> {
        let Some(shown) = &ctx.shown else {
            ctx.sandbox.writes(self.path(), &text);
            return self.store(expected, text).await;
        };
        let now = self.standing().await;
        if let Some(became) = shown.became(&now) {
            return Err(ToolError::Failed(format!(
                "{} {became}: it is not as the user saw it when they approved this call, so \
                 nothing was written. Read it again.",
                shown.standing.path.display()
            )));
        }
        // Known before it happens: whoever looks right then is not to be surprised.
        shown.changes_to(now, Fingerprint::of(text.as_bytes()));
        ctx.sandbox.writes(self.path(), &text);
        self.store(expected, text).await
    }

    /// Makes `text` the file's text; `expected` is what it must still be, or `None`
    /// to replace whatever is there.
    ///
    /// # Errors
    ///
    /// When it has changed meanwhile or cannot be written; it is then as it was.
    pub(crate) async fn store(
        &self,
        expected: Option<String>,
        text: String,
    ) -> Result<Stored, ToolError> {
        if let Some(open) = self.buffers.text(self.path()).await {
            let expected = expected.unwrap_or(open.text);
            let saved = self.buffers.replace(self.path(), &expected, &text).await;
            let saved = saved.map_err(ToolError::Failed)?;
            return Ok(if saved {
                Stored::OnDisk
            } else {
                Stored::InBuffer
            });
        }
        let path = self.path.clone();
        blocking(move || {
            if expected.is_some_and(|expected| !is_still(&path, &expected)) {
                return Err(ToolError::Failed(format!(
                    "{} was changed by another program meanwhile; nothing was written. Read it \
                     again.",
                    path.as_path().display()
                )));
            }
            atomic::write_real(&path, text.as_bytes())
                .map_err(|error| write_error(path.as_path(), &error))
        })
        .await?;
        Ok(Stored::OnDisk)
    }
}

impl Stored {
    /// What the model should know beyond success, with a blank before it.
    pub(crate) fn remark(self) -> &'static str {
        match self {
            Self::OnDisk => "",
            Self::InBuffer => {
                " The file is open in the editor with unsaved changes, so the change is in the \
                 editor and not on disk yet."
            }
        }
    }
}

fn read_text(path: &RealPath) -> Result<String, ToolError> {
    let opened = open_regular(path)?;
    let path = path.as_path();
    let too_large = || {
        ToolError::Failed(format!(
            "{} is larger than 64 MB, too large to be edited. Use bash.",
            path.display()
        ))
    };
    if opened.metadata.len() > MAX_SIZE {
        return Err(too_large());
    }
    let mut bytes = Vec::new();
    let read = opened.file.take(MAX_SIZE + 1).read_to_end(&mut bytes);
    read.map_err(|error| file_error("read", path, &error))?;
    if bytes.len() as u64 > MAX_SIZE {
        return Err(too_large());
    }
    String::from_utf8(bytes).map_err(|_| {
        ToolError::Failed(format!(
            "{} is not UTF-8 text, so an edit could damage it. Use bash.",
            path.display()
        ))
    })
}

fn is_still(path: &RealPath, expected: &str) -> bool {
    read_text(path).is_ok_and(|text| text == expected)
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
