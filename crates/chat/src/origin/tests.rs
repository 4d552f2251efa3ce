use super::*;
use proptest::prelude::*;

/// A text with its origins.
struct Page {
    text: Text,
    origins: Origins,
}

impl Page {
    fn read(text: &str) -> Self {
        let text = Text::from(text);
        Self {
            origins: Origins::read(&text),
            text,
        }
    }

    fn empty() -> Self {
        Self {
            text: Text::default(),
            origins: Origins::default(),
        }
    }

    fn splice(&mut self, lines: Lines, new: &[&str], source: ChangeSource) -> Difference {
        let difference = self.origins.splice(&self.text, &lines, new, source);
        self.text.splice(lines, new);
        difference
    }

    /// Types text into a line, key by key.
    fn keys(&mut self, line: usize, text: &str) {
        for key in text.chars() {
            let new = format!("{}{key}", self.text.line_str(line));
            let typed = Some(key.len_utf8());
            self.splice(line..line + 1, &[&new], ChangeSource::Editor { typed });
        }
    }

    fn foreign(&self) -> Vec<usize> {
        let lines = 0..self.text.line_count();
        lines
            .filter(|it| self.origins.is_foreign(&(*it..it + 1)))
            .collect()
    }

    fn is_typed(&self) -> bool {
        self.origins
            .are_typed(&self.text, 0..self.text.line_count())
    }
}

const LOOSE: &str = "flemma.opt.tools.auto_approve = { \"bash\" }";

#[test]
fn typed_lines_are_not_foreign_and_lines_of_a_file_are() {
    let mut page = Page::empty();
    page.keys(0, "```lua");
    page.splice(1..1, &[""], ChangeSource::BULK);
    page.keys(1, LOOSE);
    assert!(page.is_typed());
    assert_eq!(page.foreign(), [0; 0]);
    assert_eq!(Page::read("a\n\nb").foreign(), [0, 2]);
}

#[test]
fn typing_into_a_foreign_line_leaves_it_foreign() {
    let mut page = Page::read("one\n\ntwo");
    page.keys(0, " -- mine");
    page.keys(1, "own");
    assert_eq!(page.foreign(), [0, 2]);
    // A line break splits it into two foreign lines.
    page.splice(
        0..1,
        &["one", " -- mine"],
        ChangeSource::Editor { typed: Some(0) },
    );
    assert_eq!(page.foreign(), [0, 1, 3]);
    // Emptied and typed again, it is the user's.
    page.splice(0..1, &[""], ChangeSource::BULK);
    page.keys(0, "mine");
    assert_eq!(page.foreign(), [1, 3]);
}

#[test]
fn text_that_arrives_in_bulk_is_foreign() {
    let typed = |typed| ChangeSource::Editor { typed };
    for source in [
        ChangeSource::BULK,
        typed(Some(0)),
        typed(Some(3)),
        ChangeSource::Undo,
        ChangeSource::Host,
    ] {
        let mut page = Page::empty();
        page.keys(0, "```lua");
        let difference = page.splice(1..1, &[LOOSE, "```"], source);
        assert!(!difference.typed, "{source:?}");
        assert_eq!(page.foreign(), [1, 2], "{source:?}");
        assert!(!page.is_typed(), "{source:?}");
        // The same within a typed line.
        let mut page = Page::empty();
        page.keys(0, "x = ");
        page.splice(0..1, &[&format!("x = 1 {LOOSE}")], source);
        assert_eq!(page.foreign(), [0], "{source:?}");
    }
}

#[test]
fn small_changes_completions_and_line_breaks_are_typed() {
    let pressed = ChangeSource::Editor { typed: Some(0) };
    for (old, new, source) in [
        ("status = x", "status = y", pressed),
        ("n = 9", "n = 10", pressed),
        ("a b c", "a c", pressed),
        ("x = flem", "x = flemma.opt.tools.auto_approve", pressed),
        ("x = ", "x = \"\"", pressed),
        ("x = (", "x = ()", ChangeSource::BULK),
    ] {
        let mut page = Page::empty();
        page.keys(0, old);
        assert!(page.splice(0..1, &[new], source).typed, "{new}");
        assert!(page.is_typed(), "{new}");
    }
    let mut page = Page::empty();
    page.keys(0, "if a then b");
    assert!(page.splice(0..1, &["if a then", "  b"], pressed).typed);
    assert!(page.splice(0..2, &["if a then b"], pressed).typed);
}

