//! Where replacements apply, and what they leave alone.

use proptest::prelude::*;

use super::places::{MatchLevel, Shift};
use super::*;

fn replace(text: &str, old: &str, new: &str) -> Result<EditedText, ReplaceProblem> {
    plan(text, &[Replacement { old, new }]).map_err(|it| it.problem)
}

fn replace_all(text: &str, edits: &[(&str, &str)]) -> Result<String, Refused> {
    let edits = edits.iter().map(|&(old, new)| Replacement { old, new });
    plan(text, &edits.collect::<Vec<_>>()).map(|it| it.text)
}

#[track_caller]
fn check(text: &str, old: &str, new: &str, expected: &str) {
    assert_eq!(
        replace(text, old, new).map(|change| change.text),
        Ok(expected.to_owned())
    );
}

#[track_caller]
fn check_missing(text: &str, old: &str, new: &str) {
    let problem = replace(text, old, new);
    assert!(
        matches!(
            problem,
            Err(ReplaceProblem::NotFound(_) | ReplaceProblem::LooksAlike(_))
        ),
        "{problem:?}"
    );
}

fn ambiguous_at(lines: &[usize], level: MatchLevel) -> Result<EditedText, ReplaceProblem> {
    let lines = lines.to_vec();
    Err(ReplaceProblem::Ambiguous { lines, level })
}

#[test]
fn a_unique_piece_is_replaced_and_its_line_told() {
    let change = replace("one\ntwo\nthree\n", "two", "2");
    let expected = EditedText {
        text: "one\n2\nthree\n".to_owned(),
        lines: vec![2],
        levels: vec![MatchLevel::Exact],
    };
    assert_eq!(change, Ok(expected));
}

#[test]
fn the_new_text_is_literal() {
    check("a b c", "b", r"%1 \1 & $0", r"a %1 \1 & $0 c");
}

#[test]
fn several_places_are_refused_with_their_lines() {
    let refused = replace("x\ny\nx\n", "x", "z");
    assert_eq!(refused, ambiguous_at(&[1, 3], MatchLevel::Exact));
}

#[test]
fn overlapping_places_are_several() {
    let refused = ambiguous_at(&[1, 1], MatchLevel::Exact);
    assert_eq!(replace("aaa", "aa", "b"), refused);
    assert_eq!(replace("ééé", "éé", "b"), refused);
}

#[test]
fn a_crlf_file_takes_lf_text_and_keeps_its_line_endings() {
    check("a\r\nb\r\nc\r\n", "a\nb\n", "x\ny\n", "x\r\ny\r\nc\r\n");
    check("a\r\nb\r\n", "a", "x\ny", "x\r\ny\r\nb\r\n");
}

#[test]
fn an_lf_file_takes_crlf_text_and_keeps_its_line_endings() {
    check("a\nb\nc\n", "a\r\nb", "x\r\ny", "x\ny\nc\n");
}

#[test]
fn mixed_line_endings_outside_the_piece_stay_mixed() {
    check("a\r\nb\nc\r\nd\n", "b\nc\n", "x\n", "a\r\nx\nd\n");
}

#[test]
fn each_line_keeps_its_own_ending() {
    let text = "a\r\nb\nc\r\nd\n";
    check(text, "a\nb\nc\n", "a\nB\nc\n", "a\r\nB\nc\r\nd\n");
    check(text, "a\nb\nc\n", "a\nx\nb\nc\n", "a\r\nx\r\nb\nc\r\nd\n");
    // One that is new gets that of the line it is in.
    check(text, "c", "c\nx", "a\r\nb\nc\r\nx\r\nd\n");
    check("a\r\nb\nc", "c", "c\nx", "a\r\nb\nc\nx");
}

#[test]
fn lines_that_end_in_carriage_returns_are_lines() {
    check("a\rb\rc\r", "a\nb\n", "x\ny\n", "x\ry\rc\r");
    check("a\rb\r", "b", "x\ny", "a\rx\ry\r");
    let lines = replace("a\rb\r", "b", "x").map(|it| it.lines);
    assert_eq!(lines, Ok(vec![2]));
}

