//! How patches are read.
#![allow(clippy::unwrap_used)]

use super::{Action, parse, *};

fn patch(lines: &str) -> Result<Vec<Section>, String> {
    parse(&format!("*** Begin Patch\n{lines}*** End Patch\n"))
}

#[test]
fn all_kinds_of_sections_are_read() {
    let text = "*** Add File: new.txt\n+one\n+\n*** Delete File: old.txt\n*** Update File: a.py\n\
                *** Move to: b.py\n@@ class A\n@@ def f():\n x\n-y\n+z\n\n@@\n-last\n*** End of File\n";
    let sections = patch(text).unwrap();
    assert_eq!(paths(text), ["new.txt", "old.txt", "a.py", "b.py"]);
    assert_eq!(sections[0].action, Action::Add("one\n\n".to_owned()));
    assert_eq!(sections[1].action, Action::Delete);
    let Action::Update { moved_to, hunks } = &sections[2].action else {
        panic!("{sections:?}");
    };
    assert_eq!(moved_to.as_deref(), Some("b.py"));
    assert_eq!(hunks[0].headers, ["class A", "def f():"]);
    assert_eq!((&*hunks[0].old, &*hunks[0].new), ("x\ny\n\n", "x\nz\n\n"));
    assert_eq!((&*hunks[1].old, &*hunks[1].new), ("last\n", ""));
    assert!(hunks[1].is_last && !hunks[0].is_last);
}

#[test]
fn a_patch_says_what_it_changes_in_each_file() {
    let text = "*** Add File: new.txt\n+one\n*** Delete File: old.txt\n*** Update File: a.py\n\
                *** Move to: b.py\n x\n-y\n+z\n";
    let files = patch(text).unwrap().into_iter().map(Section::stated);
    let files = files.map(|it| {
        let counts = it.counts().to_string();
        (it.name, it.remark.unwrap_or_default(), counts)
    });
    let expected = [
        ("new.txt", "", "+1 −0"),
        ("old.txt", "deleted", "+0 −0"),
        ("a.py", "moved to b.py", "+1 −1"),
    ];
    let expected = expected.map(|(a, b, c)| (a.to_owned(), b.to_owned(), c.to_owned()));
    assert_eq!(files.collect::<Vec<_>>(), expected);
}

#[test]
fn a_first_hunk_needs_no_header_and_empty_lines_may_end_a_section() {
    let sections = patch("*** Update File: a\n-x\n+y\n\n\n*** Delete File: b\n").unwrap();
    let Action::Update { hunks, .. } = &sections[0].action else {
        panic!("{sections:?}");
    };
    assert_eq!((&*hunks[0].old, &*hunks[0].new), ("x\n", "y\n"));
}

#[test]
fn a_patch_that_cannot_be_read_names_its_line() {
    for (lines, problem) in [
        ("", "names no file"),
        ("x\n", "Line 2 of the patch is before the first file"),
        ("*** Add File: a\nx\n", "Line 3 of the patch adds a file"),
        (
            "*** Delete File: a\n-x\n",
            "Line 3 of the patch follows the name of a deleted file",
        ),
        ("*** Update File: a\n", "has no lines for a"),
        ("*** Update File: a\n@@ x\n", "has no lines for a"),
        (
            "*** Update File: a\nx\n",
            "Line 3 of the patch does not start with",
        ),
        (
            "*** Update File: a\n-x\n*** Move to: b\n",
            "Line 4 of the patch moves the file",
        ),
        (
            "*** Update File: a\n-x\n*** End of File\n-y\n",
            "Line 5 of the patch follows the end",
        ),
        (
            "*** Update File: \n-x\n",
            "Line 2 of the patch names no file",
        ),
    ] {
        let refused = patch(lines).unwrap_err();
        assert!(refused.contains(problem), "{refused}");
    }
    for (text, problem) in [
        (
            "*** Update File: a\n-x\n",
            "starts with \"*** Update File: a\", not with",
        ),
        (
            "Here it is:\n*** Begin Patch\n",
            "starts with \"Here it is:\", not with",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n",
            "ends with \"*** Delete File: a\", not with",
        ),
        (
            "*** Begin Patch\n*** Delete File: a\n*** End Patch\nDone.",
            "ends with \"Done.\", not with",
        ),
        ("*** Begin Patch\n", "is not lines from"),
        ("", "is not lines from"),
        ("```\n```", "is not lines from"),
        ("```\n", "is not lines from"),
    ] {
        let refused = parse(text).unwrap_err();
        assert!(refused.contains(problem), "{refused}");
    }
}

