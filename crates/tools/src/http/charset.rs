//! Decodes a page as browsers do: by byte order mark, then the header's `charset`, then the
//! page's own declaration, else as UTF-8.

use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

/// How many bytes of a page are searched for its declaration, as in browsers.
const SNIFFED: usize = 1024;

/// Decodes a body whose `Content-Type` is `kind`. Invalid bytes become U+FFFD.
pub(super) fn decode(kind: &str, body: &[u8]) -> String {
    let named = charset(kind).and_then(|label| Encoding::for_label(label.as_bytes()));
    let encoding = named.or_else(|| own(body)).unwrap_or(UTF_8);
    // `decode` recognizes a byte order mark first.
    encoding.decode(body).0.into_owned()
}

/// Whether the body is UTF-16, in which text contains NULs.
pub(super) fn is_wide(kind: &str, body: &[u8]) -> bool {
    let named = charset(kind).and_then(|label| Encoding::for_label(label.as_bytes()));
    let marked = Encoding::for_bom(body).map(|(encoding, _)| encoding);
    let found = marked.or(named);
    found.is_some_and(|it| it == UTF_16LE || it == UTF_16BE)
}

/// The value of the parameter `charset`.
fn charset(kind: &str) -> Option<String> {
    let parameters = kind.split(';').skip(1);
    let mut pairs = parameters.filter_map(|it| it.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))?;
    Some(value.trim().trim_matches('"').to_owned())
}

/// The encoding declared in `<meta charset=…>` or `<meta … content="…; charset=…">`.
fn own(body: &[u8]) -> Option<&'static Encoding> {
    let start = String::from_utf8_lossy(&body[..body.len().min(SNIFFED)]).to_ascii_lowercase();
    let meta = start.split("<meta").skip(1).find(|it| {
        let tag = it.split('>').next().unwrap_or_default();
        tag.contains("charset")
    })?;
    let value = meta.split_once("charset")?.1.trim_start();
    let value = value
        .strip_prefix('=')?
        .trim_start()
        .trim_start_matches(['"', '\'']);
    let end = value.find(|it: char| !it.is_ascii_alphanumeric() && !"-_:.".contains(it));
    let encoding = Encoding::for_label(&value.as_bytes()[..end.unwrap_or(value.len())])?;
    // The declaration was readable as ASCII, so the page can't be UTF-16.
    Some(if encoding == UTF_16LE || encoding == UTF_16BE {
        UTF_8
    } else {
        encoding
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(kind: &str, body: &[u8], text: &str) {
        assert_eq!(decode(kind, body), text, "{kind}");
    }

    #[test]
    fn the_header_names_the_encoding() {
        check("text/plain; charset=iso-8859-1", b"caf\xe9", "café");
        check("text/html;Charset=\"Windows-1252\"", b"\x93a\x94", "“a”");
        check("text/plain; charset=shift_jis", b"\x93\xfa\x96{", "日本");
        check("text/plain; charset=utf-16le", b"h\0i\0", "hi");
        check("text/plain; charset=nonsense", "café".as_bytes(), "café");
        check("text/plain", b"caf\xe9", "caf\u{fffd}");
        check("", "café".as_bytes(), "café");
    }

    #[test]
    fn a_byte_order_mark_wins_and_is_no_text() {
        check(
            "text/plain; charset=iso-8859-1",
            b"\xef\xbb\xbfcaf\xc3\xa9",
            "café",
        );
        check("text/plain", b"\xff\xfeh\0i\0", "hi");
        assert!(is_wide("text/plain", b"\xff\xfeh\0i\0"));
        assert!(!is_wide("text/plain", b"h\0i\0"));
    }

    #[test]
    fn a_page_says_it_itself() {
        check(
            "text/html",
            b"<meta charset=latin1>caf\xe9",
            "<meta charset=latin1>café",
        );
        let old = b"<META http-equiv=Content-Type content='text/html; charset=ISO-8859-1'>\xe9";
        assert!(decode("text/html", old).ends_with('é'));
        check(
            "text/html; charset=utf-8",
            b"<meta charset=latin1>\xc3\xa9",
            "<meta charset=latin1>é",
        );
        check(
            "text/html",
            b"<meta charset=utf-16>\xc3\xa9",
            "<meta charset=utf-16>é",
        );
    }
}
