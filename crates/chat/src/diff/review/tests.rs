//! What the user can do to a diff, and what is applied then.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn file<'t>(before: &'t str, after: &'t str) -> ChangedFile<'t> {
    ChangedFile {
        name: "src/a b.rs",
        before: Some(before),
        after: Some(after),
        moved_to: None,
        head: None,
    }
}

fn numbered(count: usize) -> String {
    (1..=count).map(|it| format!("line {it}\n")).collect()
}

/// A text of 30 lines, and one in which lines 5 and 25 differ.
fn two_hunks() -> (String, String) {
    let before = numbered(30);
    let after = before
        .replace("line 5\n", "five\n")
        .replace("line 25\n", "25\n");
    (before, after)
}

/// The new text after `edit` changed the diff, or the first problem as the line and a word.
fn edited(before: &str, after: &str, edit: impl Fn(String) -> String) -> Result<String, String> {
    let files = [file(before, after)];
    let diff = edit(text(&files));
    let lines: Vec<&str> = diff.split('\n').collect();
    match parse(&files, &diff) {
        Ok(reviewed) => Ok(reviewed[0].after.clone().unwrap()),
        Err(problems) => Err(format!(
            "{}: {}",
            lines[problems[0].line], problems[0].message
        )),
    }
}

/// The diff without its hunk at `index`.
fn without_hunk(diff: &str, index: usize) -> String {
    let mut number = 0;
    let kept = diff.split_inclusive('\n').filter(|line| {
        number += usize::from(line.starts_with("@@"));
        number != index + 1
    });
    kept.collect()
}

#[test]
fn a_diff_has_a_header_that_no_line_of_a_hunk_looks_like() {
    let files = [file("a\n-- a/x\n", "a\n++ b/x\n")];
    assert_eq!(
        text(&files),
        "diff --git a/src/a b.rs b/src/a b.rs\n--- a/src/a b.rs\t\n+++ b/src/a b.rs\t\n@@ -1,2 +1,2 @@\n a\n\
         --- a/x\n+++ b/x\n"
    );
}

#[test]
fn a_dropped_hunk_is_not_applied() {
    let (before, after) = two_hunks();
    let first = before.replace("line 5\n", "five\n");
    assert_eq!(
        edited(&before, &after, |it| without_hunk(&it, 1)),
        Ok(first)
    );
    let second = before.replace("line 25\n", "25\n");
    assert_eq!(
        edited(&before, &after, |it| without_hunk(&it, 0)),
        Ok(second)
    );
    assert_eq!(
        edited(&before, &after, |_| String::new()),
        Ok(before.clone())
    );
}

#[test]
fn lines_can_be_rewritten_and_counts_may_be_wrong() {
    let (before, after) = two_hunks();
    let edit = |diff: String| {
        diff.replace("+five\n", "+5\n+5.5\n")
            .replace("-line 25\n+25", " line 25")
    };
    let expected = before.replace("line 5\n", "5\n5.5\n");
    assert_eq!(edited(&before, &after, edit), Ok(expected));
    // Unchanged lines may be removed, and an empty one may lose its space.
    let edit = |diff: String| diff.replace(" line 2\n line 3\n", "") + "\n\n";
    assert_eq!(edited(&before, &after, edit), Ok(after.clone()));
    assert_eq!(
        edited("a\n\nb\n", "a\n\nc\n", |it| it.replace("\n \n", "\n\n")),
        Ok("a\n\nc\n".to_owned())
    );
}

#[test]
fn what_does_not_fit_is_refused_at_its_line() {
    let (before, after) = two_hunks();
    let refused = |from: &str, to: &str, expected: &str| {
        let result = edited(&before, &after, |it| it.replacen(from, to, 1));
        let problem = result.expect_err(expected);
        assert!(problem.starts_with(expected), "{problem}");
    };
    refused("+five", "five", "five: A line of a hunk begins with");
    refused(
        " line 3\n",
        " line three\n",
        " line three: The file does not have",
    );
    refused("-line 5\n", "", " line 6: The file does not have");
    refused(
        "@@ -2,7",
        "@@ 2,7",
        "@@ 2,7 +2,7 @@: This line must be a hunk header",
    );
    refused("@@ -2,7 +2,7 @@\n", "", " line 2: Expected a hunk header");
    refused(
        "diff --git a/src",
        "diff --git a/lib",
        "diff --git a/lib/a b.rs b/src/a b.rs: This file is not part",
    );
    refused(
        "diff --git a/src/a b.rs b/src/a b.rs\n",
        "",
        "--- a/src/a b.rs\t: Expected a line",
    );
    refused(
        "+five\n",
        "+five\n\\ No newline\n",
        "+five: Only the last line",
    );
    refused(
        "@@ -2,7 +2,7 @@\n",
        "@@ -2,7 +2,7 @@\n\\ No newline\n",
        "\\ No newline: There is no line above",
    );
}

