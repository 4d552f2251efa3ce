//! `:Flemma rename`: another name for the chat's file. The editor renames it, and reports the
//! new path as it does for any other way to rename a buffer.

use std::path::Path;

use chat::title::{file_stem, title};

use super::Session;
use crate::protocol::{Display, Rename};
use crate::status::free_name;

impl Session {
    /// Renames the chat's file to a title, by default the first words that the user wrote.
    pub(super) fn rename(&self, given: Option<&str>) {
        if let Some(reason) = self.why_not_renamed() {
            return self.inform(reason);
        }
        // A user may write the name of a file.
        let given = given.map(|it| it.strip_suffix(".chat").unwrap_or(it));
        let title = given.map_or_else(|| title(&self.buffer.document()), |it| Some(it.to_owned()));
        let Some(stem) = title.as_deref().and_then(file_stem) else {
            return self.inform(match given {
                Some(_) => "A title needs letters or digits.",
                None => "The chat has no message with words. Give a title: :Flemma rename TITLE.",
            });
        };
        let own = self.disk.path();
        if own.and_then(Path::file_stem).is_some_and(|it| it == &*stem) {
            return self.inform(&format!("The chat is already named {stem}."));
        }
        self.editor.show(Display::Rename(Rename {
            buffer: self.buffer.id(),
            path: free_name(&self.disk.own_folder(), &stem),
        }));
    }

    fn why_not_renamed(&self) -> Option<&'static str> {
        if self.disk.is_elsewhere() {
            Some("Another program works on this chat. Rename it there, or close it there first.")
        } else if !self.calls.is_empty() {
            // The sandbox of a running command protects the file by its present name.
            Some("A call is running. Rename the chat when it has ended, or cancel the call.")
        } else {
            None
        }
    }
}
