//! Parses the patch format that OpenAI's models are trained on.
//!
//! Pure. Knows no files.

use chat::diff::StatedFile;

use crate::replace::{
    EditedText, Needle, Place, PlacedReplacement, Refused, ReplaceProblem, Replacement, ambiguous,
    apply, lines_of, not_found, places,
};

/// A patch's effect on one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Section {
    /// The file as the patch names it.
    pub path: String,
    pub action: Action,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Action {
    /// Creates the file with this text.
    Add(String),
    Delete,
    Update {
        /// The new name.
        moved_to: Option<String>,
        hunks: Vec<Hunk>,
    },
}

impl Section {
    /// The effect according to the patch alone.
    pub fn stated(self) -> StatedFile {
        let (remark, texts) = match self.action {
            Action::Add(text) => (None, vec![(String::new(), text)]),
            Action::Delete => (Some("deleted".to_owned()), Vec::new()),
            Action::Update { moved_to, hunks } => {
                let texts = hunks.into_iter().map(|it| (it.old, it.new));
                (moved_to.map(|to| format!("moved to {to}")), texts.collect())
            }
        };
        StatedFile {
            name: self.path,
            remark,
            texts,
        }
    }
}

/// Lines that are replaced by others.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Hunk {
    /// The lines after `@@`, from the outermost: the hunk is below them.
    pub headers: Vec<String>,
    /// The context and the removed lines, each with a line ending.
    pub old: String,
    /// The context and the added lines, each with a line ending.
    pub new: String,
    /// True if the hunk is at the end of the file.
    pub is_last: bool,
    /// The number of lines at its end that are empty, without the space of context.
    empty: usize,
}

impl Hunk {
    fn has_lines(&self) -> bool {
        !self.old.is_empty() || !self.new.is_empty()
    }

    /// Takes a line of the patch; `header` is what follows its `@@`, if it has one.
    fn take_line(&mut self, line: &str, header: Option<&str>) -> Result<(), String> {
        if let Some(header) = header {
            let header = header.strip_prefix(' ').unwrap_or(header).trim_end();
            // A bare `@@` begins a hunk without naming a place.
            self.headers
                .extend((!header.is_empty()).then(|| header.to_owned()));
            return Ok(());
        }
        if line.trim_end() == END_OF_FILE {
            self.is_last = true;
            return Ok(());
        }
        // Blank lines may separate the hunk from the next file.
        if self.is_last {
            return if line.is_empty() {
                Ok(())
            } else {
                Err(format!("follows the end of the file: \"{line}\"."))
            };
        }
        self.add(line)
    }

