//! Reads the files that a chat refers to: checks whether they may be read, and finds their type.
//!
//! The type is determined by a file's first bytes, not by its name.

use std::fmt;
use std::fs::Metadata;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chat::prompt::Content;
use platform::paths::{self, canonicalize, of_reference};
use serde::{Deserialize, Serialize};
use tools::{RealPath, SecretFile, Secrets, sniffed};

use super::{Agreed, ContextText, Objection, Resource};

/// Maximum bytes of a file, and of all files of a message: 20 MB, which is below the limits of
/// providers for one request even in Base64.
pub const MAX_BYTES: u64 = 20 * 1024 * 1024;

/// The folders from which references start, and the boundary of the project.
#[derive(Debug, Clone)]
pub struct Folders {
    /// The chat's own folder, from which `./` and `../` start.
    pub chat: PathBuf,
    /// The project. A file that is neither in it nor in the chat's folder is outside.
    pub project: PathBuf,
    /// The folder from which `~/` starts.
    pub home: Option<PathBuf>,
    /// Files that are sent only if the user agrees, inside the project too.
    pub secrets: Arc<Secrets>,
}

/// Why a file is not sent. Displayed after the reference: "@./x does not exist."
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such file.
    Missing,
    /// It is outside the project, at this real path, and the user did not allow its
    /// present content.
    Outside(PathBuf, Objection),
    /// It is secret, at this real path, and the user did not allow its present content.
    Secret(PathBuf, SecretFile, Objection),
    /// A buffer is not saved, and its file could be sent only if the user agreed.
    Unsaved(PathBuf),
    /// A directory, a pipe, a device.
    NotAFile,
    /// The message's files exceed 20 MB with it.
    TooLarge,
    /// No provider accepts files of this type.
    Unsupported(String),
    /// The system refused to read it.
    Unreadable(String),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => f.write_str("does not exist."),
            Self::Outside(path, objection) => write!(
                f,
                "is outside the project, at {}, {} it is not sent until you agree: put the cursor here and run \
                 :Flemma allow-file.",
                paths::visible(path),
                objection.words()
            ),
            Self::Secret(_, secret, objection) => {
                let (kind, path) = (secret.kind.what(), paths::visible(&secret.path));
                write!(
                    f,
                    "is secret, because {} may hold {kind}, {} it is not sent until you agree: put the cursor here \
                     and run :Flemma allow-file, or set {}.",
                    path,
                    objection.words(),
                    secret.grant()
                )
            }
            Self::Unsaved(path) => write!(
                f,
                "is not sent, because {} is secret or outside the project and the buffer is not saved. Write it, \
                 and press Ctrl-] again.",
                paths::visible(path)
            ),
            Self::NotAFile => f.write_str("is not a regular file."),
            Self::TooLarge => f.write_str("makes the files of this message larger than 20 MB."),
            Self::Unsupported(kind) => write!(
                f,
                "is {kind}; only text, PNG, JPEG, GIF, WebP and PDF can be sent."
            ),
            Self::Unreadable(reason) => write!(f, "cannot be read: {reason}."),
        }
    }
}

impl From<io::Error> for Refusal {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            // `a/b` where `a` is a file does not exist either.
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::Missing,
            io::ErrorKind::PermissionDenied => Self::Unreadable("permission denied".to_owned()),
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// The file that a value was read from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its real path.
    pub path: PathBuf,
    /// Its state when it was read.
    pub stamp: Stamp,
}

/// The state of a file: while it is the same, its content is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stamp {
    /// Bytes.
    size: u64,
    /// Nanoseconds since 1970; 0 if the system does not say.
    modified: u64,
}

impl Stamp {
    /// Returns the state of a file.
    pub fn of(metadata: &Metadata) -> Self {
        let modified = metadata.modified().ok();
        let since = modified.and_then(|it| it.duration_since(UNIX_EPOCH).ok());
        Self {
            size: metadata.len(),
            modified: since.map_or(0, |it| u64::try_from(it.as_nanos()).unwrap_or(0)),
        }
    }
}

/// The content of a file, or of a buffer and the like.
pub(super) struct FileContent {
    pub(super) content: Content,
    pub(super) file: Option<SourceFile>,
    pub(super) is_secret: bool,
}

/// Reads the files of one message.
pub(super) struct Reader<'a> {
    folders: &'a Folders,
    agreed: &'a Agreed,
    /// Bytes that may still be read.
    left: u64,
}

impl<'a> Reader<'a> {
    pub(super) fn new(folders: &'a Folders, agreed: &'a Agreed) -> Self {
        Self {
            folders,
            agreed,
            left: MAX_BYTES,
        }
    }

    /// Reads a file; `mime` is the type that the user named.
    pub(super) fn file(&mut self, path: &str, mime: Option<&str>) -> Result<FileContent, Refusal> {
        let path = match (path.strip_prefix("~/"), &self.folders.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => self.folders.chat.join(of_reference(path)),
        };
        self.file_at(&path, mime)
    }

