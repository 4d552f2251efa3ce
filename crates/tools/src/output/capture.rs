//! Captures a command's output in bounded memory: its end as text, exact counts, and a file
//! with everything once the output is too long.

use std::io;
use std::path::{Path, PathBuf};

use chat::text::lossy;
use chat::truncate::{MAX_BYTES, MAX_LINES, ceil_char_boundary, floor_char_boundary};
use platform::files::make_private_folders;
use tokio::fs::File;
use tokio::io::{AsyncWriteExt, BufWriter};

use crate::screen::Screen;

/// Replaces NUL bytes, which a buffer line can't contain.
const NUL_SHOWN: char = '␀';
/// Lines that a program can still draw over.
const DRAWN_LINES: usize = 100;
/// Bytes that remain when the kept end is trimmed…
const KEPT: usize = 2 * MAX_BYTES;
/// …which happens at this size.
const CUT_AT: usize = 4 * MAX_BYTES;

/// Captured output.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// The end of the output, or all of it, without trailing white space.
    pub text: String,
    /// The number of lines of the whole output without trailing blank lines.
    pub total_lines: usize,
    /// True if it lacks earlier states of lines that were drawn over.
    pub is_drawn_over: bool,
    /// The file with the whole output, if it was too long.
    pub full: Option<FullOutput>,
}

/// The file with a long output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FullOutput {
    /// The file has everything.
    Whole(PathBuf),
    /// The file has the start, up to the size limit.
    Start(PathBuf),
    /// The file could not be written, and why.
    Lost(String),
}

/// Captures output as it arrives.
pub(crate) struct Capture {
    /// Bytes of an incomplete UTF-8 character.
    unfinished: Vec<u8>,
    /// The text of the last push. The buffer is reused: the page faults of a new one for each piece take
    /// longer than everything else that is done with a piece.
    text: String,
    screen: Screen,
    /// The lines that became final with the last push.
    latest: String,
    tail: String,
    /// White space after `tail`. At the end of the output it is dropped, however much there is.
    blank: Blank,
    bytes: usize,
    newlines: usize,
    /// The number of newlines before the last non-blank character.
    newlines_at_ink: usize,
    has_ink: bool,
    overflow: Overflow,
}

impl Capture {
    /// Long output goes to a file in `output_dir`, named after the tool and the call.
    pub(crate) fn new(output_dir: &Path, name: &str, id: &str) -> Self {
        Self {
            unfinished: Vec::new(),
            text: String::new(),
            screen: Screen::new(DRAWN_LINES),
            latest: String::new(),
            tail: String::new(),
            blank: Blank::default(),
            bytes: 0,
            newlines: 0,
            newlines_at_ink: 0,
            has_ink: false,
            overflow: Overflow::new(output_dir, name, id),
        }
    }

    /// Adds bytes and returns them as text.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> &str {
        self.text.clear();
        if self.unfinished.is_empty() {
            let whole = bytes.len() - unfinished_character(bytes);
            add_text(&mut self.text, &bytes[..whole]);
            self.unfinished.extend_from_slice(&bytes[whole..]);
        } else {
            self.unfinished.extend_from_slice(bytes);
            let whole = self.unfinished.len() - unfinished_character(&self.unfinished);
            add_text(&mut self.text, &self.unfinished[..whole]);
            self.unfinished.drain(..whole);
        }
        self.screen.draw_into(&self.text, &mut self.latest);
        self.add_latest().await;
        &self.text
    }

    /// Returns the file with the output from its start, if there is one.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.overflow.path()
    }

    /// Writes what the file lacks so far.
    pub(crate) async fn flush(&mut self) {
        self.overflow.flush().await;
    }

    /// Ends the output. An incomplete character becomes `U+FFFD`.
    pub(crate) async fn finish(mut self) -> Captured {
        self.text.clear();
        add_text(&mut self.text, &self.unfinished);
        self.screen.draw_into(&self.text, &mut self.latest);
        let screen = std::mem::replace(&mut self.screen, Screen::new(1));
        let (rest, is_drawn_over) = screen.finish();
        self.latest.push_str(&rest);
        self.add_latest().await;
        let total_lines = if self.has_ink {
            self.newlines_at_ink + 1
        } else {
            0
        };
        let text = self.tail.trim_end();
        // The output may have been long only because of white space at its end.
        let is_short = text.len() <= MAX_BYTES && total_lines <= MAX_LINES;
        Captured {
            full: self.overflow.finish(is_short).await,
            text: text.to_owned(),
            total_lines,
            is_drawn_over,
        }
    }

    async fn add_latest(&mut self) {
        self.count();
        if self.overflow.is_open() {
            self.overflow.write(&self.latest).await;
        }
        let ink = self.latest.trim_end().len();
        if ink > 0 {
            self.blank.end(&mut self.tail);
            self.tail.push_str(&self.latest[..ink]);
        }
        self.blank.kept.push_str(&self.latest[ink..]);
        self.bytes += self.latest.len();
        if !self.overflow.is_open() && (self.bytes > MAX_BYTES || self.newlines >= MAX_LINES) {
            // Nothing has been trimmed yet, so this is the whole output.
            self.overflow.open().await;
            self.overflow.write(&self.tail).await;
            self.overflow.write(&self.blank.kept).await;
        }
        // Only after the file was opened, which gets everything so far.
        cut(&mut self.tail);
        self.blank.is_cut |= cut(&mut self.blank.kept);
    }

    fn count(&mut self) {
        let (ink, blank) = self.latest.split_at(self.latest.trim_end().len());
        if !ink.is_empty() {
            self.has_ink = true;
            self.newlines += newlines(ink);
            self.newlines_at_ink = self.newlines;
        }
        self.newlines += newlines(blank);
    }
}

