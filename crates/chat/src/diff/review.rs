//! A change of files as a diff that the user edits, and what the user made of it.
//!
//! The user drops hunks and rewrites lines. [`parse`] accepts only what fits the files exactly:
//! a diff that is malformed anywhere yields no texts at all. Counts in hunk headers may be wrong,
//! because they are hard to maintain by hand.
//!
//! [`account`] tells the model what became of each hunk.

mod place;

use std::borrow::Cow;

use self::place::placed;
use super::{FileDiff, LineKind, MOST_CONTEXT, quoted};
use place::{LineChange, of_hunk};

/// Begins the line with the old mode of a file whose mode changes.
const OLD_MODE: &str = "old mode ";

/// A file that a call would change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangedFile<'t> {
    /// Its name in the call.
    pub name: &'t str,
    /// Its text. `None` if it does not exist, or has no text.
    pub before: Option<&'t str>,
    /// The text that it would have. `None` if it is deleted.
    pub after: Option<&'t str>,
    /// The path to which it is moved.
    pub moved_to: Option<&'t str>,
    /// Git's extended header, such as `old mode 100644`. `None` for a short one made from the other
    /// fields.
    pub head: Option<&'t str>,
}

/// The result of a review for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedFile {
    /// The text that it gets; as before if the user dropped the change. `None` if it is deleted,
    /// or not created.
    pub after: Option<String>,
    /// True if the user dropped everything that the call would do to it.
    pub is_dropped: bool,
    /// The fate of each hunk, in order.
    pub hunks: Vec<ReviewedHunk>,
}

/// A line of a review that cannot be applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// The line, zero-based.
    pub line: usize,
    /// The error, and how to correct it.
    pub message: &'static str,
}

/// Prints a change as a diff, which the user edits.
pub fn text(files: &[ChangedFile<'_>]) -> String {
    files.iter().map(ChangedFile::text).collect()
}

/// Reads a diff that the user edited. The files are in the order of `files`.
///
/// # Errors
///
/// The lines that cannot be applied. Nothing of the change may be applied then.
pub fn parse(files: &[ChangedFile<'_>], text: &str) -> Result<Vec<ReviewedFile>, Vec<Malformed>> {
    let sections = sections(files, text)?;
    let mut malformed = Vec::new();
    let mut reviewed = Vec::new();
    for (file, section) in files.iter().zip(&sections) {
        match file.reviewed(section.as_ref()) {
            Ok(file) => reviewed.push(file),
            Err(problem) => malformed.push(problem),
        }
    }
    if malformed.is_empty() {
        Ok(reviewed)
    } else {
        Err(malformed)
    }
}

impl ChangedFile<'_> {
    /// The line that begins the file's part of the diff. No line of a hunk can look like it.
    fn header(&self) -> String {
        let name = |side: char, name: &str| {
            let name = format!("{side}/{}", name.trim_start_matches('/'));
            quoted(&name).trim_end().to_owned()
        };
        let new = self.moved_to.unwrap_or(self.name);
        format!("diff --git {} {}", name('a', self.name), name('b', new))
    }

    fn text(&self) -> String {
        let mut text = format!("{}\n", self.header());
        // For the user only: `sections` skips these lines.
        text.push_str(match (self.head, self.before, self.after, self.moved_to) {
            (Some(head), ..) => head,
            (_, _, None, _) => "deleted file\n",
            (_, None, ..) => "new file\n",
            (.., Some(_)) => "rename\n",
            _ => "",
        });
        let (before, after) = self.lines();
        let exists = (self.before.is_some(), self.after.is_some());
        text.push_str(&FileDiff::of(&before, &after).unified(self.name, exists));
        text
    }

    /// Returns true if more than its text changes, which then stays although all hunks are dropped.
    fn has_more(&self) -> bool {
        let is_other_mode = self.head.is_some_and(|it| it.contains(OLD_MODE));
        self.moved_to.is_some() || is_other_mode
    }

    /// Returns true if all lines end at `\r\n`. The user sees and writes no `\r` then.
    fn has_returns(&self) -> bool {
        let texts = || [self.before, self.after].into_iter().flatten();
        let count = |pattern: &str| texts().map(|it| it.matches(pattern).count()).sum::<usize>();
        count("\n") > 0 && count("\n") == count("\r\n")
    }

    /// Both texts, as the diff shows them.
    fn lines(&self) -> (Cow<'_, str>, Cow<'_, str>) {
        let (before, after) = (
            self.before.unwrap_or_default(),
            self.after.unwrap_or_default(),
        );
        if self.has_returns() {
            (
                before.replace("\r\n", "\n").into(),
                after.replace("\r\n", "\n").into(),
            )
        } else {
            (before.into(), after.into())
        }
    }

    /// Applies the file's part of an edited diff. `None` if the user removed it.
    fn reviewed(&self, section: Option<&Section<'_>>) -> Result<ReviewedFile, Malformed> {
        let (before, after) = self.lines();
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let hunks = section.map_or(&[][..], |it| &it.hunks);
        let (text, changes) = placed(hunks, &old)?;
        let diff = FileDiff::of(&before, &after);
        let is_dropped = match section {
            None => true,
            // A file without hunks is dropped with its header.
            Some(_) => changes.is_empty() && !diff.is_empty() && !self.has_more(),
        };
        let after = match is_dropped {
            true => self.before.map(str::to_owned),
            // The user kept the removal of every line, so the file is deleted.
            false if self.after.is_none() && text.is_empty() => None,
            false if self.has_returns() => Some(text.replace('\n', "\r\n")),
            false => Some(text),
        };
        Ok(ReviewedFile {
            after,
            is_dropped,
            hunks: fates(&diff, &changes, &old),
        })
    }
}

/// A hunk of the original diff, or one that the user added.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReviewedHunk {
    /// The first line of the old text that it changes, from 1.
    pub line: usize,
    /// Its fate in the review.
    pub fate: Fate,
}

