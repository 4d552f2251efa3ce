//! Tests which texts are references.

use proptest::prelude::*;

use super::*;
use crate::prompt::{self, Attachment, Content, Own, Part, Selection, build_with};
use crate::text::Text;

#[test]
fn an_encoded_path_is_read_as_it_was() {
    for path in [
        "./a b.txt",
        "./100%",
        "./x;type=a/b",
        "./see (it).",
        "./é\u{a0}x",
        "./plain.rs",
    ] {
        let written = format!("@{}", encoded(path));
        let found = pieces(&written, 0);
        let expected = Piece::File {
            path: path.to_owned(),
            mime: None,
            line: 0,
            written,
        };
        assert_eq!(found, [expected]);
    }
}

/// Formats the pieces: `{code}`, `<path>`, `<path;mime>`, `=escaped=`, other text as is.
fn shown(text: &str) -> String {
    let piece = |piece: Piece| match piece {
        Piece::Text(text) => text,
        Piece::Expression { code, .. } => format!("{{{code}}}"),
        Piece::File {
            path, mime: None, ..
        } => format!("<{path}>"),
        Piece::File {
            path,
            mime: Some(mime),
            ..
        } => format!("<{path};{mime}>"),
        Piece::Context { written, .. } => format!("<{written}>"),
        Piece::Escaped { text, .. } => format!("={text}="),
    };
    pieces(text, 1).into_iter().map(piece).collect()
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, expected) in cases {
        assert_eq!(shown(text), *expected, "{text:?}");
    }
}

#[test]
fn files() {
    check(&[
        ("@./a.txt", "<./a.txt>"),
        ("see @../b/c.png now", "see <../b/c.png> now"),
        ("@~/x @//etc/hosts", "<~/x> </etc/hosts>"),
        ("@./my%20file.txt", "<./my file.txt>"),
        ("@./100%.txt", "<./100%.txt>"),
        ("@./c++.md", "<./c++.md>"),
        ("@./nul%00", "<./nul%00>"),
        ("@./latin%E9", "<./latin%E9>"),
        ("@./x;type=image/png", "<./x;image/png>"),
        ("(@./x;type=text/plain).", "(<./x;text/plain>)."),
        ("@./x;type=odd", "<./x;type=odd>"),
    ]);
}

#[test]
fn punctuation_of_the_sentence_is_not_part_of_a_path() {
    check(&[
        ("see @./x.", "see <./x>."),
        ("'see @./x.'", "'see <./x>.'"),
        ("(in @./a.rs)", "(in <./a.rs>)"),
        ("@./a(1).txt, @./b?", "<./a(1).txt>, <./b>?"),
        ("@./a(1)", "<./a(1)>"),
        ("**@./bold.md**", "**<./bold.md>**"),
        ("“@./x”", "“<./x>”"),
        ("看@./图.png。", "看<./图.png>。"),
    ]);
}

#[test]
fn texts_similar_to_a_file_reference_stay_text() {
    for text in [
        "email a@./b",
        "https://user@//host/x",
        "git@../x",
        "GIT@../x",
        "9@../x",
        "git_@../x",
        "@@../x",
        "@you",
        "@.hidden",
        "@./",
        "@../",
        "@/etc/passwd",
        "@ ./x",
        "./x",
        "a\\@./x",
        "`@./x`",
        "```\n@./x\n```",
        "text\n\n    @./indented\n",
    ] {
        check(&[(text, text)]);
    }
}

#[test]
fn an_expression_ends_where_lua_ends_it() {
    check(&[
        ("{{ x }}", "{x}"),
        ("a{{x}}b{{ y }}", "a{x}b{y}"),
        ("{{ \"}}\" }}", "{\"}}\"}"),
        ("{{ 'it\\'s }}' }}", "{'it\\'s }}'}"),
        ("{{ [[ }} ]] }}", "{[[ }} ]]}"),
        ("{{ [==[ ]] }} ]==] }}", "{[==[ ]] }} ]==]}"),
        ("{{ x --[[ }} ]] }}", "{x --[[ }} ]]}"),
        ("{{ x -- }}\n}}", "{x -- }}}"),
        ("{{ {a={1}} }}", "{{a={1}}}"),
        ("{{ {1,{2}}}}", "{{1,{2}}}"),
        ("{{\nx\n}}", "{x}"),
        ("{{ t[1] }}", "{t[1]}"),
        ("{{ include('@./x') }}", "{include('@./x')}"),
    ]);
}

