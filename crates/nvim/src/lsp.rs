//! Answers of a chat as results of the Language Server Protocol, and as simple values where the
//! plugin itself asks.
//!
//! Lua adds the addresses of documents: a result here has no `uri`, and a location in another
//! file has its `path`.

use chat::folds::Fold;
use chat::links::Link;
use chat::outline::{Symbol, SymbolKind};
use chat::text::Lines;
use serde_json::{Value, json};
use session::protocol::{Hover, LookupAnswer, Menu, MenuItem, OfferedAction};

/// The client's command for all our actions. Its arguments are the name of one of our own
/// commands, and a line.
const COMMAND: &str = "flemma.command";

/// Returns an answer as the result of its request.
pub fn result(answer: LookupAnswer) -> Value {
    match answer {
        LookupAnswer::Nothing => Value::Null,
        LookupAnswer::Symbols(symbols) => symbols.iter().map(symbol).collect(),
        LookupAnswer::Folds(folds) => folds.iter().map(folding_range).collect(),
        LookupAnswer::Link(Link::Lines(lines)) => json!({"range": start_of(&lines)}),
        LookupAnswer::Link(Link::File(path)) => json!({"path": path, "range": start_of(&(0..1))}),
        LookupAnswer::Hover(it) => hover(&it),
        LookupAnswer::Actions(offers) => offers.iter().map(action).collect(),
        LookupAnswer::Lenses(offers) => offers.iter().map(lens).collect(),
        LookupAnswer::Menu(it) => menu(&it),
        LookupAnswer::Line(line) => json!(line),
        LookupAnswer::Message(it) => json!({
            "lines": [it.lines.start, it.lines.end],
            "text": [it.text.start, it.text.end],
            "column": it.column,
        }),
        LookupAnswer::Plain(value) => value,
    }
}

fn symbol(symbol: &Symbol) -> Value {
    let children: Value = symbol.children.iter().map(self::symbol).collect();
    // The protocol requires that `selectionRange` is inside `range`.
    json!({
        "name": symbol.name,
        "kind": kind(symbol.kind),
        "range": range(&symbol.lines),
        "selectionRange": start_of(&symbol.lines),
        "children": children,
    })
}

/// Returns the `SymbolKind` whose icon fits best, as the protocol knows only code.
fn kind(kind: SymbolKind) -> u8 {
    match kind {
        SymbolKind::Frontmatter => 4,
        SymbolKind::Message => 5,
        SymbolKind::Heading => 15,
        SymbolKind::Code => 19,
        SymbolKind::Thinking => 13,
        SymbolKind::Call => 12,
        SymbolKind::Result => 24,
    }
}

fn folding_range(fold: &Fold) -> Value {
    // The protocol's `endLine` is the last line of the fold; ours is the line after it.
    json!({"startLine": fold.lines.start, "endLine": fold.lines.end - 1, "kind": "region"})
}

fn hover(hover: &Hover) -> Value {
    // Plain, because the text is a model's and could otherwise hide parts of itself.
    json!({
        "contents": {"kind": "plaintext", "value": hover.text},
        "range": range(&hover.lines),
    })
}

fn action(offer: &OfferedAction) -> Value {
    json!({
        "title": offer.title,
        "kind": if offer.is_fix { "quickfix" } else { "" },
        "command": command(offer),
    })
}

fn lens(offer: &OfferedAction) -> Value {
    json!({
        "range": start_of(&(offer.line..offer.line + 1)),
        "command": command(offer),
    })
}

fn command(offer: &OfferedAction) -> Value {
    json!({
        "title": offer.title,
        "command": COMMAND,
        "arguments": [offer.command, offer.line],
    })
}

fn menu(menu: &Menu) -> Value {
    let items = menu.items.iter().enumerate();
    let items: Value = items.map(|(at, item)| menu_item(menu, at, item)).collect();
    json!({"isIncomplete": menu.is_partial, "items": items})
}

