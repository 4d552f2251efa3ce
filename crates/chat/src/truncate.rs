//! Truncates long text for the model to whole lines of its head or tail.
//!
//! Pure, without copies. The tool that calls it stores the full text and writes the notice.

/// Maximum number of lines kept.
pub const MAX_LINES: usize = 2000;
/// Maximum number of bytes kept: 50 KB.
pub const MAX_BYTES: usize = 50 * 1024;

/// Limits of the kept part; the first one reached applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Maximum number of lines.
    pub lines: usize,
    /// Maximum number of bytes, including newlines between kept lines.
    pub bytes: usize,
}

impl Default for Limits {
    /// [`MAX_LINES`] and [`MAX_BYTES`].
    fn default() -> Self {
        Self {
            lines: MAX_LINES,
            bytes: MAX_BYTES,
        }
    }
}

/// The limit that ended the kept part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`Limits::lines`].
    Lines,
    /// [`Limits::bytes`].
    Bytes,
}

/// The kept part of a text, with counts.
///
/// No count includes a final newline of the input, which ends the last line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncated<'a> {
    /// The kept part, without a final newline.
    pub content: &'a str,
    /// The limit that was reached; `None` if nothing is missing.
    pub truncated_by: Option<Limit>,
    /// Lines of the input.
    pub total_lines: usize,
    /// Bytes of the input.
    pub total_bytes: usize,
    /// Lines of `content`.
    pub output_lines: usize,
    /// Bytes of `content`.
    pub output_bytes: usize,
    /// True if `content` is the tail of a single line that exceeds the byte limit.
    pub last_line_partial: bool,
    /// True if nothing is kept because the first line alone exceeds the byte limit.
    pub first_line_exceeds_limit: bool,
}

impl<'a> Truncated<'a> {
    fn new(text: &str, content: &'a str, total_lines: usize, by: Option<Limit>) -> Self {
        let kept_all = by.is_none();
        Self {
            content,
            truncated_by: by,
            total_lines,
            total_bytes: text.len(),
            output_lines: if kept_all {
                total_lines
            } else {
                count_lines(content)
            },
            output_bytes: content.len(),
            last_line_partial: false,
            first_line_exceeds_limit: false,
        }
    }
}

/// Keeps the start of `text`: at most [`MAX_LINES`] lines and [`MAX_BYTES`] bytes.
///
/// Use this for text that is read from the top, such as a file. Lines are kept whole. If
/// the first line alone exceeds the byte limit, nothing is kept and
/// `first_line_exceeds_limit` is set.
pub fn truncate_head(text: &str) -> Truncated<'_> {
    truncate_head_within(text, Limits::default())
}

/// Like [`truncate_head`], with other limits.
pub fn truncate_head_within(text: &str, limits: Limits) -> Truncated<'_> {
    // It ends the last line and begins no other.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let total_lines = count_lines(text);
    if total_lines <= limits.lines && text.len() <= limits.bytes {
        return Truncated::new(text, text, total_lines, None);
    }
    let line_ends = text.match_indices('\n').map(|(at, _)| at);
    let ends: Vec<usize> = line_ends
        .chain([text.len()])
        .take(limits.lines)
        .take_while(|&end| end <= limits.bytes)
        .collect();
    let by = match ends.len() {
        kept if kept == limits.lines => Limit::Lines,
        _ => Limit::Bytes,
    };
    let content = &text[..ends.last().copied().unwrap_or(0)];
    let mut truncated = Truncated::new(text, content, total_lines, Some(by));
    // `count_lines` would count no line if the only kept line is empty.
    truncated.output_lines = ends.len();
    truncated.first_line_exceeds_limit = ends.is_empty() && by == Limit::Bytes;
    truncated
}

