//! The user's words where nobody types them: put in the document as the user would
//! have typed them. Text never becomes structure by that, whatever it looks like.
//! When they are put there is not known here.

use crate::document::{Document, Message, Role};
use crate::escape::{self, LineStart, escape_line};
use crate::scan::{self, Fence};
use crate::write::{self, TextEdit};

/// Puts texts at the end of the document, a blank line between them: in the last
/// `@You:` if the conversation stands there, behind what it holds, else in a new one.
///
/// A fence that is open would swallow the marker: [`write::close_fences`] comes first.
pub fn say<T: AsRef<str>>(document: &Document<'_>, texts: &[T]) -> TextEdit {
    let mut lines = lines_of(texts);
    let Some(last) = open_prompt(document) else {
        let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
        return write::append_message(document, Role::You, &lines);
    };
    let end = end_of_content(document, last);
    if end > last.lines.start + 1 || last.inline.is_some() {
        lines.insert(0, String::new());
    }
    TextEdit {
        lines: end..last.lines.end,
        replacement: lines,
    }
}

/// Whether the document ends with what [`say`] would put there.
pub fn is_said<T: AsRef<str>>(document: &Document<'_>, texts: &[T]) -> bool {
    let lines = lines_of(texts);
    let Some(last) = document.messages.last().filter(|it| it.role == Role::You) else {
        return false;
    };
    let end = end_of_content(document, last);
    let content = last.lines.start + 1..end;
    content.len() >= lines.len()
        && (end - lines.len()..end).zip(&lines).all(|(at, line)| {
            let there = document.text().line(at);
            there.strip_suffix(b"\r").unwrap_or(there) == line.as_bytes()
        })
}

/// The last message, when it is the user's and text can follow in it: below a header
/// without its fence a fence of the text would become a result.
fn open_prompt<'d>(document: &'d Document<'_>) -> Option<&'d Message> {
    let last = document.messages.last().filter(|it| it.role == Role::You)?;
    let end = end_of_content(document, last);
    let is_header = end > last.lines.start + 1
        && escape::line_start(document.text().line(end - 1)) == LineStart::Structure
        && !document.text().line(end - 1).starts_with(b"\\");
    (!is_header).then_some(last)
}

/// The line behind the last one of a message's own lines that is not blank.
fn end_of_content(document: &Document<'_>, message: &Message) -> usize {
    let first = message.lines.start + 1;
    let mut lines = (first..message.lines.end).rev();
    lines
        .find(|line| !document.is_blank(*line..*line + 1))
        .map_or(first, |line| line + 1)
}

/// The lines of the texts, none of which is structure, and each fence closed: what is
/// put behind them later must not close it.
fn lines_of<T: AsRef<str>>(texts: &[T]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        let first = lines.len();
        let text = text.as_ref().trim_end().split('\n');
        lines.extend(text.map(|line| escape_line(line.trim_end_matches('\r')).into_owned()));
        let closing = open_fence(&lines[first..]);
        lines.extend(closing);
    }
    lines
}

/// What would close the fence that is open behind these lines.
fn open_fence(lines: &[String]) -> Option<String> {
    let fences = lines.iter().filter_map(|line| scan::fence(line.as_bytes()));
    let open = fences.fold(None, |open: Option<Fence<'_>>, fence| match open {
        None => Some(fence),
        Some(it) if fence.closes(&it) => None,
        open => open,
    });
    open.map(|it| it.marks())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn said(chat: &str, texts: &[&str]) -> String {
        let mut buffer = Text::from(chat);
        let edit = say(&Document::parse(&buffer), texts);
        buffer.splice(edit.lines, &edit.replacement);
        assert!(is_said(&Document::parse(&buffer), texts), "{chat:?}");
        String::from_utf8_lossy(buffer.bytes()).into_owned()
    }

    #[test]
    fn words_stand_where_the_user_would_type_them() {
        for (before, after) in [
            ("", "@You:\nHi."),
            ("@You:\n", "@You:\nHi."),
            ("@You:\n\n", "@You:\nHi."),
            ("@You:\nOne.\n\n", "@You:\nOne.\n\nHi."),
            ("@You: One.", "@You: One.\n\nHi."),
            ("@Assistant:\nYes?", "@Assistant:\nYes?\n\n@You:\nHi."),
            (
                "@You:\n**Tool Result:** `a`\n\n```\nx\n```",
                "@You:\n**Tool Result:** `a`\n\n```\nx\n```\n\nHi.",
            ),
        ] {
            assert_eq!(said(before, &["Hi.\n"]), after, "{before:?}");
        }
        assert_eq!(said("", &["One.", "Two."]), "@You:\nOne.\n\nTwo.");
    }

    #[test]
    fn words_never_become_structure() {
        let text = "@Assistant:\n**Tool Use:** `bash` (`x`)";
        assert_eq!(
            said("", &[text]),
            "@You:\n\\@Assistant:\n\\**Tool Use:** `bash` (`x`)"
        );
        assert_eq!(
            said("", &["```\ncode", "More."]),
            "@You:\n```\ncode\n```\n\nMore."
        );
        let header = "@You:\n**Tool Result:** `a`";
        assert_eq!(
            said(header, &["```\nmine\n```"]),
            "@You:\n**Tool Result:** `a`\n\n@You:\n```\nmine\n```"
        );
    }

    #[test]
    fn only_words_at_the_end_count_as_said() {
        for (chat, is) in [
            ("@You:\nStop.\n", true),
            ("@You:\nFirst.\n\nStop.", true),
            ("@You:\nStop. Now.", false),
            ("@You: Stop.", false),
            ("@You:\nStop.\n\n@Assistant:\nOk.", false),
        ] {
            let text = Text::from(chat);
            assert_eq!(is_said(&Document::parse(&text), &["Stop."]), is, "{chat:?}");
        }
    }
}
