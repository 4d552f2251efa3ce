//! Trials: from the key to the outcome on the screen, in a large project, and from the approval of one
//! that changed many files to its result.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::changes::fill;
use crate::stage::{await_drawn, press, rest, since, start, with_plugin};
use crate::table::{Budget, Row, Samples, Table};

const CHAT: &str = "@You:\nGo.\n";
/// Files of the large project.
const FILES: usize = 100_000;
/// Files that a trial changes.
const CHANGED: usize = 100;
/// Commands that run before the trials, during which the index is built.
const WARM: usize = 4;
const RUNS: usize = 15;

/// True while the outcome of a trial is drawn.
const TRIED: &str = "local marks = vim.api.nvim_buf_get_extmarks(0, -1, 0, -1, { details = true })
    return vim.iter(marks):any(function(mark)
      return vim.iter(mark[4].virt_lines or {}):any(function(line) return line[1][1]:find('^tried: ') ~= nil end)
    end)";
/// True once the pending call has its result.
const RAN: &str =
    "return not table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, true), '\\n'):find('status=')";

pub fn run(table: &mut Table) -> io::Result<()> {
    table.add(Row {
        what: "trial of true in a project of 100k files".to_owned(),
        hand: None,
        ours: trials(FILES, std::env::temp_dir(), |_| "true".to_owned())?.0,
        budget: Budget::median(30.0),
        lines: None,
    })?;
    let change = |run| format!("for f in d0/*; do echo {run} > $f; done");
    table.add(Row {
        what: "applying a trial that changed 100 files".to_owned(),
        hand: None,
        ours: trials(CHANGED, std::env::temp_dir(), change)?.1,
        budget: Budget::NONE,
        lines: None,
    })?;
    // Nothing waits for a disk there.
    let memory = Path::new("/dev/shm");
    if !memory.is_dir() {
        return Ok(());
    }
    table.add(Row {
        what: "the same in memory, so without fsync".to_owned(),
        hand: None,
        ours: trials(CHANGED, memory.to_owned(), change)?.1,
        budget: Budget::median(50.0),
        lines: None,
    })
}

/// A chat in a project of this many files below `base`, whose calls wait.
fn waiting(files: usize, base: PathBuf) -> io::Result<(Provider, Editor)> {
    let provider = Provider::anthropic([""; 0]);
    let options = json!({"sandbox": {}, "tools": {"auto_approve": [], "review_delay": 0, "autopilot": {"enabled": false}}});
    let editor = start(with_plugin(&provider, options).base(base), CHAT);
    fill(&editor.dir(), files)?;
    Ok((provider, editor))
}

/// Makes a call of this command, and waits until it is shown.
fn call(provider: &Provider, editor: &Editor, run: usize, command: &str) {
    let input = json!({"label": "", "command": command, "timeout": null});
    provider.then(Answer::new().tool_use(&format!("toolu_{run}"), "bash", &input));
    press(editor, "<C-]>");
    let id = format!("toolu_{run}");
    editor.wait_for("the call", |it| it.text().contains(&id));
    rest(editor);
    // Without autopilot, a key has it decided.
    press(editor, "<C-]>");
    editor.wait_for("the pending call", |it| {
        it.text().contains("status=pending")
    });
    rest(editor);
}

/// Milliseconds of trials of a command in a project of this many files, and of their approvals.
fn trials(
    files: usize,
    base: PathBuf,
    command: impl Fn(usize) -> String,
) -> io::Result<(Samples, Samples)> {
    let (provider, editor) = waiting(files, base)?;
    let (mut tried, mut applied) = (Samples::default(), Samples::default());
    for run in 0..WARM + RUNS {
        call(&provider, &editor, run, &command(run));
        let start = Instant::now();
        if run >= WARM {
            press(&editor, "<M-t>");
            await_drawn(&editor, TRIED, &json!([]));
        }
        let until_tried = since(start);
        rest(&editor);
        let start = Instant::now();
        press(&editor, "<M-CR>");
        await_drawn(&editor, RAN, &json!([]));
        if run >= WARM {
            tried.add(until_tried);
            applied.add(since(start));
        }
        rest(&editor);
        press(&editor, "GoMore.<Esc>");
        rest(&editor);
    }
    Ok((tried, applied))
}
