//! The lines of an edited diff, as parts of files and hunks.

use super::{ChangedFile, Malformed};
use crate::diff::LineKind;

/// The part of one file.
#[derive(Debug, Default)]
pub(super) struct Section<'t> {
    pub hunks: Vec<EditedHunk<'t>>,
}

/// A hunk as the user left it.
#[derive(Debug)]
pub(super) struct EditedHunk<'t> {
    /// The line of its header, zero-based.
    pub line: usize,
    /// Its first line in the old text, zero-based, and its number of lines there.
    pub start: usize,
    pub count: usize,
    pub lines: Vec<EditedLine<'t>>,
}

/// A line of a hunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditedLine<'t> {
    /// Its line in the diff, zero-based.
    pub line: usize,
    pub kind: LineKind,
    pub text: &'t str,
    /// Whether it ends without a line break.
    pub is_open: bool,
    /// Whether it does not even have the space of an unchanged line.
    is_bare: bool,
}

impl EditedLine<'_> {
    /// Returns true if the line is in the old text.
    pub fn is_old(&self) -> bool {
        self.kind != LineKind::Added
    }

    /// Returns true if this is the line of the old text.
    pub fn is(&self, old: &str) -> bool {
        match old.strip_suffix('\n') {
            Some(old) => !self.is_open && old == self.text,
            None => self.is_open && old == self.text,
        }
    }
}

/// Words that begin lines between the header of a file and its first hunk.
const BETWEEN: [&str; 13] = [
    "--- ",
    "+++ ",
    "new file",
    "deleted file",
    "rename",
    "index ",
    "similarity ",
    super::OLD_MODE,
    "new mode ",
    "link to ",
    "Binary files ",
    "no checkpoint: ",
    "note: ",
];

/// Splits a diff into the parts of the files. A file whose part is missing has none.
pub(super) fn sections<'t>(
    files: &[ChangedFile<'_>],
    text: &'t str,
) -> Result<Vec<Option<Section<'t>>>, Vec<Malformed>> {
    let mut reader = Reader {
        headers: files.iter().map(ChangedFile::header).collect(),
        sections: files.iter().map(|_| None).collect(),
        current: None,
        malformed: Vec::new(),
    };
    // Not `lines`, which would drop a CR that belongs to the text.
    for (number, line) in text.split('\n').enumerate() {
        if let Err(message) = reader.read(number, line) {
            let line = number;
            reader.malformed.push(Malformed { line, message });
        }
    }
    let hunks = reader.sections.iter_mut().flatten();
    hunks
        .flat_map(|it| &mut it.hunks)
        .for_each(EditedHunk::trim);
    if reader.malformed.is_empty() {
        Ok(reader.sections)
    } else {
        Err(reader.malformed)
    }
}

struct Reader<'t> {
    headers: Vec<String>,
    sections: Vec<Option<Section<'t>>>,
    /// The file whose part is read.
    current: Option<usize>,
    malformed: Vec<Malformed>,
}

impl<'t> Reader<'t> {
    fn read(&mut self, number: usize, line: &'t str) -> Result<(), &'static str> {
        // Lines of a hunk begin with a sign, so this begins the part of a file.
        if line.starts_with("diff ") {
            return self.begin_file(line);
        }
        let section = self.current.and_then(|at| self.sections[at].as_mut());
        let Some(section) = section else {
            return if line.trim().is_empty() {
                Ok(())
            } else {
                Err("Expected a line that begins with \"diff --git\". Undo to restore it.")
            };
        };
        if line.starts_with("@@") {
            let (start, count) = header(line)
                .ok_or("This is no hunk header. It looks like this: @@ -1,3 +1,4 @@")?;
            section.hunks.push(EditedHunk {
                line: number,
                start,
                count,
                lines: Vec::new(),
            });
            return Ok(());
        }
        match section.hunks.last_mut() {
            Some(hunk) => hunk.read(number, line),
            None if line.is_empty() || BETWEEN.iter().any(|it| line.starts_with(it)) => Ok(()),
            None => Err("Expected a hunk header, such as @@ -1,3 +1,4 @@, above this line."),
        }
    }

    /// Begins the part of a file. Of equal headers, the first that was not read yet counts.
    fn begin_file(&mut self, line: &str) -> Result<(), &'static str> {
        let line = line.trim_end();
        let mut files = self.headers.iter().zip(&self.sections);
        let at = files.position(|(header, section)| header == line && section.is_none());
        self.current = at;
        let at = at.ok_or("This file is not part of the review. Undo to restore its name.")?;
        self.sections[at] = Some(Section::default());
        Ok(())
    }
}

impl<'t> EditedHunk<'t> {
    fn read(&mut self, number: usize, line: &'t str) -> Result<(), &'static str> {
        let kind = match line.as_bytes().first() {
            // Editors remove blanks at the end of a line, so that an empty one is left.
            Some(b' ') | None => LineKind::Context,
            Some(b'+') => LineKind::Added,
            Some(b'-') => LineKind::Removed,
            Some(b'\\') => {
                // `\ No newline at end of file` describes the line above.
                let last = self.lines.last_mut();
                let last = last.ok_or("There is no line above whose line break is missing.")?;
                last.is_open = true;
                return Ok(());
            }
            Some(_) => {
                return Err(
                    "A line of a hunk begins with a space (unchanged), + (added), or - (removed).",
                );
            }
        };
        self.lines.push(EditedLine {
            line: number,
            kind,
            text: line.get(1..).unwrap_or_default(),
            is_open: false,
            is_bare: line.is_empty(),
        });
        Ok(())
    }

    /// Removes empty lines below the hunk, which belong to no text.
    fn trim(&mut self) {
        while self.lines.last().is_some_and(|it| it.is_bare) {
            self.lines.pop();
        }
    }
}

/// Reads where a hunk starts in the old text, zero-based, and how many lines it has there.
fn header(line: &str) -> Option<(usize, usize)> {
    let range = line.strip_prefix("@@ -")?.split(' ').next()?;
    let (first, count) = match range.split_once(',') {
        Some((first, count)) => (first.parse().ok()?, count.parse().ok()?),
        // A count of 1 may be left out.
        None => (range.parse().ok()?, 1),
    };
    // An empty range is named by the line above it.
    let first: usize = first;
    match count {
        0 => Some((first, 0)),
        count => Some((first.checked_sub(1)?, count)),
    }
}
