#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use unicode_width::UnicodeWidthStr;

use super::*;

/// The rows on a wide screen, as they are drawn: changed words are in brackets.
fn screen(before: &str, after: &str, width: usize) -> String {
    let shown = shown(&FileDiff::of(before, after), width, 30);
    let mut lines: Vec<String> = shown
        .rows
        .iter()
        .map(|row| drawn(row, shown.digits))
        .collect();
    if shown.hidden > 0 {
        lines.push(format!("{} more", shown.hidden));
    }
    lines.join("\n")
}

fn drawn(row: &Row, digits: usize) -> String {
    let mut text = row.text.clone();
    for range in row.changed.iter().rev() {
        text.insert(range.end, ']');
        text.insert(range.start, '[');
    }
    let number = row.number.map_or(String::new(), |it| it.to_string());
    match row.kind {
        RowKind::Line(kind) => format!("{number:>digits$} {} {text}", kind.sign()),
        RowKind::Gap | RowKind::Remark => text,
    }
}

fn numbered(count: usize) -> String {
    (1..=count).map(|at| format!("line {at}\n")).collect()
}

#[test]
fn changes_are_shown_with_two_lines_around_them_and_the_words_that_changed() {
    let before = numbered(12);
    let after = before
        .replace("line 4\n", "line four\n")
        .replace("line 11\n", "");
    assert_eq!(
        screen(&before, &after, 80),
        " 2   line 2\n 3   line 3\n 4 - line [4]\n 4 + line [four]\n 5   line 5\n 6   line 6\n⋯\n \
         9   line 9\n10   line 10\n11 - line 11\n11   line 12"
    );
    let diff = FileDiff::of(&before, &after);
    assert_eq!(diff.counts.to_string(), "+1 −2");
}

#[test]
fn a_line_with_little_in_common_is_another_line() {
    let shown = screen("alpha beta gamma\n", "x = compute(beta)\n", 80);
    assert_eq!(shown, "1 - alpha beta gamma\n1 + x = compute(beta)");
}

#[test]
fn an_indent_that_stays_is_no_changed_word() {
    assert_eq!(
        screen("  return a\n", "  -- new\n  return a + 1\n", 80),
        "1 -   return a\n1 +   -- new\n2 +   return a[ + 1]"
    );
}

#[test]
fn lines_that_are_only_added_have_no_changed_words() {
    assert_eq!(screen("a\n", "a\nb c\n", 80), "1   a\n2 + b c");
    assert_eq!(screen("", "b c\n", 80), "1 + b c");
}

#[test]
fn a_changed_first_letter_keeps_all_lines_of_context_below() {
    let before = numbered(5);
    let after = before.replacen('l', "L", 1);
    let unified = FileDiff::of(&before, &after).unified("a", (true, true));
    assert!(
        unified.ends_with(" line 2\n line 3\n line 4\n"),
        "{unified}"
    );
}

#[test]
fn the_counts_of_several_files_add_up() {
    let counts = [("a\n", "b\nc\n"), ("", "d\n"), ("e\nf\n", "")]
        .map(|(before, after)| FileDiff::of(before, after).counts);
    assert_eq!(counts.into_iter().sum::<Counts>().to_string(), "+3 −3");
}

#[test]
fn characters_that_share_some_of_their_bytes_differ() {
    // C3 A9 and C3 A8 begin alike; C3 A9 and C5 A9 end alike.
    assert_eq!(screen("é\n", "è\n", 80), "1 - é\n1 + è");
    assert_eq!(screen("a é\n", "a ũ\n", 80), "1 - a é\n1 + a ũ");
}

#[test]
fn more_lines_than_are_compared_count_as_one_change() {
    let below = "end\n";
    let inserted = "new\n".repeat(MOST_LINES + 1);
    let ops = |before: &str, after: &str| {
        let diff = FileDiff::of(before, after);
        let tags: Vec<_> = diff.ops.iter().map(|op| op.tag()).collect();
        (tags, diff.counts)
    };
    let counts = |added, removed| Counts { added, removed };
    assert_eq!(
        ops(below, &format!("{inserted}{below}")),
        (
            vec![DiffTag::Replace, DiffTag::Equal],
            counts(MOST_LINES + 1, 0)
        )
    );
    assert_eq!(
        ops(&format!("{inserted}{below}"), below),
        (
            vec![DiffTag::Replace, DiffTag::Equal],
            counts(0, MOST_LINES + 1)
        )
    );
}

