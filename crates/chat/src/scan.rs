//! Lines that may mean something: the column-0 rules, one line at a time, and
//! where fences close.
//!
//! A line scanner and not a Markdown parser is the authority on structure: it
//! knows closed from unclosed fences, it cannot be led astray by HTML or lists,
//! and it is fast enough to read the whole file after every change. What the
//! lines make up together is `parse`'s concern.

use crate::document::Role;
use crate::text::{Lines, Text};

/// A line that opens or closes a code fence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fence<'t> {
    /// Backtick or tilde.
    pub mark: u8,
    /// How many of them, at least three.
    pub length: usize,
    /// What follows them, without blanks at its ends. A closing fence has none.
    pub info: &'t [u8],
}

impl Fence<'_> {
    /// Its backticks or tildes: the line that closes it.
    pub fn marks(&self) -> String {
        char::from(self.mark).to_string().repeat(self.length)
    }

    /// Whether this line closes the fence that `opener` opens.
    pub fn closes(&self, opener: &Fence<'_>) -> bool {
        self.info.is_empty() && self.mark == opener.mark && self.length >= opener.length
    }
}

/// Reads a line as a fence. Only column 0 counts, so that what is indented or
/// quoted never hides structure.
pub fn fence(line: &[u8]) -> Option<Fence<'_>> {
    let mark = *line.first().filter(|mark| matches!(mark, b'`' | b'~'))?;
    let length = line.iter().take_while(|byte| **byte == mark).count();
    let info = line[length..].trim_ascii();
    let inline_code = mark == b'`' && info.contains(&b'`');
    (length >= 3 && !inline_code).then_some(Fence { mark, length, info })
}

/// A role marker: the role, and the column of the content on its line.
pub fn marker(line: &[u8]) -> Option<(Role, Option<usize>)> {
    let [b'@', initial, ..] = line else {
        return None;
    };
    let role = match initial {
        b'S' => Role::System,
        b'Y' => Role::You,
        b'A' => Role::Assistant,
        _ => return None,
    };
    let rest = line.strip_prefix(role.marker().as_bytes())?;
    match rest {
        [] => Some((role, None)),
        [b' ' | b'\t' | b'\r', ..] => {
            let content = rest.trim_ascii_start();
            let column = (!content.is_empty()).then(|| line.len() - content.len());
            Some((role, column))
        }
        _ => None,
    }
}

/// A line that is a role marker but for a slip: the whole `@word:`.
pub fn near_marker(line: &str) -> Option<&str> {
    let rest = line.strip_prefix('@')?;
    let word = rest.find(|c: char| !c.is_alphanumeric() && c != '_' && c != '-')?;
    (word > 0 && rest[word..].starts_with(':')).then(|| &line[..word + 2])
}

/// The name and the id in a `**Tool Use:**` header.
pub fn tool_use_header(line: &[u8]) -> Option<(String, String)> {
    let rest = line.strip_prefix(b"**Tool Use:** `")?;
    let (name, rest) = split_at_tick(rest)?;
    let (id, rest) = split_at_tick(rest.strip_prefix(b" (`")?)?;
    (rest.trim_ascii_end() == b")").then_some((name, id))
}

/// The id in a `**Tool Result:**` header, and the word in brackets behind it.
pub fn tool_result_header(line: &[u8]) -> Option<(String, Option<String>)> {
    let rest = line.strip_prefix(b"**Tool Result:** `")?;
    let (id, rest) = split_at_tick(rest)?;
    match rest.trim_ascii() {
        [] => Some((id, None)),
        [b'(', word @ .., b')'] => Some((id, Some(utf8(word)?))),
        _ => None,
    }
}

fn split_at_tick(text: &[u8]) -> Option<(String, &[u8])> {
    let end = text
        .iter()
        .position(|byte| *byte == b'`')
        .filter(|end| *end > 0)?;
    Some((utf8(&text[..end])?, &text[end + 1..]))
}

/// Names and ids that are no UTF-8 cannot come from a provider.
fn utf8(bytes: &[u8]) -> Option<String> {
    std::str::from_utf8(bytes).ok().map(str::to_owned)
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

/// Reads a line as an opening thinking tag.
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

/// The reason in the comment of a cut-off answer.
pub fn aborted(line: &[u8]) -> Option<String> {
    let rest = line.strip_prefix(b"<!-- flemma:aborted")?.trim_ascii_end();
    let reason = rest.strip_suffix(b"-->")?;
    let reason = reason.strip_prefix(b":").unwrap_or(reason).trim_ascii();
    Some(String::from_utf8_lossy(reason).into_owned())
}

/// What a line can be, by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It reads as a role marker.
    Marker,
    /// It reads as a fence.
    Fence,
    /// It begins as a header, a tag or a slip of a marker does.
    Other,
}

/// Lines of interest in a text, found in one pass over it.
///
/// The lists are as long as the chat, and fresh memory is most of what they cost: numbers
/// of lines are kept short. Neovim has none beyond 2³¹.
#[derive(Debug, Default)]
pub struct Scan {
    /// Lines whose first byte can begin structure.
    candidates: Vec<(u32, Kind)>,
    /// Lines that read as role markers, in or out of fences.
    markers: Vec<u32>,
    /// Lines that can close a fence.
    closers: Vec<Closer>,
    /// For each closer the longest backtick and tilde run from it on.
    longest: Vec<[u32; 2]>,
    /// How many closers the last question left behind.
    passed: usize,
}

