//! Files: folders that are held open, what the system says about a file, and files that only the
//! user can read.

mod folder;
mod open;
mod status;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub use folder::{FolderAccess, FolderEntry, NewFileAttributes, OldFile, OpenFolder};
pub use open::{
    LOCKED_IS_READABLE, PrivateOptions, copy_blocks, make_private_folder, make_private_folders,
    open_no_link, read_exact_at, restrict_folder,
};
pub use status::{FileId, FileKind, FileStatus};

#[cfg(test)]
mod tests;
