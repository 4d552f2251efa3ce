//! Tool calls: from the end of the answer that makes them until all results, or all pending calls, are
//! visible.

use std::io;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use harness::{Answer, Editor, Gate, Provider};
use serde_json::{Value as Json, json};

use crate::chats::{chat, name};
use crate::stage::{ask_again, await_drawn, await_turn, bare, ours, press, rest, since};
use crate::table::{Budget, Row, Samples, Table};

/// The number of runs with `count` calls. Short measurements vary most and are repeated most often.
fn runs(count: usize) -> usize {
    match count {
        0..10 => 25,
        10..100 => 15,
        _ => 9,
    }
}

/// Counts new lines with this text and sends a notification when the wanted number is reached. Polling
/// would slow down the measured work.
const WATCH: &str = "local line, wanted, channel = ...
    local bench = { found = 0 }
    _G.bench = bench
    vim.api.nvim_buf_attach(0, false, { on_lines = function(_, buffer, _, first, _, last)
      if _G.bench ~= bench then return true end
      for _, it in ipairs(vim.api.nvim_buf_get_lines(buffer, first, last, false)) do
        bench.found = bench.found + (it == line and 1 or 0)
        if it == line and bench.found == wanted then
          vim.rpcnotify(channel, 'all there')
        end
      end
    end })";
const COUNTED: &str = "all there";

/// Starts to watch for `count` lines with the text `content`.
pub fn watch(editor: &Editor, content: &str, count: usize) {
    editor.lua(WATCH, &json!([content, count, editor.own_channel()]));
}

/// Runs that need a new Neovim each.
const FIRST_RUNS: usize = 5;

pub fn run(table: &mut Table) -> io::Result<()> {
    for lines in [1_000, 10_000, 50_000] {
        for (count, limit, by_hand) in [(1, 8.0, 0.5), (10, 12.0, 1.0), (100, 40.0, 4.0)] {
            let (hand, ours) = reads(lines, count);
            table.add(Row {
                what: format!("{count} approved reads, {} lines", name(lines)),
                hand: Some(hand),
                ours,
                budget: Budget::median(limit).by_hand(by_hand),
                lines: Some(lines),
            })?;
        }
    }
    table.add(Row {
        what: "the first bash echo of a Neovim".to_owned(),
        hand: None,
        ours: first_commands(),
        budget: Budget::median(15.0),
        lines: None,
    })?;
    for (count, limit, by_hand) in [(1, 6.0, 3.0), (10, 25.0, 14.0), (100, 220.0, 163.0)] {
        let (hand, ours) = commands(count)?;
        table.add(Row {
            what: format!("{count} × bash echo, 10k lines"),
            hand: Some(hand),
            ours,
            budget: Budget::median(limit).by_hand(by_hand),
            lines: None,
        })?;
    }
    for lines in [1_000, 10_000, 50_000] {
        let (hand, ours) = waiting(lines);
        table.add(Row {
            what: format!(
                "100 calls that wait: blocks and previews, {} lines",
                name(lines)
            ),
            hand: Some(hand),
            ours,
            budget: Budget::median(20.0).by_hand(1.7),
            lines: Some(lines),
        })?;
    }
    Ok(())
}

/// Sends the question, and waits until `count` calls are in the buffer and the answer is at the gate
/// before its end.
pub fn begin(
    provider: &Provider,
    editor: &Editor,
    run: usize,
    count: usize,
    call: (&str, &Json),
) -> Gate {
    let gate = Gate::new();
    let calls = (0..count).fold(Answer::new().text("Now:"), |answer, index| {
        answer.tool_use(&format!("toolu_r{run}c{index}"), call.0, call.1)
    });
    provider.then(calls.gate(&gate));
    press(editor, "<C-]>");
    gate.wait_reached();
    rest(editor);
    gate
}

/// Opens the gate and waits for all results. Returns the milliseconds, and prepares the next run.
pub fn finish(editor: &Editor, gate: &Gate) -> f64 {
    let start = Instant::now();
    gate.open();
    editor.wait_notified(COUNTED);
    let took = since(start);
    await_turn(editor);
    ask_again(editor);
    took
}

/// The output of a tool, which is different in each run.
fn content(run: usize) -> String {
    format!("content of run {run}")
}

fn reads(lines: usize, count: usize) -> (Samples, Samples) {
    let provider = Provider::anthropic([""; 0]);
    let text = chat(lines);
    let (with, without) = (ours(&provider, &text, json!({})), bare(&text));
    let (mut ours, mut hand) = (Samples::default(), Samples::default());
    for run in 0..runs(count) {
        let content = content(run);
        for editor in [&with, &without] {
            editor.lua("vim.fn.writefile({ ... }, 'read.txt')", &json!([content]));
            watch(editor, &content, count);
        }
        let input = json!({"label": "reading", "path": "read.txt", "offset": null, "limit": null});
        let gate = begin(&provider, &with, run, count, ("read", &input));
        ours.add(finish(&with, &gate));

        let start = Instant::now();
        let path = without.dir().join("read.txt");
        let contents = (0..count).map(|_| std::fs::read_to_string(&path).unwrap_or_default());
        write_results(&without, contents);
        without.wait_notified(COUNTED);
        hand.add(since(start));
    }
    (hand, ours)
}