    fn add(&mut self, line: &str) -> Result<(), String> {
        self.empty = if line.is_empty() { self.empty + 1 } else { 0 };
        let (kept, added) = match line.chars().next() {
            Some(' ') => (true, true),
            Some('-') => (true, false),
            Some('+') => (false, true),
            // A blank line of context, without its space.
            None => (true, true),
            Some(_) => {
                return Err(format!("does not start with a space, +, or -: \"{line}\"."));
            }
        };
        let text = line.get(1..).unwrap_or_default();
        for (has, to) in [(kept, &mut self.old), (added, &mut self.new)] {
            if has {
                to.push_str(text);
                to.push('\n');
            }
        }
        Ok(())
    }
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File: ";
const DELETE: &str = "*** Delete File: ";
const UPDATE: &str = "*** Update File: ";
const MOVE: &str = "*** Move to: ";
const END_OF_FILE: &str = "*** End of File";

/// Parses a patch.
///
/// # Errors
///
/// A sentence for the model with the line of the patch that is wrong.
pub(super) fn parse(patch: &str) -> Result<Vec<Section>, String> {
    let plain = patch.replace("\r\n", "\n");
    // Models put blank lines around a patch.
    let all: Vec<&str> = plain.trim().split('\n').collect();
    let (wraps, lines) = unwrapped(&all);
    // Text around a patch may say that it is an example, so only wrapping is ignored.
    let [first, inner @ .., last] = lines else {
        return Err(format!(
            "The patch is not lines from \"{BEGIN}\" to \"{END}\"."
        ));
    };
    if first.trim_end() != BEGIN {
        return Err(format!(
            "The patch starts with {}, not with \"{BEGIN}\".",
            quoted(first)
        ));
    }
    if last.trim_end() != END {
        return Err(format!(
            "The patch ends with {}, not with \"{END}\".",
            quoted(last)
        ));
    }
    let mut sections = Vec::new();
    for (number, line) in inner.iter().enumerate() {
        take(&mut sections, line)
            .map_err(|why| format!("Line {} of the patch {why}", number + wraps + 2))?;
    }
    if sections.is_empty() {
        return Err("The patch names no file.".to_owned());
    }
    sections.iter_mut().for_each(Section::drop_empty_lines);
    match sections.iter().find(|it| it.changes_nothing()) {
        Some(empty) => Err(format!("The patch has no lines for {}.", empty.path)),
        None => Ok(sections),
    }
}

/// The lines of a patch without fences and here-documents around it, and the number of lines that
/// were left out above.
fn unwrapped<'l, 't>(all: &'l [&'t str]) -> (usize, &'l [&'t str]) {
    let (mut above, mut lines) = (0, all);
    // A here-document may be in a fence.
    while let [first, rest @ ..] = lines {
        let Some(end) = wrapping(first.trim()) else {
            break;
        };
        let blank = rest.iter().take_while(|it| it.trim().is_empty()).count();
        above += 1 + blank;
        lines = without_closing(&rest[blank..]);
        // Without its end, the rest of the patch is still whole.
        lines = match lines {
            [inner @ .., last] if unquoted(last) == end => without_closing(inner),
            _ => lines,
        };
    }
    (above, lines)
}

/// The lines without those at the end that are blank or close quotes and parentheses.
fn without_closing<'l, 't>(lines: &'l [&'t str]) -> &'l [&'t str] {
    let closing = lines.iter().rev().take_while(|it| unquoted(it).is_empty());
    &lines[..lines.len() - closing.count()]
}

fn unquoted(line: &str) -> &str {
    line.trim_matches([' ', '\t', '"', '\'', ')'])
}

/// The line that ends the wrapping which this line begins, if it begins one.
fn wrapping(line: &str) -> Option<&str> {
    for mark in ['`', '~'] {
        let rest = line.trim_start_matches(mark);
        let fence = &line[..line.len() - rest.len()];
        if fence.len() >= 3 && !rest.contains(mark) {
            return Some(fence);
        }
    }
    // As models call the program of this name in a shell: `apply_patch <<'EOF'`.
    let (before, after) = line.split_once("<<")?;
    let names_tool = ["", "$", "cat"].contains(&before.trim())
        || before.contains("apply_patch")
        || before.contains("applypatch");
    let word = after.trim_start_matches('-').trim_start();
    let word = word.split([' ', '|', ')', ';', '>']).next()?;
    let word = word.trim_matches(['\'', '"', '\\']);
    (names_tool && !word.is_empty()).then_some(word)
}

/// A line in quotes, cut if it is long.
fn quoted(line: &str) -> String {
    let start: String = line.trim().chars().take(60).collect();
    let more = if start.len() < line.trim().len() {
        "…"
    } else {
        ""
    };
    format!("\"{start}{more}\"")
}

/// The paths that a patch names, as far as it can be read, in its order. This is what a call is
/// checked for, so it never names fewer files than [`parse`].
pub(super) fn paths(patch: &str) -> Vec<&str> {
    let headers = [ADD, DELETE, UPDATE, MOVE];
    let named = patch
        .lines()
        .filter_map(|line| headers.iter().find_map(|it| line.strip_prefix(it)));
    named.map(str::trim).filter(|it| !it.is_empty()).collect()
}

