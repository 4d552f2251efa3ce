//! Line scanner for structure: the column-0 rules, line by line, and where fences close.
//!
//! Structure is defined by this scanner rather than a Markdown parser: it distinguishes
//! closed from unclosed fences, is not affected by HTML or lists, and is fast enough to
//! read the whole file after every change. `parse` combines the lines.
//!
//! Foreign prose (a model's text or thinking, an imported conversation) is written line by
//! line. A line that starts like structure gets one leading backslash, even in a fence, and
//! parsing removes exactly one.

use std::borrow::Cow;

use crate::text::{Lines, Text};

/// A line that opens or closes a code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence<'t> {
    /// Backtick or tilde.
    pub mark: u8,
    /// Number of marks, at least three.
    pub length: usize,
    /// The trimmed text after the marks; empty for a closing fence.
    pub info: &'t [u8],
}

impl Fence<'_> {
    /// Returns its marks, which are also the line that closes it.
    pub fn marks(&self) -> String {
        char::from(self.mark).to_string().repeat(self.length)
    }

    /// Returns true if this line closes the fence opened by `opener`.
    pub fn closes(&self, opener: &Fence<'_>) -> bool {
        self.info.is_empty() && self.mark == opener.mark && self.length >= opener.length
    }
}

/// Parses a fence. Only column 0 counts, so that indented or quoted fences never hide
/// structure.
pub fn fence(line: &[u8]) -> Option<Fence<'_>> {
    let mark = *line.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = line.iter().take_while(|byte| **byte == mark).count();
    if length < 3 {
        return None;
    }
    let info = line[length..].trim_ascii();
    // As in Markdown, this is inline code and not a fence.
    let inline_code = mark == b'`' && info.contains(&b'`');
    (!inline_code).then_some(Fence { mark, length, info })
}

/// Parses a role marker: the role, and the column of the content on its line.
pub fn marker(line: &[u8]) -> Option<(Role, Option<usize>)> {
    // Constants, so that the comparison is inlined: this runs for each line that starts
    // with `@`.
    const SYSTEM: &[u8] = Role::System.marker().as_bytes();
    const YOU: &[u8] = Role::You.marker().as_bytes();
    const ASSISTANT: &[u8] = Role::Assistant.marker().as_bytes();
    let (role, rest) = match line {
        [b'@', b'S', ..] => (Role::System, line.strip_prefix(SYSTEM)?),
        [b'@', b'Y', ..] => (Role::You, line.strip_prefix(YOU)?),
        [b'@', b'A', ..] => (Role::Assistant, line.strip_prefix(ASSISTANT)?),
        _ => return None,
    };
    // The marker must end here: `@You:s` is text.
    matches!(rest, [] | [b' ' | b'\t' | b'\r', ..]).then(|| (role, inline(line, role)))
}

/// Returns the column of the content on a marker's line.
pub fn inline(line: &[u8], role: Role) -> Option<usize> {
    let content = line[role.marker().len()..].trim_ascii_start();
    (!content.is_empty()).then(|| line.len() - content.len())
}

/// Returns the whole `@word:` of a line that may be a misspelled role marker.
pub fn near_marker(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('@')?;
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')?;
    (word > 0 && rest[word..].starts_with(':')).then(|| &line[..word + 2])
}

/// Parses the name and the ID in a `**Tool Use:**` header. Providers never send invalid
/// UTF-8.
pub fn tool_use_header(line: &[u8]) -> Option<(&str, &str)> {
    name_and_id(line, "**Tool Use:** `")
}

/// Parses the name in a `**Server Tool:**` header, and whether it ends in `(error)`.
pub fn server_tool_header(line: &[u8]) -> Option<(&str, bool)> {
    let line = line.trim_ascii_end();
    let failed = line.strip_suffix(b" (error)");
    let (name, _) = name_and_id(failed.unwrap_or(line), "**Server Tool:** `")?;
    Some((name, failed.is_some()))
}

fn name_and_id<'l>(line: &'l [u8], start: &str) -> Option<(&'l str, &'l str)> {
    let rest = str::from_utf8(line).ok()?.strip_prefix(start)?;
    let (name, rest) = split_at_tick(rest)?;
    let (id, rest) = split_at_tick(rest.strip_prefix(" (`")?)?;
    (rest.trim_ascii_end() == ")").then_some((name, id))
}

