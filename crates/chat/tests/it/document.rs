//! Properties of parsed documents.

use std::collections::BTreeMap;

use chat::document::{Document, Role};
use chat::prompt::{self, Attachment, Content, Part};
use chat::text::Text;

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
    let prompt = prompt::build_with(&Document::parse(&text), &[], &own);
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