#[test]
fn typing_in_the_middle_of_a_line_inserts_only_the_keys() {
    let mut page = Page::empty();
    page.keys(0, "the first half, and the second half of a long line");
    let new = "the first half, or and the second half of a long line";
    let typed = ChangeSource::Editor { typed: Some(3) };
    page.splice(0..1, &[new], typed);
    assert!(page.is_typed());
}

#[test]
fn typed_lines_may_be_moved_copied_and_undone() {
    let mut page = Page::empty();
    page.keys(0, "```lua");
    for line in [1, 2] {
        page.splice(line..line, &[""], ChangeSource::BULK);
        page.keys(line, &format!("{LOOSE} -- {line}"));
    }
    let (one, two) = (
        page.text.line_str(1).into_owned(),
        page.text.line_str(2).into_owned(),
    );
    page.splice(1..2, &[], ChangeSource::BULK);
    page.splice(2..2, &[&one], ChangeSource::BULK);
    assert!(page.is_typed(), "moved");
    page.splice(3..3, &[&two], ChangeSource::BULK);
    assert!(page.is_typed(), "copied");
    page.splice(3..4, &[], ChangeSource::Undo);
    page.splice(3..3, &[&two], ChangeSource::Undo);
    assert!(page.is_typed(), "undone and redone");
    page.splice(
        3..3,
        &["flemma.opt.sandbox = { enabled = false }"],
        ChangeSource::Undo,
    );
    assert!(!page.is_typed());
}

#[test]
fn moved_foreign_lines_stay_foreign() {
    let mut page = Page::read(&format!("```lua\n{LOOSE}\n```"));
    page.splice(1..2, &[], ChangeSource::BULK);
    page.splice(1..1, &[LOOSE], ChangeSource::BULK);
    assert_eq!(page.foreign(), [0, 1, 2]);
    assert!(!page.origins.are_typed(&page.text, 1..2));
}

/// Frontmatter begins on the first line and is short, so only removed lines near it are
/// remembered.
#[test]
fn removed_lines_are_remembered_at_the_top_of_a_text_with_frontmatter() {
    let returns = |first: &str, blank: usize| {
        let mut page = Page::empty();
        page.keys(0, first);
        page.splice(1..1, &vec![""; blank + 1], ChangeSource::BULK);
        let line = blank + 1;
        page.keys(line, LOOSE);
        page.splice(line..line + 1, &[], ChangeSource::BULK);
        page.splice(1..1, &[LOOSE], ChangeSource::BULK);
        page.origins.are_typed(&page.text, 1..2)
    };
    assert!(returns("```lua", 0));
    assert!(returns("```lua", TOP - 1));
    assert!(!returns("```lua", TOP));
    assert!(!returns("@You:", 0));
}

#[test]
fn a_line_without_meaning_does_not_count() {
    for (line, says) in [
        ("end", false),
        ("}", false),
        (" ]] ", false),
        ("ending", true),
    ] {
        let mut page = Page::empty();
        page.keys(0, "x = 1");
        page.splice(1..1, &[line], ChangeSource::Host);
        assert_eq!(page.foreign(), [1]);
        assert_eq!(page.is_typed(), !says, "{line}");
    }
}

#[test]
fn the_text_that_one_key_adds_is_limited() {
    let one = ChangeSource::Editor { typed: Some(1) };
    for (source, most, text) in [
        (one, 1 + SLACK, "("),
        (one, LONGEST_WORD, "a"),
        (ChangeSource::BULK, CLOSING, ")"),
    ] {
        let is_typed = |length: usize| {
            let mut page = Page::empty();
            page.keys(0, "x = ");
            let new = format!("x = {}", text.repeat(length));
            page.splice(0..1, &[&new], source).typed
        };
        assert!(is_typed(most) && !is_typed(most + 1), "{source:?} {text}");
    }
}