/// Adds a line to the section that it belongs to.
fn take(sections: &mut Vec<Section>, line: &str) -> Result<(), String> {
    if let Some(section) = start(line)? {
        sections.push(section);
        return Ok(());
    }
    let Some(section) = sections.last_mut() else {
        return if line.trim().is_empty() {
            Ok(())
        } else {
            Err(format!("is before the first file: \"{line}\"."))
        };
    };
    match &mut section.action {
        Action::Add(text) => match line.strip_prefix('+') {
            Some(added) => {
                text.push_str(added);
                text.push('\n');
                Ok(())
            }
            None => Err(format!(
                "adds a file and does not start with +: \"{line}\"."
            )),
        },
        // Blank lines may separate it from the next file.
        Action::Delete if line.trim().is_empty() => Ok(()),
        Action::Delete => Err(format!("follows the name of a deleted file: \"{line}\".")),
        Action::Update { moved_to, hunks } => take_hunk_line(moved_to, hunks, line),
    }
}

/// The section that a line starts, if it does.
fn start(line: &str) -> Result<Option<Section>, String> {
    let update = Action::Update {
        moved_to: None,
        hunks: Vec::new(),
    };
    let kinds = [
        (ADD, Action::Add(String::new())),
        (DELETE, Action::Delete),
        (UPDATE, update),
    ];
    for (header, action) in kinds {
        if let Some(path) = line.strip_prefix(header) {
            let path = named(path)?;
            return Ok(Some(Section { path, action }));
        }
    }
    Ok(None)
}

fn named(path: &str) -> Result<String, String> {
    match path.trim() {
        "" => Err("names no file.".to_owned()),
        path => Ok(path.to_owned()),
    }
}

fn take_hunk_line(
    moved_to: &mut Option<String>,
    hunks: &mut Vec<Hunk>,
    line: &str,
) -> Result<(), String> {
    if let Some(path) = line.strip_prefix(MOVE) {
        // The format has the new name above all hunks.
        if !hunks.is_empty() {
            return Err("moves the file, and must follow its name.".to_owned());
        }
        *moved_to = Some(named(path)?);
        return Ok(());
    }
    // Several headers in a row belong to one hunk.
    let header = line.strip_prefix("@@");
    let is_new = hunks
        .last()
        .is_none_or(|it| header.is_some() && it.has_lines());
    if is_new {
        hunks.push(Hunk::default());
    }
    match hunks.last_mut() {
        Some(hunk) => hunk.take_line(line, header),
        None => Ok(()),
    }
}

impl Section {
    /// Drops empty lines between the last hunk and what follows it.
    fn drop_empty_lines(&mut self) {
        let Action::Update { hunks, .. } = &mut self.action else {
            return;
        };
        if let Some(hunk) = hunks.last_mut() {
            for text in [&mut hunk.old, &mut hunk.new] {
                text.truncate(text.len() - hunk.empty);
            }
            hunk.empty = 0;
        }
    }

    fn changes_nothing(&self) -> bool {
        match &self.action {
            // An empty file can be added, and a file is deleted without lines.
            Action::Add(_) | Action::Delete => false,
            Action::Update { moved_to, hunks } => {
                hunks.iter().any(|it| !it.has_lines()) || (hunks.is_empty() && moved_to.is_none())
            }
        }
    }
}

// Decides where the hunks of a patch apply.
//
// Pure, and never guesses: of several places, a hunk applies to the only one that the order of
// the hunks, the end of the file, and the lines after `@@` leave.

/// Applies hunks to a text. Each list of hunks is in the order of the text.
///
/// # Errors
///
/// The first problem, with the number of its hunk.
pub(super) fn apply_hunks(text: &str, lists: &[Vec<Hunk>]) -> Result<EditedText, Refused> {
    let mut located = Vec::new();
    for hunks in lists {
        let mut from = 0;
        for hunk in hunks {
            let place = place(text, hunk, from).map_err(|it| it.of(located.len()))?;
            // The next hunk of the list must follow this one.
            from = place.range.end;
            let replacement = Replacement {
                old: &hunk.old,
                new: &hunk.new,
            };
            located.push(PlacedReplacement { replacement, place });
        }
    }
    apply(text, &located)
}

