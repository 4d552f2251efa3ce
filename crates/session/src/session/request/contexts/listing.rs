//! Diagnostics, entries of the quickfix list, and symbols as text, one per line.

use std::collections::BTreeMap;
use std::path::Path;

use platform::paths::slashed;
use tools::Secrets;

use crate::protocol::{ReferenceAnswer, ReferenceItem};

/// Items as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listing {
    /// The text.
    pub(super) text: String,
    /// A message for the user: that entries are left out.
    pub(super) warning: Option<String>,
}

/// Returns the text of diagnostics. Those in secret files are left out, because they may quote
/// the file.
pub(super) fn diagnostics(answer: &ReferenceAnswer, folder: &Path, secrets: &Secrets) -> Listing {
    listing(
        answer,
        "diagnostics",
        "There are no diagnostics.\n",
        folder,
        secrets,
    )
}

/// Returns the text of the quickfix list. Entries of secret files are left out.
pub(super) fn quickfix(answer: &ReferenceAnswer, folder: &Path, secrets: &Secrets) -> Listing {
    let empty = "The quickfix list is empty.\n";
    let mut listing = listing(answer, "quickfix entries", empty, folder, secrets);
    if !answer.title.is_empty() && !answer.items.is_empty() {
        listing.text.insert_str(0, &format!("{}\n", answer.title));
    }
    listing
}

/// Returns the text of the symbols of open files. Those in secret files are left out.
pub(super) fn symbols(answer: &ReferenceAnswer, folder: &Path, secrets: &Secrets) -> Listing {
    let empty = "The open files have no symbols that a language server or a parser knows.\n";
    listing(answer, "symbols", empty, folder, secrets)
}

fn listing(
    answer: &ReferenceAnswer,
    what: &str,
    empty: &str,
    folder: &Path,
    secrets: &Secrets,
) -> Listing {
    let mut text = String::new();
    // Looking at a file's links takes time, and many items are in the same file.
    let mut known: BTreeMap<&str, bool> = BTreeMap::new();
    let mut left_out = 0;
    for item in &answer.items {
        let path = item.path.as_deref();
        let is_secret = path.is_some_and(|path| {
            *known
                .entry(path)
                .or_insert_with(|| secrets.find(Path::new(path)).is_some())
        });
        if is_secret {
            left_out += 1
        } else {
            // An item without a file, such as a line printed by `make`, cannot quote a secret
            // one.
            text.push_str(&line(item, folder))
        }
    }
    if answer.items.is_empty() {
        text.push_str(empty);
    }
    // Neovim passes only the first items, but counts all of them.
    let more = answer.total.saturating_sub(answer.items.len());
    if more > 0 {
        text.push_str(&format!("(Not shown, {what}: {more}.)\n"));
    }
    let mut warning = None;
    if left_out > 0 {
        text.push_str(&format!(
            "(Left out, {what} of secret files: {left_out}.)\n"
        ));
        warning = Some(format!("Not sent, {what} of secret files: {left_out}."));
    }
    Listing { text, warning }
}

/// Returns an item as compilers print it: `path:line:column: error: message`.
fn line(item: &ReferenceItem, folder: &Path) -> String {
    let path = item.path.as_deref().map(Path::new);
    let shown = path.and_then(|it| it.strip_prefix(folder).ok());
    // Paths below the chat's folder are written as the model's tools take them.
    let shown = shown.map_or(item.name.clone(), |it| slashed(it).into_owned());
    let place = match (item.line, item.column) {
        (0, _) => shown,
        (line, 0) => format!("{shown}:{line}"),
        (line, column) => format!("{shown}:{line}:{column}"),
    };
    let parts = [
        place.as_str(),
        &item.kind,
        // Indented, so that no line of a message looks like an item of its own.
        &item.text.replace('\n', "\n    "),
    ]
    .map(str::to_owned);
    // Quickfix entries often have no kind, and some have no place.
    let parts: Vec<String> = parts.into_iter().filter(|it| !it.is_empty()).collect();
    format!("{}\n", parts.join(": "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn item(path: &str, line: usize, column: usize, kind: &str, text: &str) -> ReferenceItem {
        ReferenceItem {
            path: (!path.is_empty()).then(|| path.to_owned()),
            name: path.to_owned(),
            line,
            column,
            kind: kind.to_owned(),
            text: text.to_owned(),
        }
    }

    fn answer(items: Vec<ReferenceItem>, total: usize) -> ReferenceAnswer {
        ReferenceAnswer {
            items,
            total,
            title: ":grep x".to_owned(),
            ..ReferenceAnswer::default()
        }
    }

    fn secrets() -> Secrets {
        Secrets::of_this_user(&[])
    }

    #[test]
    fn a_diagnostic_is_a_line_as_of_a_compiler() {
        let items = vec![
            item(
                "/p/src/a.rs",
                3,
                5,
                "error",
                "wrong type\nexpected u8 [rustc E0308]",
            ),
            item("/elsewhere/b.rs", 1, 0, "hint", "unused"),
        ];
        let listing = diagnostics(&answer(items, 7), Path::new("/p"), &secrets());
        assert_eq!(
            listing.text,
            "src/a.rs:3:5: error: wrong type\n    expected u8 [rustc E0308]\n\
             /elsewhere/b.rs:1: hint: unused\n(Not shown, diagnostics: 5.)\n"
        );
        assert_eq!(listing.warning, None);
    }

    #[test]
    fn an_entry_of_a_secret_file_is_left_out() {
        let items = vec![
            item("/p/.env", 1, 1, "", "KEY=s3cret"),
            item("/p/a.rs", 2, 1, "", "fn x()"),
            item("", 0, 0, "", "make: done"),
        ];
        let listing = quickfix(&answer(items, 3), Path::new("/p"), &secrets());
        assert_eq!(
            listing.text,
            ":grep x\na.rs:2:1: fn x()\nmake: done\n(Left out, quickfix entries of secret files: 1.)\n"
        );
        let warning = listing.warning.unwrap();
        assert_eq!(warning, "Not sent, quickfix entries of secret files: 1.");
    }

    #[test]
    fn a_symbol_is_a_line_with_its_place_and_kind() {
        let items = vec![
            item("/p/lexer.py", 3, 0, "method", "Lexer.next"),
            item("/p/.env", 1, 0, "variable", "KEY"),
        ];
        let listing = symbols(&answer(items, 4), Path::new("/p"), &secrets());
        assert_eq!(
            listing.text,
            "lexer.py:3: method: Lexer.next\n(Not shown, symbols: 2.)\n\
             (Left out, symbols of secret files: 1.)\n"
        );
    }

    #[test]
    fn nothing_is_said_to_be_nothing() {
        let none = answer(Vec::new(), 0);
        let folder = Path::new("/p");
        let found = diagnostics(&none, folder, &secrets()).text;
        assert_eq!(found, "There are no diagnostics.\n");
        let found = quickfix(&none, folder, &secrets()).text;
        assert_eq!(found, "The quickfix list is empty.\n");
    }
}
