//! The cost of a call for each kind of tool, compared with the cheapest built-in one, and of a request
//! with a thousand tools.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use harness::{Answer, Editor, Gate, Provider};
use serde_json::{Value as Json, json};

use crate::stage::{ask_again, await_lua, await_row, await_turn, press, rest, since, with_plugin};
use crate::table::{Budget, Row, Samples, Table};

const RUNS: usize = 15;
/// Number of additional tools.
const MANY: usize = 1_000;
const QUESTION: &str = "@You:\nGo on.";
const MANIFEST: &str = "name = \"answer\"
description = \"Says it\"
script = \"main.py\"
";
const SCRIPT: &str = "import llmr.mcp\nllmr.mcp.return_string('script says it')\n";
/// Registers a Lua tool, and `many` others.
const REGISTER: &str = "local many = ...
    local tools = require('flemma.tools')
    local function tool(name, says)
      tools.register(name, {
        description = 'Says it',
        input_schema = { type = 'object', properties = { word = { type = 'string' } } },
        execute = function() return { success = true, output = says } end,
      })
    end
    tool('says', 'lua says it')
    for index = 1, many do
      tool('tool_' .. index, 'nothing')
    end
    return true";

pub fn run(table: &mut Table) -> io::Result<()> {
    let (_, lua) = calls("says", &json!({}), "lua says it", None)?;
    let (_, built_in) = calls("calculator", &json!({"expression": "6 * 7"}), "42", None)?;
    table.add(row("a call of a tool in Lua", &built_in, &lua, 2.0))?;
    let path = path();
    let (interpreter, script) = calls("answer", &json!({}), "script says it", Some(&path))?;
    let added = script.median() - built_in.median() - interpreter.median();
    table.add(Row {
        what: "a call of a script, beyond the start of its interpreter".to_owned(),
        hand: Some(interpreter),
        ours: [added].into_iter().collect(),
        budget: Budget::median(5.0),
        lines: None,
    })?;
    let (few, many) = (requests(0), requests(MANY));
    table.add(row(
        "Ctrl-] to the request, with 1,000 tools",
        &few,
        &many,
        5.0,
    ))
}

/// The difference of the medians of `ours` and `without`.
fn row(what: &str, without: &Samples, ours: &Samples, limit: f64) -> Row {
    Row {
        what: format!("{what}: added"),
        hand: Some(without.clone()),
        ours: [ours.median() - without.median()].into_iter().collect(),
        budget: Budget::median(limit),
        lines: None,
    }
}

/// A `$PATH` whose `python3` is the interpreter itself. The wrapper of a version manager would take
/// longer than the measured work.
fn path() -> String {
    let script = "import os, sys; print(os.path.dirname(sys.executable), end='')";
    let found = Command::new("python3").args(["-c", script]).output();
    let folder = found.map(|it| String::from_utf8_lossy(&it.stdout).into_owned());
    let rest = std::env::var("PATH").unwrap_or_default();
    format!("{}:{rest}", folder.unwrap_or_default())
}

fn editor(provider: &Provider, many: usize) -> Editor {
    let options = json!({"tools": {"require_approval": false}, "sandbox": {"enabled": false}});
    let setup = with_plugin(provider, options)
        .env("PATH", path())
        .with("../config/flemma/tools/answer/tool.toml", MANIFEST)
        .with("../config/flemma/tools/answer/main.py", SCRIPT);
    let editor = setup.file("bench.chat", QUESTION).start();
    await_lua(&editor, REGISTER, &json!([many]));
    let ready = "return require('flemma.host').state().welcome ~= nil";
    await_lua(&editor, ready, &json!([]));
    rest(&editor);
    editor
}

/// Measures the time from the end of an answer that calls a tool to the result on the screen. With a
/// `path`, also measures its Python interpreter before each call, after the same idle time.
fn calls(
    tool: &str,
    input: &Json,
    says: &str,
    path: Option<&str>,
) -> io::Result<(Samples, Samples)> {
    let provider = Provider::anthropic([""; 0]);
    let editor = editor(&provider, 0);
    let (mut by_hand, mut took) = (Samples::default(), Samples::default());
    for run in 0..RUNS {
        let gate = Gate::new();
        let id = format!("toolu_{tool}_{run}");
        provider.then(Answer::new().tool_use(&id, tool, input).gate(&gate));
        press(&editor, "<C-]>");
        gate.wait_reached();
        rest(&editor);
        if let Some(path) = path {
            by_hand.add(interpreter(path)?);
            rest(&editor);
        }
        let start = Instant::now();
        gate.open();
        // Reads frames only: polling the editor would take CPU time from the interpreter.
        await_row(&editor, says, |row| row.trim() == says);
        took.add(since(start));
        await_turn(&editor);
        editor.command("%delete _");
        editor.keys("i@You:<CR>Go on.<Esc>");
        rest(&editor);
    }
    Ok((by_hand, took))
}

/// Measures the interpreter with a script that reads arguments and prints the same result. Both run
/// without a sandbox.
fn interpreter(path: &str) -> io::Result<f64> {
    const SAME: &str = "import json, sys\njson.load(sys.stdin)\nprint('script says it')";
    let start = Instant::now();
    let mut child = Command::new("python3")
        .env("PATH", path)
        .args(["-c", SAME])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    if let Some(mut arguments) = child.stdin.take() {
        arguments.write_all(b"{}")?;
    }
    child.wait_with_output()?;
    Ok(since(start))
}

fn requests(many: usize) -> Samples {
    let provider = Provider::anthropic([""; 0]);
    let editor = editor(&provider, many);
    let mut took = Samples::default();
    for run in 1..=RUNS {
        let start = Instant::now();
        press(&editor, "<C-]>");
        let arrived = provider.wait_requests(run)[run - 1].arrived;
        took.add(arrived.duration_since(start).as_secs_f64() * 1e3);
        await_turn(&editor);
        ask_again(&editor);
    }
    took
}