#[test]
fn an_incomplete_expression_stays_text() {
    for text in [
        "{{",
        "{{ x",
        "{{ x }",
        "{ x }",
        "{{}}",
        "{{  }}",
        "{{ 'x }}",
        "{{ x -- }}",
        "`{{ x }}`",
        "```\n{{ x }}\n```",
        "{{ `x` }}",
    ] {
        check(&[(text, text)]);
    }
}

#[test]
fn one_backslash_makes_a_reference_text_and_is_not_sent() {
    check(&[
        ("\\@./x.", "=@./x=."),
        ("see \\{{ x }} and {{ y }}", "see ={{ x }}= and {y}"),
        ("\\\\{{ x }}", "\\={{ x }}="),
        ("\\{{ @./x }}", "={{ @./x }}="),
        ("{{ x }}\\@./x", "{x}=@./x="),
        ("`\\{{ x }}`", "`\\{{ x }}`"),
        ("\\{{ x", "\\{{ x"),
        ("\\@", "\\@"),
    ]);
}

#[test]
fn escaping_depends_on_the_text_above() {
    for (above, text, expected) in [
        ("", "{{ x }} @./y", Some("\\{{ x }} \\@./y")),
        ("", "\\{{ x }}", Some("\\\\{{ x }}")),
        ("", "`{{ x }}`", Some("`{{ x }}`")),
        ("{{ a }} \\@./b", "@./c", Some("\\@./c")),
        // Indented code, but not in a list.
        ("", "    @./c", Some("    @./c")),
        ("- an item", "    @./c", Some("    \\@./c")),
        ("{{ a", "b }}", None),
    ] {
        assert_eq!(escaped(above, text).as_deref(), expected, "{above:?}");
    }
}

#[test]
fn escaped_references_are_sent_without_their_backslash() {
    let text = Text::from("@System:\nNo \\{{ x }}\n\n@You:\nA \\@./a and {{ b }}");
    let prompt = prompt::build(&Document::parse(&text), &[]);
    assert_eq!(prompt.system.as_deref(), Some("No {{ x }}"));
    let sent = Part::Text("A @./a and {{ b }}".to_owned());
    assert_eq!(prompt.messages[0].parts, [sent]);
}

#[test]
fn pieces_have_their_line_and_source_text() {
    let found = pieces("a\n{{ x }}\n\n@./a%20b.", 10);
    let expected = [
        Piece::Text("a\n".into()),
        Piece::Expression {
            code: "x".into(),
            line: 11,
            written: "{{ x }}".into(),
        },
        Piece::Text("\n\n".into()),
        Piece::File {
            path: "./a b".into(),
            mime: None,
            line: 13,
            written: "@./a%20b".into(),
        },
        Piece::Text(".".into()),
    ];
    assert_eq!(found, expected);
}

const CHAT: &str = "\
@System:
Be {{ mood }}.

@You:

See @./a.md.

@Assistant: @./b.md {{ x }} @docs:note://b

**Tool Use:** `read` (`c1`)

```json
{}
```

@You:
**Tool Result:** `c1`

```
@./c.md {{ y }} @docs:note://c
```

And @./d.md
";

#[test]
fn only_the_users_own_text_contains_references() {
    let text = Text::from(CHAT);
    let found = in_document(&Document::parse(&text));
    let references: Vec<(usize, usize, String)> = found
        .into_iter()
        .flat_map(|(at, pieces)| pieces.into_iter().map(move |piece| (at, piece)))
        .filter_map(|(at, piece)| match piece {
            Piece::Text(_) | Piece::Escaped { .. } => None,
            Piece::Expression { line, written, .. }
            | Piece::File { line, written, .. }
            | Piece::Context { line, written, .. } => Some((at, line, written)),
        })
        .collect();
    let expected = [(0, 1, "{{ mood }}"), (1, 5, "@./a.md"), (3, 22, "@./d.md")];
    assert_eq!(
        references,
        expected.map(|(at, line, written)| (at, line, written.to_owned()))
    );
}

