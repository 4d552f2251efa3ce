//! Cuts long text to what a model is given: whole lines, the head or the tail.
//!
//! Pure and without copies. It knows neither where the text came from nor where
//! the full text is kept; the notice that tells the model is written by the tool.

/// Most lines kept, from "Output truncation" in the tools specification.
pub const MAX_LINES: usize = 2000;
/// Most bytes kept (50 KB), likewise.
pub const MAX_BYTES: usize = 50 * 1024;

/// How much may be kept; whichever limit is reached first counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most lines.
    pub lines: usize,
    /// Most bytes, newlines between kept lines included.
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

/// What was kept of a text, and of how much.
///
/// All counts leave out one final newline of the input: it ends the last line
/// and starts none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncated<'a> {
    /// The kept part, without a final newline.
    pub content: &'a str,
    /// Why something is missing, or `None` when nothing is.
    pub truncated_by: Option<Limit>,
    /// Lines of the input.
    pub total_lines: usize,
    /// Bytes of the input.
    pub total_bytes: usize,
    /// Lines of `content`.
    pub output_lines: usize,
    /// Bytes of `content`.
    pub output_bytes: usize,
    /// Whether `content` is the tail of one line that is over the byte limit.
    pub last_line_partial: bool,
    /// Whether nothing is kept because the first line alone is over the byte limit.
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
/// For text that is read from the top, such as a file. Lines are kept whole; if
/// the first one alone is over the byte limit, nothing is kept and
/// `first_line_exceeds_limit` is set.
///
/// Source: `ctx.truncate.truncate_head` in the tools specification.
pub fn truncate_head(text: &str) -> Truncated<'_> {
    truncate_head_within(text, Limits::default())
}

/// [`truncate_head`] with other limits.
pub fn truncate_head_within(text: &str, limits: Limits) -> Truncated<'_> {
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
    truncated.output_lines = ends.len();
    truncated.first_line_exceeds_limit = ends.is_empty() && by == Limit::Bytes;
    truncated
}

/// Keeps the end of `text`: at most [`MAX_LINES`] lines and [`MAX_BYTES`] bytes.
///
/// For output whose end matters, such as a build log. Lines are kept whole. If
/// the last line alone is over the byte limit, `content` is that line's tail,
/// cut at a UTF-8 boundary. Empty output gives empty content and zero lines.
///
/// Source: "Output truncation" and `ctx.truncate.truncate_tail` in the tools
/// specification.
pub fn truncate_tail(text: &str) -> Truncated<'_> {
    truncate_tail_within(text, Limits::default())
}

/// [`truncate_tail`] with other limits.
pub fn truncate_tail_within(text: &str, limits: Limits) -> Truncated<'_> {
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
    let keep = if by == Limit::Bytes { limits.bytes } else { 0 };
    let content = &text[ceil_char_boundary(text, text.len().saturating_sub(keep))..];
    let mut truncated = Truncated::new(text, content, total, Some(by));
    truncated.last_line_partial = !content.is_empty();
    truncated
}

/// The first character boundary of `text` at or after byte `at`.
///
/// The standard library's is younger than our oldest compiler.
pub fn ceil_char_boundary(text: &str, at: usize) -> usize {
    let mut boundary = at.min(text.len());
    while !text.is_char_boundary(boundary) {
        boundary += 1;
    }
    boundary
}

/// The last character boundary of `text` at or before byte `at`.
pub fn floor_char_boundary(text: &str, at: usize) -> usize {
    let mut boundary = at.min(text.len());
    while !text.is_char_boundary(boundary) {
        boundary -= 1;
    }
    boundary
}

/// A byte count for people: `3 B`, `12.1 KB`, `1.5 MB`, in steps of 1024.
///
/// Source: `ctx.truncate.format_size` in the tools specification, where 12345 is
/// `12.1 KB`.
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
    text.bytes().filter(|&byte| byte == b'\n').count() + 1
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
    fn a_line_that_does_not_fit_is_left_out_whole() {
        let kept = truncate_head_within("ab\ncdef\n", limits(9, 5));

        assert_eq!(
            (kept.content, kept.truncated_by),
            ("ab", Some(Limit::Bytes))
        );
    }

    #[test]
    fn a_first_line_over_the_limit_leaves_nothing_of_the_head() {
        let kept = truncate_head_within("abcdef\ng", limits(9, 5));

        assert_eq!(kept.content, "");
        assert!(kept.first_line_exceeds_limit);
    }

    #[test]
    fn a_last_line_over_the_limit_is_cut_between_characters() {
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
    fn a_place_inside_a_character_is_moved_to_its_edge() {
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
    fn sizes_read_like_the_specification() {
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
        fn what_is_kept_is_a_true_end_within_the_limits(
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
        fn kept_lines_are_whole_unless_said_otherwise(
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