/// The fate of a hunk in the review. Texts have a `-` or `+` before each line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// It is applied as it was.
    Kept,
    /// It is not applied.
    Dropped,
    /// These lines are changed instead.
    Rewritten(String),
    /// The user added it.
    Added(String),
}

/// Compares the hunks of the original diff with what is changed now.
fn fates(diff: &FileDiff<'_>, changes: &[LineChange], old: &[&str]) -> Vec<ReviewedHunk> {
    let mut rest: Vec<&LineChange> = changes.iter().collect();
    let mut hunks = Vec::new();
    for hunk in diff.hunks(MOST_CONTEXT) {
        // Including the end, because lines may be added below the last one.
        let range = hunk.before.start..=hunk.before.end;
        let is_here = |it: &&LineChange| range.contains(&it.gone.start);
        let (here, others) = rest.into_iter().partition::<Vec<_>, _>(is_here);
        rest = others;
        let original = of_hunk(&hunk, old);
        let fate = match here.is_empty() {
            true => Fate::Dropped,
            false if here.iter().copied().eq(&original) => Fate::Kept,
            false => Fate::Rewritten(printed(&here, old)),
        };
        // The hunk begins with unchanged lines, unless the change is at the top of the file.
        let line = original
            .first()
            .map_or(hunk.before.start, |it| it.gone.start);
        hunks.push(ReviewedHunk {
            line: line + 1,
            fate,
        });
    }
    hunks.extend(rest.into_iter().map(|change| ReviewedHunk {
        line: change.gone.start + 1,
        fate: Fate::Added(printed(&[change], old)),
    }));
    // The user's own hunks were appended and may belong above others.
    hunks.sort_by_key(|it| it.line);
    hunks
}

fn printed(changes: &[&LineChange], old: &[&str]) -> String {
    let lines = changes.iter().flat_map(|change| {
        let gone = old[change.gone.clone()].iter().map(|it| ('-', *it));
        gone.chain(change.new.iter().map(|it| ('+', &**it)))
    });
    let lines = lines.map(|(sign, line)| format!("{sign}{}\n", line.trim_end_matches('\n')));
    lines.collect()
}

/// Says what the user changed, for the model. `None` if the change is applied as proposed.
pub fn account(files: &[ChangedFile<'_>], reviewed: &[ReviewedFile]) -> Option<String> {
    let pairs = || files.iter().zip(reviewed);
    let is_kept = |(file, reviewed): (&ChangedFile<'_>, &ReviewedFile)| {
        !reviewed.is_dropped && reviewed.after.as_deref() == file.after
    };
    if pairs().all(is_kept) {
        return None;
    }
    let mut text = "The user changed this call in a review before it was applied:".to_owned();
    for (file, reviewed) in pairs() {
        if reviewed.is_dropped {
            text.push_str(&format!("\n- {}: dropped, nothing was changed.", file.name));
            continue;
        }
        let count = reviewed.hunks.len();
        for (at, hunk) in reviewed.hunks.iter().enumerate() {
            let fate = match &hunk.fate {
                Fate::Kept => "applied as proposed.".to_owned(),
                Fate::Dropped => "dropped, not applied.".to_owned(),
                Fate::Rewritten(lines) => format!("rewritten. Applied instead:\n{lines}"),
                Fate::Added(lines) => format!("added by the user:\n{lines}"),
            };
            let number = at + 1;
            text.push_str(&format!(
                "\n- {}, hunk {number} of {count} (line {}): {}",
                file.name,
                hunk.line,
                fate.trim_end()
            ));
        }
    }
    Some(text)
}

/// The part of one file.
#[derive(Debug, Default)]
struct Section<'t> {
    pub hunks: Vec<EditedHunk<'t>>,
}

/// A hunk as the user left it.
#[derive(Debug)]
struct EditedHunk<'t> {
    /// The line of its header, zero-based.
    pub line: usize,
    /// Its first line in the old text, zero-based, and its number of lines there.
    pub start: usize,
    pub count: usize,
    pub lines: Vec<EditedLine<'t>>,
}

/// A line of a hunk.
#[derive(Debug, Clone, Copy)]
struct EditedLine<'t> {
    /// Its line in the diff, zero-based.
    pub line: usize,
    pub kind: LineKind,
    pub text: &'t str,
    /// True if it ends without a line break.
    pub is_open: bool,
    /// True if it does not even have the space of an unchanged line.
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
    OLD_MODE,
    "new mode ",
    "link to ",
    "Binary files ",
    "no checkpoint: ",
    "note: ",
];

/// Splits a diff into the parts of the files. A file whose part is missing has none.
fn sections<'t>(
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
            let (start, count) =
                header(line).ok_or("This line must be a hunk header such as @@ -1,3 +1,4 @@.")?;
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

#[cfg(test)]
mod tests;
