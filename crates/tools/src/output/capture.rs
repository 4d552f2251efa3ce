//! Keeps of a command's output what a model can be given: its end as text, exact
//! counts, and everything in a file once it is too long.
//!
//! Memory is bounded whatever the command prints. Knows no notice's wording.

use std::path::{Path, PathBuf};

use chat::truncate::{MAX_BYTES, MAX_LINES, ceil_char_boundary};

use super::overflow::Overflow;

/// Stands for a NUL byte, which a buffer line cannot hold.
const NUL_SHOWN: char = '␀';
/// The end that is kept in memory is cut back to this many bytes…
const KEPT: usize = 2 * MAX_BYTES;
/// …when it reaches this many.
const CUT_AT: usize = 4 * MAX_BYTES;

/// What was kept of an output.
#[derive(Debug, Default)]
pub(crate) struct Captured {
    /// The end of the output, or all of it, without trailing white space.
    pub text: String,
    /// Lines of the whole output, trailing blank ones left out.
    pub total_lines: usize,
    /// Where the whole output is, if it was too long to be returned.
    pub full: Option<FullOutput>,
}

/// The file with a long output.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum FullOutput {
    /// All of it.
    Whole(PathBuf),
    /// Its first bytes, as many as one output may take on disk.
    Start(PathBuf),
    /// It could not be kept; the reason.
    Lost(String),
}

/// Collects output as it arrives.
pub(crate) struct Capture {
    /// Bytes of a character whose rest is still to come.
    unfinished: Vec<u8>,
    /// The text of the last push.
    latest: String,
    tail: String,
    /// White space after `tail`: at the end of an output it is not part of it, however
    /// much there is.
    blank: Blank,
    bytes: usize,
    newlines: usize,
    /// Newlines before the last character that is not white space.
    newlines_at_ink: usize,
    has_ink: bool,
    overflow: Overflow,
}

impl Capture {
    /// Long output goes to a file in `output_dir` named after the tool and the call.
    pub(crate) fn new(output_dir: &Path, name: &str, id: &str) -> Self {
        Self {
            unfinished: Vec::new(),
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

    /// Adds what was read and gives it back as text.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> &str {
        self.unfinished.extend_from_slice(bytes);
        let rest = unfinished_character(&self.unfinished);
        let whole = self.unfinished.len() - rest;
        self.latest = as_text(&self.unfinished[..whole]);
        self.unfinished.drain(..whole);
        self.add_latest().await;
        &self.latest
    }

    /// Ends the output: an unfinished character becomes `U+FFFD`.
    pub(crate) async fn finish(mut self) -> Captured {
        self.latest = as_text(&self.unfinished);
        self.add_latest().await;
        let total_lines = if self.has_ink {
            self.newlines_at_ink + 1
        } else {
            0
        };
        let text = self.tail.trim_end();
        let is_short = text.len() <= MAX_BYTES && total_lines <= MAX_LINES;
        Captured {
            full: self.overflow.finish(is_short).await,
            text: text.to_owned(),
            total_lines,
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
            // Nothing was cut so far, so this is the whole output.
            self.overflow.open().await;
            self.overflow.write(&self.tail).await;
            self.overflow.write(&self.blank.kept).await;
        }
        cut(&mut self.tail);
        self.blank.is_cut |= cut(&mut self.blank.kept);
    }

    fn count(&mut self) {
        let ink = self.latest.trim_end();
        if !ink.is_empty() {
            self.has_ink = true;
            self.newlines_at_ink = self.newlines + newlines(ink);
        }
        self.newlines += newlines(&self.latest);
    }
}

/// White space that may be followed by something.
#[derive(Default)]
struct Blank {
    /// Its end, or all of it.
    kept: String,
    /// Whether its start was cut off.
    is_cut: bool,
}

impl Blank {
    /// Puts it behind `tail`, as something follows.
    fn end(&mut self, tail: &mut String) {
        if std::mem::take(&mut self.is_cut) {
            // What was before it is too far from the end.
            tail.clear();
        }
        tail.push_str(&self.kept);
        self.kept.clear();
    }
}

/// Cuts a text back to its end once it is too long; returns true when it did.
fn cut(text: &mut String) -> bool {
    let is_long = text.len() >= CUT_AT;
    if is_long {
        text.drain(..ceil_char_boundary(text, text.len() - KEPT));
    }
    is_long
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

fn as_text(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    if text.contains('\0') {
        text.replace('\0', NUL_SHOWN.encode_utf8(&mut [0; 4]))
    } else {
        text.into_owned()
    }
}

/// How many bytes at the end are the start of a character that goes on.
fn unfinished_character(bytes: &[u8]) -> usize {
    let last = bytes.len().min(3);
    (1..=last)
        .find(|&back| {
            let rest = &bytes[bytes.len() - back..];
            // "No error length" means: valid so far, more may come.
            std::str::from_utf8(rest)
                .is_err_and(|error| error.valid_up_to() == 0 && error.error_len().is_none())
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;

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

            let captured = run(capture(bytes.chunks(size)));

            prop_assert_eq!(captured.text, whole.trim_end());
        }
    }
}
