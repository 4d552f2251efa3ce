#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::diff::StatedChange;
use crate::text::Text;

/// A tool `edit` that says what it changes.
struct Edit;

impl Describe for Edit {
    fn describe(&self, tool: &str, input: &Value) -> Option<String> {
        let command = input["command"].as_str().filter(|_| tool == "bash")?;
        Some(format!("$ {command}"))
    }

    fn stated_change(&self, _tool: &str, input: &Value) -> Option<StatedChange> {
        let text = |name: &str| input[name].as_str().map(str::to_owned);
        Some(StatedChange {
            arguments: &["path", "old", "new"],
            files: vec![StatedFile {
                name: text("path")?,
                remark: None,
                texts: vec![(text("old")?, text("new")?)],
            }],
        })
    }
}

fn body(text: &str) -> String {
    let text = Text::from(text);
    let page = page(&Document::parse(&text), &Edit).join("\n");
    let (_, body) = page.split_once("<body>\n").unwrap();
    body.to_owned()
}

const CALL: &str = "\
@You:
Fix <it>.
@Assistant:
<thinking>
Hm.
</thinking>
**Tool Use:** `edit` (`t`)

```json
{\"label\": \"a & b\", \"path\": \"f.py\", \"old\": \"x\\ny\\n\", \"new\": \"x\\nz\\n\"}
```

@You:
**Tool Result:** `t`

```
done
```

@You:
";

#[test]
fn messages_are_sections_and_calls_unfold() {
    assert_eq!(
        body(CALL),
        "\
<section class=\"you\">
<h2>You</h2>
<p>Fix &lt;it&gt;.</p>
</section>
<section class=\"assistant\">
<h2>Assistant</h2>
<details class=\"thinking\">
<summary><b>thinking</b> <code>Hm.</code></summary>
<p>Hm.</p>
</details>
<details class=\"call\">
<summary><b>→ edit</b> <code>+1 −1 label=&quot;a &amp; b&quot;, new=&quot;x⤶z⤶&quot;, old=&quot;x⤶y⤶&quot;, path=&quot;f.py&quot;</code></summary>
<dl>
<dt>label</dt>
<dd><pre>a &amp; b</pre></dd>
</dl>
<p class=\"file\">f.py  +1 −1</p>
<pre>  x
<span class=\"del\">- y</span>
<span class=\"add\">+ z</span>
</pre>
</details>
</section>
<section class=\"you\">
<h2>You</h2>
<details class=\"result\">
<summary><b>✓ edit · +1 −1</b> <code>label=&quot;a &amp; b&quot;, new=&quot;x⤶z⤶&quot;, old=&quot;x⤶y⤶&quot;, path=&quot;f.py&quot;</code></summary>
<pre>done</pre>
</details>
</section>
</body>
</html>"
    );
}

#[test]
fn a_page_loads_nothing_and_has_the_title_of_the_chat() {
    let text = Text::from(CALL);
    let page = page(&Document::parse(&text), &Edit).join("\n");
    assert!(page.starts_with("<!DOCTYPE html>"));
    assert!(page.contains("<title>Fix &lt;it&gt;.</title>"));
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("prefers-color-scheme: dark"));
    assert!(!page.contains("url(") && !page.contains("@import"));
}

#[test]
fn a_chat_without_messages_is_no_page() {
    let text = Text::from("");
    assert!(page(&Document::parse(&text), &Edit).is_empty());
}

/// Tags that a page may contain, besides links and numbered lists.
const TAGS: [&str; 41] = [
    "section",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "p",
    "pre",
    "code",
    "details",
    "summary",
    "b",
    "dl",
    "dt",
    "dd",
    "span",
    "ul",
    "ol",
    "li",
    "table",
    "tr",
    "th",
    "td",
    "em",
    "strong",
    "del",
    "blockquote",
    "hr",
    "br",
    "a",
    "body",
    "html",
    "p class=\"file\"",
    "p class=\"aborted\"",
    "span class=\"add\"",
    "span class=\"del\"",
    "section class=\"you\"",
    "section class=\"assistant\"",
    "section class=\"system\"",
    "details class=\"call\"",
    "details class=\"thinking\"",
];

/// Returns true if a tag, without its angle brackets, does nothing in a browser.
fn is_inert(tag: &str) -> bool {
    let name = tag.strip_prefix('/').unwrap_or(tag);
    let is_quoted = |text: &str| !text.contains(['"', '\'', '<', '>', '`', '\n']);
    let link = tag
        .strip_prefix("a rel=\"noreferrer\" href=\"")
        .and_then(|it| it.strip_suffix('"'));
    let list = tag
        .strip_prefix("ol start=\"")
        .and_then(|it| it.strip_suffix('"'));
    let is_safe = |link: &str| {
        let lower = link.to_ascii_lowercase();
        let starts = ["http://", "https://", "mailto:"];
        starts.iter().any(|it| lower.starts_with(it)) && is_quoted(link)
    };
    TAGS.contains(&name)
        || matches!(
            tag,
            "details class=\"result\"" | "details class=\"result error\" open"
        )
        || link.is_some_and(is_safe)
        || list.is_some_and(|it| it.bytes().all(|it| it.is_ascii_digit()))
}