#[test]
fn text_above_and_below_a_result_are_separate_paragraphs() {
    let text = Text::from("@You:\n@./a\n\n**Tool Result:** `x`\n\n```\n```\n\n@./b");
    let found = in_document(&Document::parse(&text));
    let written: Vec<&str> = found[&0].iter().map(Piece::written).collect();
    assert_eq!(written, ["@./a", "\n\n", "@./b"]);
}

#[test]
fn resolved_references_are_sent() {
    let text = Text::from(CHAT);
    let document = Document::parse(&text);
    let file = Part::File(Attachment {
        name: "@./d.md".to_owned(),
        language: String::new(),
        content: Content::Text("d\n".to_owned()),
    });
    let own = Own::from([
        (0, vec![Part::Text("Be kind.".to_owned())]),
        (3, vec![Part::Text("And ".to_owned()), file.clone()]),
    ]);
    let all = Selection::as_written(0..document.messages.len());
    let prompt = build_with(&document, &[], &own, &all);
    assert_eq!(prompt.system.as_deref(), Some("Be kind."));
    assert_eq!(
        prompt.messages[0].parts,
        [Part::Text("See @./a.md.".to_owned())]
    );
    let last = &prompt.messages[2].parts;
    assert!(matches!(last[0], Part::ToolResult { .. }));
    assert_eq!(last[1..], [Part::Text("And ".to_owned()), file]);
}

/// Texts with many references and with characters that begin or hide one.
const MIXTURE: &str = "([-`@./{}a '\"~;\\n<>\\\\]|\\{\\{ a \\}\\}|@\\./f|@diff|@buffer:b|@s:u:r|\\n\\n|    |- |```\\n|\\{\\{|\\}\\}){0,12}";

proptest! {
    #[test]
    fn joining_the_pieces_gives_the_text(text in "[-`@./{}a '\"\\[\\]=~;%\n\u{e9}\\\\]{0,60}") {
        let pieces = pieces(&text, 0);
        let written: String = pieces.iter().map(Piece::written).collect();
        prop_assert_eq!(written, text);
    }

    #[test]
    fn an_escaped_text_has_no_references_and_is_sent_unchanged(
        above in MIXTURE,
        text in MIXTURE,
    ) {
        let Some(escaped) = escaped(&above, &text) else {
            // The text above ends in the middle of a reference.
            return Ok(());
        };
        let above = if above.is_empty() { above } else { above + PARAGRAPH_BREAK };
        let whole = format!("{above}{escaped}");
        let mut at = 0;
        let mut sent = String::new();
        for piece in pieces(&whole, 0) {
            at += piece.written().len();
            prop_assert!(at <= above.len() || !piece.refers(), "{whole:?}");
            sent += match &piece {
                Piece::Escaped { text, .. } if at > above.len() => text,
                piece => piece.written(),
            };
        }
        prop_assert_eq!(&sent[above.len()..], &text, "{:?}", whole);
    }
}

#[test]
fn braces_in_lua_strings_comments_and_tables_do_not_end_an_expression() {
    for (text, expected) in [
        ("{{ a }} b", Some("a")),
        ("{{ t[1] }} ]] }}", Some("t[1]")),
        ("{{ [[ }} ]] }}", Some("[[ }} ]]")),
        ("{{ [=[ ]] }} ]=] }}", Some("[=[ ]] }} ]=]")),
        ("{{ '}}' }}", Some("'}}'")),
        ("{{ a --[[ }} ]] }}", Some("a --[[ }} ]]")),
        ("{{ a -- }}\n}}", Some("a -- }}")),
        ("{{ {a = {}} }}", Some("{a = {}}")),
        ("{{ }}", None),
        ("{{ a", None),
    ] {
        assert_eq!(
            expression_at_start(text).map(|(code, _)| code),
            expected,
            "{text:?}"
        );
    }
}