#[test]
fn a_part_of_a_character_is_no_place() {
    let text = "cafe\u{301} cafe";
    check(text, "cafe", "tea", "cafe\u{301} tea");
    check(text, "cafe\u{301}", "tea", "tea cafe");
    check_missing("cafe\u{301}", "cafe", "tea");
    // A family is one picture made of several.
    check_missing("\u{1f468}\u{200d}\u{1f467}", "\u{1f468}", "x");
}

#[test]
fn places_late_in_a_large_text_are_counted_once() {
    let text = format!("{}{}", "line\n".repeat(200_000), "x\n".repeat(1000));
    let Err(ReplaceProblem::Ambiguous { lines, .. }) = replace(&text, "x", "y") else {
        panic!("{}", text.len());
    };
    assert_eq!((lines[0], lines[999]), (200_001, 201_000));
}

#[test]
fn a_byte_order_mark_stays() {
    check("\u{feff}a\nb\n", "a\n", "x\n", "\u{feff}x\nb\n");
    check(
        "\u{feff}a\n  b\n",
        "  a\n    b",
        "  x\n    b",
        "\u{feff}x\n  b\n",
    );
}

#[test]
fn what_changes_nothing_is_refused() {
    assert_eq!(replace("a", "", "b"), Err(ReplaceProblem::EmptyOldText));
    assert_eq!(replace("a", "a", "a"), Err(ReplaceProblem::Identical));
    let same = replace("a\r\nb\r\n", "a\r\nb", "a\nb");
    assert_eq!(same, Err(ReplaceProblem::Identical));
}

#[test]
fn spaces_at_the_ends_of_lines_are_ignored_only_if_nothing_else_matches() {
    check("a  \nb\t\nc\n", "a\nb\n", "a\nx\n", "a  \nx\nc\n");
    check("a\nb\nc\n", "a \nb  ", "a\nx", "a\nx\nc\n");
    check("a\nb  \n", "a\nb", "x", "x  \n");
    check("a \nb  \n", "a\nb", "x", "x\n");
    // An exact match elsewhere has precedence.
    check("a \nb\na\nb\n", "a\nb", "x", "a \nb\nx\n");
    let refused = replace("a \nb\na  \nb\n", "a\nb", "x");
    assert_eq!(refused, ambiguous_at(&[1, 3], MatchLevel::TrailingSpace));
    // A space within a line is no trailing space.
    check_missing("ab c\n", "ab \nc", "x");
    check_missing("foo(bar)\n", "foo( ", "x");
}

#[test]
fn a_missing_line_ending_at_the_end_of_the_file_is_ignored() {
    check("a\nb", "b\n", "x\n", "a\nx");
    check("a\nb", "a\nb\n", "x\ny\nz\n", "x\ny\nz");
    check("a\nb", "b\n", "", "a\n");
}

#[test]
fn lines_with_other_indentation_are_found_and_replaced_with_that_of_the_file() {
    let text = "if a:\n    if b:\n        c()\n        d()\n";
    let (old, new) = ("c()\n    d()", "c()\n    if e:\n        f()");
    check_missing(text, old, new);
    check(
        text,
        "if b:\n    c()\n    d()\n",
        "if b:\n    c()\n\n    e()\n",
        "if a:\n    if b:\n        c()\n\n        e()\n",
    );
    check(
        "a {\n  b;\n  c;\n}\n",
        "    b;\n    c;",
        "    b;\n    x {\n      c;\n    }",
        "a {\n  b;\n  x {\n    c;\n  }\n}\n",
    );
    check("\ta\n\t\tb\n", "a\n\tb\n", "a\n\tc\n", "\ta\n\t\tc\n");
}

#[test]
fn indentation_is_never_guessed() {
    // A single line could be anywhere.
    check_missing("  a\n", "    a", "    b");
    // The difference is not the same in all lines.
    check_missing("  a\n      b\n", "a\n  b", "x");
    // Tabs are no spaces.
    check_missing("\ta\n\t\tb\n", "    a\n        b", "    x\n        b");
    check_missing("\t a\n\t b\n", "a\nb", "x\nb");
    let outdented = replace("  a\n  b\n", "    a\n    b", "    a\nb");
    assert_eq!(outdented, Err(ReplaceProblem::Indentation));
    let mixed = replace("\ta\n\tb\n", "a\nb", "a\n    b");
    assert_eq!(mixed, Err(ReplaceProblem::Indentation));
    let several = replace(" a\n b\n  a\n  b\n", "a\nb\n", "x\n");
    assert_eq!(several, ambiguous_at(&[1, 3], MatchLevel::Indentation));
}

