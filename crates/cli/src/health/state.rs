//! The state folder: whether it can be written, and its size.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tools::TemporaryFile;

use super::Finding;

/// Most files that are counted; checkpoints of large projects have many.
const MOST_FILES: usize = 20_000;

/// Writes and deletes a file in the folder.
pub fn report(folder: &Path) -> Finding {
    let shown = folder.display();
    match try_to_write(folder) {
        Ok(()) => {
            let (bytes, is_all) = size(folder);
            let more = if is_all { "" } else { "more than " };
            let size = shown_size(bytes);
            Finding::new(
                "ok",
                format!("{shown} can be written and has {more}{size}."),
            )
        }
        Err(error) => Finding::new(
            "error",
            format!(
                "{shown} cannot be written: {error}. Decisions cannot be logged, so no call runs."
            ),
        )
        .fixed_by("Make it a folder that you can write, or set $XDG_STATE_HOME to another one."),
    }
}

fn try_to_write(folder: &Path) -> io::Result<()> {
    tools::state_dir::make_folder(folder)?;
    // Removed on drop.
    TemporaryFile::make_in(folder, "")?
        .file
        .write_all(b"health")
}

/// Returns the size of the files, and whether all were counted.
fn size(folder: &Path) -> (u64, bool) {
    let (mut folders, mut bytes, mut files) = (vec![folder.to_owned()], 0, 0);
    while let Some(folder) = folders.pop() {
        // Folders that cannot be read are left out, because the size is only informative.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            // Links are not followed: they may lead anywhere.
            let Ok(metadata) = entry.metadata() else {
                continue;
            };
            if metadata.is_dir() {
                folders.push(entry.path());
            }
            bytes += metadata.len();
            files += 1;
            if files == MOST_FILES {
                return (bytes, false);
            }
        }
    }
    (bytes, true)
}

fn shown_size(bytes: u64) -> String {
    match bytes {
        0..100_000 => format!("{:.0} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_folder_that_can_be_written_has_its_size_and_nothing_new() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::create_dir_all(state.join("deep")).unwrap();
        fs::write(state.join("deep/file"), vec![0; 2_500_000]).unwrap();
        let finding = report(&state);
        assert_eq!(finding.level, "ok");
        assert!(
            finding.text.ends_with("can be written and has 2.5 MB."),
            "{}",
            finding.text
        );
        assert_eq!(fs::read_dir(&state).unwrap().count(), 1);
    }

    #[test]
    fn a_file_in_the_place_of_the_folder_is_an_error_with_a_fix() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state");
        fs::write(&state, "").unwrap();
        let finding = report(&state);
        assert_eq!(finding.level, "error");
        assert!(finding.fix.is_some());
    }
}
