//! The `grep` tool: prints lines that match a regular expression.
//!
//! The engine runs in linear time and no program is started, so a pattern can't do anything but
//! match.

use std::fs::File;
use std::io::{self, Cursor, Read, Take};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use chat::tool::ToolUseId;
use chat::truncate::{MAX_BYTES, floor_char_boundary};
use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::overrides::Override;
use platform::files::FileKind;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::walk::Walk;
use super::{
    Deadline, Needs, SLACK, SearchRoot, counted, described_place, left_out, look, named, unread,
    with_remarks,
};
use crate::alias::{Alias, text};
use crate::builtin::{BuiltIn, FileUse, STANDARD, TypedTool};
use crate::error::ToolError;
use crate::files::{MAX_SIZE, check_size, open_regular};
use crate::schema::{self, count};
use crate::tool::CallResult;

/// Default and maximum number of lines.
const LINES: (usize, usize) = (100, 2000);

/// Searches the text of files.
pub(crate) struct Grep;

/// Also the arguments of the alias `search`.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What is looked for, in a few words.
    #[serde(default)]
    label: String,
    /// A regular expression, as in ripgrep. (?i) at its start ignores case.
    pattern: String,
    /// A folder or a file. Null for the working directory.
    path: Option<String>,
    /// Only files whose name or path fits this glob, such as *.rs or src/**/*.lua. Null for all.
    glob: Option<String>,
    /// Most lines. Null for 100.
    limit: Option<f64>,
}

/// The row of `grep`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn {
    preset: Some(STANDARD),
    files: FileUse::Reads,
    alias: Some(("search", |_| Box::new(search_alias()))),
    ..BuiltIn::new("grep", |_| Box::new(Grep))
};

impl TypedTool for Grep {
    type Arguments = Arguments;
    type Needs = Needs;

    const NAME: &'static str = "grep";
    const LABEL: &'static str = "Grep";
    const DESCRIPTION: &'static str = "Search files for lines that match a regular expression, each printed as path:line:text. \
        Folders are searched with all that is in them, except for binary files and what \
        .gitignore names.";
    const SLACK: Duration = SLACK;

    fn reads(&self, input: &Value, cwd: &Path) -> Vec<PathBuf> {
        vec![named(input, cwd)]
    }

    fn summary(&self, asked: &Arguments) -> Option<String> {
        let glob = asked.glob.as_ref().map(|glob| format!("  ({glob})"));
        let (place, glob) = (
            described_place(asked.path.as_deref()),
            glob.unwrap_or_default(),
        );
        let label = crate::builtin::label(&asked.label);
        Some(format!("/{}/{place}{glob}{label}", asked.pattern))
    }

    async fn call(&self, asked: Arguments, _id: &ToolUseId, needs: Needs) -> CallResult {
        let (files, until) = needs;
        if asked.pattern.is_empty() {
            let why = "The pattern is empty, which every line matches. Nothing was searched.";
            return Err(ToolError::InvalidInput(why.to_owned()));
        }
        let matcher = compile(&asked.pattern, false).map_err(|why| {
            ToolError::InvalidInput(format!(
                "The pattern is not a valid regular expression: {why}. Nothing was searched. \
                 A character that means itself takes a backslash, such as \\( or \\.."
            ))
        })?;
        let place = SearchRoot::find(&files, asked.path.as_deref()).await?;
        let glob = super::find::compile(&place, asked.glob.as_deref())?;
        let cancel = until.cancel.clone();
        let matches = Matches::new(matcher, count(asked.limit, LINES.0, LINES.1), until);
        look(cancel, move || search(&place, glob.as_ref(), matches)).await
    }
}

/// The alias `search`.
fn search_alias() -> Alias {
    let properties = json!({
        "pattern": {"type": "string", "description": "The regular expression."},
        "path": {"type": ["string", "null"], "description": "A folder or a file."},
        "include": {"type": ["string", "null"], "description": "Only files that fit this glob."},
        "case_sensitive": {"type": ["boolean", "null"], "description": "Whether case matters; it does unless false."},
    });
    Alias {
        name: "search",
        label: "Search",
        description: "Search files for lines that match a regular expression.",
        schema: schema::object(&properties, &["pattern"]),
        tool: |_| Arc::new(Grep),
        translate: |input, _| {
            let pattern = text("pattern", input)?;
            let pattern = match input["case_sensitive"].as_bool() {
                // An empty pattern stays empty, so that it is refused.
                Some(false) if !pattern.is_empty() => format!("(?i){pattern}"),
                _ => pattern,
            };
            Ok(json!({
                "label": "", "pattern": pattern, "path": input["path"], "glob": input["include"],
                "limit": null,
            }))
        },
    }
}

