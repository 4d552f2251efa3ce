//! Lines of diagnostics, fixes, fences, and new messages.

use std::collections::BTreeMap;

use chat::document::{Document, Role};
use chat::origin::ChangeSource;
use chat::prompt::{self, Attachment, Content, Part, Selection};
use chat::text::Text;
use chat::write;

use crate::cycle::{QUESTION, bash_waits, line_of};
use crate::play::Play;

/// Lines 7 to 11 are a placeholder whose status is misspelled on line 10.
const MISSPELLED: &str = r#"@Assistant:
**Tool Use:** `bash` (`a`)

```json
{}
```

@You:
**Tool Result:** `a`

```flemma:tool status=aproved
```

And more."#;

#[test]
fn a_fix_is_found_from_every_line_of_its_block() {
    let text = Text::from(MISSPELLED);
    let document = Document::parse(&text);
    let found: Vec<usize> = (0..text.line_count())
        .filter(|line| document.fix_at(*line).is_some())
        .collect();
    assert_eq!(found, [8, 9, 10, 11]);
    let fix = document.fix_at(8).unwrap();
    assert_eq!(fix.lines, 10..11);
}

/// Applies the fix for the line that contains `place`, and returns the text.
fn fixed(text: &str, place: &str) -> String {
    let document = Text::from(text);
    let mut lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    let line = lines.iter().position(|it| it.contains(place)).unwrap();
    let parsed = Document::parse(&document);
    let fix = parsed.fix_at(line).unwrap();
    lines.splice(fix.lines.clone(), fix.replacement.clone());
    lines.join("\n")
}

#[test]
fn a_result_that_no_call_has_is_deleted() {
    let text = "@Assistant:\nHm.\n\n@You:\n**Tool Result:** `a`\n\n```\nx\n```\n\nMore.";
    let expected = "@Assistant:\nHm.\n\n@You:\nMore.";
    assert_eq!(fixed(text, "Tool Result"), expected);
    let last = "@You:\n**Tool Result:** `a`\n\n```\nx\n```";
    assert_eq!(fixed(last, "Tool Result"), "@You:");
}

#[test]
fn an_older_call_without_a_result_gets_one() {
    let call = "@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```\n\n";
    let rest = "Go on.\n\n@Assistant:\nWell.";
    let text = format!("{call}@You:\n{rest}");
    let result = "**Tool Result:** `a` (error)\n\n```\nThe call was not run.\n```\n";
    let expected = format!("{call}@You:\n{result}\n{rest}");
    let found = fixed(&text, "Tool Use");
    assert_eq!(found, expected);
    let text = Text::from(&*found);
    assert_eq!(Document::parse(&text).diagnostics, []);
    // Text beside the marker has no line to put it below.
    let text = format!("{call}@You: {rest}");
    let text = Text::from(&*text);
    assert_eq!(Document::parse(&text).fix_at(1), None);
}

#[test]
fn arguments_that_cannot_be_read_are_repaired() {
    let call = |fence: &str, input: &str| {
        format!("@Assistant:\n**Tool Use:** `bash` (`a`)\n\n{fence}\n{input}\n```\n")
    };
    for (fence, input, expected) in [
        ("```json", "{\"command\": \"ls\",}", "{\"command\": \"ls\"}"),
        (
            "```json",
            "{\"command\": \"a\nb",
            "{\"command\": \"a\\nb\"}",
        ),
        ("```sh", "{\"command\": \"ls\"}", "{\"command\": \"ls\"}"),
    ] {
        let found = fixed(&call(fence, input), "Tool Use");
        assert_eq!(found, call("```json", expected));
    }
    for (fence, input) in [("```json", "ls"), ("```sh", "ls")] {
        let text = Text::from(&*call(fence, input));
        let document = Document::parse(&text);
        assert_eq!(
            (document.fix_at(1), document.diagnostics.is_empty()),
            (None, false)
        );
    }
}

#[test]
fn a_misspelled_status_is_marked_on_its_own_line() {
    let text = Text::from(MISSPELLED);
    let document = Document::parse(&text);
    let lines: Vec<_> = document
        .diagnostics
        .iter()
        .map(|it| (it.lines.start, it.lines.end))
        .collect();
    assert_eq!(lines, [(10, 11)]);
}