fn menu_item(menu: &Menu, at: usize, item: &MenuItem) -> Value {
    let word = &menu.word;
    // Columns are bytes, because the plugin's server announces `positionEncoding = "utf-8"`.
    let column = |column: usize| json!({"line": word.line, "character": column});
    let mut value = json!({
        "label": item.text,
        "kind": item_kind(&item.detail),
        "detail": item.detail,
        // Some clients show only this in their menu, such as Neovim 0.13.
        "labelDetails": {"description": item.detail},
        // Clients sort by this; ours are the best first.
        "sortText": format!("{at:04}"),
        // A partial list is filtered here, and by other rules than the client's.
        "filterText": if menu.is_partial { &word.text } else { &item.text },
        "textEdit": {
            "range": {"start": column(word.start), "end": column(word.start + word.text.len())},
            "newText": item.text,
        },
    });
    if let Some(help) = &item.help {
        value["documentation"] = json!({"kind": "plaintext", "value": help});
    }
    value
}

/// Returns the `CompletionItemKind` of an item, by what it is.
fn item_kind(detail: &str) -> u8 {
    match detail {
        "role" | "status" => 14,
        "file" => 17,
        "folder" => 19,
        "option" => 10,
        // A tool has its source, and a model its provider.
        _ => 12,
    }
}

fn position(line: usize) -> Value {
    json!({"line": line, "character": 0})
}

fn range(lines: &Lines) -> Value {
    json!({"start": position(lines.start), "end": position(lines.end)})
}

/// Returns the beginning of the first line: where a cursor goes.
fn start_of(lines: &Lines) -> Value {
    json!({"start": position(lines.start), "end": position(lines.start)})
}

#[cfg(test)]
mod tests {
    use super::*;
    use chat::complete::{Unfinished, WordKind};
    use chat::folds::FoldKind;

    #[test]
    fn an_outline_is_a_tree_of_ranges() {
        let symbol = |name: &str, lines, children| Symbol {
            kind: SymbolKind::Message,
            name: name.to_owned(),
            lines,
            children,
        };
        let inner = symbol("inner", 2..4, Vec::new());
        let found = result(LookupAnswer::Symbols(vec![symbol(
            "outer",
            1..9,
            vec![inner],
        )]));
        let start = json!({"line": 1, "character": 0});
        assert_eq!(
            found[0]["selectionRange"],
            json!({"start": start, "end": start})
        );
        assert_eq!(found[0]["range"]["end"]["line"], 9);
        assert_eq!(found[0]["children"][0]["name"], "inner");
    }

    #[test]
    fn a_fold_ends_with_its_last_line() {
        let fold = Fold {
            kind: FoldKind::Thinking,
            lines: 2..5,
            must_show: false,
        };
        let expected = json!([{"startLine": 2, "endLine": 4, "kind": "region"}]);
        assert_eq!(result(LookupAnswer::Folds(vec![fold])), expected);
    }

    #[test]
    fn an_action_names_the_command_and_its_line() {
        let offer = OfferedAction {
            title: "Run".to_owned(),
            command: "resolve",
            line: 7,
            is_fix: false,
        };
        let found = result(LookupAnswer::Lenses(vec![offer]));
        let command = &found[0]["command"];
        assert_eq!(command["arguments"], json!(["resolve", 7]));
        assert_eq!(command["command"], COMMAND);
    }

    #[test]
    fn a_menu_replaces_the_word_and_a_partial_one_is_not_filtered_again() {
        let word = Unfinished {
            line: 3,
            start: 4,
            text: "@./lx".to_owned(),
            kind: WordKind::File,
        };
        let item = MenuItem {
            text: "@./src/lexer.rs".to_owned(),
            detail: "file".to_owned(),
            help: None,
        };
        let found = result(LookupAnswer::Menu(Menu {
            word,
            items: vec![item],
            is_partial: true,
        }));
        let item = &found["items"][0];
        assert_eq!(found["isIncomplete"], true);
        assert_eq!(item["filterText"], "@./lx");
        assert_eq!(item["kind"], 17);
        assert_eq!(item["labelDetails"]["description"], item["detail"]);
        assert_eq!(item["textEdit"]["range"]["start"]["character"], 4);
        assert_eq!(item["textEdit"]["range"]["end"]["character"], 9);
    }

    #[test]
    fn a_place_without_anything_has_no_result() {
        assert_eq!(result(LookupAnswer::Nothing), Value::Null);
    }
}
