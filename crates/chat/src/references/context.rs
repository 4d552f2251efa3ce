//! Parses references to the state of the editor and of the Git repository: `@diagnostics`,
//! `@quickfix`, `@symbols`, `@diff`, and `@buffer:NAME`.
//!
//! A name counts only as a whole word, so `me@diff.com`, `@diffs`, and `@diff.com` are text.

use super::{continues_a_word, decoded, without_punctuation};

/// The source that a reference to the editor or the Git repository names.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContextSource {
    /// The diagnostics of the open files.
    Diagnostics,
    /// The quickfix list.
    Quickfix,
    /// The functions, types, and the like of the open files.
    Symbols,
    /// Changes that are not committed.
    Diff(DiffScope),
    /// The text of an open buffer, by its name.
    Buffer(String),
}

/// The changes of a Git repository that a diff shows.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum DiffScope {
    /// All since the last commit.
    All,
    /// Those that would be committed.
    Staged,
    /// Those that are not staged.
    Unstaged,
    /// An unknown word after the colon. It is an error, because as text it would look like
    /// a reference that is sent.
    Unknown(String),
}

/// The references without a name, and what they mean.
pub const CONTEXTS: [(&str, &str); 6] = [
    ("@diagnostics", "diagnostics of the open files"),
    ("@quickfix", "the quickfix list"),
    ("@symbols", "functions and types of the open files"),
    ("@diff", "Git: changes since the last commit"),
    ("@diff:staged", "Git: staged changes"),
    ("@diff:unstaged", "Git: changes that are not staged"),
];
/// The prefix of a reference to a buffer.
pub const BUFFER: &str = "@buffer:";
const DIFF: &str = "@diff:";

/// Returns true if a tool's name is taken by a reference.
pub(crate) fn is_context(name: &str) -> bool {
    CONTEXTS.iter().any(|(sign, _)| sign[1..] == *name)
}

/// Fast path: returns false for most texts.
pub(super) fn may_refer(text: &str) -> bool {
    ["@di", "@qu", "@sy", BUFFER]
        .iter()
        .any(|it| text.contains(it))
}

/// Returns the reference at the start of a text, and its length in bytes; `before` is the
/// preceding character.
pub(super) fn at_start(text: &str, before: Option<char>) -> Option<(ContextSource, usize)> {
    if before.is_some_and(continues_a_word) {
        return None;
    }
    let word = text.split(char::is_whitespace).next()?;
    if let Some(name) = word.strip_prefix(BUFFER) {
        let name = without_punctuation(name);
        let source = ContextSource::Buffer(decoded(name));
        return (!name.is_empty()).then(|| (source, BUFFER.len() + name.len()));
    }
    // The longest first, because `@diff` begins `@diff:staged`.
    let signs = CONTEXTS.iter().rev().map(|(sign, _)| *sign);
    let whole = signs
        .filter(|sign| word.strip_prefix(*sign).is_some_and(ends))
        .find_map(|sign| Some((named(sign)?, sign.len())));
    whole.or_else(|| unknown_scope(word))
}

fn named(sign: &str) -> Option<ContextSource> {
    Some(match sign {
        "@diagnostics" => ContextSource::Diagnostics,
        "@quickfix" => ContextSource::Quickfix,
        "@symbols" => ContextSource::Symbols,
        "@diff" => ContextSource::Diff(DiffScope::All),
        "@diff:staged" => ContextSource::Diff(DiffScope::Staged),
        "@diff:unstaged" => ContextSource::Diff(DiffScope::Unstaged),
        _ => return None,
    })
}

fn unknown_scope(word: &str) -> Option<(ContextSource, usize)> {
    let scope = without_punctuation(word.strip_prefix(DIFF)?);
    let source = ContextSource::Diff(DiffScope::Unknown(scope.to_owned()));
    (!scope.is_empty()).then(|| (source, DIFF.len() + scope.len()))
}

/// Returns true if a word ends before `rest`, which may begin with punctuation.
fn ends(rest: &str) -> bool {
    let mut rest = rest.chars();
    match rest.next() {
        None => true,
        // In `@diff.com`, the period is not punctuation.
        Some('.' | ':' | '\'' | '’') => !rest.next().is_some_and(char::is_alphanumeric),
        // A backslash escapes what follows, so it ends the word as what follows does.
        Some(next) => next == '\\' || !continues_a_word(next),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Piece, escaped, pieces};
    use super::*;

    /// Formats the pieces: references as `<…>`, escaped ones as `=…=`, other text as is.
    fn shown(text: &str) -> String {
        let piece = |piece: Piece| match piece {
            Piece::Context { source, .. } => match source {
                ContextSource::Buffer(name) => format!("<buffer {name}>"),
                ContextSource::Diff(scope) => format!("<{scope:?}>"),
                source => format!("<{source:?}>"),
            },
            Piece::Escaped { text, .. } => format!("={text}="),
            piece => piece.written().to_owned(),
        };
        pieces(text, 0).into_iter().map(piece).collect()
    }

    #[track_caller]
    fn check(cases: &[(&str, &str)]) {
        for (text, expected) in cases {
            assert_eq!(shown(text), *expected, "{text:?}");
        }
    }

    #[test]
    fn a_whole_word_is_a_reference() {
        check(&[
            ("Fix @diagnostics", "Fix <Diagnostics>"),
            ("(@quickfix)", "(<Quickfix>)"),
            ("@symbols, @symbol", "<Symbols>, @symbol"),
            ("Review @diff.", "Review <All>."),
            ("@diff: is it good?", "<All>: is it good?"),
            (
                "**@diff:staged**, @diff:unstaged!",
                "**<Staged>**, <Unstaged>!",
            ),
            ("@diff,@quickfix", "<All>,<Quickfix>"),
            (
                "@diff{{ x }}, @diff\\{{ x }}",
                "<All>{{ x }}, <All>={{ x }}=",
            ),
            ("请看@diff。", "请看<All>。"),
        ]);
    }

    #[test]
    fn addresses_and_other_words_are_text() {
        for text in [
            "foo@diff.com",
            "foo@diff",
            "@diff.com",
            "@diffs and @diff_x, @diff-tool, @diff/x, @diff@x",
            "@diff's",
            "@diagnosticsx @Diff @DIFF",
            "@buffer @buffer: x @buffer:.",
            "`@diff` and `@buffer:x`",
            "```\n@diff\n```",
            "x/@diff",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn a_buffer_has_a_name_as_a_file_has() {
        check(&[
            ("See @buffer:src/main.rs.", "See <buffer src/main.rs>."),
            ("(@buffer:a%20b.txt)", "(<buffer a b.txt>)"),
            ("@buffer:12, @buffer:x(1)", "<buffer 12>, <buffer x(1)>"),
        ]);
    }

    #[test]
    fn an_unknown_scope_is_a_reference_so_that_it_is_reported() {
        check(&[(
            "@diff:stagged, @diff:HEAD~1",
            "<Unknown(\"stagged\")>, <Unknown(\"HEAD~1\")>",
        )]);
    }

    #[test]
    fn a_backslash_makes_a_reference_text() {
        check(&[("\\@diff and \\@buffer:x", "=@diff= and =@buffer:x=")]);
        let text = "@diff, @buffer:x and @diagnostics";
        let escaped = escaped("", text);
        let expected = "\\@diff, \\@buffer:x and \\@diagnostics";
        assert_eq!(escaped.as_deref(), Some(expected));
    }
}