#[test]
fn several_replacements_are_located_in_the_original_text() {
    let edits = [("b", "a"), ("a", "b"), ("c\n", "")];
    assert_eq!(replace_all("a\nb\nc\n", &edits), Ok("b\na\n".to_owned()));
    // Places may touch.
    let edits = [("a\n", "x\n"), ("b\n", "y\n")];
    assert_eq!(replace_all("a\nb\n", &edits), Ok("x\ny\n".to_owned()));
    // What one replacement adds is no place for another.
    let refused = replace_all("a\nb\n", &[("a", "new"), ("new", "x")]);
    assert!(refused.is_err_and(|it| it.number == 1));
}

#[test]
fn replacements_that_overlap_are_refused() {
    let refused = replace_all("a\nb\nc\n", &[("b\nc", "x"), ("a\nb", "y")]);
    assert_eq!(refused, Err(ReplaceProblem::Overlap(1).of(0)));
    let refused = replace_all("a\nb\n", &[("a", "x"), ("a", "y")]);
    assert_eq!(refused, Err(ReplaceProblem::Overlap(0).of(1)));
}

#[test]
fn a_missing_piece_shows_what_comes_nearest() {
    let text = "fn main() {\n    run(1);\n}\n";
    let old = "fn main() {\n  run(2);\n";
    let edits = [Replacement { old, new: "x" }];
    let names = |_| Names {
        old: "oldText".to_owned(),
        new: "newText",
    };
    let error = plan(text, &edits).map_err(|refused| refused.message("a.rs", names));
    assert_eq!(
        error,
        Err(
            "oldText is not in a.rs. Nothing was changed. The nearest text there is:\n\n\
             1: fn main() {\n2:     run(1);"
                .to_owned()
        )
    );
}

proptest! {
    #[test]
    fn everything_outside_the_piece_keeps_its_bytes(
        before in "(a|\r\n|\n){0,12}", after in "(b|\r\n|\n){0,12}",
    ) {
        let text = format!("{before}old\r\nold2{after}");
        let change = replace(&text, "old\nold2", "new").map(|change| change.text);
        prop_assert_eq!(change, Ok(format!("{before}new{after}")));
    }

    #[test]
    fn a_replacement_is_made_in_the_place_of_its_lines_or_not_at_all(
        text in "( |\t|a|b|\r\n|\n){0,24}", old in "( |\t|a|b|\n){1,10}",
    ) {
        let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        for place in places(&text, Needle { text: &old, is_lines: false }) {
            let piece = &text[place.range.clone()];
            prop_assert_eq!(squeezed(piece), squeezed(&old));
            if place.level == MatchLevel::Exact {
                prop_assert_eq!(piece, &old);
            }
        }
    }

    #[test]
    fn new_lines_end_as_lines_of_the_text_do_and_say_what_they_said(
        text in "(a|b|\r\n|\n){0,12}", new in "(a|c|\n){0,8}", from in 0usize..13, to in 0usize..13,
    ) {
        let cut = |at: usize| {
            let at = at.min(text.len());
            if text[..at].ends_with('\r') { at - 1 } else { at }
        };
        let range = cut(from.min(to))..cut(from.max(to));
        let old = plain(&text[range.clone()], false);
        let place = Place { range, level: MatchLevel::LineEndings, shift: Shift::None };
        let put = weave(&text, &place, &old, &new).unwrap_or_default();
        prop_assert_eq!(plain(&put, false), new);
        if !text.contains("\r\n") {
            prop_assert!(!put.contains('\r'));
        }
        if are_alike(&text) && text.contains("\r\n") {
            prop_assert_eq!(put.matches('\n').count(), put.matches("\r\n").count());
        }
    }
}