/// A fence of one kind closes after any number of fences of the other kind.
#[test]
fn a_fence_closes_after_many_fences_of_the_other_kind() {
    for (fence, other) in [
        ("````", "~~~"),
        ("```", "~~~~"),
        ("~~~~", "```"),
        ("~~~", "````"),
    ] {
        let text = format!(
            "@You:\n{fence}\n{}{fence}\n\nText.",
            format!("{other}\n").repeat(50)
        );
        let text = Text::from(text.as_str());
        let document = Document::parse(&text);
        assert!(document.open_fences.is_empty(), "{fence} {other}");
    }
}

/// Blank lines at the end of a model's text belong to it; all others are separators.
#[test]
fn a_new_message_gets_a_blank_line_unless_one_separates_it() {
    let call = "@Assistant:\n**Tool Use:** `bash` (`a`)\n\n```json\n{}\n```";
    for (text, separated) in [
        ("@You:\nHi.", true),
        ("@You:\nHi.\n", false),
        ("@Assistant:\nHi.", true),
        ("@Assistant:\nHi.\n", true),
        (call, true),
        (&format!("{call}\n"), false),
    ] {
        let document = Text::from(text);
        let edit = write::append_message(&Document::parse(&document), Role::You, &[]);
        let expected: &[&str] = if separated {
            &["", "@You:"]
        } else {
            &["@You:"]
        };
        assert_eq!(edit.replacement, expected, "{text:?}");
    }
}

/// The answer is the last one, whatever the user wrote below it.
#[test]
fn a_cut_off_answer_has_one_comment_at_its_end() {
    let comment = "<!-- flemma:aborted: gone -->";
    for (text, at, written) in [
        ("@Assistant:\nHal", 2, vec!["", comment]),
        ("@Assistant:\nHal\n\n@You:\nGo on.", 2, vec!["", comment]),
        ("@Assistant:\n```\ncode", 3, vec!["```", "", comment]),
    ] {
        let before = Text::from(text);
        let edit = write::abort_last(&Document::parse(&before), "gone").unwrap();
        assert_eq!(edit.lines, at..at, "{text:?}");
        assert_eq!(edit.replacement, written, "{text:?}");
        let mut after = before.clone();
        after.splice(edit.lines, &edit.replacement);
        assert_eq!(write::abort_last(&Document::parse(&after), "gone"), None);
    }
    let unanswered = Text::from("@You:\nHi.");
    let edit = write::abort_last(&Document::parse(&unanswered), "gone");
    assert_eq!(edit, None);
}

/// One letter in three may be wrong.
#[test]
fn a_misspelled_marker_is_fixed_in_place() {
    let meant = |slip: &str| {
        let text = Text::from(format!("x\n{slip}\ny").as_str());
        let document = Document::parse(&text);
        let lines: Vec<usize> = (0..3).filter(|it| document.fix_at(*it).is_some()).collect();
        let fix = document.fix_at(1)?;
        assert_eq!((lines, fix.lines.clone()), (vec![1], 1..2), "{slip}");
        Some(fix.replacement.concat())
    };
    for (slip, marker) in [
        ("@you: hi", Some("@You: hi")),
        ("@Yoo:", Some("@You:")),
        ("@Yx:", None),
        ("@Asistna:", Some("@Assistant:")),
        ("@Asitna:", None),
    ] {
        assert_eq!(meant(slip).as_deref(), marker, "{slip}");
    }
}

// Properties of parsed documents.

fn frontmatter(text: &str) -> String {
    let text = Text::from(text);
    Document::parse(&text).frontmatter_text()
}

#[test]
fn the_frontmatter_is_the_text_between_its_fences() {
    for (text, expected) in [
        ("```lua\na = 1\nb = 2\n```\n@You:\n", "a = 1\nb = 2"),
        ("```json\n{}\n```", "{}"),
        ("```lua\n```\n@You:\n", ""),
        ("```lua\nnever closes\n\n@You:\n", ""),
        ("@You:\n```lua\na = 1\n```\n", ""),
        ("", ""),
    ] {
        assert_eq!(frontmatter(text), expected, "{text:?}");
    }
}