/// The only place of a hunk that starts at `from` or later.
fn place(text: &str, hunk: &Hunk, from: usize) -> Result<Place, ReplaceProblem> {
    if hunk.old.is_empty() {
        // Lines without context can only be added where the file ends.
        let is_known = text.is_empty() || (hunk.is_last && text.ends_with('\n'));
        return is_known
            .then(|| Place::end_of(text))
            .ok_or(ReplaceProblem::EmptyOldText);
    }
    if hunk.old == hunk.new {
        return Err(ReplaceProblem::Identical);
    }
    let piece = Needle {
        text: &hunk.old,
        is_lines: true,
    };
    let all = places(text, piece);
    if all.is_empty() {
        return Err(not_found(text, &hunk.old));
    }
    let is_possible = |it: &&Place| {
        // Blank lines at the end of the file don't count.
        let is_last = !hunk.is_last || text[it.range.end..].trim().is_empty();
        it.range.start >= from && is_last && missing_header(text, it, hunk).is_none()
    };
    let possible: Vec<Place> = all.iter().filter(is_possible).cloned().collect();
    match &possible[..] {
        [] => Err(misplaced(text, hunk, &all)),
        [only] => Ok(only.clone()),
        several => only_inside(text, several, hunk).ok_or_else(|| ambiguous(text, several)),
    }
}

/// The only one of several places that is inside the block of the hunk's headers.
fn only_inside(text: &str, places: &[Place], hunk: &Hunk) -> Option<Place> {
    let mut inside = places.iter().filter(|it| is_inside(text, it, hunk));
    match (inside.next(), inside.next()) {
        (Some(only), None) => Some(only.clone()),
        _ => None,
    }
}

/// The problem of a hunk that is in the text, but nowhere that it may be.
fn misplaced(text: &str, hunk: &Hunk, all: &[Place]) -> ReplaceProblem {
    let missing = all.iter().find_map(|it| missing_header(text, it, hunk));
    match missing {
        Some(header) => ReplaceProblem::NotBelow(header.to_owned()),
        None => ReplaceProblem::Elsewhere(lines_of(text, all)),
    }
}

/// The first header of the hunk that is not above the end of the place.
fn missing_header<'h>(text: &str, place: &Place, hunk: &'h Hunk) -> Option<&'h str> {
    let is_above = |header: &str| {
        // The header may be one of the hunk's own lines.
        let mut above = text[..place.range.end].lines();
        above.any(|line| is_header(line, header))
    };
    let mut headers = hunk.headers.iter();
    headers.find(|header| !is_above(header)).map(String::as_str)
}

/// Returns true if a place is in the block that each of the hunk's headers starts: no line between them
/// is indented as little as the header, except for one that ends its brackets.
fn is_inside(text: &str, place: &Place, hunk: &Hunk) -> bool {
    let above: Vec<&str> = text[..place.range.start].lines().collect();
    let first = text[place.range.clone()].lines().find(|it| !is_blank(it));
    let mut end = above.len();
    let mut is_in_block = |header: &String| {
        let at = above[..end].iter().rposition(|it| is_header(it, header));
        let Some(at) = at else { return false };
        end = at;
        let depth = depth(above[at]);
        let mut between = above[at + 1..].iter().copied().chain(first);
        between.all(|line| is_blank(line) || is_deeper(line, depth))
    };
    !hunk.headers.is_empty() && hunk.headers.iter().rev().all(&mut is_in_block)
}

/// Returns true if a line belongs to the block of a line with this indentation.
fn is_deeper(line: &str, than: usize) -> bool {
    depth(line) > than || line.trim_start().starts_with([')', ']', '{', '>'])
}

/// Returns true if a line is the one after `@@`, which may be cut off.
fn is_header(line: &str, header: &str) -> bool {
    line.trim().starts_with(header.trim())
}

fn is_blank(line: &str) -> bool {
    line.trim().is_empty()
}

fn depth(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

#[cfg(test)]
mod tests;