#[test]
fn a_hunk_that_fits_in_several_places_or_overlaps_is_refused() {
    let before = "x\n".repeat(9);
    let after = before.replacen("x\n", "y\n", 5).replacen("y\n", "x\n", 4);
    let problem = edited(&before, &after, |it| it.replacen(" x\n x\n", "", 1));
    assert!(
        problem
            .as_ref()
            .is_err_and(|it| it.contains("several places")),
        "{problem:?}"
    );
    let (before, after) = two_hunks();
    let twice = |it: String| {
        let at = it.find("@@").unwrap();
        format!("{it}{}", &it[at..])
    };
    let problem = edited(&before, &after, twice);
    assert!(problem.is_err_and(|it| it.contains("overlaps")));
}

#[test]
fn files_are_created_deleted_and_moved_unless_the_user_drops_that() {
    let new = ChangedFile {
        before: None,
        after: Some("a\nb\n"),
        ..file("", "")
    };
    let gone = ChangedFile {
        name: "gone",
        after: None,
        ..file("a\n", "")
    };
    let empty = ChangedFile {
        name: "empty",
        before: None,
        after: Some(""),
        moved_to: None,
        head: None,
    };
    let moved = ChangedFile {
        name: "old",
        moved_to: Some("new"),
        ..file("a\n", "a\n")
    };
    let files = [new, gone, empty, moved];
    let diff = text(&files);
    let after = |diff: &str| -> Vec<(Option<String>, bool)> {
        let reviewed = parse(&files, diff).unwrap();
        reviewed
            .into_iter()
            .map(|it| (it.after, it.is_dropped))
            .collect()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(
        after(&diff),
        [
            (some("a\nb\n"), false),
            (None, false),
            (some(""), false),
            (some("a\n"), false)
        ]
    );
    let all = [
        (None, true),
        (some("a\n"), true),
        (None, true),
        (some("a\n"), true),
    ];
    assert_eq!(after(""), all);
    // A deletion of some lines only keeps the file.
    let kept = diff.replace("-a\n", " a\n");
    assert_eq!(after(&kept)[1], (some("a\n"), true));
    assert_eq!(after(&diff.replace("+b\n", ""))[0], (some("a\n"), false));
}

#[test]
fn what_texts_do_not_show_is_above_the_hunks_and_goes_with_the_part_of_the_file() {
    let script = ChangedFile {
        head: Some("old mode 100644\nnew mode 100755\n"),
        ..file("a\n", "b\n")
    };
    let picture = ChangedFile {
        name: "x.png",
        before: None,
        after: None,
        moved_to: None,
        head: Some("new file mode 100644\nBinary files /dev/null and b/x.png differ\n"),
    };
    let files = [script, picture];
    let diff = text(&files);
    let head = "diff --git a/src/a b.rs b/src/a b.rs\nold mode 100644\nnew mode 100755\n--- a/src";
    assert!(diff.starts_with(head), "{diff}");
    let read = |diff: &str| -> Vec<(Option<String>, bool)> {
        let reviewed = parse(&files, diff).unwrap().into_iter();
        reviewed.map(|it| (it.after, it.is_dropped)).collect()
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(read(&diff), [(some("b\n"), false), (None, false)]);
    // The mode stays with its lines.
    let only_mode = diff.split("--- a/src").next().unwrap();
    assert_eq!(read(only_mode)[0], (some("a\n"), false));
    let script = diff.split("diff --git a/x.png").next().unwrap();
    assert_eq!(read(script), [(some("b\n"), false), (None, true)]);
    assert_eq!(read(""), [(some("a\n"), true), (None, true)]);
}

#[test]
fn the_account_names_dropped_and_rewritten_hunks() {
    let (before, after) = two_hunks();
    let files = [
        file(&before, &after),
        ChangedFile {
            name: "b",
            ..file("a\n", "b\n")
        },
    ];
    let diff = text(&files);
    let said = |diff: &str| account(&files, &parse(&files, diff).unwrap());
    assert_eq!(said(&diff), None);
    let edit = without_hunk(&diff, 0).replace("+25\n", "+twenty-five\n");
    let edit = edit.split("diff --git a/b").next().unwrap();
    assert_eq!(
        said(edit).unwrap(),
        "The user changed this call in a review before it was applied:\n\
         - src/a b.rs, hunk 1 of 2 (line 5): dropped, not applied.\n\
         - src/a b.rs, hunk 2 of 2 (line 25): rewritten. Applied instead:\n-line 25\n+twenty-five\n\
         - b: dropped, nothing was changed."
    );
}

const TEXT: &str = "((a|b|ab|c|\\\\|-a|@@|diff x|\t|\r|漢| )?(\n|\r\n)){0,24}(a|b|漢)?";

proptest! {
    #[test]
    fn an_unedited_diff_applies_the_change_as_it_is(before in TEXT, after in TEXT) {
        let files = [file(&before, &after)];
        let reviewed = parse(&files, &text(&files));
        let reviewed = reviewed.map_err(|it| TestCaseError::fail(format!("{it:?}")))?;
        prop_assert_eq!(reviewed[0].after.as_deref(), Some(&*after));
        prop_assert!(reviewed[0].hunks.iter().all(|it| it.fate == Fate::Kept));
        prop_assert_eq!(account(&files, &reviewed), None);
    }

    #[test]
    fn a_diff_without_a_hunk_applies_all_others(
        lines in proptest::collection::vec("[a-c]{0,2}", 1..80),
        edits in proptest::collection::vec((0usize..80, "[d-f]{1,2}"), 1..6),
        index in 0usize..6, returns in any::<bool>(),
    ) {
        let end = if returns { "\r\n" } else { "\n" };
        let join = |lines: &[String]| lines.iter().map(|it| format!("{it}{end}")).collect::<String>();
        let mut new = lines.clone();
        for (at, word) in &edits {
            let at = at % lines.len();
            new[at].clone_from(word);
        }
        let (before, after) = (join(&lines), join(&new));
        let files = [file(&before, &after)];
        let old: Vec<&str> = before.split_inclusive('\n').collect();
        let diff = FileDiff::of(&before, &after);
        let hunks = diff.hunks(crate::diff::MOST_CONTEXT);
        let index = index % hunks.len();
        // A hunk of equal length on both sides: its lines are those of the old text again.
        let mut expected: Vec<&str> = after.split_inclusive('\n').collect();
        let hunk = &hunks[index];
        expected.splice(hunk.after.clone(), old[hunk.before.clone()].iter().copied());
        let reviewed = parse(&files, &without_hunk(&text(&files), index));
        let reviewed = reviewed.map_err(|it| TestCaseError::fail(format!("{it:?}")))?;
        prop_assert_eq!(reviewed[0].after.clone(), Some(expected.concat()));
        let fates: Vec<_> = reviewed[0].hunks.iter().map(|it| it.fate == Fate::Kept).collect();
        let kept: Vec<_> = (0..hunks.len()).map(|it| it != index).collect();
        prop_assert_eq!(fates, kept);
    }

    #[test]
    fn any_text_is_applied_or_refused_at_its_lines(
        before in TEXT, after in TEXT, at in any::<prop::sample::Index>(), new in "([ +@\\\\-]?[ab@ ]{0,4}\n?){0,3}",
        cut in 0usize..12,
    ) {
        let files = [file(&before, &after)];
        let diff = text(&files);
        let chars: Vec<char> = diff.chars().collect();
        let from = at.index(chars.len());
        let to = (from + cut).min(chars.len());
        let start: String = chars[..from].iter().collect();
        let end: String = chars[to..].iter().collect();
        let edited = format!("{start}{new}{end}");
        match parse(&files, &edited) {
            Ok(reviewed) => prop_assert_eq!(reviewed.len(), 1),
            Err(problems) => {
                prop_assert!(!problems.is_empty());
                let lines = edited.split('\n').count();
                prop_assert!(problems.iter().all(|it| it.line < lines));
            }
        }
    }
}
