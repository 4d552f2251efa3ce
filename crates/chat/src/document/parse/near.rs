//! Diagnostics for misspelled role markers, and for frontmatter where none is read.

use super::{BYTE_ORDER_MARK, Parser};
use crate::document::{Diagnostic, Fix};
use crate::document::{Frontmatter, Role};
use crate::scan;
use crate::suggest;
use crate::text::{Lines, Text};

/// The languages of frontmatter.
const LANGUAGES: [&str; 2] = ["lua", "json"];
/// Languages in which other programs have frontmatter.
const OTHERS: [&str; 3] = ["yaml", "yml", "toml"];

impl Parser<'_> {
    /// Checks a line of a `role`'s message that starts with `@` and is not a marker.
    pub(super) fn near_marker(&mut self, line: usize, role: Option<Role>) {
        let text = self.text.line_str(line);
        let Some(word) = scan::near_marker(&text) else {
            return;
        };
        let meant = nearest(word);
        // Models write lines such as "@param:", so warn only about near misses.
        if meant.is_none() && role == Some(Role::Assistant) {
            return;
        }
        let mut diagnostic = Diagnostic::warning(line..line + 1, remark(word, meant));
        // If the word itself is right, what follows it is wrong, which no fix can repair.
        if let Some(meant) = meant.filter(|meant| meant.marker() != word) {
            let rest = &text[word.len()..];
            diagnostic = diagnostic.with_fix(Fix {
                title: format!("Write \"{}\"", meant.marker()),
                lines: line..line + 1,
                replacement: vec![format!("{}{rest}", meant.marker())],
            });
        }
        self.diagnostics.push(diagnostic);
    }

    /// Stops the cycle if `lines`, all above the first message, contain what was probably
    /// meant as frontmatter: without it, the chat would run with laxer settings than its author
    /// intended. Returns false if they do not.
    pub(super) fn near_frontmatter(
        &mut self,
        lines: &Lines,
        frontmatter: &mut Option<Frontmatter>,
    ) -> bool {
        // One problem is enough.
        if frontmatter.as_ref().is_some_and(|it| it.problem.is_some()) {
            return false;
        }
        let Some((line, near)) = find_frontmatter(self.text, lines.clone()) else {
            return false;
        };
        let has_one = frontmatter.is_some();
        let fix = match &near {
            Near::Fence(fence) if !has_one => with_frontmatter(self.text, line, fence, lines.end),
            Near::Fence(_) | Near::Other => None,
        };
        let advice = match (&fix, has_one) {
            (Some(_), _) => "Make it one with :Flemma fix, or delete it.",
            (None, true) => "Write its settings into the frontmatter above, or delete it.",
            (None, false) => "Write it as such a fence, or delete it.",
        };
        let problem = |what: &str| {
            format!(
                "{what} looks like settings, but only a fence \"```lua\" or \"```json\" on line 1 sets options, so \
                 nothing is run or sent. {advice}"
            )
        };
        self.diagnostics.push(Diagnostic {
            fix,
            ..Diagnostic::error(line..line + 1, problem("This"))
        });
        let problem = Some(problem(&format!("Line {}", line + 1)));
        match frontmatter {
            Some(it) => it.problem = problem,
            None => {
                *frontmatter = Some(Frontmatter {
                    language: String::new(),
                    lines: 0..0,
                    problem,
                });
            }
        }
        true
    }
}

/// A text that was probably meant as frontmatter.
enum Near {
    Fence(NearFence),
    /// A block of another kind, or a line without one.
    Other,
}

/// A fence, by the rules of Markdown rather than of chats.
struct NearFence {
    mark: char,
    length: usize,
    /// The text before it on its line.
    indent: String,
    /// `lua` or `json`; `None` for another language.
    language: Option<&'static str>,
}

fn find_frontmatter(text: &Text, lines: Lines) -> Option<(usize, Near)> {
    let first = scan::skip_blank(text, lines.clone());
    lines.clone().find_map(|line| {
        let content = text.line_str(line);
        let below = line + 1..lines.end;
        if let Some(fence) = near_fence(&content, text, below.clone()) {
            return Some((line, Near::Fence(fence)));
        }
        let is_other =
            content.contains("flemma.opt") || line == first && is_dashed(text, line, below);
        is_other.then_some((line, Near::Other))
    })
}

