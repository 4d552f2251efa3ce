//! Parses references to the state of the editor and of the Git repository: `@diagnostics`,
//! `@quickfix`, `@symbols`, `@diff`, and `@buffer:NAME`; and to resources of MCP servers:
//! `@SERVER:URI`.
//!
//! A name counts only as a whole word, so `me@diff.com`, `@diffs`, and `@diff.com` are text.

use super::{continues_a_word, decoded, with_escapes, without_punctuation};
use crate::document::Role;

/// The source that a reference to the editor, the Git repository, or an MCP server names.
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
    /// A resource of an MCP server.
    Resource {
        /// The server's name.
        server: String,
        /// The URI as written.
        uri: String,
    },
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
        || text
            .match_indices('@')
            .any(|(at, _)| begins_resource(&text[at..]))
}

/// Longest name of an MCP server.
const SERVER: usize = 32;

/// Returns the server and the beginning of a URI at the start of a text, as in `@docs:note://x`.
/// The names of other references and of roles are not servers.
pub fn server_at_start(text: &str) -> Option<(&str, &str)> {
    let named = text.strip_prefix('@')?;
    let fits = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '_';
    let end = named.find(|it| !fits(it))?;
    let (server, rest) = named.split_at(end);
    let uri = rest.strip_prefix(':')?;
    let is_role = || Role::ALL.iter().any(|role| text.starts_with(role.marker()));
    let is_taken = is_context(server) || text.starts_with(BUFFER) || is_role();
    let fits = (1..=SERVER).contains(&end) && !is_taken;
    fits.then_some((server, uri))
}

/// Returns true if a text starts as a reference to a resource does.
pub(crate) fn begins_resource(text: &str) -> bool {
    let path = server_at_start(text).and_then(|(_, uri)| path_of(uri));
    path.is_some_and(|path| !path.starts_with(char::is_whitespace))
}

/// Returns what follows the scheme of a URI (RFC 3986, section 3.1); `None` without a scheme, or if
/// nothing follows.
fn path_of(uri: &str) -> Option<&str> {
    let fits = |it: char| it.is_ascii_alphanumeric() || "+-.".contains(it);
    let end = uri.find(|it| !fits(it))?;
    let path = uri[end..].strip_prefix(':')?;
    let begins = uri.starts_with(|it: char| it.is_ascii_alphabetic());
    Some(path).filter(|it| begins && !it.is_empty())
}

fn resource(word: &str) -> Option<(ContextSource, usize)> {
    let (server, rest) = server_at_start(word)?;
    let uri = without_punctuation(rest);
    path_of(uri)?;
    let source = ContextSource::Resource {
        server: server.to_owned(),
        uri: uri.to_owned(),
    };
    Some((source, word.len() - rest.len() + uri.len()))
}

/// Returns a resource's URI as written in a reference: what would end it is percent-encoded.
/// Escapes in the URI stay as they are, because they are part of it.
pub fn encoded_uri(uri: &str) -> String {
    let ends = without_punctuation(uri).len() < uri.len();
    with_escapes(uri, char::is_whitespace, |_| ends)
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
    whole
        .or_else(|| unknown_scope(word))
        .or_else(|| resource(word))
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
                ContextSource::Resource { server, uri } => format!("<{server} {uri}>"),
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
    fn a_resource_is_a_server_and_a_uri() {
        check(&[
            ("See @docs:note://today.", "See <docs note://today>."),
            ("(@my-db_2:file:///a/b%20c)", "(<my-db_2 file:///a/b%20c>)"),
            (
                "**@docs:urn:isbn:1**, @docs:a://b(1)?",
                "**<docs urn:isbn:1>**, <docs a://b(1)>?",
            ),
            (
                "\"@docs:note://x?y=1&z#w\"!",
                "\"<docs note://x?y=1&z#w>\"!",
            ),
            ("请看@docs:note://图。", "请看<docs note://图>。"),
            ("\\@docs:note://x", "=@docs:note://x="),
            ("@docs:mem:x\\@./y", "<docs mem:x\\@./y>"),
        ]);
    }

    #[test]
    fn texts_similar_to_a_resource_stay_text() {
        for text in [
            "@ann: hello",
            "@ann:hello",
            "@ann:12:30",
            "@ann:re: the report",
            "me@docs:note://x",
            "@docs::x",
            "@docs:note:",
            "@docs:note:.",
            "@docs.x:note://y",
            "@You:note://x",
            "@diagnostics:note://x",
            "`@docs:note://x`",
            "```\n@docs:note://x\n```",
        ] {
            assert_eq!(shown(text), text);
        }
    }

    #[test]
    fn an_encoded_uri_is_one_reference() {
        for (uri, written) in [
            ("note://a%20b", "note://a%20b"),
            ("note://a b", "note://a%20b"),
            ("note://a(1)", "note://a(1)"),
            ("note://see (it).", "note://see%20(it)%2E"),
            ("note://a;b", "note://a;b"),
            ("note://folder/", "note://folder/"),
        ] {
            assert_eq!(encoded_uri(uri), written);
            assert_eq!(
                shown(&format!("@docs:{written}")),
                format!("<docs {written}>")
            );
        }
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
