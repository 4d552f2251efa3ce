//! Diffs on the screen: what they add to a frame. And how long Neovim does not respond while the syntax
//! of a changed file is checked.

use std::fs;
use std::io;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::changes::file;
use crate::probe;
use crate::stage::{await_lua, await_turn, bare, ours, press, rest};
use crate::table::{Budget, Row, Samples, Table};
use crate::tools::begin;

const CHAT: &str = "@You:\nGo.\n";
/// Frames of each kind.
const FRAMES: usize = 50;
/// Edits of the large file.
const EDITS: usize = 6;
/// Milliseconds of a redraw of the whole screen.
const FRAME: &str = "local begun = vim.uv.hrtime()
    vim.cmd('redraw!')
    return (vim.uv.hrtime() - begun) / 1e6";

pub fn run(table: &mut Table) -> io::Result<()> {
    let (hand, ours) = frames(false)?;
    add(table, "a frame with the diff of a pending call", hand, ours)?;
    let (hand, ours) = frames(true)?;
    add(table, "a frame with a review of 2,000 lines", hand, ours)?;
    table.add(Row {
        what: "edit of a file of 250 KB with syntax errors: answer to a probe".to_owned(),
        hand: None,
        ours: checks()?,
        budget: Budget::NONE.max(16.0),
        lines: None,
    })
}

/// Adds a row for frames, and one for their difference.
fn add(table: &mut Table, what: &str, hand: Samples, ours: Samples) -> io::Result<()> {
    let row = Row {
        what: what.to_owned(),
        hand: Some(hand),
        ours,
        budget: Budget::NONE,
        lines: None,
    };
    table.compare(row, "the plugin", 2.0)
}

/// Redraws a screen full of a diff, and the same text without the plugin.
fn frames(is_review: bool) -> io::Result<(Samples, Samples)> {
    let provider = Provider::anthropic([""; 0]);
    let options = json!({"tools": {"auto_approve": [], "review_delay": 0}});
    let with = ours(&provider, CHAT, options);
    fs::write(with.dir().join("a.rs"), file("before"))?;
    let input = json!({"label": "", "path": "a.rs", "content": file("after")});
    provider.then(Answer::new().tool_use("toolu_1", "write", &input));
    press(&with, "<C-]>");
    await_lua(
        &with,
        "return vim.fn.search('status=pending', 'nw') > 0",
        &json!([]),
    );
    rest(&with);
    if is_review {
        press(&with, ":Flemma review<CR>");
        await_lua(&with, "return vim.bo.filetype == 'diff'", &json!([]));
        press(&with, "500Gzt");
        rest(&with);
    }
    let without = bare(&with.text());
    if is_review {
        without.command("set filetype=diff");
        press(&without, "500Gzt");
    }
    rest(&without);
    let (mut ours, mut hand) = (Samples::default(), Samples::default());
    for _ in 0..FRAMES {
        ours.add(frame(&with));
        hand.add(frame(&without));
    }
    Ok((hand, ours))
}

fn frame(editor: &Editor) -> f64 {
    let took = editor.lua(FRAME, &json!([]));
    took.as_f64().unwrap_or(f64::INFINITY)
}

/// Answers to probes while edits of a large file run, each of which leaves it with syntax errors.
fn checks() -> io::Result<Samples> {
    let provider = Provider::anthropic([""; 0]);
    let editor = ours(&provider, CHAT, json!({}));
    let line = "local function f(text) return #text > 0 and { a = text } or nil end\n";
    let broken = "local x = = 1\n".repeat(50);
    let text = format!(
        "{}marker = 0\n{broken}",
        line.repeat(250 * 1024 / line.len() - 20)
    );
    fs::write(editor.dir().join("large.lua"), text)?;
    let mut answers = Samples::default();
    for run in 0..EDITS {
        let input = edit(run);
        let gate = begin(&provider, &editor, run, 1, ("edit", &input));
        let figures = probe::during(&editor, || {
            gate.open();
            await_turn(&editor);
        });
        answers.extend(figures);
        crate::stage::ask_again(&editor);
    }
    Ok(answers)
}

fn edit(run: usize) -> Json {
    json!({
        "label": "",
        "path": "large.lua",
        "oldText": format!("marker = {run}\n"),
        "newText": format!("marker = {}\n", run + 1),
    })
}