/// Searches a file or a folder.
fn search(
    place: &SearchRoot,
    glob: Option<&Override>,
    mut matches: Matches,
) -> Result<String, ToolError> {
    if place.is_folder {
        return search_folder(place, glob, matches);
    }
    let opened = open_regular(&place.path)?;
    // A named file that is too large is an error. In a folder, it only causes a remark.
    check_size(place.path(), opened.status.size)?;
    matches.search(opened.file, &place.shown(place.path()));
    let searched = Searched {
        any: true,
        alone: true,
        ..Searched::default()
    };
    Ok(report(&matches, &searched))
}

fn search_folder(
    place: &SearchRoot,
    glob: Option<&Override>,
    mut matches: Matches,
) -> Result<String, ToolError> {
    let mut tree = place.tree(&matches.until)?;
    let mut searched = Searched::default();
    let mut walk = Walk::new(&mut tree);
    while let Some(entry) = walk.next() {
        if matches.is_full || matches.until.is_over() {
            break;
        }
        let path = place.path().join(&entry.path);
        let is_named = |glob: &Override| glob.matched(&path, false).is_whitelist();
        // Links are not followed: their targets are searched where they are.
        if entry.kind != FileKind::File || !glob.is_none_or(is_named) {
            continue;
        }
        searched.any = true;
        match walk.tree.open_file(&entry.path) {
            // A hard link to a secret has an innocent name, so only the open file shows it.
            Ok(opened) if walk.tree.is_linked(&opened.status) => {
                walk.tree.skipped.push((entry.path.clone(), false));
            }
            Ok(opened) if opened.status.size > MAX_SIZE => searched.large += 1,
            Ok(opened) => matches.search(opened.file, &place.shown(&path)),
            // One file that is unreadable must not end the search of a folder.
            Err(_) => matches.unread += 1,
        }
    }
    let mut notes: Vec<String> = unread(tree.unread).into_iter().collect();
    notes.extend(place.skipped(&tree.skipped, glob));
    searched.notes = notes;
    searched.left_out = left_out(&tree);
    Ok(report(&matches, &searched))
}

/// The files that a search covered.
#[derive(Default)]
struct Searched {
    /// True if there was any file to search.
    any: bool,
    /// True if the call named the file.
    alone: bool,
    /// The number of files that are too large.
    large: usize,
    /// The remark about ignore files, if they excluded everything.
    left_out: Option<String>,
    /// Remarks about unreadable folders and secrets.
    notes: Vec<String>,
}

/// Formats the matches and remarks.
fn report(matches: &Matches, searched: &Searched) -> String {
    let mut text = matches.lines.join("\n");
    let mut remarks = Vec::new();
    if matches.lines.is_empty() && !matches.is_full {
        text = nothing(matches, searched).to_owned();
        remarks.extend(searched.left_out.clone());
    } else {
        let lines = counted(matches.lines.len(), "match", "matches");
        let files = counted(matches.files, "file", "files");
        remarks.push(if matches.is_full {
            format!(
                "[The first {lines}; there are more. Narrow the pattern, path or glob, or set limit.]"
            )
        } else {
            format!("[{lines} in {files}]")
        });
    }
    if matches.until.is_over() {
        remarks.push(matches.until.remark());
    }
    for (count, what) in [
        (matches.unread, "could not be read to the end"),
        (searched.large, "over 64 MB and not searched"),
    ] {
        if count > 0 {
            let files = counted(count, "file", "files");
            remarks.push(format!("[{files} {what}.]"));
        }
    }
    remarks.extend_from_slice(&searched.notes);
    with_remarks(text, &remarks)
}

fn nothing(matches: &Matches, searched: &Searched) -> &'static str {
    if searched.alone && matches.binary > 0 {
        "No matches found: this is a binary file, which is not searched."
    } else if searched.any {
        "No matches found."
    } else {
        "No matches found: there is no such file to search."
    }
}

