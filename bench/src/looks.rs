//! Scrolling through code: from the key to the frame with the next screen, in its colors.

use std::io;
use std::time::Instant;

use harness::{Editor, Provider};
use serde_json::json;

use crate::stage::{await_row, bare, ours, press, rest, since};
use crate::table::{Budget, Row, Samples, Table};

const SCREENS: usize = 40;
/// Five languages: two with a parser in Neovim, and three with a syntax file.
const CODE: [(&str, &str); 5] = [
    (
        "lua",
        "local function f(text) return #text > 0 and \"a\" or nil end",
    ),
    (
        "c",
        "static int f(const char *text) { return text[0] ? 'a' : 0; }",
    ),
    (
        "python",
        "def f(text: str) -> int: return len(text) + 1  # why",
    ),
    (
        "rust",
        "fn f(text: &str) -> usize { text.len() + 0x2a } // why",
    ),
    ("sh", "cargo test -q | grep -v \"^ok\" > \"$HOME/out.txt\""),
];

/// An answer whose every screen has all languages.
fn text() -> String {
    let mut text = String::from("@You:\nWrite.\n\n@Assistant:\n");
    for number in 0..SCREENS * 8 {
        let (language, code) = CODE[number % CODE.len()];
        text.push_str(&format!(
            "Part **{number}**:\n\n```{language}\n{code}\n{code}\n```\n\n"
        ));
    }
    text.push_str("@You:\nEND\n");
    text
}

pub fn run(table: &mut Table) -> io::Result<()> {
    let provider = Provider::anthropic([""; 0]);
    let text = text();
    let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
    table.add(Row {
        what: "scroll a screen of code in five languages".to_owned(),
        hand: Some(scroll(&without)),
        ours: scroll(&with),
        budget: Budget::median(8.0),
        lines: None,
    })
}

/// Milliseconds from each key to a screen that begins at the next part.
fn scroll(editor: &Editor) -> Samples {
    editor.keys("zRgg4jzt");
    rest(editor);
    let figures = (1..SCREENS).map(|screen| {
        let wanted = format!("Part **{}**:", screen * 3);
        let start = Instant::now();
        press(editor, "21jzt");
        await_row(editor, "the next screen", |row| row == wanted);
        let took = since(start);
        rest(editor);
        took
    });
    figures.collect()
}
