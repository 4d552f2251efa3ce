//! A command that writes 5 MiB: the time until its result is in the buffer, and the longest time that
//! Neovim does not respond in between. A job that writes 100 MB: how long a key takes meanwhile.

use std::io;
use std::process::Command;
use std::time::Instant;

use harness::{Answer, Editor, Gate, Provider};
use serde_json::json;

use crate::chats::chat;
use crate::probe;
use crate::stage::{ask_again, await_lua, await_turn, bare, ours, press, rest, since};
use crate::table::{Budget, Row, Samples, Table};

const RUNS: usize = 6;
const LINE: &str = "sixty-three characters of output that a build might have said.\n";
/// Lua that returns true if one of the last lines is this one.
const ENDED: &str = "local last = vim.api.nvim_buf_get_lines(0, -40, -1, false)
    return vim.tbl_contains(last, ...)";

pub fn run(table: &mut Table) -> io::Result<()> {
    let provider = Provider::anthropic([""; 0]);
    let text = chat(10_000);
    let options = json!({"tools": {"auto_approve": ["bash"]}});
    let (with, without) = (ours(&provider, &text, options), bare(&text));
    let big = LINE.repeat(5 * 1024 * 1024 / LINE.len());
    let (mut took, mut stalls, mut hand) = Default::default();
    for run in 0..RUNS {
        let last = format!("the last line of run {run}");
        for editor in [&with, &without] {
            std::fs::write(editor.dir().join("big.txt"), format!("{big}{last}\n"))?;
        }
        let gate = begin(&provider, &with, run);
        // Probes take time themselves, so only every other run has them.
        if run % 2 == 0 {
            Samples::add(&mut took, until_ended(&with, &last, || gate.open()));
        } else {
            let figures = probe::during(&with, || {
                until_ended(&with, &last, || gate.open());
            });
            Samples::extend(&mut stalls, figures);
        }
        await_turn(&with);
        ask_again(&with);
        if run % 2 == 0 {
            Samples::add(
                &mut hand,
                until_ended(&without, &last, || by_hand(&without)),
            );
        }
    }
    let row = |what: &str, hand, ours, budget| Row {
        what: format!("5 MiB of tool output{what}"),
        hand,
        ours,
        budget,
        lines: None,
    };
    let budget = Budget::median(40.0).by_hand(25.0);
    table.add(row("", Some(hand), took, budget))?;
    table.add(row(
        ", answer to a probe",
        None,
        stalls,
        Budget::NONE.max(10.0),
    ))?;
    table.add(Row {
        what: "a key in the chat while a job writes 100 MB and its log is shown".to_owned(),
        hand: None,
        ours: keys_during_job()?,
        budget: Budget::NONE.p99(16.0),
        lines: None,
    })
}

/// Types in a chat while a background job writes 100 MB into the log that is shown beside it.
fn keys_during_job() -> io::Result<Samples> {
    let provider = Provider::anthropic([""; 0]);
    let options = json!({"tools": {"auto_approve": ["bash"]}});
    let editor = ours(&provider, &chat(10_000), options);
    let command = "until [ -e go ]; do sleep 0.01; done; yes 'a line of a build' | head -c 100000000; touch ended";
    let input = json!({"label": "much", "command": command, "timeout": null, "background": true});
    provider.then(Answer::new().tool_use("toolu_job", "bash", &input));
    provider.then(Answer::says("It runs."));
    press(&editor, "<C-]>");
    await_turn(&editor);
    editor.command("Flemma jobs");
    editor.wait_text("running for");
    // The log is below the list, and the chat above both.
    editor.keys("<CR><C-w>t");
    rest(&editor);
    let (go, ended) = (editor.dir().join("go"), editor.dir().join("ended"));
    let written = std::fs::write(go, "");
    let figures = probe::typing_during(&editor, || {
        editor.wait_for("the end of the job", |_| ended.exists());
    });
    written.map(|()| figures)
}

fn begin(provider: &Provider, editor: &Editor, run: usize) -> Gate {
    let gate = Gate::new();
    let input = json!({"label": "much", "command": "cat big.txt", "timeout": null});
    let call = Answer::new().tool_use(&format!("toolu_o{run}"), "bash", &input);
    provider.then(call.gate(&gate));
    press(editor, "<C-]>");
    gate.wait_reached();
    rest(editor);
    gate
}

fn until_ended(editor: &Editor, last: &str, act: impl FnOnce()) -> f64 {
    let start = Instant::now();
    act();
    await_lua(editor, ENDED, &json!([last]));
    since(start)
}

/// Runs the command and writes the last 50 KB of its output to the buffer.
fn by_hand(editor: &Editor) {
    let output = Command::new("bash")
        .args(["-c", "cat big.txt"])
        .current_dir(editor.dir())
        .output();
    let said = output.map(|output| output.stdout).unwrap_or_default();
    let tail = String::from_utf8_lossy(&said[said.len().saturating_sub(50 * 1024)..]).into_owned();
    let lines: Vec<&str> = tail.lines().collect();
    editor.request("nvim_buf_set_lines", json!([0, -1, -1, true, lines]));
}
