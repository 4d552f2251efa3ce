//! Finds the lines of a file that are most similar to a text that is not in it.
//!
//! Pure. The search is bounded, because it only provides a hint.

use chat::truncate::floor_char_boundary;

use super::alike::unusual;

/// Number of lines of the file that are compared.
const LINES_SEARCHED: usize = 20_000;
/// Number of bytes of a line that are compared and shown.
const LINE_BYTES: usize = 200;
/// Number of lines of the wanted text that are compared.
const LINES_COMPARED: usize = 5;
/// Number of lines that are shown.
const LINES_SHOWN: usize = 12;
/// Minimum similarity for a hint, from 0 to 1.
const LIKE_ENOUGH: f64 = 0.5;
/// Maximum number of characters that are named because they look like others.
const UNUSUAL_NAMED: usize = 8;

/// The lines of `text` that are most similar to `wanted`, with their numbers from 1.
pub(super) fn nearest(text: &str, wanted: &str) -> Option<String> {
    let lines: Vec<&str> = text.lines().take(LINES_SEARCHED).collect();
    // Blank lines match everywhere, so they don't help to find the place.
    let skipped = wanted
        .lines()
        .take_while(|line| line.trim().is_empty())
        .count();
    let wanted: Vec<&str> = wanted.lines().skip(skipped).collect();
    let compared = &wanted[..wanted.len().min(LINES_COMPARED)];
    let (start, likeness) = (0..lines.len())
        .map(|start| (start, likeness(&lines[start..], compared)))
        // Of equal places, the first one counts.
        .max_by(|a, b| a.1.total_cmp(&b.1).then(b.0.cmp(&a.0)))?;
    if likeness < LIKE_ENOUGH {
        return None;
    }
    let end = lines.len().min(start + wanted.len().min(LINES_SHOWN));
    let shown = (start..end).map(|at| format!("{}: {}", at + 1, cut(lines[at])));
    let mut shown: Vec<String> = shown.collect();
    // A model that reads them cannot tell them from the characters that it wrote.
    let unusual = (start..end).flat_map(|at| {
        let of_line = unusual(cut(lines[at])).into_iter();
        of_line.map(move |it| format!("line {}, {it}", at + 1))
    });
    let unusual: Vec<String> = unusual.take(UNUSUAL_NAMED).collect();
    if !unusual.is_empty() {
        shown.push(format!(
            "\nCharacters in it that look like others:\n{}",
            unusual.join("\n")
        ));
    }
    Some(shown.join("\n"))
}

/// The mean similarity of the first lines, from 0 to 1.
fn likeness(lines: &[&str], wanted: &[&str]) -> f64 {
    if wanted.is_empty() {
        return 0.0;
    }
    let pairs = lines.iter().zip(wanted);
    let sum: f64 = pairs
        .map(|(line, wanted)| line_likeness(cut(line), cut(wanted)))
        .sum();
    #[expect(clippy::cast_precision_loss, reason = "at most LINES_COMPARED")]
    let count = wanted.len() as f64;
    sum / count
}

fn line_likeness(line: &str, wanted: &str) -> f64 {
    let (line, wanted) = (line.trim(), wanted.trim());
    // Lines of very different lengths can't be similar; this skips most comparisons.
    if line.len() > 3 * wanted.len() || wanted.len() > 3 * line.len() {
        return 0.0;
    }
    strsim::sorensen_dice(line, wanted)
}

fn cut(line: &str) -> &str {
    &line[..floor_char_boundary(line, LINE_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_similar_lines_are_shown_with_their_numbers() {
        let text = "use a;\n\nlet total = sum(items);\nprint(total);\n";

        let found = nearest(text, "let total = sum(item);");

        assert_eq!(found.as_deref(), Some("3: let total = sum(items);"));
    }

    #[test]
    fn characters_that_look_like_others_are_named() {
        let found = nearest(
            "The box costs 12\u{a0}€ here.\n",
            "The box costs 13 € here.",
        );
        assert_eq!(
            found.unwrap_or_default(),
            "1: The box costs 12\u{a0}€ here.\n\nCharacters in it that look like others:\n\
             line 1, column 17: U+00A0 (no-break space)"
        );
    }

    #[test]
    fn text_unlike_all_others_gets_no_hint() {
        assert_eq!(nearest("alpha\nbeta\n", "zzzzqqqq"), None);
        assert_eq!(nearest("", "x"), None);
        assert_eq!(nearest("a\n", "\n\n"), None);
    }
}