/// A line that can close a fence.
#[derive(Debug)]
struct Closer {
    line: u32,
    length: u32,
    mark: u8,
}

/// A number of lines or bytes, as it is kept.
fn short(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// What [`short`] made of a number.
fn long(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

impl Scan {
    /// Looks at the first byte of each line from `line` on, and further where it
    /// matters.
    pub fn from(text: &Text, line: usize) -> Self {
        // Room that is never written to costs nothing; lists that grow are copied.
        let room = text.line_count().saturating_sub(line) / 2;
        let mut scan = Self {
            candidates: Vec::with_capacity(room),
            closers: Vec::with_capacity(room / 2),
            ..Self::default()
        };
        for (line, first) in text.first_bytes(line) {
            match first {
                Some(b'@') if marker(text.line(line)).is_some() => {
                    scan.markers.push(short(line));
                    scan.candidates.push((short(line), Kind::Marker));
                }
                Some(b'`' | b'~') => {
                    if let Some(fence) = fence(text.line(line)) {
                        scan.candidates.push((short(line), Kind::Fence));
                        if fence.info.is_empty() {
                            scan.closers.push(Closer {
                                line: short(line),
                                length: short(fence.length),
                                mark: fence.mark,
                            });
                        }
                    }
                }
                Some(b'@' | b'*' | b'<') => scan.candidates.push((short(line), Kind::Other)),
                _ => {}
            }
        }
        scan.longest = vec![[0; 2]; scan.closers.len() + 1];
        for (at, closer) in scan.closers.iter().enumerate().rev() {
            scan.longest[at] = scan.longest[at + 1];
            let longest = &mut scan.longest[at][usize::from(closer.mark == b'~')];
            *longest = (*longest).max(closer.length);
        }
        scan
    }

    /// The lines whose first byte can begin structure; they are given once.
    pub fn take_candidates(&mut self) -> impl Iterator<Item = (usize, Kind)> + use<> {
        let candidates = std::mem::take(&mut self.candidates).into_iter();
        candidates.map(|(line, kind)| (long(line), kind))
    }

    /// The line that closes a fence opened on `line`. Linear over all calls that
    /// skip what they found and go down the text, because a fence that has no end is
    /// known without a search.
    pub fn closing_line(&mut self, line: usize, opener: Fence<'_>) -> Option<usize> {
        let is_passed = |closer: &Closer| long(closer.line) <= line;
        let needed = short(opener.length);
        if !self.closers[..self.passed].last().is_none_or(is_passed) {
            self.passed = 0;
        }
        let more = self.closers[self.passed..].iter();
        self.passed += more.take_while(|it| is_passed(it)).count();
        if self.longest[self.passed][usize::from(opener.mark == b'~')] < needed {
            return None;
        }
        self.closers[self.passed..]
            .iter()
            .find(|closer| closer.mark == opener.mark && closer.length >= needed)
            .map(|closer| long(closer.line))
    }

    /// How many lines read as role markers.
    pub fn marker_count(&self) -> usize {
        self.markers.len()
    }

    /// The first line from `line` on that reads as a role marker, in or out of
    /// fences.
    pub fn next_marker(&self, line: usize) -> Option<usize> {
        let at = self.markers.partition_point(|marker| long(*marker) < line);
        self.markers.get(at).copied().map(long)
    }
}

/// Where the blank lines from `line` on end.
pub fn skip_blank(text: &Text, lines: Lines) -> usize {
    lines
        .clone()
        .find(|line| !text.line(*line).trim_ascii().is_empty())
        .unwrap_or(lines.end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_marker_stands_alone_or_before_a_blank() {
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
    fn headers_are_read_whole_or_not_at_all() {
        let both = |name: &str, id: &str| Some((name.to_owned(), id.to_owned()));
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
        let error = Some(("x".to_owned(), Some("error".to_owned())));
        assert_eq!(tool_result_header(b"**Tool Result:** `x` (error)"), error);
        assert_eq!(tool_result_header(b"**Tool Result:** `x` and more"), None);
    }

    #[test]
    fn an_opening_fence_has_no_backtick_behind_it() {
        assert_eq!(fence(b"```md x```"), None);
        assert_eq!(fence(b"``"), None);
        assert_eq!(fence(b" ```"), None);
        assert_eq!(
            fence(b"````json ").map(|it| (it.length, it.info)),
            Some((4, &b"json"[..]))
        );
    }

    #[test]
    fn thinking_tags_have_three_spellings() {
        assert!(thinking_tag(b"<thinking>").is_some());
        assert!(thinking_tag(b"<thinking redacted>").is_some_and(|tag| tag.redacted));
        let signed = thinking_tag(b"<thinking anthropic:signature=\"ab==\"/>");
        assert!(signed.is_some_and(|tag| tag.self_closing && tag.signature.is_some()));
        for no in ["<thinkings>", "<thinking/>", "<thinking x>", "<thinking> x"] {
            assert_eq!(thinking_tag(no.as_bytes()), None, "{no}");
        }
    }
}
