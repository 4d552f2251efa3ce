//! How patches are read.
#![allow(clippy::unwrap_used)]

use super::*;

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