/// Parses a line that opens a block of settings; `below` are the lines of its content.
fn near_fence(line: &str, text: &Text, mut below: Lines) -> Option<NearFence> {
    let at = line.find(['`', '~'])?;
    let (indent, rest) = line.split_at(at);
    let mark = rest.chars().next()?;
    let length = rest.chars().take_while(|it| *it == mark).count();
    if length < 3 || indent.contains(char::is_alphanumeric) {
        return None;
    }
    let info = &rest[length..];
    let mut words = info.split(|it: char| !it.is_alphanumeric());
    let language = match words.find(|it| !it.is_empty()) {
        Some(word) => match suggest(word, LANGUAGES) {
            Some(meant) => LANGUAGES.into_iter().find(|it| *it == meant),
            None if OTHERS.contains(&word.to_lowercase().as_str()) => None,
            None => return None,
        },
        // An object is JSON also without the word.
        None if below.find_map(|it| text.line_str(it).trim().chars().next()) == Some('{') => {
            Some("json")
        }
        None => return None,
    };
    Some(NearFence {
        mark,
        length,
        indent: indent.to_owned(),
        language,
    })
}

/// Returns true if `line` opens YAML or TOML as on top of a Markdown file: a line of dashes or
/// plus signs, settings, and such a line again.
fn is_dashed(text: &Text, line: usize, below: Lines) -> bool {
    let trimmed = |line: usize| {
        let line = text.line_str(line);
        line.trim_matches(|it: char| it.is_whitespace() || it == '\u{feff}')
            .to_owned()
    };
    let mark = trimmed(line);
    let is_setting = |it: &String| it.starts_with('#') || it.contains([':', '=']);
    let is_end = |it: &String| *it == mark || mark == "---" && it == "...";
    matches!(mark.as_str(), "---" | "+++")
        && below
            .map(trimmed)
            .filter(|it| !it.is_empty() && !it.starts_with('-') || is_end(it))
            .find(|it| !is_setting(it))
            .is_some_and(|it| is_end(&it))
}

/// Returns the fix that makes a block above `end` the frontmatter, and keeps what precedes it.
fn with_frontmatter(text: &Text, opener: usize, fence: &NearFence, end: usize) -> Option<Fix> {
    let language = fence.language?;
    let is_mark = |it: char| it == fence.mark;
    let close = (opener + 1..end).find(|line| {
        let line = text.line_str(*line);
        let line = line.trim();
        line.len() >= fence.length && line.chars().all(is_mark)
    })?;
    // Lines of a quotation or a list have more than an indent.
    let is_plain = fence
        .indent
        .trim_start_matches('\u{feff}')
        .trim()
        .is_empty();
    if !is_plain || str::from_utf8(text.slice(0..close + 1)).is_err() {
        return None;
    }
    let unindented = |line: usize| {
        let line = text.line_str(line);
        let indent = fence.indent.chars().zip(line.chars());
        let indent = indent.take_while(|(indent, it)| indent == it);
        let indent: usize = indent.map(|(_, it)| it.len_utf8()).sum();
        line[indent..].to_owned()
    };
    let body: Vec<String> = (opener + 1..close).map(unindented).collect();
    let run = |line: &String| line.bytes().take_while(|it| *it == b'`').count();
    let marks = "`".repeat(body.iter().map(|it| run(it) + 1).max().unwrap_or(0).max(3));
    let cr = match text.line(opener) {
        [.., b'\r'] => "\r",
        _ => "",
    };
    let above = (0..opener).map(|line| match text.line(line).strip_prefix(BYTE_ORDER_MARK) {
        Some(rest) if line == 0 => String::from_utf8_lossy(rest).into_owned(),
        _ => text.line_str(line).into_owned(),
    });
    let above = above.skip_while(|line| line.trim().is_empty());
    let top = [format!("{marks}{language}{cr}")].into_iter();
    Some(Fix {
        title: "Make it the frontmatter".to_owned(),
        lines: 0..close + 1,
        replacement: top
            .chain(body)
            .chain([format!("{marks}{cr}")])
            .chain(above)
            .collect(),
    })
}

/// Returns the role whose marker `word` misspells.
fn nearest(word: &str) -> Option<Role> {
    let meant = suggest(word, Role::ALL.map(Role::marker))?;
    Role::ALL.into_iter().find(|role| role.marker() == meant)
}