/// White space that may turn out to be trailing.
#[derive(Default)]
struct Blank {
    /// Its end, or all of it.
    kept: String,
    /// True if its start was trimmed.
    is_cut: bool,
}

impl Blank {
    /// Appends the white space to `tail` because more text follows.
    fn end(&mut self, tail: &mut String) {
        if std::mem::take(&mut self.is_cut) {
            // The white space alone exceeds the limit, so the text before it is out of reach.
            tail.clear();
        }
        tail.push_str(&self.kept);
        self.kept.clear();
    }
}

/// Trims a long text to its end. Returns true if it did.
fn cut(text: &mut String) -> bool {
    let is_long = text.len() >= CUT_AT;
    if is_long {
        text.drain(..ceil_char_boundary(text, text.len() - KEPT));
    }
    is_long
}

fn newlines(text: &str) -> usize {
    memchr::memchr_iter(b'\n', text.as_bytes()).count()
}

fn add_text(text: &mut String, bytes: &[u8]) {
    let new = lossy(bytes);
    if new.contains('\0') {
        text.push_str(&new.replace('\0', NUL_SHOWN.encode_utf8(&mut [0; 4])));
    } else {
        text.push_str(&new);
    }
}

/// The number of bytes at the end that form an incomplete character.
fn unfinished_character(bytes: &[u8]) -> usize {
    let last = bytes.len().min(3);
    (1..=last)
        .find(|&back| {
            let rest = &bytes[bytes.len() - back..];
            // "No error length" means that the bytes are valid so far and more may follow.
            std::str::from_utf8(rest)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

// The file for a long output, bounded in size.
//
// If the file can't be written, only the rest of the output is lost, never the call.

/// Maximum size of a file (100 MB).
const MAX_ON_DISK: usize = 100 * 1024 * 1024;

/// The size of the write buffer; commands print in small pieces.
const BUFFER: usize = 256 * 1024;

/// A file that is created on demand.
pub(crate) struct Overflow {
    directory: PathBuf,
    prefix: String,
    state: State,
}

enum State {
    NotNeeded,
    Open {
        file: BufWriter<File>,
        path: PathBuf,
        written: usize,
    },
    Full(PathBuf),
    Lost(String),
}

impl Overflow {
    /// A file in `directory` whose name starts with the tool's `name` and the call's `id`.
    pub(crate) fn new(directory: &Path, name: &str, id: &str) -> Self {
        Self {
            directory: directory.to_owned(),
            prefix: prefix(name, id),
            state: State::NotNeeded,
        }
    }

    /// Returns true if the file was needed, even if it could not be written.
    pub(crate) fn is_open(&self) -> bool {
        !matches!(self.state, State::NotNeeded)
    }

    fn path(&self) -> Option<&Path> {
        match &self.state {
            State::Open { path, .. } | State::Full(path) => Some(path),
            State::NotNeeded | State::Lost(_) => None,
        }
    }

    pub(crate) async fn open(&mut self) {
        self.state = match create(&self.directory, &self.prefix) {
            Ok((file, path)) => State::Open {
                file: BufWriter::with_capacity(BUFFER, File::from_std(file)),
                path,
                written: 0,
            },
            Err(error) => State::Lost(error.to_string()),
        };
    }

    pub(crate) async fn write(&mut self, text: &str) {
        let State::Open {
            file,
            path,
            written,
        } = &mut self.state
        else {
            return;
        };
        // Cut at a character, so that the file stays valid UTF-8.
        let room = floor_char_boundary(text, MAX_ON_DISK - *written);
        if let Err(error) = file.write_all(&text.as_bytes()[..room]).await {
            self.state = State::Lost(error.to_string());
            return;
        }
        *written += room;
        if room < text.len() {
            let path = std::mem::take(path);
            let flushed = file.flush().await;
            self.state = flushed.map_or_else(
                |error| State::Lost(error.to_string()),
                |()| State::Full(path),
            );
        }
    }

    async fn flush(&mut self) {
        if let State::Open { file, .. } = &mut self.state
            && let Err(error) = file.flush().await
        {
            self.state = State::Lost(error.to_string());
        }
    }

    /// Closes the file. Removes it if the output turned out to be short.
    pub(crate) async fn finish(self, is_short: bool) -> Option<FullOutput> {
        let full = match self.state {
            State::NotNeeded => return None,
            State::Open { mut file, path, .. } => match file.flush().await {
                Ok(()) => FullOutput::Whole(path),
                Err(error) => FullOutput::Lost(error.to_string()),
            },
            State::Full(path) => FullOutput::Start(path),
            State::Lost(reason) => FullOutput::Lost(reason),
        };
        match &full {
            FullOutput::Whole(path) if is_short => {
                // The result contains the whole output. A file that stays does no harm.
                let _ = tokio::fs::remove_file(path).await;
                None
            }
            _ => Some(full),
        }
    }
}

/// Writes bytes to a file named like an [`Overflow`]. Blocking.
///
/// # Errors
///
/// The file can't be written.
pub(crate) fn keep(directory: &Path, name: &str, id: &str, bytes: &[u8]) -> io::Result<PathBuf> {
    let (mut file, path) = create(directory, &prefix(name, id))?;
    io::Write::write_all(&mut file, bytes)?;
    Ok(path)
}

/// The start of a file name. Removes characters of the id that are special in paths.
fn prefix(name: &str, id: &str) -> String {
    let is_plain = |it: &char| it.is_ascii_alphanumeric() || *it == '_';
    let safe: String = id.chars().filter(is_plain).collect();
    // An id may be long, and a name has at most 255 bytes.
    format!("{name}-{safe:.40}-")
}

/// Creates a file, and its directory if needed, that only the user can read.
fn create(directory: &Path, prefix: &str) -> io::Result<(std::fs::File, PathBuf)> {
    // Output may contain what only the user may read.
    make_private_folders(directory)?;
    // A random name that is created exclusively, with mode 0600.
    let file = tempfile::Builder::new()
        .prefix(prefix)
        .suffix(".log")
        .tempfile_in(directory)?;
    file.keep().map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    async fn capture(chunks: impl Iterator<Item = &[u8]>) -> Captured {
        let folder = tempfile::tempdir().unwrap();
        let mut capture = Capture::new(folder.path(), "bash", "t");
        for chunk in chunks {
            capture.push(chunk).await;
        }
        capture.finish().await
    }

    fn run<T>(work: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap()
            .block_on(work)
    }

    #[test]
    fn a_character_may_arrive_byte_by_byte() {
        let captured = run(capture("é漢👩".as_bytes().chunks(1)));

        assert_eq!(captured.text, "é漢👩");
    }

    #[test]
    fn nul_is_shown_and_trailing_blank_lines_are_not_counted() {
        let captured = run(capture([&b"a\0b\nc \n\n"[..], b" \n"].into_iter()));

        assert_eq!(
            (captured.text.as_str(), captured.total_lines),
            ("a␀b\nc", 2)
        );
    }

    #[test]
    fn progress_is_folded_to_its_last_state() {
        let steps = (1..=5000).map(|it| format!("\r\u{1b}[2K\u{1b}[32m{it}%\u{1b}[0m"));
        let output: String = steps.chain(["\ndone\n".to_owned()]).collect();
        let captured = run(capture(output.as_bytes().chunks(1000)));
        assert_eq!(captured.text, "5000%\ndone");
        assert!(captured.full.is_none() && captured.is_drawn_over);
    }

    #[test]
    fn long_output_is_on_disk_whole_and_in_memory_only_at_its_end() {
        let folder = tempfile::tempdir().unwrap();
        let output: String = (0..200_000).map(|n| format!("line {n}\n")).collect();

        let captured = run(async {
            let mut capture = Capture::new(folder.path(), "bash", "t");
            for chunk in output.as_bytes().chunks(60_000) {
                capture.push(chunk).await;
                assert!(capture.tail.len() < CUT_AT);
            }
            capture.finish().await
        });

        assert_eq!(captured.total_lines, 200_000);
        assert!(output.trim_end().ends_with(&captured.text));
        let Some(FullOutput::Whole(path)) = captured.full else {
            panic!("{:?}", captured.full)
        };
        assert_eq!(std::fs::read_to_string(path).unwrap(), output);
    }

    #[test]
    fn white_space_at_the_end_costs_nothing_that_was_printed_before() {
        let blank = "\n \t".repeat(200_000);
        let chunks = |text: &'static str| [text.as_bytes(), blank.as_bytes()].into_iter();
        assert_eq!(run(capture(chunks("RESULT=42"))).text, "RESULT=42");
        let captured = run(capture(chunks("a").chain(chunks("b"))));
        assert!(captured.text.len() > MAX_BYTES && captured.text.ends_with("\tb"));
        assert_eq!(captured.total_lines, 200_001);
        assert!(captured.full.is_some());
    }

    proptest! {
        #[test]
        fn the_text_does_not_depend_on_how_it_was_read(
            bytes in proptest::collection::vec(prop_oneof![
                any::<u8>(), Just(0xe6), Just(0xbc), Just(0xa2), Just(b'\n')], 0..60),
            size in 1usize..7,
        ) {
            let whole = String::from_utf8_lossy(&bytes).replace('\0', "␀");
            let whole = crate::screen::last_state(&whole);

            let captured = run(capture(bytes.chunks(size)));

            prop_assert_eq!(captured.text, whole.trim_end());
        }
    }
}