#[test]
fn fences_and_here_documents_around_a_patch_are_not_part_of_it() {
    let body = "*** Begin Patch\n*** Add File: a\n+```\n+EOF\n*** End Patch";
    let plain = parse(body);
    assert!(plain.is_ok());
    for (before, after) in [
        ("<<'EOF'\n", "\nEOF"),
        ("<<EOF\n", "\nEOF\n"),
        ("<<-\"EOF\"\n", "\nEOF"),
        ("<< 'PATCH'\n\n", "\n\nPATCH\n\n"),
        ("apply_patch <<'EOF'\n", "\nEOF"),
        ("$ apply_patch <<\\EOF\n", "\nEOF"),
        ("applypatch << EOF\n", "\nEOF"),
        ("cat <<'EOF' | apply_patch\n", "\nEOF"),
        ("apply_patch \"$(cat <<'EOF'\n", "\nEOF\n)\""),
        ("bash -lc \"apply_patch <<'EOF'\n", "\nEOF\""),
        ("<<'EOF'\n", ""),
        ("```\n", "\n```"),
        ("```diff\n", "\n```\n"),
        ("~~~~ patch\n", "\n~~~~"),
        ("~~~~patch\n", "\n~~~~"),
        ("```bash\napply_patch <<'EOF'\n", "\nEOF\n```"),
    ] {
        for line_end in ["\n", "\r\n"] {
            let text = format!("{before}{body}{after}").replace('\n', line_end);
            assert_eq!(parse(&text), plain, "{text:?}");
        }
    }
    let refused = parse("```\n\n*** Begin Patch\nx\n*** End Patch\n```").unwrap_err();
    assert!(refused.starts_with("Line 4 of"), "{refused}");
}

const CLASSES: &str = "class A:\n    def run(self):\n        x = 1\n        return x\n\n    def stop(self):\n        \
                       x = 1\n        return x\n\nclass B:\n    def run(self):\n        x = 1\n        return x\n";

fn patched(text: &str, hunks: &str) -> Result<String, Refused> {
    let patch = format!("*** Begin Patch\n*** Update File: a\n{hunks}*** End Patch\n");
    let lists = parse(&patch).into_iter().flatten().map(|section| {
        let Action::Update { hunks, .. } = section.action else {
            panic!("{patch}");
        };
        hunks
    });
    let lists: Vec<Vec<Hunk>> = lists.collect();
    assert!(!lists.is_empty(), "{patch}");
    apply_hunks(text, &lists).map(|it| it.text)
}

#[track_caller]
fn check(text: &str, hunks: &str, expected: &str) {
    assert_eq!(patched(text, hunks), Ok(expected.to_owned()));
}

#[track_caller]
fn check_lines(hunks: &str, expected: &[usize]) {
    let refused = patched(CLASSES, hunks).map_err(|it| it.problem);
    let Err(ReplaceProblem::Ambiguous { lines, .. }) = &refused else {
        panic!("{refused:?}");
    };
    assert_eq!(lines, expected);
}

#[test]
fn hunks_replace_whole_lines() {
    check("a\nb\nc\n", "@@\n a\n-b\n+x\n+y\n c\n", "a\nx\ny\nc\n");
    check("a\nb\nc\n", "@@\n-b\n", "a\nc\n");
    check("a\nb", "@@\n a\n-b\n+x\n", "a\nx");
    check("a\r\nb\r\n", "@@\n a\n-b\n+x\n", "a\r\nx\r\n");
    check("ab\na\n", "@@\n-a\n+x\n", "ab\nx\n");
    check("  a\n  b\n", "@@\n-a\n-b\n+x\n+b\n", "  x\n  b\n");
}

#[test]
fn several_places_are_told_apart_by_headers() {
    let hunk = "-        x = 1\n+        x = 2\n";
    check_lines(&format!("@@\n{hunk}"), &[3, 7, 12]);
    check_lines(&format!("@@ def run(self):\n{hunk}"), &[3, 7, 12]);
    let stopped = CLASSES.replacen(
        "stop(self):\n        x = 1",
        "stop(self):\n        x = 2",
        1,
    );
    check(CLASSES, &format!("@@ def stop(self):\n{hunk}"), &stopped);
    let first = CLASSES.replacen("x = 1", "x = 2", 1);
    check(
        CLASSES,
        &format!("@@ class A\n@@     def run(self):\n{hunk}"),
        &first,
    );
    check_lines(&format!("@@ class A\n{hunk}"), &[3, 7, 12]);
}

#[test]
fn several_places_are_told_apart_by_the_order_of_hunks_and_the_end_of_the_file() {
    check("x\na\nx\n", "@@\n-a\n+b\n@@\n-x\n+y\n", "x\nb\ny\n");
    check("x\na\nx\n", "@@\n-x\n+y\n*** End of File\n", "x\na\ny\n");
    assert!(patched("x\na\n", "@@\n-a\n+b\n@@\n-x\n+y\n").is_err());
    // A file that is named again starts anew.
    let again = "@@\n-a\n+b\n*** Update File: a\n@@\n-x\n+y\n";
    check("x\na\n", again, "y\nb\n");
}

#[test]
fn a_header_that_is_not_above_is_refused() {
    let missing = patched("a\nb\n", "@@ def f():\n-a\n+x\n").map_err(|it| it.problem);
    assert_eq!(
        missing,
        Err(ReplaceProblem::NotBelow("def f():".to_owned()))
    );
    assert!(patched("a\nb\n", "@@ b\n-a\n+x\n").is_err());
    check(
        "def f(x):\n  a\n",
        "@@ def f(\n-  a\n+  b\n",
        "def f(x):\n  b\n",
    );
}

#[test]
fn lines_without_context_are_added_only_at_the_end() {
    check("a\n", "@@\n+b\n*** End of File\n", "a\nb\n");
    check("", "@@\n+b\n", "b\n");
    for (text, hunk) in [("a\n", "@@\n+b\n"), ("a", "@@\n+b\n*** End of File\n")] {
        let refused = patched(text, hunk).map_err(|it| it.problem);
        assert_eq!(refused, Err(ReplaceProblem::EmptyOldText));
    }
}