/// Parses the ID in a `**Tool Result:**` header and the word in parentheses after it.
pub fn tool_result_header(line: &[u8]) -> Option<(&str, Option<&str>)> {
    let rest = str::from_utf8(line)
        .ok()?
        .strip_prefix("**Tool Result:** `")?;
    let (id, rest) = split_at_tick(rest)?;
    let rest = rest.trim_ascii();
    if rest.is_empty() {
        return Some((id, None));
    }
    let word = rest.strip_prefix('(')?.strip_suffix(')')?;
    Some((id, Some(word)))
}

fn split_at_tick(text: &str) -> Option<(&str, &str)> {
    text.split_once('`')
        .filter(|(before, _)| !before.is_empty())
}

/// An opening thinking tag: signature, redacted, self-closing.
#[derive(Debug, PartialEq, Eq)]
pub struct ThinkingTag {
    /// Provider and signature.
    pub signature: Option<(String, String)>,
    /// `<thinking redacted>`.
    pub redacted: bool,
    /// `<thinking PROVIDER:signature="…"/>`.
    pub self_closing: bool,
}

/// Parses an opening thinking tag.
pub fn thinking_tag(line: &[u8]) -> Option<ThinkingTag> {
    let rest = line.strip_prefix(b"<thinking")?;
    let rest = std::str::from_utf8(rest)
        .ok()?
        .trim_end()
        .strip_suffix('>')?;
    let (rest, self_closing) = match rest.strip_suffix('/') {
        Some(rest) => (rest.trim_end(), true),
        None => (rest, false),
    };
    let plain = ThinkingTag {
        signature: None,
        redacted: false,
        self_closing,
    };
    match rest.strip_prefix(' ') {
        None if rest.is_empty() && !self_closing => Some(plain),
        Some("redacted") if !self_closing => Some(ThinkingTag {
            redacted: true,
            ..plain
        }),
        Some(attribute) => {
            let (provider, value) = attribute.split_once(":signature=\"")?;
            let value = value
                .strip_suffix('"')
                .filter(|value| !value.contains('"'))?;
            Some(ThinkingTag {
                signature: Some((provider.to_owned(), value.to_owned())),
                ..plain
            })
        }
        None => None,
    }
}

/// The comment between two texts that the provider sent as separate parts of one answer.
/// Providers that check what they get back want them separate again.
pub const TEXT_BREAK: &str = "<!-- flemma:part -->";

/// Returns true for the comment above a summary, the first line of a message of the user.
pub fn is_summary(line: &[u8]) -> bool {
    let rest = line.strip_prefix(b"<!-- flemma:summary");
    let words = rest.and_then(|it| it.trim_ascii_end().strip_suffix(b"-->"));
    words.is_some_and(|it| matches!(it, [] | [b' ', ..]))
}

/// Parses the reason in the comment of a cut-off answer.
pub fn aborted(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(b"<!-- flemma:aborted")?.trim_ascii_end();
    let reason = rest.strip_suffix(b"-->")?;
    let reason = reason.strip_prefix(b":").unwrap_or(reason).trim_ascii();
    Some(String::from_utf8_lossy(reason).into_owned())
}

/// Classification of a line by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A role marker.
    Marker(Role),
    /// A fence.
    Fence,
    /// Possibly a header, a tag, or a misspelled marker.
    Other,
}

/// The lines of a text that may be structure, found in one pass.
#[derive(Debug, Default)]
pub struct Scan {
    /// Lines that may be structure.
    candidates: Vec<(usize, Kind)>,
    /// Role markers, inside or outside fences.
    markers: Vec<usize>,
    /// Lines that may close a fence.
    closers: Vec<Closer>,
    /// For each closer, and the end, the longest backtick and tilde run from it on.
    longest: Vec<[usize; 2]>,
}

/// A line that may close a fence.
#[derive(Debug)]
struct Closer {
    line: usize,
    length: usize,
    mark: u8,
}

/// Returns, for each of `closers` and the end, the longest backtick and tilde runs from it
/// on.
fn longest(closers: &[Closer]) -> Vec<[usize; 2]> {
    let mut longest = vec![[0; 2]; closers.len() + 1];
    for (at, closer) in closers.iter().enumerate().rev() {
        longest[at] = longest[at + 1];
        let run = &mut longest[at][usize::from(closer.mark == b'~')];
        *run = (*run).max(closer.length);
    }
    longest
}