/// Keeps the end of `text`: at most [`MAX_LINES`] lines and [`MAX_BYTES`] bytes.
///
/// Use this for output whose end matters, such as a build log. Lines are kept whole. If the
/// last line alone exceeds the byte limit, `content` is the tail of that line, cut at a
/// UTF-8 boundary. Empty output yields empty content and zero lines.
pub fn truncate_tail(text: &str) -> Truncated<'_> {
    truncate_tail_within(text, Limits::default())
}

/// Like [`truncate_tail`], with other limits.
pub fn truncate_tail_within(text: &str, limits: Limits) -> Truncated<'_> {
    // It ends the last line and begins no other.
    let text = text.strip_suffix('\n').unwrap_or(text);
    let total_lines = count_lines(text);
    if total_lines <= limits.lines && text.len() <= limits.bytes {
        return Truncated::new(text, text, total_lines, None);
    }
    let line_starts = text.rmatch_indices('\n').map(|(at, _)| at + 1);
    let starts: Vec<usize> = line_starts
        .chain([0])
        .take(limits.lines)
        .take_while(|&start| text.len() - start <= limits.bytes)
        .collect();
    let by = match starts.len() {
        kept if kept == limits.lines => Limit::Lines,
        _ => Limit::Bytes,
    };
    let Some(&start) = starts.last() else {
        return partial_last_line(text, total_lines, by, limits);
    };
    let mut truncated = Truncated::new(text, &text[start..], total_lines, Some(by));
    truncated.output_lines = starts.len();
    truncated
}

fn partial_last_line(text: &str, total: usize, by: Limit, limits: Limits) -> Truncated<'_> {
    // With a limit of zero lines, nothing is kept.
    let keep = if by == Limit::Bytes { limits.bytes } else { 0 };
    let content = &text[ceil_char_boundary(text, text.len().saturating_sub(keep))..];
    let mut truncated = Truncated::new(text, content, total, Some(by));
    truncated.last_line_partial = !content.is_empty();
    truncated
}

/// Returns the first character boundary of `text` at or after byte `at`.
///
/// `str::ceil_char_boundary` is newer than our minimum Rust version.
pub fn ceil_char_boundary(text: &str, at: usize) -> usize {
    let mut boundary = at.min(text.len());
    while !text.is_char_boundary(boundary) {
        boundary += 1;
    }
    boundary
}

/// Returns the last character boundary of `text` at or before byte `at`.
pub fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut boundary = at.min(text.len());
    while !text.is_char_boundary(boundary) {
        boundary -= 1;
    }
    boundary
}

/// Formats a byte count: `3 B`, `12.1 KB`, `1.5 MB`, in steps of 1024.
pub fn format_size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KB", "MB", "GB", "TB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    #[expect(clippy::cast_precision_loss, reason = "one decimal is shown")]
    let mut size = bytes as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would be printed as "1024.0".
    while size >= 1023.95 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