#[test]
fn what_lines_do_not_show_is_said() {
    let notes = |before, after| {
        let diff = FileDiff::of(before, after);
        let notes: Vec<_> = diff.notes.iter().map(|it| it.text()).collect();
        notes.join(", ")
    };
    assert_eq!(notes("a\nb\n", "a\r\nb\r\n"), "line endings LF → CRLF");
    assert_eq!(notes("a\r\nb\r\n", "a\r\nb\n"), "line endings CRLF → mixed");
    assert_eq!(notes("\u{feff}a\n", "a\n"), "byte order mark removed");
    assert_eq!(notes("a", "\u{feff}a"), "byte order mark added");
    assert_eq!(notes("", "a\r\n"), "CRLF line endings");
    assert_eq!(notes("a\r\nb\r\n", "a\r\nc\r\n"), "");
    assert_eq!(
        screen("a\r\nb\r\n", "a\r\nc\r\n", 80),
        "1   a\n2 - b\n2 + c"
    );
    assert_eq!(screen("a\r\n", "a\n", 80), "1 - a[<0d>]\n1 + a");
    assert_eq!(
        screen("a\n", "a", 80),
        "1 - a\n1 + a\n\\ No newline at end of file"
    );
}

#[test]
fn nothing_hides_in_a_line() {
    assert_eq!(
        screen("", "a\u{202e}b\u{200b}\u{1b}[8m\u{a0}\n", 80),
        "1 + a<202e>b<200b><1b>[8m<a0>"
    );
    // Blanks at the end of a line, and tabs in place of blanks.
    assert_eq!(screen("a\n", "a  \n", 80), "1 - a\n1 + a[··]");
    assert_eq!(screen("\n", " \t\n", 80), "1 -\u{20}\n1 + ·→  ");
    assert_eq!(
        screen("    return x\n", "\treturn x\n", 80),
        "1 - [    ]return x\n1 + [→   ]return x"
    );
}

#[test]
fn long_lines_are_wrapped_and_a_cut_is_visible() {
    assert_eq!(
        screen("", "0123456789abcdef\n", 14),
        "1 + 0123456789\n  + abcdef"
    );
    let long = format!("{}\n", "漢".repeat(1000));
    assert_eq!(
        screen("", &long, 34),
        format!(
            "1 + {0}\n  + {0}\n  + 漢漢漢漢漢… (+965 characters)",
            "漢".repeat(15)
        )
    );
    // A variation selector makes the character before it wider.
    let wide = "❤\u{fe0f}".repeat(10);
    assert_eq!(screen("", &wide, 24).lines().count(), 2);
}

#[test]
fn a_large_change_is_shown_by_its_first_lines() {
    assert_eq!(screen("", &numbered(30), 80).lines().count(), 30);
    let shown = screen("", &numbered(31), 80);
    assert!(shown.ends_with("\n10 + line 10\n21 more"), "{shown}");
}

#[test]
fn a_unified_diff_is_as_git_prints_it() {
    let before = numbered(9);
    let after = before.replace("line 5\n", "5\n") + "end";
    assert_eq!(
        FileDiff::of(&before, &after).unified("src/a b.rs", (true, true)),
        "--- a/src/a b.rs\t\n+++ b/src/a b.rs\t\n@@ -2,8 +2,9 @@\n line 2\n line 3\n line 4\n-line 5\n\
         +5\n line 6\n line 7\n line 8\n line 9\n+end\n\\ No newline at end of file\n"
    );
    assert_eq!(
        FileDiff::of("", "a\n").unified("ä\n", (false, true)),
        "--- /dev/null\n+++ \"b/\\303\\244\\012\"\n@@ -0,0 +1,1 @@\n+a\n"
    );
    assert_eq!(
        FileDiff::of("a\n", "").unified("/x", (true, false)),
        "--- a/x\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-a\n"
    );
    assert_eq!(FileDiff::of("a", "a").unified("x", (true, true)), "");
}

