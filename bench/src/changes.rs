//! Changes of files: from the key to the review of a large diff, and what the checkpoint of a command
//! costs in a large project.

use std::fs;
use std::io;
use std::path::Path;
use std::time::Instant;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::stage::{await_drawn, bare, ours, press, rest, since};
use crate::table::{Budget, Row, Samples, Table};
use crate::tools::{begin, finish, watch};

const CHAT: &str = "@You:\nGo.\n";
/// Lines of the diff: half of them removed, half added.
const LINES: usize = 2_000;
const REVIEWS: usize = 15;
/// Files of the large project, and how many are in a folder.
const FILES: usize = 100_000;
const PER_FOLDER: usize = 1_000;
/// Commands before the measured ones, during which the index is built.
const WARM: usize = 4;
const COMMANDS: usize = 15;

pub fn run(table: &mut Table) -> io::Result<()> {
    let (hand, ours) = reviews()?;
    table.add(Row {
        what: "review of a diff of 2,000 lines: key to drawn".to_owned(),
        hand: Some(hand),
        ours,
        budget: Budget::median(50.0),
        lines: None,
    })?;
    let (small, large) = (commands(0)?, commands(FILES)?);
    let row = Row {
        what: "bash echo in a project of 100k files (by hand: of none)".to_owned(),
        hand: Some(small),
        ours: large,
        budget: Budget::NONE,
        lines: None,
    };
    table.compare(row, "the checkpoint", 150.0)
}

/// A text of half of the diff's lines.
pub fn file(word: &str) -> String {
    (0..LINES / 2)
        .map(|it| format!("let value_{it} = {word}({it}); // {word}\n"))
        .collect()
}

/// True in the window of the whole review.
const SHOWN: &str = "local count = ...
    return vim.bo.filetype == 'diff' and vim.api.nvim_buf_line_count(0) >= count";

/// Opens the review of a pending call, and a window with the same text by hand.
fn reviews() -> io::Result<(Samples, Samples)> {
    let provider = Provider::anthropic([""; 0]);
    let options = json!({"tools": {"auto_approve": [], "review_delay": 0}});
    let with = ours(&provider, CHAT, options);
    fs::write(with.dir().join("a.rs"), file("before"))?;
    let input = json!({"label": "", "path": "a.rs", "content": file("after")});
    provider.then(Answer::new().tool_use("toolu_1", "write", &input));
    press(&with, "<C-]>");
    with.wait_for("the pending call", |it| {
        it.text().contains("status=pending")
    });
    rest(&with);
    let without = bare(CHAT);
    let (mut ours, mut hand) = (Samples::default(), Samples::default());
    for _ in 0..REVIEWS {
        let start = Instant::now();
        press(&with, ":Flemma review<CR>");
        await_drawn(&with, SHOWN, &json!([LINES]));
        ours.add(since(start));
        // Without its buffer, the next review is a new one.
        press(&with, ":bwipeout!<CR>");
        rest(&with);

        let start = Instant::now();
        let open =
            "local lines = vim.split(('-let value = before(); // before\\n'):rep(...), '\\n')
          vim.cmd.new()
          vim.api.nvim_buf_set_lines(0, 0, -1, true, lines)
          vim.bo.filetype = 'diff'";
        without.lua(open, &json!([LINES]));
        await_drawn(&without, SHOWN, &json!([LINES]));
        hand.add(since(start));
        press(&without, ":bwipeout!<CR>");
        rest(&without);
    }
    Ok((hand, ours))
}

/// Runs commands in a project with this number of files, each of which changes one.
fn commands(files: usize) -> io::Result<Samples> {
    let provider = Provider::anthropic([""; 0]);
    let options = json!({"tools": {"auto_approve": ["bash"]}});
    let editor = ours(&provider, CHAT, options);
    fill(&editor.dir(), files)?;
    let mut took = Samples::default();
    for run in 0..WARM + COMMANDS {
        let figure = command(&provider, &editor, run);
        if run >= WARM {
            took.add(figure);
        }
    }
    Ok(took)
}

/// Milliseconds from the end of the answer to the result.
fn command(provider: &Provider, editor: &Editor, run: usize) -> f64 {
    let content = format!("content of run {run}");
    let command = format!("echo {run} > changed; echo {content}");
    let input = json!({"label": "", "command": command, "timeout": null});
    let gate = begin(provider, editor, run, 1, ("bash", &input));
    watch(editor, &content, 1);
    finish(editor, &gate)
}

/// Makes a project of this many files.
pub fn fill(folder: &Path, files: usize) -> io::Result<()> {
    fs::create_dir_all(folder.join(".git"))?;
    for file in 0..files {
        let inner = folder.join(format!("d{}", file / PER_FOLDER));
        if file % PER_FOLDER == 0 {
            fs::create_dir_all(&inner)?;
        }
        fs::write(inner.join(format!("f{file}.txt")), format!("{file}\n"))?;
    }
    Ok(())
}