fn remark(word: &str, meant: Option<Role>) -> String {
    match meant.map(Role::marker) {
        Some(marker) if marker == word => format!(
            "\"{marker}\" is a role marker only when nothing or a blank follows, so this line is text."
        ),
        Some(marker) => format!(
            "\"{word}\" is not a role marker, so this line is text. Did you mean \"{marker}\"?"
        ),
        None => format!(
            "\"{word}\" is not a role marker, so this line is text. Markers: @System:, @You:, @Assistant:."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    /// Returns the problem of a chat's frontmatter, and its text with the fix applied.
    fn read(chat: &str) -> (Option<String>, Option<String>) {
        let mut text = Text::from(chat);
        let document = Document::parse(&text);
        assert_eq!(document.print(), chat.as_bytes());
        let problem = document
            .frontmatter
            .as_ref()
            .and_then(|it| it.problem.clone());
        let fix = document.fix_at(0).cloned();
        let fixed = fix.map(|fix| {
            text.splice(fix.lines, &fix.replacement);
            String::from_utf8_lossy(text.slice(0..text.line_count())).into_owned()
        });
        (problem, fixed)
    }

    #[test]
    fn settings_that_are_not_read_stop_the_cycle_and_are_moved_to_the_top() {
        const LUA: &str = "```lua\nx = 1\n  y = 2\n```\n";
        for (above, fixed) in [
            ("\n```lua\nx = 1\n  y = 2\n```\n", LUA),
            ("\u{feff}\n```lua\nx = 1\n  y = 2\n```\n", LUA),
            ("  ```lua\n  x = 1\n    y = 2\n  ```\n", LUA),
            ("\t```lua\nx = 1\n  y = 2\n\t```\n", LUA),
            ("~~~lua\nx = 1\n  y = 2\n~~~\n", LUA),
            ("\n~~~~ lua\nx = 1\n  y = 2\n~~~~~\n", LUA),
            ("```Lua\nx = 1\n  y = 2\n```\n", LUA),
            ("```lau\nx = 1\n  y = 2\n```\n", LUA),
            ("```lua title=x\nx = 1\n  y = 2\n```\n", LUA),
            ("\n```{.lua}\nx = 1\n  y = 2\n```\n", LUA),
            (
                "<!-- a -->\n```lua\nx\n```\n",
                "```lua\nx\n```\n<!-- a -->\n",
            ),
            ("\n\n# A\n\n```lua\nx\n```\n", "```lua\nx\n```\n# A\n\n"),
            ("\n~~~json\n```\n{}\n~~~\n", "````json\n```\n{}\n````\n"),
            ("\n````JSON\n{}\n````\n", "```json\n{}\n```\n"),
            ("```jsonc\n{}\n```\n", "```json\n{}\n```\n"),
            (
                "```\n{ \"model\": 1 }\n```\n",
                "```json\n{ \"model\": 1 }\n```\n",
            ),
            ("\r\n```lua\r\nx\r\n```\r\n", "```lua\r\nx\r\n```\r\n"),
        ] {
            let (problem, text) = read(&format!("{above}@You:\nhi\n"));
            assert!(problem.is_some(), "{above:?}");
            let expected = format!("{fixed}@You:\nhi\n");
            assert_eq!(text.as_deref(), Some(expected.as_str()), "{above:?}");
            assert_eq!(read(&expected).0, None, "{above:?}");
        }
    }

    #[test]
    fn settings_that_cannot_be_moved_stop_the_cycle() {
        for above in [
            "```{.lua}\nx = 1\n```\n",
            "@you:\n```lua\nx = 1\n```\n",
            "```lua\nx = 1\n```\n```lua\ny = 1\n```\n",
            "```lua\nx = 1\n```\n\n~~~json\n{}\n~~~\n",
            "> ```lua\n> x = 1\n> ```\n",
            "- ```lua\n  x = 1\n  ```\n",
            "~~~lua\nx = 1\n",
            "\n```lua\nx = 1\n",
            "\n```yaml\nmodel: x\n```\n",
            "\n```toml\nmodel = 1\n",
            "---\nmodel: x\n\ntools:\n- a\n---\n",
            "\n---\nmodel: x\n...\n",
            "\u{feff}+++\nmodel = 1\n+++\n",
            "flemma.opt.model = 'x'\n",
            "```\nflemma.opt.model = 'x'\n```\n",
            "<!--\nflemma.opt.model = 'x'\n-->\n",
        ] {
            let (problem, _) = read(&format!("{above}@You:\nhi\n"));
            assert!(problem.is_some(), "{above:?}");
        }
    }

    #[test]
    fn other_text_above_the_first_message_and_code_below_it_are_only_text() {
        for chat in [
            "Some words about `lua`.\n@You:\nhi\n",
            "\n```python\nx = {}\n```\n@You:\nhi\n",
            "```\n$ ls\n```\n@You:\nhi\n",
            "See ```lua code```.\n@You:\nhi\n",
            "---\nA rule, then words.\n---\n@You:\nhi\n",
            "@You:\n\n```lua\nflemma.opt.model = 'x'\n```\n",
            "@System:\n~~~json\n{}\n~~~\n@You:\nhi\n",
            "```lua\nflemma.opt.model = 'x'\n```\n\nNotes.\n@You:\n```lua\nx\n```\n",
        ] {
            assert_eq!(read(chat).0, None, "{chat:?}");
        }
    }
}