#[test]
fn huge_texts_do_not_stall() {
    // Every line differs, in an order that has nothing in common.
    let lines = |step: usize| -> String {
        (0..MOST_LINES * 2)
            .map(|at| format!("{}\n", at * step % 99_991))
            .collect()
    };
    let (before, after) = (lines(7), lines(31));
    let diff = FileDiff::of(&before, &after);
    assert_eq!(applied(&before, &diff), after);
    // One change in the middle of many equal lines.
    let before = "\n".repeat(3_000_000);
    let after = format!("{}x\n{}", &before[..1_000_000], &before[1_000_000..]);
    let diff = FileDiff::of(&before, &after);
    assert_eq!(diff.counts.to_string(), "+1 −0");
    assert_eq!(diff.hunks(3)[0].header(), "@@ -999998,6 +999998,7 @@");
}

/// Applies a printed diff, as `patch` does, without looking at what it removes.
fn applied(before: &str, diff: &FileDiff<'_>) -> String {
    let printed = diff.unified("f", (true, true));
    let old: Vec<&str> = before.split_inclusive('\n').collect();
    let (mut at, mut after) = (0, String::new());
    let mut lines = printed.split_inclusive('\n').skip(2).peekable();
    while let Some(line) = lines.next() {
        let (sign, text) = line.split_at(1);
        let ends = lines.peek().is_some_and(|next| next.starts_with('\\'));
        let text = if ends {
            text.trim_end_matches('\n')
        } else {
            text
        };
        match sign {
            "@" => {
                let range = line.split(' ').nth(1).unwrap()[1..]
                    .split_once(',')
                    .unwrap();
                let (first, count): (usize, usize) =
                    (range.0.parse().unwrap(), range.1.parse().unwrap());
                let first = first - usize::from(count > 0);
                after.extend(old[at..first].iter().copied());
                at = first;
            }
            "-" => {
                assert_eq!(old[at], text);
                at += 1;
            }
            "+" => after.push_str(text),
            " " => {
                assert_eq!(old[at], text);
                after.push_str(text);
                at += 1;
            }
            _ => assert_eq!(line.trim_end(), "\\ No newline at end of file"),
        }
    }
    after.extend(old[at..].iter().copied());
    after
}

proptest! {
    #[test]
    fn applying_the_printed_diff_gives_the_new_text(
        before in "((a|b|ab|c|\\\\|-a|@@|\t|\r|漢| )?\n){0,24}(a|b|漢)?",
        after in "((a|b|ab|c|\\\\|-a|@@|\t|\r|漢| )?\n){0,24}(a|b|漢)?",
        context in 0usize..4, width in 0usize..30,
    ) {
        let diff = FileDiff::of(&before, &after);
        prop_assert_eq!(applied(&before, &diff), after.clone());
        prop_assert_eq!(diff.is_empty(), before == after);
        let hunks = diff.hunks(context);
        let count = |kind| hunks.iter().flat_map(|it| &it.lines).filter(|it| it.kind == kind).count();
        let counts = Counts { added: count(LineKind::Added), removed: count(LineKind::Removed) };
        prop_assert_eq!(counts, diff.counts);
        for hunk in &hunks {
            for (line, changed) in hunk.lines.iter().zip(hunk.changed_words()) {
                for range in changed {
                    prop_assert!(line.text.get(range).is_some_and(|it| !it.is_empty()));
                }
            }
        }
        let shown = shown(&diff, width, 30);
        let columns = width.max(shown.digits + 11);
        for row in shown.rows {
            let drawn = row.text.width() + shown.digits + 3;
            prop_assert!(!matches!(row.kind, RowKind::Line(_)) || drawn <= columns, "{row:?}");
            for range in row.changed {
                prop_assert!(row.text.get(range).is_some());
            }
        }
    }

    #[test]
    fn an_edit_of_a_text_is_a_small_change(
        lines in proptest::collection::vec("[a-d ]{0,6}", 1..60), at in 0usize..60, new in "[a-d]{1,9}",
    ) {
        let before: String = lines.iter().map(|it| format!("{it}\n")).collect();
        let mut edited = lines.clone();
        let at = at % lines.len();
        edited[at] = format!("{}!{new}", edited[at]);
        let after: String = edited.iter().map(|it| format!("{it}\n")).collect();
        let diff = FileDiff::of(&before, &after);
        prop_assert_eq!(diff.counts, Counts { added: 1, removed: 1 });
        prop_assert_eq!(applied(&before, &diff), after);
    }
}