/// Reads a page as a browser does: everything from `<` to `>` is a tag.
fn check(page: &str) -> Result<(), TestCaseError> {
    for piece in page.split('<').skip(1) {
        let (tag, text) = piece.split_once('>').unwrap_or((piece, "<"));
        prop_assert!(is_inert(tag), "{tag:?} in {page}");
        prop_assert!(!text.contains('>'), "{text:?} in {page}");
        let hides = |it: char| it.is_control() && it != '\n' && it != '\t';
        prop_assert!(!text.chars().any(hides), "{text:?}");
    }
    Ok(())
}

/// What attacks are made of.
fn payload() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec![
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "javascript:alert(1)",
        "[a](javascript:alert(1))",
        "[b](JAVA&#115;CRIPT:x)",
        "[c](https://x.org/\"onload=x)",
        "<https://x.org/'\"><b>",
        "![i](data:text/html,<script>)",
        "</pre>",
        "</style>",
        "</details>",
        "<!--",
        "-->",
        "]]>",
        "\"",
        "'",
        "`",
        "```",
        "~~~html",
        "\n",
        "\n\n",
        "    ",
        "- ",
        "> ",
        "# ",
        "|a|b|\n|-|-|\n",
        "&lt;",
        "&#x3c;script&#x3e;",
        "\u{202e}",
        "\u{0}",
        "\u{1b}[31m",
        "<a href=\"x\" onclick=\"y\">",
        "<svg/onload=x>",
        "<thinking>",
        "</thinking>",
        "[d]: javascript:x\n",
        "[d]",
        "*",
        "_",
        "a",
        "b ",
        "<br",
        ">",
        "[x](mailto:a@b.c?\"<)",
        "9999999999. ",
        "1. ",
    ]);
    prop::collection::vec(pieces, 0..12).prop_map(|it| it.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn nothing_in_a_page_is_active(
        asked in payload(),
        thought in payload(),
        said in payload(),
        values in (payload(), payload(), payload()),
        id in "[\"'<>a-z ]{1,8}",
        tool in "[\"'<>a-z /]{1,12}",
        result in payload(),
    ) {
        let (label, old, new) = values;
        let input = json!({"label": label, "path": old, "old": old, "new": new, &new: [old]});
        let chat = format!(
            "@System: {said}\n@You:\n{asked}\n@Assistant:\n<thinking>\n{thought}\n</thinking>\n\n{said}\n\n\
             **Tool Use:** `{tool}` (`{id}`)\n\n``````json\n{input}\n``````\n\n@You:\n\
             **Tool Result:** `{id}`\n\n``````\n{result}\n``````\n\n{asked}\n"
        );
        check(&body(&chat))?;
    }

    #[test]
    fn markdown_has_no_active_html(text in "([a-z<>\"'&;:/(){}\\[\\]!#*_`~|\\\\ -]|\n|javascript:|https://){0,60}") {
        check(&html(&text))?;
    }
}

#[track_caller]
fn check_markdown(text: &str, expected: &str) {
    assert_eq!(html(text).trim_end(), expected);
}

#[test]
fn markdown_becomes_html() {
    check_markdown("# A *b*", "<h3>A <em>b</em></h3>");
    check_markdown("a `x<y`\nb", "<p>a <code>x&lt;y</code>\nb</p>");
    check_markdown(
        "3. a\n4. b",
        "<ol start=\"3\">\n<li>a</li>\n<li>b</li>\n</ol>",
    );
    check_markdown("- [x] a", "<ul>\n<li>☑ a</li>\n</ul>");
    check_markdown(
        "```rust\na && b\n```",
        "<pre><code>a &amp;&amp; b\n</code></pre>",
    );
    check_markdown(
        "|a|\n|-|\n|b|",
        "<table>\n<tr><th>a</th></tr>\n<tr><td>b</td></tr>\n</table>",
    );
}

#[test]
fn a_diff_has_colors() {
    check_markdown(
        "```diff\n-a\n+b\n c\n```",
        "<pre><code><span class=\"del\">-a</span>\n<span class=\"add\">+b</span>\n c\n</code></pre>",
    );
}

#[test]
fn only_links_that_are_safe_are_links() {
    check_markdown(
        "[a](https://x.org/?b&c)",
        "<p><a rel=\"noreferrer\" href=\"https://x.org/?b&amp;c\">a</a></p>",
    );
    check_markdown(
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
        check_markdown(&format!("[a]({address})"), "<p>a</p>");
        check_markdown(&format!("![a]({address})"), "<p>Image: a</p>");
    }
}

#[test]
fn html_is_text() {
    check_markdown(
        "<script>x()</script>",
        "<p>&lt;script&gt;x()&lt;/script&gt;</p>",
    );
    check_markdown("a <b onerror=x>", "<p>a &lt;b onerror=x&gt;</p>");
}
