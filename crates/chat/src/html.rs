//! A chat as a web page in one file: without scripts, and without anything that a browser
//! would load. All text is escaped, because most of it is a model's.
//!
//! Markdown becomes HTML in which nothing is active: no HTML of the text, no images, and links
//! to web pages and mail addresses only.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag};
use serde_json::Value;

use crate::approval::inside;
use crate::diff::{FileDiff, LineKind, StatedFile};
use crate::document::{Block, Document, Message, ResultKind, Role, ToolUseBlock};
use crate::folds::{Fold, FoldKind, FoldText, fold_text};
use crate::preview::Describe;
use crate::text::Lines;
use crate::title::title;
use crate::visible;

const STYLE: &str = include_str!("html/style.css");

/// Lines of context in the diffs of calls.
const CONTEXT: usize = 3;

/// Returns the lines of the page; none if the chat has no messages.
pub fn page(document: &Document<'_>, tools: &dyn Describe) -> Vec<String> {
    if document.messages.is_empty() {
        return Vec::new();
    }
    let mut name = String::new();
    escape(title(document).as_deref().unwrap_or("Chat"), &mut name);
    // The policy in the head is a second defense, in case some text is not escaped.
    let mut page = Page {
        document,
        tools,
        out: format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n<meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{name}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n"
        ),
    };
    for message in &document.messages {
        page.message(message);
    }
    page.out.push_str("</body>\n</html>");
    page.out.lines().map(str::to_owned).collect()
}

/// Appends a text in which no character means anything to a browser, and none hides.
pub(crate) fn escape(text: &str, out: &mut String) {
    let mut marks = 0;
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(character),
            // The CR of a CRLF line end.
            '\r' => {}
            // Unusual blanks, and the joiner of emoji: a browser displays them correctly.
            '\u{200d}' | '\u{a0}' | '\u{202f}' | '\u{2009}' => out.push(character),
            _ => {
                let mut shown = String::new();
                visible::push_visible(character, &mut marks, &mut shown);
                // Spelled out in angle brackets, unless it is the character itself.
                out.push_str(&shown.replace('<', "&lt;").replace('>', "&gt;"));
            }
        }
    }
}

/// Appends the lines of a diff, with the colors of their signs.
fn diff_lines<'l>(lines: impl Iterator<Item = &'l str>, out: &mut String) {
    for line in lines {
        let class = match line.as_bytes().first() {
            Some(b'+') => "add",
            Some(b'-') => "del",
            _ => "",
        };
        if class.is_empty() {
            escape(line, out);
        } else {
            out.push_str(&format!("<span class=\"{class}\">"));
            escape(line, out);
            out.push_str("</span>");
        }
        out.push('\n');
    }
}

struct Page<'a> {
    document: &'a Document<'a>,
    tools: &'a dyn Describe,
    out: String,
}