impl Scan {
    /// Classifies each line from `line` on by its first byte, and by more only if that byte
    /// can begin structure.
    pub fn from(text: &Text, line: usize) -> Self {
        let mut scan = Self::default();
        for (line, first) in text.first_bytes(line) {
            match first {
                Some(b'@') => {
                    let kind = match marker(text.line(line)) {
                        Some((role, _)) => {
                            scan.markers.push(line);
                            Kind::Marker(role)
                        }
                        None => Kind::Other,
                    };
                    scan.candidates.push((line, kind));
                }
                Some(b'`' | b'~') => {
                    if let Some(fence) = fence(text.line(line)) {
                        scan.candidates.push((line, Kind::Fence));
                        // A line with an info string opens a fence and closes none.
                        if fence.info.is_empty() {
                            scan.closers.push(Closer {
                                line,
                                length: fence.length,
                                mark: fence.mark,
                            });
                        }
                    }
                }
                // A header or a tag may begin here; `parse` looks at the rest.
                Some(b'*' | b'<') => scan.candidates.push((line, Kind::Other)),
                _ => {}
            }
        }
        // Computed once, for `closing_line`.
        scan.longest = longest(&scan.closers);
        scan
    }

    /// Takes the lines that may be structure.
    pub fn take_candidates(&mut self) -> Vec<(usize, Kind)> {
        std::mem::take(&mut self.candidates)
    }

    /// Returns the line that closes a fence opened on `line`. Calls that proceed downward
    /// and skip each result take linear time in total, because unclosed fences are detected
    /// without a search.
    pub fn closing_line(&self, line: usize, opener: Fence<'_>) -> Option<usize> {
        let first = self.closers.partition_point(|it| it.line <= line);
        // Without this test, many unclosed fences would each search to the end of the text.
        if self.longest[first][usize::from(opener.mark == b'~')] < opener.length {
            return None;
        }
        let closes = |it: &&Closer| it.mark == opener.mark && it.length >= opener.length;
        self.closers[first..].iter().find(closes).map(|it| it.line)
    }

    /// Number of role markers.
    pub fn marker_count(&self) -> usize {
        self.markers.len()
    }

    /// Returns the first role marker from `line` on, inside or outside fences.
    pub fn next_marker(&self, line: usize) -> Option<usize> {
        let at = self.markers.partition_point(|marker| *marker < line);
        self.markers.get(at).copied()
    }
}

/// Returns the end of the blank lines at the start of `lines`.
pub fn skip_blank(text: &Text, lines: Lines) -> usize {
    lines
        .clone()
        .find(|line| !text.line(*line).trim_ascii().is_empty())
        .unwrap_or(lines.end)
}

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// `@System:`
    System,
    /// `@You:`
    You,
    /// `@Assistant:`
    Assistant,
}

impl Role {
    /// All roles, in the order in which they usually appear.
    pub const ALL: [Role; 3] = [Role::System, Role::You, Role::Assistant];

    /// Returns the role's marker at column 0.
    pub const fn marker(self) -> &'static str {
        match self {
            Role::System => "@System:",
            Role::You => "@You:",
            Role::Assistant => "@Assistant:",
        }
    }
}

/// Prefixes of structure at column 0. The parser recognizes nothing else, so escaping these
/// is enough.
const STARTS: [&str; 9] = [
    "@System:",
    "@You:",
    "@Assistant:",
    "**Tool Use:**",
    "**Tool Result:**",
    "**Server Tool:**",
    "<thinking",
    "</thinking>",
    "<!-- flemma:",
];

/// Classification of the start of a line that is still being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStart {
    /// Structure, whatever follows.
    Structure,
    /// Possibly structure; wait for more.
    Open,
    /// Never structure.
    Prose,
}

/// Classifies a line by its first bytes.
pub fn line_start(so_far: &[u8]) -> LineStart {
    // Escaped lines look the same with one more backslash, and must stay distinct.
    let rest = &so_far[so_far.iter().take_while(|b| **b == b'\\').count()..];
    if STARTS
        .iter()
        .any(|start| rest.starts_with(start.as_bytes()))
    {
        LineStart::Structure
    } else if STARTS
        .iter()
        .any(|start| start.as_bytes().starts_with(rest))
    {
        LineStart::Open
    } else {
        LineStart::Prose
    }
}

/// Escapes a whole line of foreign prose.
pub fn escape_line(line: &str) -> Cow<'_, str> {
    match line_start(line.as_bytes()) {
        LineStart::Structure => Cow::Owned(format!("\\{line}")),
        LineStart::Open | LineStart::Prose => Cow::Borrowed(line),
    }
}

