//! The title of a chat, and the name of a file for it.

use crate::document::{Block, Document, Role};
use crate::visible;

/// Maximum columns of a title.
const WIDTH: usize = 72;
/// Maximum characters of a file's name, without its extension.
const LONGEST: usize = 48;
/// Names that Windows keeps for devices, with any extension.
const DEVICES: [&str; 4] = ["con", "prn", "aux", "nul"];

/// Returns the first words that the user wrote, on one line. `None` if there are none.
pub fn title(document: &Document<'_>) -> Option<String> {
    let mut messages = document.messages.iter();
    messages.find_map(|message| {
        if message.role != Role::You {
            return None;
        }
        document
            .blocks_of(message)
            .iter()
            .find_map(|block| match block {
                Block::Prose(lines) => {
                    let is_beside = lines.start == message.lines.start;
                    let column = message.inline.filter(|_| is_beside).unwrap_or(0);
                    let text = document.prose(lines.clone(), column);
                    let line = text.lines().map(str::trim).find(|it| !it.is_empty());
                    line.map(|it| visible::fit(it, WIDTH))
                }
                _ => None,
            })
    })
}

/// Returns a file name without extension for a title: letters, digits, and hyphens. `None` if
/// the title has neither letters nor digits.
pub fn file_stem(title: &str) -> Option<String> {
    let lower = title.to_lowercase();
    let mut words = lower
        .split(|it: char| !it.is_alphanumeric())
        .filter(|it| !it.is_empty());
    // Only a single long word is cut.
    let mut stem: String = words.next()?.chars().take(LONGEST).collect();
    let mut length = stem.chars().count();
    for word in words {
        length += 1 + word.chars().count();
        // A word that is cut reads like another one.
        if length > LONGEST {
            break;
        }
        stem.push('-');
        stem.push_str(word);
    }
    let is_port = |name: &str| {
        let number = name
            .strip_prefix("com")
            .or_else(|| name.strip_prefix("lpt"));
        number.is_some_and(|it| it.len() == 1 && it.bytes().all(|it| it.is_ascii_digit()))
    };
    // Windows could not open a file with such a name.
    Some(if DEVICES.contains(&&*stem) || is_port(&stem) {
        format!("chat-{stem}")
    } else {
        stem
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::Text;

    fn title_of(text: &str) -> Option<String> {
        let text = Text::from(text);
        title(&Document::parse(&text))
    }

    #[test]
    fn a_title_is_the_first_line_that_the_user_wrote() {
        let chat =
            "@System: Be brief.\n@You:\n\n@You:\n  Why is\u{202e} it?\nMore.\n@Assistant:\nX\n";
        assert_eq!(title_of(chat).as_deref(), Some("Why is<202e> it?"));
        assert_eq!(title_of("@You: Hi.\n").as_deref(), Some("Hi."));
        assert_eq!(title_of("@System:\nHi.\n@You:\n"), None);
    }

    #[track_caller]
    fn check(title: &str, expected: &str) {
        assert_eq!(file_stem(title).as_deref(), Some(expected));
    }

    #[test]
    fn a_file_name_has_the_words_of_the_title() {
        check("Why does `Lexer::next` panic?", "why-does-lexer-next-panic");
        check("  ../../etc/passwd ", "etc-passwd");
        check("Größe: 漢字", "größe-漢字");
        check("Con", "chat-con");
        check("LPT1", "chat-lpt1");
        check(
            "a text that is longer than any name of a file may be",
            "a-text-that-is-longer-than-any-name-of-a-file",
        );
        assert_eq!(file_stem("?! …"), None);
    }

    proptest! {
        #[test]
        fn a_file_name_has_no_special_characters(title in "\\PC{0,80}") {
            if let Some(stem) = file_stem(&title) {
                prop_assert!(stem.chars().all(|it| it == '-' || it.is_alphanumeric()), "{stem}");
                prop_assert!(!stem.starts_with('-') && !stem.ends_with('-'), "{stem}");
                prop_assert!(!stem.is_empty() && stem.chars().count() <= LONGEST + 5);
            }
        }
    }
}
