//! The index on disk, so that the next program need not read the whole project.

use std::collections::HashSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};

use super::stamp::Stamp;
use super::{Folder, Index, Known};
use crate::checkpoints::image::Name;
use crate::objects::{Hash, Objects};
use crate::state_dir;

/// A folder in the file: its path, its status, its files, what is ignored in it, and whether it
/// has a repository.
type Line = (Name, Stamp, Vec<(Name, Known)>, Vec<(Name, bool)>, bool);

impl Index {
    /// Writes the index: one JSON array per folder. The caller holds the lock of the index.
    pub(in crate::checkpoints) fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::new();
        for (path, folder) in &self.folders {
            let files: Vec<(Name, &Known)> = folder
                .files
                .iter()
                .map(|(name, known)| (Name(name.into()), known))
                .collect();
            let ignored: Vec<(Name, bool)> = folder
                .ignored
                .iter()
                .map(|(name, is_folder)| (Name(name.into()), *is_folder))
                .collect();
            let is_repository = folder.is_repository;
            let line = (
                Name(path.clone()),
                folder.stamp,
                files,
                ignored,
                is_repository,
            );
            serde_json::to_writer(&mut bytes, &line)?;
            bytes.write_all(b"\n")?;
        }
        // Not synced, because a lost index is only made again.
        state_dir::replace_unsynced(path, &bytes)
    }

    /// Reads an index. Forgets files whose contents are gone. An empty one if it is missing or
    /// damaged.
    pub(in crate::checkpoints) fn load(
        path: &Path,
        root: PathBuf,
        limit: u64,
        objects: &Objects,
    ) -> Self {
        let empty = Self::new(root, limit);
        let mut index = empty.clone();
        for line in lines(path) {
            // A part of an index would make the rest look like new files.
            let Some((folder, mut content)) = line else {
                return empty;
            };
            let count = content.files.len();
            let is_there = |known: &Known| known.image.hash().is_none_or(|it| objects.has(it));
            content.files.retain(|_, known| is_there(known));
            if content.files.len() < count {
                // Without a stamp, the folder is listed again and its files are read.
                content.stamp = Stamp::default();
            }
            index.folders.insert(folder, content);
        }
        index
    }
}

/// The contents that the index on disk needs.
pub(in crate::checkpoints) fn saved_hashes(path: &Path) -> HashSet<Hash> {
    let folders = lines(path).flatten();
    let files = folders.flat_map(|(_, folder)| folder.files.into_values());
    files.filter_map(|it| it.image.hash()).collect()
}

/// The folders of an index on disk; `None` for one that is damaged.
fn lines(path: &Path) -> impl Iterator<Item = Option<(PathBuf, Folder)>> {
    let file = File::open(path).ok().map(BufReader::new);
    let lines = file.into_iter().flat_map(BufRead::lines);
    lines.map(|line| {
        let (path, stamp, files, ignored, is_repository): Line =
            serde_json::from_str(&line.ok()?).ok()?;
        let files = files.into_iter();
        let files = files.map(|(name, known)| (name.0.into_os_string(), known));
        let ignored = ignored.into_iter();
        let ignored = ignored.map(|(name, is_folder)| (name.0.into_os_string(), is_folder));
        let folder = Folder {
            stamp,
            files: files.collect(),
            ignored: ignored.collect(),
            is_repository,
        };
        Some((path.0, folder))
    })
}