impl Page<'_> {
    fn message(&mut self, message: &Message) {
        let (class, name) = match message.role {
            Role::System => ("system", "System"),
            Role::You => ("you", "You"),
            Role::Assistant => ("assistant", "Assistant"),
        };
        let blocks = self.document.blocks_of(message);
        let is_said = |it: &Block| match it {
            Block::Prose(lines) => !self.prose(message, lines).trim().is_empty(),
            _ => true,
        };
        // The empty prompt at the end says nothing.
        if !blocks.iter().any(is_said) {
            return;
        }
        self.out.push_str(&format!("<section class=\"{class}\">\n"));
        self.text("<h2>", name, "</h2>\n");
        for block in blocks {
            self.block(message, block);
        }
        self.out.push_str("</section>\n");
    }

    fn block(&mut self, message: &Message, block: &Block) {
        match block {
            Block::Prose(lines) => {
                let text = self.prose(message, lines);
                self.out.push_str(&html(&text));
            }
            Block::Thinking(it) => {
                self.details("thinking", FoldKind::Thinking, block, false);
                let text = self.document.prose(it.body.clone(), 0);
                self.out.push_str(&html(&text));
                self.out.push_str("</details>\n");
            }
            Block::ToolUse(call) => {
                self.details("call", FoldKind::ToolUse, block, false);
                self.arguments(call);
                self.out.push_str("</details>\n");
            }
            Block::ToolResult(result) => {
                let is_error = result.kind == ResultKind::Final { is_error: true };
                self.result(block, &result.body, is_error);
            }
            Block::ServerTool(used) => self.result(block, &used.body, used.is_error),
            // The texts are paragraphs of their own anyway.
            Block::TextBreak(_) => {}
            Block::Aborted(_) => {
                let text = "The answer was cut off here.";
                self.text("<p class=\"aborted\">", text, "</p>\n");
            }
        }
    }

    fn result(&mut self, block: &Block, body: &Lines, is_error: bool) {
        let class = if is_error { "result error" } else { "result" };
        // Errors are open, so that a reader does not miss them.
        self.details(class, FoldKind::ToolResult, block, is_error);
        // Unlike prose, results contain no escapes.
        let text = self.document.lossy(body.clone());
        self.text("<pre>", &text, "</pre>\n</details>\n");
    }

    fn prose(&self, message: &Message, lines: &Lines) -> String {
        let is_inline = lines.start == message.lines.start;
        let column = message.inline.filter(|_| is_inline).unwrap_or(0);
        self.document.prose(lines.clone(), column)
    }

    /// Begins an element whose summary is the text of the block's closed fold.
    fn details(&mut self, class: &str, kind: FoldKind, block: &Block, is_open: bool) {
        let fold = Fold {
            kind,
            lines: block.lines(),
            must_show: false,
        };
        let FoldText { label, text, .. } = fold_text(self.document, &fold, self.tools, |_, _| None);
        let open = if is_open { " open" } else { "" };
        self.out
            .push_str(&format!("<details class=\"{class}\"{open}>\n<summary>"));
        self.text("<b>", &label, "</b> ");
        self.text("<code>", &text, "</code></summary>\n");
    }

    /// Writes the arguments of a call: as fields and diffs, or as they are if they can't be
    /// read.
    fn arguments(&mut self, call: &ToolUseBlock) {
        let Ok(input) = self.document.input(call) else {
            let text = self.document.lossy(call.body.clone());
            return self.text("<pre>", &text, "</pre>\n");
        };
        let inner = inside(&call.name, &input);
        let (name, input) = match &inner {
            Some((inner, arguments)) => (*inner, arguments),
            None => (&*call.name, &input),
        };
        let change = self.tools.stated_change(name, input).unwrap_or_default();
        let arguments = input.as_object().into_iter().flatten();
        for (name, value) in arguments {
            if !change.arguments.contains(&name.as_str()) {
                self.text("<dl>\n<dt>", name, "</dt>\n");
                let text = match value {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                self.text("<dd><pre>", &text, "</pre></dd>\n</dl>\n");
            }
        }
        change.files.iter().for_each(|file| self.file(file));
    }

    fn file(&mut self, file: &StatedFile) {
        let remark = file.remark.as_deref().unwrap_or_default();
        let head = format!("{}  {} {remark}", file.name, file.counts());
        self.text("<p class=\"file\">", head.trim_end(), "</p>\n<pre>");
        for (before, after) in &file.texts {
            for hunk in FileDiff::of(before, after).hunks(CONTEXT) {
                let lines: Vec<String> = hunk
                    .lines
                    .iter()
                    .map(|line| {
                        let sign = match line.kind {
                            LineKind::Context => ' ',
                            LineKind::Added => '+',
                            LineKind::Removed => '-',
                        };
                        format!("{sign} {}", line.text.trim_end_matches('\n'))
                    })
                    .collect();
                diff_lines(lines.iter().map(String::as_str), &mut self.out);
            }
        }
        self.out.push_str("</pre>\n");
    }

    fn text(&mut self, start: &str, text: &str, end: &str) {
        self.out.push_str(start);
        escape(text, &mut self.out);
        self.out.push_str(end);
    }
}

/// Beginnings of links that do nothing but open a page or write a message.
const SAFE: [&str; 3] = ["http://", "https://", "mailto:"];

/// Returns the HTML of a text.
fn html(text: &str) -> String {
    let options =
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    let mut page = Writer::default();
    for event in Parser::new_ext(text, options) {
        page.event(event);
    }
    page.out
}

#[derive(Default)]
struct Writer {
    out: String,
    /// The ends of the open elements.
    open: Vec<&'static str>,
    /// Text of the code block that is read, and whether it is a diff.
    code: Option<(String, bool)>,
    is_head: bool,
}

