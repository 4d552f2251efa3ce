//! Templates of new chats: their variables, such as `${date}`, become text that is never
//! structure of a chat and refers to nothing.

use crate::document::{Document, Role};
use crate::references::{BUFFER, CONTEXTS, begins_resource};
use crate::scan::{self, LineStart, escape_line, line_start};
use crate::write::{TextEdit, append_message};

/// Marks where the cursor goes.
const CURSOR: &str = "${cursor}";

/// A template with the values of its variables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Filled {
    /// The lines of the chat.
    pub lines: Vec<String>,
    /// The line and byte column where the template puts the cursor.
    pub cursor: Option<(usize, usize)>,
    /// Names that look like a variable but are none. They stay in the text.
    pub unknown: Vec<String>,
}

/// Makes a value plain text of one line, for example the name of a folder.
pub fn plain(value: &str) -> String {
    let value = value.replace(char::is_control, "?");
    let mut text = String::with_capacity(value.len());
    let mut rest = value.as_str();
    while let Some(next) = rest.chars().next() {
        let ticks = rest.len() - rest.trim_start_matches('`').len();
        if ticks >= 3 {
            text.push('\'');
            rest = &rest[ticks..];
            continue;
        }
        if rest.starts_with("{{") || refers(&text, rest) {
            text.push('\\');
        }
        // All braces at once, because `{\{{` would be escaped again.
        let length = if rest.starts_with("{{") {
            2
        } else {
            ticks.max(next.len_utf8())
        };
        text.push_str(&rest[..length]);
        rest = &rest[length..];
    }
    text
}

/// Returns true if a reference may begin at the start of `rest`.
fn refers(before: &str, rest: &str) -> bool {
    if ["@.", "@/", "@~"].iter().any(|it| rest.starts_with(it)) {
        return true;
    }
    // Inside a word, the host takes no reference, and would keep the backslash.
    let continues = |last: char| last.is_ascii_alphanumeric() || "_@/.%+\\-".contains(last);
    let mut words = CONTEXTS.iter().map(|(sign, _)| *sign).chain([BUFFER]);
    !before.chars().next_back().is_some_and(continues)
        && (words.any(|it| rest.starts_with(it)) || begins_resource(rest))
}