#[test]
fn streamed_text_is_one_mark() {
    let marks = |page: &Page| -> Vec<(usize, usize)> {
        let all = page.origins.foreign.iter();
        all.map(|it| (it.start, it.end)).collect()
    };
    let mut page = Page::empty();
    for line in [1, 2, 1] {
        page.splice(line..line, &["text"], ChangeSource::Host);
    }
    page.splice(4..4, &[""], ChangeSource::BULK);
    assert_eq!(marks(&page), [(1, 4)]);
    // Inserted lines split it, and nothing is left of its last line.
    page.splice(3..4, &[""], ChangeSource::BULK);
    page.splice(2..2, &[""], ChangeSource::BULK);
    assert_eq!(marks(&page), [(1, 2), (3, 4)]);
}

#[test]
fn lines_that_were_agreed_to_may_be_changed() {
    let mut page = Page::read(&format!("```lua\n{LOOSE}\n```"));
    assert!(!page.is_typed());
    page.origins.agree(&page.text, 1..2);
    page.keys(1, " -- mine");
    assert!(page.origins.are_typed(&page.text, 1..2));
}

#[test]
fn a_substitution_changes_only_the_lines_it_matched() {
    let mut page = Page::empty();
    let difference = page.splice(0..1, &["a", "x", "b", "x"], ChangeSource::Host);
    assert_eq!(difference.hunks, [(0..1, 0..4)]);
    let difference = page.splice(0..4, &["a", "y", "b", "y"], ChangeSource::BULK);
    assert_eq!(difference.hunks, [(1..2, 1..2), (3..4, 3..4)]);
}

fn source() -> impl Strategy<Value = ChangeSource> {
    prop_oneof![
        Just(ChangeSource::Host),
        Just(ChangeSource::Undo),
        prop::option::of(0usize..40).prop_map(|typed| ChangeSource::Editor { typed }),
    ]
}

proptest! {
    /// Compares the marks with a list of one flag per line.
    #[test]
    fn marks_equal_a_flag_per_line(
        text in prop::collection::vec("[ab ]{0,3}", 1..12),
        changes in prop::collection::vec(
            (0usize..14, 0usize..14, prop::collection::vec("[ab ]{0,12}", 0..4), source()), 1..12),
    ) {
        let text = Text::from_lines(&text);
        let mut origins = Origins::read(&text);
        let mut flags: Vec<bool> = (0..text.line_count()).map(|it| !is_blank(text.line(it))).collect();
        let mut text = text;
        for (a, b, new, source) in changes {
            let count = text.line_count();
            let lines = a.min(b).min(count)..a.max(b).min(count);
            let difference = origins.splice(&text, &lines, &new, source);
            for (from, to) in difference.hunks.iter().rev() {
                let any = flags[from.clone()].iter().any(|it| *it);
                let flag = |at: usize| {
                    !is_blank(new[at - lines.start].as_bytes()) && (!difference.typed || any)
                };
                let new: Vec<bool> = to.clone().map(flag).collect();
                flags.splice(from.clone(), new);
            }
            text.splice(lines, &new);
            if flags.is_empty() {
                flags.push(false);
            }
            let marked: Vec<bool> = (0..text.line_count())
                .map(|it| origins.is_foreign(&(it..it + 1))).collect();
            prop_assert_eq!(&marked, &flags);
        }
    }
}

#[test]
fn a_line_without_meaning_of_its_own_has_no_hash() {
    for line in ["end", "  end\r", "}", "\u{feff}", " --- ", ""] {
        assert_eq!(hash(line.as_bytes()), None, "{line:?}");
    }
    assert_eq!(hash(b"  ending"), hash("\u{feff}ending ".as_bytes()));
    assert_ne!(hash(b"ending"), hash(b"Ending"));
}
