//! The folder of a ledger on disk: a journal, contents, and the lines that were sent.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use policy::sha256;
use tools::objects::{Hash, Objects};
use tools::state_dir;

use super::lines::SentText;
use super::record::Record;
use crate::lease;

/// Folder of all ledgers, in the state folder.
pub(super) const FOLDER: &str = "sent";
const JOURNAL: &str = "journal.jsonl";
const TEXT: &str = "lines";
/// Number of lines above which a journal is rewritten, if most of them no longer count.
const MOST_LINES: usize = 1000;

/// The folder of one chat.
pub(super) struct Store {
    folder: PathBuf,
    objects: Objects,
    /// Length of the journal in bytes as far as it was read.
    length: u64,
    /// Lines of the journal.
    lines: usize,
}

impl Store {
    /// Returns the folder of a chat, which need not exist.
    pub(super) fn of(state: &Path, chat: &Path) -> Self {
        // The machine's name, because the state folder may be copied to another one, whose
        // files are different.
        let mut name = platform::machine::name().into_bytes();
        name.push(0);
        name.extend(lease::real(chat).as_os_str().as_encoded_bytes());
        let folder = state.join(FOLDER).join(sha256(&name));
        Self {
            objects: Objects::new(folder.join("contents")),
            folder,
            length: 0,
            lines: 0,
        }
    }

    fn journal(&self) -> PathBuf {
        self.folder.join(JOURNAL)
    }

    /// Returns true if another program has changed the journal since it was read or written.
    pub(super) fn has_news(&self) -> bool {
        let length = fs::metadata(self.journal()).map_or(0, |it| it.len());
        length != self.length
    }

    /// Reads the journal; damaged lines are skipped.
    pub(super) fn read(&mut self) -> Vec<Record> {
        let text = fs::read(self.journal()).unwrap_or_default();
        self.length = text.len() as u64;
        let lines = text.split(|byte| *byte == b'\n');
        let lines: Vec<&[u8]> = lines.filter(|it| !it.is_empty()).collect();
        self.lines = lines.len();
        // A kill or a full disk may leave a part of a line.
        let records = lines.into_iter();
        records
            .filter_map(|it| serde_json::from_slice(it).ok())
            .collect()
    }

    /// Adds records and contents. Nothing waits for the disk: a system crash may lose them.
    ///
    /// # Errors
    ///
    /// Any error of the file system. No record is added then.
    pub(super) fn write(
        &mut self,
        records: &[Record],
        contents: &HashMap<Hash, Vec<u8>>,
    ) -> io::Result<()> {
        if records.is_empty() {
            return Ok(());
        }
        state_dir::make_folder(&self.folder)?;
        // The contents first, so that no record refers to one that is missing.
        for (hash, content) in contents {
            self.objects.put_plain(*hash, content)?;
        }
        // A line that a crash tore ends before the new ones begin.
        let mut text = vec![b'\n'];
        text.extend(encoded(records)?);
        let _lock = state_dir::lock(&self.folder, "lock")?;
        state_dir::append(&self.journal(), &text)?;
        self.length += text.len() as u64;
        self.lines += records.len();
        Ok(())
    }

    /// Returns true if most lines of a long journal no longer count.
    pub(super) fn is_long(&self, records: usize) -> bool {
        self.lines > MOST_LINES && self.lines > 4 * records
    }

    /// Replaces the journal, and removes contents that are not in use.
    pub(super) fn replace(&mut self, records: &[Record], in_use: &HashSet<Hash>) -> io::Result<()> {
        let text = encoded(records)?;
        let _lock = state_dir::lock(&self.folder, "lock")?;
        state_dir::replace_unsynced(&self.journal(), &text)?;
        (self.length, self.lines) = (text.len() as u64, records.len());
        let sizes = self.objects.sizes().into_iter();
        let unused = sizes.filter(|(hash, _)| !in_use.contains(hash));
        unused.for_each(|(hash, _)| self.objects.remove(hash));
        Ok(())
    }

    pub(super) fn content(&self, hash: Hash) -> io::Result<Vec<u8>> {
        self.objects.get(hash)
    }

    pub(super) fn read_text(&self) -> Option<SentText> {
        SentText::decoded(&fs::read(self.folder.join(TEXT)).ok()?)
    }

    pub(super) fn write_text(&self, text: &SentText) -> io::Result<()> {
        state_dir::make_folder(&self.folder)?;
        let _lock = state_dir::lock(&self.folder, "lock")?;
        state_dir::replace_unsynced(&self.folder.join(TEXT), &text.encoded())
    }
}

fn encoded(records: &[Record]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for record in records {
        serde_json::to_writer(&mut text, record)?;
        text.write_all(b"\n")?;
    }
    Ok(text)
}
