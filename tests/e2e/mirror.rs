//! The host's copy of the text equals the buffer, after thousands of changes of every
//! kind.

use harness::{Answer, Editor, Provider};
use serde_json::json;

use crate::processes::host;
use crate::stage::{at_rest, file, open, wait_end};

/// The number of changes between two comparisons, and of comparisons.
const CHANGES: usize = 100;
const ROUNDS: usize = 30;

/// Makes random changes from a seed. The first line, a role marker, is kept, and there is always a
/// second line.
const CHANGE: &str = r#"
    local seed, count = ...
    math.randomseed(seed)
    local api, random = vim.api, math.random
    local words = { "one", "two 2", "  three", "日本", "\tfour", "x41", "", "émoji 🙂", "end." }
    local function text() return words[random(#words)] .. words[random(#words)] end
    local function line() return random(2, math.max(2, api.nvim_buf_line_count(0))) end
    local function range()
      local a, b = line(), line()
      return ("%d,%d"):format(math.min(a, b), math.max(a, b))
    end
    local function ex(command) pcall(vim.cmd, "silent! " .. command) end
    local function normal(keys)
      api.nvim_win_set_cursor(0, { line(), 0 })
      pcall(vim.cmd, "silent! normal! " .. api.nvim_replace_termcodes(keys, true, true, true))
    end
    local changes = {
      function() normal("o" .. text() .. "<Esc>") end,
      function() normal("A" .. text() .. "<CR>" .. text() .. "<Esc>") end,
      function() normal("dd") end,
      function() normal("J") end,
      function() normal("yyP") end,
      function() normal("x") end,
      function() normal(random(9) .. "<C-a>") end,
      function() normal("<C-v>jIq<Esc>") end,
      function() normal("gUU") end,
      function() normal(">>") end,
      function() normal("Rover<Esc>") end,
      function() for _ = 1, random(6) do ex("undo") end end,
      function() for _ = 1, random(6) do ex("redo") end end,
      function() ex("earlier " .. random(8)) end,
      function() ex(range() .. "s/o/0/g") end,
      function() ex(range() .. [[s/ /\r/]]) end,
      function() ex(range() .. [[s/\n\(.\)/ \1/]]) end,
      function() ex(range() .. "g/e/normal! Ae") end,
      function() ex(range() .. "g/x/d") end,
      function() ex(range() .. "sort") end,
      function() ex(range() .. "m " .. line()) end,
      function() ex(range() .. "t " .. line()) end,
      function() ex(range() .. "!tac") end,
      function() ex(line() .. "read lines.txt") end,
      function() ex(range() .. "retab! 4") end,
      function() ex(range() .. "d") end,
      function() ex("write") end,
      function() ex("write | edit!") end,
      function() api.nvim_buf_set_lines(0, line() - 1, -1, false, { text(), text() }) end,
      function()
        local at = line() - 1
        api.nvim_buf_set_text(0, at, 0, at, 0, { text(), "", text() })
      end,
      function() api.nvim_buf_set_lines(0, 1, 1, false, vim.split(("many "):rep(150), " ")) end,
      function() api.nvim_put({ text(), text() }, "l", true, false) end,
    }
    for _ = 1, count do
      changes[random(#changes)]()
      -- What moved the marker or took all lines is put right by a change like others.
      if api.nvim_buf_get_lines(0, 0, 1, false)[1] ~= "@You:" then
        api.nvim_buf_set_lines(0, 0, 0, false, { "@You:" })
      end
      if api.nvim_buf_line_count(0) < 2 then
        api.nvim_buf_set_lines(0, 1, 1, false, { "second" })
      elseif api.nvim_buf_line_count(0) > 400 then
        api.nvim_buf_set_lines(0, 100, -1, false, {})
      end
    end
    -- Only one marker, and always something to say.
    vim.cmd([[silent! 2,$s/^@You:$/you/]])
    api.nvim_buf_set_lines(0, 1, 1, false, { "said " .. seed })
"#;

/// Sends the chat and returns the user's text in the request. The provider refuses the request, so
/// the chat does not change.
#[track_caller]
fn sent(editor: &Editor, provider: &Provider, count: usize) -> String {
    provider.then(Answer::status(400, "no"));
    editor.keys("<C-]>");
    let requests = provider.wait_requests(count);
    editor.wait_for("the end of the request", |editor| {
        editor.lua("return vim.g.finished", &json!([])) == json!(count)
    });
    let content = requests[count - 1].body["messages"][0]["content"].clone();
    let text = content.as_str().map(str::to_owned);
    text.unwrap_or_else(|| content[0]["text"].as_str().unwrap().to_owned())
}

#[test]
fn three_thousand_changes_of_all_kinds_reach_the_host() {
    let provider = Provider::anthropic([] as [Answer; 0]);
    let editor = open(&provider, "@You:\nfirst\nsecond\n");
    std::fs::write(editor.dir().join("lines.txt"), "from\na file\n").unwrap();
    host(&editor);
    editor.command("let g:finished = 0");
    editor.command("autocmd User FlemmaRequestFinished let g:finished += 1");
    for round in 1..=ROUNDS {
        editor.lua(CHANGE, &json!([round, CHANGES]));
        let lines = editor.lines();
        assert_eq!(lines[0], "@You:");
        let expected = lines[1..].join("\n");
        let sent = sent(&editor, &provider, round);
        assert!(
            sent.trim() == expected.trim(),
            "round {round}: sent\n{sent}\nfor\n{expected}"
        );
        assert_eq!(editor.lines(), lines);
    }
}

/// Sends the whole text to the host immediately before each of its edits.
const ANEW: &str = r#"
    local apply, mirror = require("flemma.apply"), require("flemma.mirror")
    for _, name in ipairs({ "apply", "append" }) do
      local carry_out = apply[name]
      apply[name] = function(edit)
        mirror.snapshot(edit.buffer)
        return carry_out(edit)
      end
    end
"#;

#[test]
fn an_edit_during_a_snapshot_is_applied_once() {
    let call = Answer::says("Some words.").tool_use("t_1", "read", &file("f.txt"));
    let answers = ["Well.", "Right.", "Fine."].map(Answer::says);
    let provider = Provider::anthropic([call].into_iter().chain(answers));
    let editor = open(&provider, "@You:\nGo.\n");
    std::fs::write(editor.dir().join("f.txt"), "one\n").unwrap();
    host(&editor);
    editor.lua(ANEW, &json!([]));
    editor.keys(":Flemma queue And more.<CR><C-]>");
    wait_end(&editor, "Right.\n\n@You:\n\n");
    at_rest(&editor);
    let text = editor.text();
    for once in [
        "Some words.",
        "**Tool Result:** `t_1`",
        "Well.",
        "And more.",
    ] {
        assert_eq!(text.matches(once).count(), 1, "{once} in\n{text}");
    }
    // And the host has the same text.
    editor.keys("GiWhat do you see?<Esc><C-]>");
    wait_end(&editor, "Fine.\n\n@You:\n\n");
    let requests = provider.requests();
    let messages = requests.last().unwrap().body["messages"].to_string();
    for once in ["Some words.", "Well.", "And more.", "What do you see?"] {
        assert_eq!(messages.matches(once).count(), 1, "{once} in\n{messages}");
    }
}