fn count_lines(text: &str) -> usize {
    if text.is_empty() {
        return 0;
    }
    memchr::memchr_iter(b'\n', text.as_bytes()).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn limits(lines: usize, bytes: usize) -> Limits {
        Limits { lines, bytes }
    }

    #[test]
    fn short_text_is_kept_and_its_final_newline_is_not_a_line() {
        let kept = truncate_tail("one\ntwo\n");

        assert_eq!(kept.content, "one\ntwo");
        assert_eq!((kept.total_lines, kept.truncated_by), (2, None));
        assert_eq!(truncate_head("").total_lines, 0);
    }

    #[test]
    fn the_head_keeps_the_first_lines_and_the_tail_the_last() {
        let text = "1\n2\n3\n4\n";

        assert_eq!(truncate_head_within(text, limits(2, 99)).content, "1\n2");
        assert_eq!(truncate_tail_within(text, limits(2, 99)).content, "3\n4");
        let by = truncate_tail_within(text, limits(2, 99)).truncated_by;
        assert_eq!(by, Some(Limit::Lines));
    }

    #[test]
    fn a_line_beyond_the_limit_is_dropped_whole() {
        let kept = truncate_head_within("ab\ncdef\n", limits(9, 5));

        assert_eq!(
            (kept.content, kept.truncated_by),
            ("ab", Some(Limit::Bytes))
        );
    }

    #[test]
    fn a_head_whose_first_line_exceeds_the_limit_is_empty() {
        let kept = truncate_head_within("abcdef\ng", limits(9, 5));

        assert_eq!(kept.content, "");
        assert!(kept.first_line_exceeds_limit);
    }

    #[test]
    fn a_last_line_that_exceeds_the_limit_is_cut_between_characters() {
        let kept = truncate_tail_within("x\nééé", limits(9, 5));

        assert_eq!(kept.content, "éé");
        assert!(kept.last_line_partial);
    }

    #[test]
    fn a_blank_line_at_the_edge_counts_as_a_line() {
        let kept = truncate_tail_within("a\nb\n\n", limits(1, 99));

        assert_eq!((kept.content, kept.output_lines), ("", 1));
    }

    #[test]
    fn an_offset_inside_a_character_moves_to_its_boundary() {
        let edges = |at: usize| {
            (
                floor_char_boundary("a漢b", at),
                ceil_char_boundary("a漢b", at),
            )
        };
        let found = [0, 1, 2, 3, 4, 5, 9].map(edges);
        assert_eq!(
            found,
            [(0, 0), (1, 1), (1, 4), (1, 4), (4, 4), (5, 5), (5, 5)]
        );
    }

    #[test]
    fn sizes_are_formatted_as_specified() {
        let sizes = [3, 1023, 1024, 12345, 1_572_864, 1_048_575, 1 << 60].map(format_size);

        assert_eq!(
            sizes,
            [
                "3 B",
                "1023 B",
                "1.0 KB",
                "12.1 KB",
                "1.5 MB",
                "1.0 MB",
                "1048576.0 TB"
            ]
        );
    }

    proptest! {
        #[test]
        fn the_kept_part_is_a_head_or_tail_within_the_limits(
            text in "([a-z]{0,6}|é|漢|\n|\r\n){0,40}",
            lines in 0usize..8,
            bytes in 0usize..40,
        ) {
            let stripped = text.strip_suffix('\n').unwrap_or(&text);
            let head = truncate_head_within(&text, limits(lines, bytes));
            let tail = truncate_tail_within(&text, limits(lines, bytes));

            prop_assert!(stripped.starts_with(head.content));
            prop_assert!(stripped.ends_with(tail.content));
            for kept in [head, tail] {
                prop_assert!(kept.content.len() <= bytes && kept.output_lines <= lines);
                prop_assert_eq!(kept.output_bytes, kept.content.len());
                prop_assert_eq!(kept.total_bytes, stripped.len());
                let whole = if stripped.is_empty() { 0 } else { stripped.split('\n').count() };
                prop_assert_eq!(kept.total_lines, whole);
                prop_assert_eq!(kept.truncated_by.is_none(), kept.content.len() == stripped.len()
                    && kept.output_lines == whole);
            }
        }

        #[test]
        fn kept_lines_are_whole_unless_marked_partial(
            text in "([a-z]{0,6}|漢|\n){0,40}", lines in 1usize..8, bytes in 0usize..40,
        ) {
            let stripped = text.strip_suffix('\n').unwrap_or(&text);
            let tail = truncate_tail_within(&text, limits(lines, bytes));
            let all: Vec<&str> = stripped.split('\n').collect();
            if !tail.last_line_partial && tail.output_lines > 0 {
                let expected = all[all.len() - tail.output_lines..].join("\n");
                prop_assert_eq!(tail.content, expected);
            }
            let head = truncate_head_within(&text, limits(lines, bytes));
            if head.output_lines > 0 {
                prop_assert_eq!(head.content, all[..head.output_lines].join("\n"));
            }
        }
    }
}