    /// Returns the text of a buffer or the like. If the user has to allow the buffer's file,
    /// reads the file instead, because the agreement covers its content.
    pub(super) fn context(&mut self, context: &ContextText) -> Result<FileContent, Refusal> {
        if let Some(file) = &context.file {
            let real = real_path(&file.path)?;
            let path = real.as_path();
            if self.secret(&file.path, path).is_some() || !self.is_inside(path) {
                if file.is_modified {
                    return Err(Refusal::Unsaved(path.to_owned()));
                }
                return self.file_at(&file.path, None);
            }
        }
        self.count(context.text.len())?;
        Ok(FileContent {
            content: Content::Text(context.text.clone()),
            file: None,
            is_secret: false,
        })
    }

    /// Returns the content of a resource.
    pub(super) fn resource(&mut self, resource: &Resource) -> Result<FileContent, Refusal> {
        self.count(resource.bytes.len())?;
        Ok(FileContent {
            content: resource.content()?,
            file: None,
            is_secret: false,
        })
    }

    fn file_at(&mut self, path: &Path, mime: Option<&str>) -> Result<FileContent, Refusal> {
        // Links are resolved once, and the checked path is the one that is opened.
        let real = real_path(path)?;
        // Checked first: a missing file needs no question about secrets.
        if real.status()?.is_none() {
            return Err(Refusal::Missing);
        }
        let secret = self.secret(path, real.as_path());
        let path = real.as_path();
        let refusal = |objection| match secret.clone() {
            Some(secret) => Refusal::Secret(path.to_owned(), secret, objection),
            None => Refusal::Outside(path.to_owned(), objection),
        };
        let asks = secret.is_some() || !self.is_inside(path);
        if let Some(objection) = self.agreed.objection(path).filter(|_| asks) {
            return Err(refusal(objection));
        }
        let (bytes, stamp) = self.bytes(&real)?;
        // Compares the same bytes that are sent, so the file cannot change in between.
        if asks && !self.agreed.are(path, &bytes) {
            return Err(refusal(Objection::Changed));
        }
        Ok(FileContent {
            content: content(bytes, mime)?,
            file: Some(SourceFile {
                path: path.to_owned(),
                stamp,
            }),
            is_secret: secret.is_some(),
        })
    }

    fn secret(&self, path: &Path, real: &Path) -> Option<SecretFile> {
        let secrets = &self.folders.secrets;
        // A link with a secret name may lead to a harmless file, and the other way round.
        secrets.find(path).or_else(|| secrets.find(real))
    }

    fn is_inside(&self, real: &Path) -> bool {
        let roots = [&self.folders.chat, &self.folders.project];
        roots.into_iter().any(|root| {
            let root = canonicalize(root);
            // A chat in the root folder must not make the whole machine part of the project.
            root.is_ok_and(|root| root.parent().is_some() && real.starts_with(root))
        })
    }

    fn bytes(&mut self, real: &RealPath) -> Result<(Vec<u8>, Stamp), Refusal> {
        let file = real.open_file()?.ok_or(Refusal::NotAFile)?;
        // Before the content, so that a change meanwhile is noticed later.
        let stamp = Stamp::of(&file.metadata()?);
        let mut bytes = Vec::new();
        // One byte more than allowed tells a file that is too large from one that just fits.
        file.take(self.left + 1).read_to_end(&mut bytes)?;
        self.count(bytes.len())?;
        Ok((bytes, stamp))
    }

    fn count(&mut self, bytes: usize) -> Result<(), Refusal> {
        let left = self.left.checked_sub(bytes as u64);
        self.left = left.ok_or(Refusal::TooLarge)?;
        Ok(())
    }
}

fn real_path(path: &Path) -> Result<RealPath, Refusal> {
    RealPath::of(path).map_err(|why| Refusal::Unreadable(why.to_string()))
}

pub(super) fn content(bytes: Vec<u8>, mime: Option<&str>) -> Result<Content, Refusal> {
    let kind = mime.map(str::to_ascii_lowercase);
    // The user's type takes precedence, because few bytes can look like another type.
    match kind.as_deref().or(sniffed(&bytes)) {
        Some("application/pdf") => Ok(Content::Pdf {
            base64: STANDARD.encode(bytes),
        }),
        // SVG is XML, and no provider takes it as an image, so it goes as text.
        Some(image) if image.starts_with("image/") && image != "image/svg+xml" => {
            Ok(Content::Image {
                mime: image.to_owned(),
                base64: STANDARD.encode(bytes),
            })
        }
        // The user named a type that cannot be text, so the message names it too.
        Some(other) if is_binary(other) => Err(Refusal::Unsupported(other.to_owned())),
        // Whatever type it is said to have, it is sent as text if it is valid text.
        _ => match String::from_utf8(bytes) {
            // Binary files can be valid UTF-8 by chance, but text contains no NUL.
            Ok(text) if !text.contains('\0') => Ok(Content::Text(text)),
            _ => Err(Refusal::Unsupported("binary".to_owned())),
        },
    }
}

fn is_binary(mime: &str) -> bool {
    mime.starts_with("audio/") || mime.starts_with("video/") || mime.starts_with("font/")
}
