//! The folders that are mounted as `/tmp`, one per chat.
//!
//! They are in the state folder, which only the user can enter and no command can write, and outlive
//! the host, so that a reopened chat finds its files. Folders that were not used for ten days are removed.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Once;

use crate::files::leads_to;
use crate::sandbox::view::{self, View};
use crate::state_dir::{self, OF_PROCESS, make_own_folder, sweep_chats};

/// The folder of all chats, in the state folder.
const FOLDER: &str = "chat-tmp";

/// The folder that is mounted as `/tmp` in the chat with this key. Without a key, the folder
/// belongs to this process and is removed after it ends. Does not create the folder.
pub fn tmp_folder(key: Option<&str>) -> PathBuf {
    let name = match key {
        Some(key) => key.to_owned(),
        None => format!("{OF_PROCESS}{}", std::process::id()),
    };
    chats_tmp().join(name)
}

/// The folder that contains the folders of all chats.
pub fn chats_tmp() -> PathBuf {
    let state = state_dir::path();
    // Before the first start the folder is missing, and no link leads to it either.
    leads_to(&state).join(FOLDER)
}

/// Creates a folder of [`tmp_folder`]. The first call in a process also removes unused folders.
///
/// # Errors
///
/// It can't be created, or a link or another user's folder has its name.
pub(in crate::sandbox) fn make(folder: &Path) -> io::Result<()> {
    static SWEPT: Once = Once::new();
    let parent = folder.parent().unwrap_or(folder);
    // A folder that the user configured elsewhere may hold other files.
    let is_ours = parent == chats_tmp();
    if is_ours {
        state_dir::make_folder(&state_dir::path())?;
    }
    make_own_folder(parent)?;
    make_own_folder(folder)?;
    if is_ours {
        SWEPT.call_once(|| sweep_chats(parent));
    }
    Ok(())
}

impl View<'_> {
    /// Translates a path on the machine to a path in the sandbox.
    pub(super) fn inside(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(self.tmp) {
            Ok(rest) if rest.as_os_str().is_empty() => view::TMP.into(),
            Ok(rest) => Path::new(view::TMP).join(rest),
            Err(_) => path.to_owned(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_link_is_refused_and_others_lose_access() {
        let folder = tempfile::tempdir().unwrap();
        let base = folder.path().join("base");
        make(&base.join("chat")).unwrap();
        fs::set_permissions(&base, fs::Permissions::from_mode(0o755)).unwrap();
        make(&base.join("chat")).unwrap();
        let mode = fs::metadata(&base).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let link = folder.path().join("link");
        symlink(folder.path().join("base"), &link).unwrap();
        assert!(make(&link.join("other")).is_err());
        symlink(folder.path().join("base"), base.join("link")).unwrap();
        assert!(make(&base.join("link")).is_err());
    }
}