impl Writer {
    fn event(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(_) => self.end(),
            // HTML of the text is shown as text.
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(&text),
            Event::Code(text) => self.element("<code>", &text, "</code>"),
            Event::SoftBreak => self.out.push('\n'),
            Event::HardBreak => self.out.push_str("<br>\n"),
            Event::Rule => self.out.push_str("<hr>\n"),
            Event::TaskListMarker(is_done) => {
                self.out.push_str(if is_done { "☑ " } else { "☐ " });
            }
            Event::FootnoteReference(text) | Event::InlineMath(text) | Event::DisplayMath(text) => {
                self.text(&text)
            }
        }
    }

    fn text(&mut self, text: &str) {
        match &mut self.code {
            Some((code, _)) => code.push_str(text),
            None => escape(text, &mut self.out),
        }
    }

    fn element(&mut self, start: &str, text: &str, end: &str) {
        self.out.push_str(start);
        escape(text, &mut self.out);
        self.out.push_str(end);
    }

    fn start(&mut self, tag: Tag<'_>) {
        let (start, end) = match tag {
            Tag::Heading { level, .. } => heading(level),
            Tag::CodeBlock(kind) => {
                self.code = Some((String::new(), is_diff(&kind)));
                ("<pre><code>", "</code></pre>\n")
            }
            Tag::List(Some(first)) => {
                self.out.push_str(&format!("<ol start=\"{first}\">\n"));
                ("", "</ol>\n")
            }
            Tag::Link { dest_url, .. } => self.link(&dest_url),
            // Loading an image would tell its server who reads the chat, so only link to it.
            Tag::Image { dest_url, .. } => {
                self.out.push_str("Image: ");
                self.link(&dest_url)
            }
            Tag::TableHead => {
                self.is_head = true;
                ("<tr>", "</tr>\n")
            }
            Tag::TableRow => {
                self.is_head = false;
                ("<tr>", "</tr>\n")
            }
            Tag::TableCell if self.is_head => ("<th>", "</th>"),
            other => plain(&other),
        };
        self.out.push_str(start);
        self.open.push(end);
    }

    fn end(&mut self) {
        // Code blocks contain only text, so this is the end of the code block.
        if let Some((code, is_diff)) = self.code.take() {
            if is_diff {
                diff_lines(code.lines(), &mut self.out)
            } else {
                escape(&code, &mut self.out)
            }
        }
        self.out.push_str(self.open.pop().unwrap_or_default());
    }

    /// Begins a link if its address is safe; otherwise only its text is shown.
    fn link(&mut self, address: &CowStr<'_>) -> (&'static str, &'static str) {
        let lower = address.to_ascii_lowercase();
        // Addresses such as `javascript:` would run code.
        if !SAFE.iter().any(|start| lower.starts_with(start)) {
            return ("", "");
        }
        self.out.push_str("<a rel=\"noreferrer\" href=\"");
        // Old browsers take a backtick for a quotation mark.
        escape(&address.replace('`', "%60"), &mut self.out);
        ("\">", "</a>")
    }
}

fn heading(level: HeadingLevel) -> (&'static str, &'static str) {
    // Below the headings of the messages.
    match level {
        HeadingLevel::H1 => ("<h3>", "</h3>\n"),
        HeadingLevel::H2 => ("<h4>", "</h4>\n"),
        HeadingLevel::H3 => ("<h5>", "</h5>\n"),
        _ => ("<h6>", "</h6>\n"),
    }
}

fn plain(tag: &Tag<'_>) -> (&'static str, &'static str) {
    match tag {
        Tag::Paragraph | Tag::HtmlBlock => ("<p>", "</p>\n"),
        Tag::BlockQuote(_) => ("<blockquote>\n", "</blockquote>\n"),
        Tag::List(None) => ("<ul>\n", "</ul>\n"),
        Tag::Item => ("<li>", "</li>\n"),
        Tag::Table(_) => ("<table>\n", "</table>\n"),
        Tag::TableCell => ("<td>", "</td>"),
        Tag::Emphasis => ("<em>", "</em>"),
        Tag::Strong => ("<strong>", "</strong>"),
        Tag::Strikethrough => ("<del>", "</del>"),
        // Elements of Markdown extensions that are not enabled.
        _ => ("", ""),
    }
}

fn is_diff(kind: &CodeBlockKind<'_>) -> bool {
    match kind {
        CodeBlockKind::Fenced(info) => {
            let language = info.split_whitespace().next();
            language.is_some_and(|it| matches!(it, "diff" | "patch"))
        }
        CodeBlockKind::Indented => false,
    }
}

#[cfg(test)]
mod tests;