#[test]
fn only_lua_and_json_are_frontmatter_before_their_fence_is_closed() {
    for (language, expected) in [("lua", true), ("json", true), ("python", false)] {
        let text = Text::from(format!("```{language}\nx\n\n@You:\nhi\n").as_str());
        let document = Document::parse(&text);
        assert_eq!(document.frontmatter.is_some(), expected, "{language}");
    }
}

#[test]
fn a_file_in_a_system_message_becomes_text() {
    let text = Text::from("@System:\nFollow @./rules.md\n\n@You:\nhi\n");
    let file = Attachment {
        name: "@./rules.md".to_owned(),
        language: String::new(),
        content: Content::Text("Be brief.\n".to_owned()),
    };
    let own = BTreeMap::from([(0, vec![Part::Text("Follow ".to_owned()), Part::File(file)])]);
    let document = Document::parse(&text);
    let all = Selection::as_written(0..document.messages.len());
    let prompt = prompt::build_with(&document, &[], &own, &all);
    let system = prompt.system.unwrap_or_default();
    assert!(system.starts_with("Follow @./rules.md"), "{system}");
    assert!(system.contains("Be brief."), "{system}");
}

/// Returns whether each message may contain references, by its role.
fn referring(text: &str) -> BTreeMap<&'static str, bool> {
    let text = Text::from(text);
    let document = Document::parse(&text);
    let messages = document.messages.iter();
    messages
        .map(|it| (it.role.marker(), it.may_refer))
        .collect()
}

#[test]
fn a_message_may_refer_when_its_prose_has_an_at_sign_or_two_braces() {
    for (text, expected) in [
        ("@You: hi", false),
        ("@You:\nhi", false),
        ("@You: @bash", true),
        ("@You:\n@bash", true),
        ("@You: {{ name }}", true),
        ("@You:\nfn f() { g }", false),
        (
            "@You:\n**Tool Result:** `a`\n\n```\n@bash {{ x }}\n```\n",
            false,
        ),
        // Text on the marker's line does not shift the next paragraph.
        (
            "@You: Hello.\n**Tool Result:** `a`\n\n```\nx\n```\n@a",
            true,
        ),
    ] {
        let found = referring(text);
        assert_eq!(found[Role::You.marker()], expected, "{text:?}");
    }
    let all = referring("@System:\n@a\n\n@Assistant:\n@a\n\n@You:\n");
    let expected = [("@Assistant:", false), ("@System:", true), ("@You:", false)];
    assert_eq!(all, BTreeMap::from(expected));
}

// Which text counts as typed by the user, and which changes are examined.

#[test]
fn text_typed_in_this_session_counts_as_typed() {
    let mut play = Play::opened(QUESTION);
    let whole = 0..play.text.line_count();
    assert!(!play.cycle.are_typed(&play.text, whole.clone()));
    play.cycle.text_typed();
    assert!(play.cycle.are_typed(&play.text, whole));
}

#[test]
fn lines_that_the_user_agreed_to_count_as_typed() {
    let mut play = Play::opened("@You:\none\ntwo");
    play.cycle.agree(&play.text, 1..2);
    assert!(play.cycle.are_typed(&play.text, 1..2));
    assert!(!play.cycle.are_typed(&play.text, 2..3));
}

#[test]
fn a_change_of_a_result_or_a_placeholders_fence_is_announced() {
    let mut play = bash_waits();
    for (line, touches) in [
        ("A line of the user's own words.", false),
        ("```json", false),
        ("flemma:too", false),
        ("**Tool Use:** `bash` (`t_c`)", false),
        ("**Tool Result:** `t_c`", true),
        ("```flemma:tool status=approved", true),
    ] {
        let end = play.text.line_count();
        let source = ChangeSource::USER;
        play.cycle
            .changing(&play.text, &(end..end), &[line], source);
        assert_eq!(play.cycle.has_change(), touches, "{line} is written");
        play.cycle.changed(&Document::parse(&play.text));
        assert!(!play.cycle.has_change(), "{line} was written");
    }
    let fence = line_of(&play, "status=pending");
    let gone: [&str; 0] = [];
    for (line, touches) in [(fence, true), (fence - 1, false), (0, false)] {
        let lines = line..line + 1;
        play.cycle
            .changing(&play.text, &lines, &gone, ChangeSource::USER);
        assert_eq!(play.cycle.has_change(), touches, "line {line} is deleted");
    }
}