/// Writes a result block for each of `contents`, in one write.
fn write_results(editor: &Editor, contents: impl Iterator<Item = String>) {
    let mut lines = vec!["@You:".to_owned()];
    for (index, content) in contents.enumerate() {
        lines.extend([
            format!("**Tool Result:** `hand_{index}`"),
            String::new(),
            "```".to_owned(),
        ]);
        lines.extend(content.lines().map(str::to_owned));
        lines.extend(["```".to_owned(), String::new()]);
    }
    editor.request("nvim_buf_set_lines", json!([0, -1, -1, true, lines]));
}

fn commands(count: usize) -> io::Result<(Samples, Samples)> {
    let provider = Provider::anthropic([""; 0]);
    let text = chat(10_000);
    let options = json!({"tools": {"auto_approve": ["bash"]}});
    let (with, without) = (ours(&provider, &text, options), bare(&text));
    let (mut ours, mut hand) = (Samples::default(), Samples::default());
    for run in 0..runs(count) {
        let content = content(run);
        let command = format!("echo {content}");
        let input = json!({"label": "nothing", "command": command, "timeout": null});
        let gate = begin(&provider, &with, run, count, ("bash", &input));
        for editor in [&with, &without] {
            watch(editor, &content, count);
        }
        ours.add(finish(&with, &gate));

        let start = Instant::now();
        write_results(&without, run_by_hand(count, &command)?.into_iter());
        without.wait_notified(COUNTED);
        hand.add(since(start));
    }
    Ok((hand, ours))
}

/// Milliseconds of a command in new Neovims, which have run none.
fn first_commands() -> Samples {
    let provider = Provider::anthropic([""; 0]);
    let first = |run| {
        let options = json!({"tools": {"auto_approve": ["bash"]}});
        let editor = ours(&provider, &chat(1_000), options);
        let content = content(run);
        let input =
            json!({"label": "nothing", "command": format!("echo {content}"), "timeout": null});
        let gate = begin(&provider, &editor, run, 1, ("bash", &input));
        watch(&editor, &content, 1);
        finish(&editor, &gate)
    };
    (0..FIRST_RUNS).map(first).collect()
}

/// Runs the commands four at a time, like the plugin by default.
fn run_by_hand(count: usize, command: &str) -> io::Result<Vec<String>> {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        let work = || -> io::Result<Vec<String>> {
            let mut said = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < count {
                let output = Command::new("bash").args(["-c", command]).output()?;
                said.push(String::from_utf8_lossy(&output.stdout).into_owned());
            }
            Ok(said)
        };
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(work)).collect();
        let mut said = Vec::new();
        for thread in threads {
            said.extend(thread.join().unwrap_or_else(|_| Ok(Vec::new()))?);
        }
        Ok(said)
    })
}

/// Lua that returns true if there are `count` marks with virtual lines in the last lines.
const MARKS: &str = "local count, last = ...
    local from = math.max(0, vim.api.nvim_buf_line_count(0) - last)
    return #vim.api.nvim_buf_get_extmarks(0, -1, { from, 0 }, -1, { type = 'virt_lines' }) >= count";

fn waiting(lines: usize) -> (Samples, Samples) {
    const CALLS: usize = 100;
    let text = chat(lines);
    let without = bare(&text);
    let (mut ours_took, mut hand) = (Samples::default(), Samples::default());
    let near = json!([CALLS, CALLS * 16 + 40]);
    for run in 0..runs(CALLS) {
        let provider = Provider::anthropic([""; 0]);
        let with = ours(&provider, &text, json!({}));
        let input = json!({"label": "listing", "command": "ls -la", "timeout": null});
        let gate = begin(&provider, &with, run, CALLS, ("bash", &input));
        let start = Instant::now();
        gate.open();
        await_drawn(&with, MARKS, &near);
        ours_took.add(since(start));

        without.lua("vim.api.nvim_buf_clear_namespace(0, -1, 0, -1)", &json!([]));
        let start = Instant::now();
        wait_by_hand(&without, CALLS);
        await_drawn(&without, MARKS, &near);
        hand.add(since(start));
    }
    (hand, ours_took)
}

fn wait_by_hand(editor: &Editor, count: usize) {
    let code = "local count = ...
        local lines, first = { '@You:' }, vim.api.nvim_buf_line_count(0)
        for index = 1, count do
          vim.list_extend(lines, { '**Tool Result:** `hand_' .. index .. '`', '', '```flemma:tool status=pending', '```', '' })
        end
        vim.api.nvim_buf_set_lines(0, -1, -1, true, lines)
        local space = vim.api.nvim_create_namespace('bench')
        for index = 1, count do
          vim.api.nvim_buf_set_extmark(0, space, first + 5 * index - 2, 0, { virt_lines = { { { 'bash: ls -la' } } } })
        end";
    editor.lua(code, &json!([count]));
}