/// Reverses [`escape_line`].
pub fn unescape_line(line: &[u8]) -> &[u8] {
    match line {
        [b'\\', rest @ ..] if line_start(rest) == LineStart::Structure => rest,
        _ => line,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_marker_ends_its_line_or_precedes_a_blank() {
        assert_eq!(marker(b"@You:"), Some((Role::You, None)));
        assert_eq!(marker(b"@You:  \r"), Some((Role::You, None)));
        assert_eq!(marker(b"@Assistant: hi"), Some((Role::Assistant, Some(12))));
        for no in [
            "@you:",
            " @You:",
            "@You",
            "@@You:",
            "@You:@Assistant:",
            "@You:\u{200b}",
            "@Yоu:",
        ] {
            assert_eq!(marker(no.as_bytes()), None, "{no:?}");
        }
    }

    #[test]
    fn incomplete_headers_are_rejected() {
        let both = |name, id| Some((name, id));
        assert_eq!(
            tool_use_header(b"**Tool Use:** `bash` (`x 1`) "),
            both("bash", "x 1")
        );
        for no in [
            "**Tool Use:** `a`b` (`x`)",
            "**Tool Use:** `a` (``)",
            "**Tool Use:** `` (`x`)",
            "**Tool Use:** a (x)",
        ] {
            assert_eq!(tool_use_header(no.as_bytes()), None, "{no}");
        }
        let result = |line: &'static str| tool_result_header(line.as_bytes());
        assert_eq!(
            result("**Tool Result:** `x` (error)"),
            Some(("x", Some("error")))
        );
        for no in ["**Tool Result:** `x` and more", "**Tool Result:** `x` ("] {
            assert_eq!(result(no), None, "{no}");
        }
    }

    #[test]
    fn a_fence_has_no_backticks_in_its_info_string() {
        assert_eq!(fence(b"```md x```"), None);
        assert_eq!(fence(b"``"), None);
        assert_eq!(fence(b" ```"), None);
        assert_eq!(
            fence(b"````json ").map(|it| (it.length, it.info)),
            Some((4, &b"json"[..]))
        );
    }

    #[test]
    fn a_fence_is_closed_by_at_least_as_many_marks() {
        let read = |line: &'static str| fence(line.as_bytes()).expect(line);
        let opener = read("````json");
        assert_eq!(opener.marks(), "````");
        for (line, closes) in [
            ("````", true),
            ("`````  ", true),
            ("```", false),
            ("~~~~", false),
            ("````json", false),
        ] {
            assert_eq!(read(line).closes(&opener), closes, "{line}");
        }
    }

    #[test]
    fn thinking_tags_have_three_forms() {
        assert!(thinking_tag(b"<thinking>").is_some());
        assert!(thinking_tag(b"<thinking redacted>").is_some_and(|tag| tag.redacted));
        let signed = thinking_tag(b"<thinking anthropic:signature=\"ab==\"/>");
        assert!(signed.is_some_and(|tag| tag.self_closing && tag.signature.is_some()));
        for no in [
            "<thinkings>",
            "<thinking/>",
            "<thinking redacted/>",
            "<thinking x>",
            "<thinking> x",
        ] {
            assert_eq!(thinking_tag(no.as_bytes()), None, "{no}");
        }
    }

    #[test]
    fn escaping_a_marker_adds_one_backslash_and_parsing_removes_it() {
        for (line, written) in [
            ("@You:", r"\@You:"),
            (r"\@You:", r"\\@You:"),
            ("**Tool Use:** `bash` (`x`)", r"\**Tool Use:** `bash` (`x`)"),
            ("**Server Tool:** `a` (`x`)", r"\**Server Tool:** `a` (`x`)"),
            (r"\n is a newline", r"\n is a newline"),
            ("@Your:", "@Your:"),
            (" @You:", " @You:"),
        ] {
            assert_eq!(escape_line(line), written);
            assert_eq!(unescape_line(written.as_bytes()), line.as_bytes());
        }
    }

    #[test]
    fn a_line_that_may_become_a_marker_is_open() {
        for so_far in ["", "@", "@Yo", "@You", "**", r"\\", "<", "<!-- flem"] {
            assert_eq!(line_start(so_far.as_bytes()), LineStart::Open, "{so_far:?}");
        }
        assert_eq!(line_start(b"@x"), LineStart::Prose);
    }

    proptest! {
        #[test]
        fn any_line_survives_escaping(line in r"\\{0,3}(@You:|@|<thinking>|[a-z*<]{0,3}).{0,5}") {
            let written = escape_line(&line);
            prop_assert_eq!(unescape_line(written.as_bytes()), line.as_bytes());
        }
    }
}
