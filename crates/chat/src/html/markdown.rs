//! Markdown as HTML in which nothing is active: no HTML of the text, no images, and links to
//! web pages and mail addresses only.

use pulldown_cmark::{CodeBlockKind, CowStr, Event, HeadingLevel, Options, Parser, Tag};

use super::{diff_lines, escape};

/// Beginnings of links that do nothing but open a page or write a message.
const SAFE: [&str; 3] = ["http://", "https://", "mailto:"];

/// Returns the HTML of a text.
pub(super) fn html(text: &str) -> String {
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
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(html(text).trim_end(), expected);
    }

    #[test]
    fn markdown_becomes_html() {
        check("# A *b*", "<h3>A <em>b</em></h3>");
        check("a `x<y`\nb", "<p>a <code>x&lt;y</code>\nb</p>");
        check(
            "3. a\n4. b",
            "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>",
        );
        check("- [x] a", "<ul>\n<li>☑ a</li>\n</ul>");
        check(
            "```rust\na && b\n```",
            "<pre><code>a &amp;&amp; b\n</code></pre>",
        );
        check(
            "|a|\n|-|\n|b|",
            "<table>\n<tr><th>a</th></tr>\n<tr><td>b</td></tr>\n</table>",
        );
    }

    #[test]
    fn a_diff_has_colors() {
        check(
            "```diff\n-a\n+b\n c\n```",
            "<pre><code><span class=\"del\">-a</span>\n<span class=\"add\">+b</span>\n c\n</code></pre>",
        );
    }

    #[test]
    fn only_links_that_are_safe_are_links() {
        check(
            "[a](https://x.org/?b&c)",
            "<p><a rel=\"noreferrer\" href=\"https://x.org/?b&amp;c\">a</a></p>",
        );
        check(
            "![a](https://x.org/a.png)",
            "<p>Image: <a rel=\"noreferrer\" href=\"https://x.org/a.png\">a</a></p>",
        );
        for address in [
            "javascript:x()",
            "JaVa&#115;cript:x()",
            "data:text/html,x",
            "/etc",
            "//x",
        ] {
            check(&format!("[a]({address})"), "<p>a</p>");
            check(&format!("![a]({address})"), "<p>Image: a</p>");
        }
    }

    #[test]
    fn html_is_text() {
        check(
            "<script>x()</script>",
            "<p>&lt;script&gt;x()&lt;/script&gt;</p>",
        );
        check("a <b onerror=x>", "<p>a &lt;b onerror=x&gt;</p>");
    }
}