/// Replaces the variables of a template. `value` returns that of a name, which may have several
/// lines; `None` if there is no such variable.
pub fn fill(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> Filled {
    let template = template.replace("\r\n", "\n");
    // The last line break ends a line.
    let template = template.strip_suffix('\n').unwrap_or(&template);
    let source: Vec<&str> = template.split('\n').collect();
    let head = frontmatter(&source);
    let mut filled = Filled::default();
    for (at, line) in source.iter().enumerate() {
        let is_head = at < head;
        let lines = if is_head {
            vec![(*line).to_owned()]
        } else {
            fill_line(line, &mut value, &mut filled.unknown)
        };
        if lines == [""] {
            // A project without rules leaves no gap.
            let is_gap = !is_head && filled.lines.last().is_some_and(String::is_empty);
            if !line.is_empty() || is_gap {
                continue;
            }
        }
        filled.lines.extend(lines);
    }
    filled.cursor = take_cursor(&mut filled.lines);
    filled
}

/// Returns the number of lines of a fence at the top. Nothing is replaced in it, because a value would
/// become code if it is a frontmatter, or becomes one when its language is corrected.
fn frontmatter(source: &[&str]) -> usize {
    let mut fences = source.iter().map(|line| scan::fence(line.as_bytes()));
    let Some(opener) = fences.next().flatten() else {
        return 0;
    };
    let closing = fences.position(|fence| fence.is_some_and(|it| it.closes(&opener)));
    // An open fence may close after a value was put in.
    closing.map_or(source.len(), |at| at + 2)
}

fn fill_line(
    line: &str,
    value: &mut impl FnMut(&str) -> Option<String>,
    unknown: &mut Vec<String>,
) -> Vec<String> {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("${") {
        filled.push_str(before);
        let end = after.find(|it: char| !it.is_ascii_lowercase());
        let name = &after[..end.unwrap_or(after.len())];
        let is_closed = !name.is_empty() && after[name.len()..].starts_with('}');
        match is_closed.then(|| value(name)).flatten() {
            Some(value) => {
                filled.push_str(&value);
                rest = &after[name.len() + 1..];
            }
            None => {
                let is_new = is_closed && !unknown.iter().any(|it| it == name);
                if is_new && name != "cursor" {
                    unknown.push(name.to_owned());
                }
                filled.push_str("${");
                rest = after;
            }
        }
    }
    filled.push_str(rest);
    if filled == line {
        return vec![filled];
    }
    // A marker that the template itself has stays one.
    let is_own = line_start(line.as_bytes()) == LineStart::Structure;
    let lines = filled.split('\n').enumerate();
    lines
        .map(|(at, text)| {
            if at == 0 && is_own {
                text.to_owned()
            } else {
                escape_line(text).into_owned()
            }
        })
        .collect()
}

/// Takes the mark for the cursor out of the lines.
fn take_cursor(lines: &mut [String]) -> Option<(usize, usize)> {
    lines.iter_mut().enumerate().find_map(|(at, line)| {
        let column = line.find(CURSOR)?;
        line.replace_range(column..column + CURSOR.len(), "");
        Some((at, column))
    })
}

/// Returns an edit that puts lines at the beginning of a message, which is made if there is none.
/// For [`Role::You`], that is the first message, or the last one if the model has answered,
/// because what was sent should not change.
pub fn put(document: &Document<'_>, role: Role, lines: &[String]) -> TextEdit {
    let first = document.messages.first();
    let found = if role == Role::You {
        let is_answered = |at: usize| {
            let before = &document.messages[..at];
            before.iter().any(|it| it.role == Role::Assistant)
        };
        let messages = document.messages.iter().enumerate();
        let mut own = messages.filter(|(_, it)| it.role == Role::You);
        let next = own.clone().rfind(|(at, _)| is_answered(*at));
        next.or_else(|| own.next()).map(|(_, it)| it)
    } else {
        first.filter(|it| it.role == role)
    };
    if let Some(message) = found {
        // Directly below the marker, where no fence of the message can be open.
        let at = message.lines.start + 1;
        let is_separate = at >= document.text().line_count() || document.is_blank(at..at + 1);
        let mut replacement = lines.to_vec();
        replacement.extend((!is_separate).then(String::new));
        return TextEdit {
            lines: at..at,
            replacement,
        };
    }
    match first {
        Some(first) if role != Role::You => {
            let marker = role.marker().to_owned();
            let lines = lines.iter().cloned().chain([String::new()]);
            TextEdit {
                lines: first.lines.start..first.lines.start,
                replacement: std::iter::once(marker).chain(lines).collect(),
            }
        }
        _ => {
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            append_message(document, role, &lines)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Text;

    fn filled(template: &str, text: &str) -> Vec<String> {
        fill(template, |name| (name == "x").then(|| text.to_owned())).lines
    }

    #[test]
    fn a_variable_is_replaced_and_another_word_stays() {
        let found = fill("${x} ${other} ${X} ${} $x ${x", |name| {
            (name == "x").then(|| "value".to_owned())
        });
        assert_eq!(found.lines, ["value ${other} ${X} ${} $x ${x"]);
        assert_eq!(found.unknown, ["other"]);
    }

    #[test]
    fn a_variable_without_text_leaves_no_gap() {
        assert_eq!(filled("a\n\n${x}\n\n@You:\n\n", ""), ["a", "", "@You:", ""]);
    }

    #[test]
    fn the_text_of_a_variable_never_becomes_frontmatter_or_a_marker() {
        let value = "@You:\n```lua\n@Assistant:\n\\<thinking>\n@Yours:";
        let escaped = ["```lua", "\\@Assistant:", "\\\\<thinking>", "@Yours:"];
        assert_eq!(filled("${x}", value), [&["\\@You:"], &escaped[..]].concat());
        let own = [&["@You: @You:"], &escaped[..]].concat();
        assert_eq!(filled("@You: ${x}", value), own);
        let code = "```lua\ny = [[${x}]]\n```";
        assert_eq!(filled(code, value), ["```lua", "y = [[${x}]]", "```"]);
        assert_eq!(filled("```lua\n${x}", value), ["```lua", "${x}"]);
        assert_eq!(
            filled("~~~lua\n${x}\n~~~\n${x}", "1"),
            ["~~~lua", "${x}", "~~~", "1"]
        );
    }

    #[test]
    fn a_plain_value_is_one_line_that_refers_to_nothing() {
        assert_eq!(plain("a\n@You:\u{1b}"), "a?@You:?");
        assert_eq!(plain("```lua `x` ````"), "'lua `x` '");
        assert_eq!(plain("{{ x }} {{{{"), "\\{{ x }} \\{{\\{{");
        assert_eq!(plain("@./a me@/b"), "\\@./a me\\@/b");
        assert_eq!(
            plain("@diff a@diff (@buffer:x"),
            "\\@diff a@diff (\\@buffer:x"
        );
        assert_eq!(plain("größe"), "größe");
    }

    #[test]
    fn a_template_puts_the_cursor_where_it_says() {
        let found = fill("@You:\nFix ${cursor}.\n", |_| None);
        assert_eq!(found.lines, ["@You:", "Fix ."]);
        assert_eq!((found.cursor, found.unknown), (Some((1, 4)), Vec::new()));
    }

    #[track_caller]
    fn check_put(role: Role, before: &str, after: &str) {
        let mut text = Text::from(before);
        let edit = put(&Document::parse(&text), role, &["@./R".to_owned()]);
        text.splice(edit.lines, &edit.replacement);
        assert_eq!(String::from_utf8_lossy(text.bytes()), after);
    }

    #[test]
    fn lines_are_put_into_the_message_that_was_not_sent_yet() {
        let check = |before, after| check_put(Role::You, before, after);
        check("@You:\nHi", "@You:\n@./R\n\nHi");
        check("@System:\nA\n\n@You:\n", "@System:\nA\n\n@You:\n@./R\n");
        check(
            "@You:\nHi\n\n@Assistant:\nHello.\n\n@You:\nMore",
            "@You:\nHi\n\n@Assistant:\nHello.\n\n@You:\n@./R\n\nMore",
        );
        check(
            "```lua\nx = [[\n@You:\n]]\n```\n\n@You:",
            "```lua\nx = [[\n@You:\n]]\n```\n\n@You:\n@./R",
        );
        check("", "@You:\n@./R");
        check("@System:\nA\n", "@System:\nA\n\n@You:\n@./R");
    }

    #[test]
    fn lines_for_the_system_are_put_into_its_message_or_a_new_one_above_all_others() {
        let check = |before, after| check_put(Role::System, before, after);
        check("@System:\nA\n", "@System:\n@./R\n\nA\n");
        check("@You:\nHi", "@System:\n@./R\n\n@You:\nHi");
        check(
            "```lua\n```\n\n@You:\nHi",
            "```lua\n```\n\n@System:\n@./R\n\n@You:\nHi",
        );
    }

    // The plugin once had rules of its own, which took these for messages.

    #[test]
    fn text_that_begins_like_a_marker_is_no_message_to_put_lines_into() {
        let code = "@System:\nA\n```\n@You:\n```\n@Your:\n\n@You:\n";
        check_put(Role::You, code, &format!("{code}@./R\n"));
        let text = "@Assistant:s\n@You:\nHi\n\n@You:\n";
        check_put(
            Role::You,
            text,
            "@Assistant:s\n@You:\n@./R\n\nHi\n\n@You:\n",
        );
    }
}