// Collects matching lines, bounded in number, length, and time.

/// Maximum number of bytes shown of a line.
const LINE: usize = 500;
/// Maximum memory for one line; a file with a longer line is skipped (32 MB).
const HEAP: usize = 32 * 1024 * 1024;

/// A NUL in this many first bytes marks a file as binary, as for `read`.
const SNIFFED: u64 = 8 * 1024;

/// Compiles a pattern.
///
/// # Errors
///
/// The error message of the regex engine.
pub(super) fn compile(pattern: &str, ignore_case: bool) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .case_insensitive(ignore_case)
        // Each line is matched alone, so `$` must match before `\r\n` as well.
        .crlf(true)
        .multi_line(true)
        .build(pattern)
        .map_err(|error| error.to_string())
}

/// The matching lines found so far.
pub(super) struct Matches {
    matcher: RegexMatcher,
    searcher: Searcher,
    /// When the search must stop.
    pub until: Deadline,
    most: usize,
    /// The lines as `path:line:text`.
    pub lines: Vec<String>,
    bytes: usize,
    /// The number of files with matches.
    pub files: usize,
    /// The number of files that could not be read to the end.
    pub unread: usize,
    /// The number of binary files.
    pub binary: usize,
    /// True if there may be more matches than `lines`.
    pub is_full: bool,
}

impl Matches {
    /// An empty list for at most `most` lines.
    pub(super) fn new(matcher: RegexMatcher, most: usize, until: Deadline) -> Self {
        let searcher = SearcherBuilder::new()
            // `search` detects binary files itself, by their first bytes.
            .binary_detection(BinaryDetection::none())
            .line_terminator(LineTerminator::crlf())
            .heap_limit(Some(HEAP))
            .line_number(true)
            .build();
        Self {
            matcher,
            searcher,
            until,
            most,
            lines: Vec::new(),
            bytes: 0,
            files: 0,
            unread: 0,
            binary: 0,
            is_full: false,
        }
    }

    /// Adds the matching lines of a file, shown under `name`.
    pub(super) fn search(&mut self, file: File, name: &str) {
        let before = self.lines.len();
        // Cloned, because the sink borrows `self` during the search.
        let (matcher, mut searcher) = (self.matcher.clone(), self.searcher.clone());
        let mut reader = Stoppable(file.take(MAX_SIZE), self.until.clone());
        let mut start = Vec::new();
        if (&mut reader).take(SNIFFED).read_to_end(&mut start).is_err() {
            self.unread += 1;
            return;
        }
        // UTF-16 text contains NULs, too; its byte order mark identifies it.
        if start.contains(&0) && !matches!(start[..], [0xff, 0xfe, ..] | [0xfe, 0xff, ..]) {
            self.binary += 1;
            return;
        }
        let reader = Cursor::new(start).chain(reader);
        let ended = searcher.search_reader(&matcher, reader, Of(self, name));
        if ended.is_err() && !self.until.is_over() {
            self.unread += 1;
        }
        self.files += usize::from(self.lines.len() > before);
    }

    fn add(&mut self, name: &str, number: u64, line: &[u8]) -> bool {
        let line = format!("{name}:{number}:{}", as_shown(line));
        if self.lines.len() == self.most || self.bytes + line.len() > MAX_BYTES {
            self.is_full = true;
            return false;
        }
        self.bytes += line.len() + 1;
        self.lines.push(line);
        true
    }
}

/// A line as text: without its ending, shortened, and without NULs, which a buffer line can't
/// contain.
fn as_shown(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let text = text.trim_end_matches(['\n', '\r']).replace('\0', "␀");
    if text.len() <= LINE {
        return text;
    }
    let kept = &text[..floor_char_boundary(&text, LINE)];
    format!("{kept}… ({} bytes)", text.len())
}

/// Receives the matches of one file.
struct Of<'m, 'n>(&'m mut Matches, &'n str);

impl Sink for Of<'_, '_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        let number = found.line_number().unwrap_or_default();
        Ok(self.0.add(self.1, number, found.bytes()) && !self.0.until.is_over())
    }
}

/// Reads a file until the deadline.
struct Stoppable(Take<File>, Deadline);

impl Read for Stoppable {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.1.is_over() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.0.read(buffer)
    }
}
