//! The folder that a chat's relative paths start from: its own, or the project's if the chat is in
//! the state folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::files::leads_to;
use crate::state_dir;

/// The folder in the state folder that has a folder of chats for each project. The plugin makes
/// them.
const BY_PROJECT: &str = "by-project";
/// The file in such a folder that holds the project's path.
const PROJECT: &str = "project";

/// Returns the folder that the relative paths of a chat start from, for its absolute path. It need
/// not exist.
pub fn chat_folder(chat: &Path) -> Option<PathBuf> {
    folder_in(chat, &state_dir::path())
}

fn folder_in(chat: &Path, state: &Path) -> Option<PathBuf> {
    let own = chat.parent()?;
    let is_ours = own.parent().map(leads_to) == Some(leads_to(&state.join(BY_PROJECT)));
    let project = is_ours.then(|| fs::read_to_string(own.join(PROJECT)).ok());
    let project = project
        .flatten()
        .map(|it| PathBuf::from(it.trim_end_matches('\n')));
    Some(
        project
            .filter(|it| it.is_absolute())
            .unwrap_or_else(|| own.to_owned()),
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_chat_in_the_state_folder_belongs_to_its_project() {
        let state = tempfile::tempdir().unwrap();
        let folder = state.path().join("by-project/p-1");
        fs::create_dir_all(&folder).unwrap();
        let of = |chat: PathBuf| folder_in(&chat, state.path()).unwrap();
        assert_eq!(of(folder.join("a.chat")), folder);
        fs::write(folder.join("project"), "/home/me/p\n").unwrap();
        assert_eq!(of(folder.join("a.chat")), Path::new("/home/me/p"));
        fs::write(folder.join("project"), "p\n").unwrap();
        assert_eq!(of(folder.join("a.chat")), folder);
        // A project's own file of that name means nothing.
        let other = state.path().join("p");
        fs::create_dir_all(&other).unwrap();
        fs::write(other.join("project"), "/elsewhere\n").unwrap();
        assert_eq!(of(other.join("a.chat")), other);
    }
}
