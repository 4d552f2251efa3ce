//! Inserts text that the user sends from outside the buffer, as if they had typed it. The
//! text never becomes structure. Does not decide when it is inserted.

use crate::document::{Block, Document, Message, Role};
use crate::references;
use crate::scan::{self, Fence};
use crate::scan::{LineStart, escape_line};
use crate::write::{self, TextEdit};

/// Returns an edit that appends texts to the document, separated by blank lines: to the
/// last `@You:` if it is the last message, otherwise to a new one. References in them are
/// escaped, so they are sent as written.
///
/// Call [`write::close_fences`] first: an open fence would swallow the marker.
pub fn say<T: AsRef<str>>(document: &Document<'_>, texts: &[T]) -> TextEdit {
    let lines = lines_of(texts);
    let last = open_prompt(document);
    let below = last.and_then(|last| {
        let end = end_of_content(document, last);
        Some((last, spelled(&text_above(document, last, end), &lines)?))
    });
    match below {
        Some((last, lines)) => put_below(document, last, lines),
        // A reference that begins above would end in the text, so use a separate message.
        None => append(document, &spelled_alone(&lines)),
    }
}

/// Like [`say`], for one text whose references are kept.
pub fn say_with_references(document: &Document<'_>, text: &str) -> TextEdit {
    let lines = without_structure(&lines_of(&[text]));
    match open_prompt(document) {
        Some(last) => put_below(document, last, lines),
        None => append(document, &lines),
    }
}

fn put_below(document: &Document<'_>, last: &Message, mut lines: Vec<String>) -> TextEdit {
    let end = end_of_content(document, last);
    // A blank line separates it from text above.
    if end > last.lines.start + 1 || last.inline.is_some() {
        lines.insert(0, String::new());
    }
    TextEdit {
        // Replaces the blank lines at the end of the message.
        lines: end..last.lines.end,
        replacement: lines,
    }
}

fn append(document: &Document<'_>, lines: &[String]) -> TextEdit {
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    write::append_message(document, Role::You, &lines)
}

/// Returns true if the document ends with the text that [`say`] would append.
pub fn is_said<T: AsRef<str>>(document: &Document<'_>, texts: &[T]) -> bool {
    let lines = lines_of(texts);
    let Some(last) = document.messages.last().filter(|it| it.role == Role::You) else {
        return false;
    };
    let end = end_of_content(document, last);
    let content = last.lines.start + 1..end;
    if content.len() < lines.len() {
        return false;
    }
    let start = end - lines.len();
    let above = text_above(document, last, start);
    let lines = spelled(&above, &lines).unwrap_or_else(|| spelled_alone(&lines));
    (start..end).zip(&lines).all(|(at, line)| {
        // In a file with CRLF line ends, lines keep their CR.
        let there = document.text().line(at);
        there.strip_suffix(b"\r").unwrap_or(there) == line.as_bytes()
    })
}

/// Returns the user's text above a line that would be parsed together with text on that
/// line.
fn text_above(document: &Document<'_>, message: &Message, line: usize) -> String {
    let Some(Block::Prose(lines)) = document.blocks_of(message).last() else {
        return String::new();
    };
    let is_first = lines.start == message.lines.start;
    let column = message.inline.filter(|_| is_first).unwrap_or(0);
    let above = document.prose(lines.start..line, column);
    above.trim_end().to_owned()
}

/// Escapes lines to be written below `above`. `None` if a reference that begins above would
/// end in them.
fn spelled(above: &str, lines: &[String]) -> Option<Vec<String>> {
    let text = references::escaped(above, &lines.join("\n"))?;
    let lines: Vec<String> = text.split('\n').map(str::to_owned).collect();
    Some(without_structure(&lines))
}

/// Escapes lines that make up a whole message.
fn spelled_alone(lines: &[String]) -> Vec<String> {
    spelled("", lines).unwrap_or_else(|| without_structure(lines))
}

fn without_structure(lines: &[String]) -> Vec<String> {
    let lines = lines.iter();
    lines.map(|line| escape_line(line).into_owned()).collect()
}

/// Returns the last message if it is the user's and text can be appended. Below a header
/// without its fence, a fence in the text would become a result.
fn open_prompt<'d>(document: &'d Document<'_>) -> Option<&'d Message> {
    let last = document.messages.last().filter(|it| it.role == Role::You)?;
    let end = end_of_content(document, last);
    let is_header = end > last.lines.start + 1
        && scan::line_start(document.text().line(end - 1)) == LineStart::Structure
        // An escaped header is text.
        && !document.text().line(end - 1).starts_with(b"\\");
    (!is_header).then_some(last)
}

/// Returns the line after the last non-blank line of a message.
fn end_of_content(document: &Document<'_>, message: &Message) -> usize {
    // The search always ends at the marker's line, which is not blank.
    let mut lines = message.lines.clone().rev();
    let last = lines.find(|line| !document.is_blank(*line..*line + 1));
    last.unwrap_or(message.lines.start) + 1
}

/// Returns the lines of the texts with all fences closed, so that later text can't close
/// them.
fn lines_of<T: AsRef<str>>(texts: &[T]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            lines.push(String::new());
        }
        let first = lines.len();
        let text = text.as_ref().trim_end().split('\n');
        lines.extend(text.map(|line| line.trim_end_matches('\r').to_owned()));
        // An open fence would swallow the next message.
        let closing = open_fence(&lines[first..]);
        lines.extend(closing);
    }
    lines
}

/// Returns the line that closes the fence left open by these lines.
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
    fn text_goes_where_the_user_would_type_it() {
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
    fn text_never_becomes_structure() {
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
        let escaped = "@You:\n\\**Tool Result:** `a`";
        assert_eq!(said(escaped, &["Hi."]), format!("{escaped}\n\nHi."));
    }

    #[test]
    fn text_never_becomes_references() {
        for (before, text, after) in [
            (
                "",
                "Not {{ x }} or @./f.",
                "@You:\nNot \\{{ x }} or \\@./f.",
            ),
            ("", "\\{{ x }}", "@You:\n\\\\{{ x }}"),
            ("", "`{{ x }}`", "@You:\n`{{ x }}`"),
            ("@You: - a", "    @./f", "@You: - a\n\n    \\@./f"),
            ("@You:\n@./own", "@./f", "@You:\n@./own\n\n\\@./f"),
            // In a separate message, the text can't end a reference that begins above.
            ("@You:\n{{ a", "b }}", "@You:\n{{ a\n\n@You:\nb }}"),
        ] {
            assert_eq!(said(before, &[text]), after, "{before:?}");
        }
        let both = said("", &["{{ a", "b }}"]);
        assert_eq!(both, "@You:\n\\{{ a\n\nb }}");
        let later = said(&said("", &["{{ a"]), &["b }}"]);
        assert_eq!(later, "@You:\n{{ a\n\n@You:\nb }}");
    }

    #[test]
    fn a_message_from_the_command_line_keeps_its_references() {
        let text = Text::from("");
        let edit = say_with_references(&Document::parse(&text), "See @./f.\n@You:");
        assert_eq!(edit.replacement, ["@You:", "See @./f.", "\\@You:"]);
    }

    #[test]
    fn only_text_at_the_end_counts_as_said() {
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
