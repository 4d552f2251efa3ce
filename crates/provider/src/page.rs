//! Extracts the text of a web page, which a proxy or router may send instead of an answer.
//!
//! Never fails, whatever the page contains.

/// Elements without readable content.
const HIDDEN: [&str; 3] = ["script", "style", "template"];

/// Returns the page's title, or else its text.
pub(crate) fn words(page: &str) -> String {
    let title = element(page, "title").map(text);
    title
        .filter(|title| !title.trim().is_empty())
        .unwrap_or_else(|| text(page))
}

/// Returns the content of the first element with this name.
fn element<'p>(page: &'p str, name: &str) -> Option<&'p str> {
    let start = find(page, &format!("<{name}"))?;
    let inside = &page[start + page[start..].find('>')? + 1..];
    Some(&inside[..find(inside, "</")?])
}

/// Returns the text outside tags, with a blank for each tag.
fn text(page: &str) -> String {
    let mut words = String::new();
    let mut rest = page;
    while let Some(open) = rest.find('<') {
        words.push_str(&rest[..open]);
        words.push(' ');
        let tag = &rest[open..];
        rest = HIDDEN
            .iter()
            .find_map(|name| behind(tag, name))
            .or_else(|| tag.find('>').map(|close| &tag[close + 1..]))
            .unwrap_or_default();
    }
    words.push_str(rest);
    plain(&words)
}

/// Returns the text after an element with this name that starts here; empty if it does not
/// end.
fn behind<'p>(tag: &'p str, name: &str) -> Option<&'p str> {
    // Compare only the start: searching the rest at every tag would be quadratic.
    let start = tag.as_bytes().get(1..=name.len())?;
    if !start.eq_ignore_ascii_case(name.as_bytes()) {
        return None;
    }
    let end = find(tag, &format!("</{name}"));
    Some(end.map_or("", |end| {
        tag[end..]
            .find('>')
            .map_or("", |close| &tag[end + close + 1..])
    }))
}

/// Finds ASCII text, ignoring case.
fn find(page: &str, text: &str) -> Option<usize> {
    let (page, text) = (page.as_bytes(), text.as_bytes());
    page.windows(text.len())
        .position(|it| it.eq_ignore_ascii_case(text))
}

fn plain(words: &str) -> String {
    let named = [
        ("&nbsp;", " "),
        ("&lt;", "<"),
        ("&gt;", ">"),
        ("&quot;", "\""),
        ("&#39;", "'"),
        // Last, so that `&amp;lt;` is decoded only once.
        ("&amp;", "&"),
    ];
    named.iter().fold(words.to_owned(), |words, (name, sign)| {
        words.replace(name, sign)
    })
}

#[cfg(test)]
mod tests {
    use super::words;

    #[track_caller]
    fn check(page: &str, expected: &str) {
        let said = words(page);
        let said: Vec<&str> = said.split_whitespace().collect();
        assert_eq!(said.join(" "), expected, "{page}");
    }

    #[test]
    fn a_page_is_described_by_its_title() {
        check(
            "<html><HEAD><Title lang=en>502 Bad Gateway</TITLE></head><body><h1>502</h1>nginx",
            "502 Bad Gateway",
        );
    }

    #[test]
    fn a_page_without_a_title_is_described_by_its_text() {
        check("<html>\r\n<h1>Bad Gateway</h1>\n", "Bad Gateway");
        check(
            "<html><title> </title><style>p { color: <b> }</style><script>x()</script>\
             <p>Log in &amp; <b>try</b> again&nbsp;&lt;soon&gt;",
            "Log in & try again <soon>",
        );
        check("no page at all", "no page at all");
    }

    #[test]
    fn a_long_page_takes_linear_time() {
        // With a search per tag these 300,000 tags take minutes.
        let page = format!("<html>{}done", "<b>".repeat(300_000));
        check(&page, "done");
    }

    #[test]
    fn a_broken_page_is_read_as_far_as_possible() {
        check("<html><p>One<script>two", "One");
        check("<html><p>One</script", "One");
        check("<title>One", "One");
        check("<title", "");
        check("<", "");
        check("<ä><ß>ü</ß", "ü");
    }
}
