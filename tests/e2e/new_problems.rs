//! What a change of a file breaks: the result says that the change was made, and then names the
//! new syntax errors and diagnostics.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::script_tools::HELLO;
use crate::stage::{self, QUESTION};

/// A language server without a process: each line with `TODO` has an error. It publishes what it
/// finds a moment after each change, unless it is mute.
const SERVER: &str = r#"
local path, mute = ...
vim.cmd.edit(path)
local function server(dispatchers)
  local function publish(uri, text)
    local found = {}
    for number, line in ipairs(vim.split(text, '\n')) do
      local from = line:find('TODO', 1, true)
      if from then
        local place = { line = number - 1, character = from - 1 }
        found[#found + 1] = { range = { start = place, ['end'] = place }, severity = 1, source = 'todo', message = 'not done' }
      end
    end
    dispatchers.notification('textDocument/publishDiagnostics', { uri = uri, diagnostics = found })
  end
  return {
    request = function(method, _, reply)
      reply(nil, method == 'initialize' and { capabilities = { textDocumentSync = 1 } } or vim.NIL)
      return true, 1
    end,
    notify = function(method, params)
      if method == 'textDocument/didOpen' then
        publish(params.textDocument.uri, params.textDocument.text)
      elseif method == 'textDocument/didChange' and not mute then
        vim.defer_fn(function()
          publish(params.textDocument.uri, params.contentChanges[1].text)
        end, 20)
      end
    end,
    is_closing = function() return false end,
    terminate = function() end,
  }
end
vim.lsp.start({ name = 'todo', cmd = server, root_dir = vim.fn.getcwd() })
"#;

fn edit(path: &str, old: &str, new: &str) -> Json {
    json!({"label": "edit", "path": path, "oldText": old, "newText": new})
}

/// A chat beside `f.lua` and `f.txt`, in which the model makes this edit, which a rule approves.
fn editor(options: Json, edit: &Json) -> (Editor, Provider) {
    let calls = Answer::says("I'll edit.").tool_use("t_1", "edit", edit);
    let provider = Provider::anthropic([calls, Answer::says("Edited.")]);
    let setup = stage::with_options(&provider, options)
        .with("f.lua", "local a = = 1\nlocal b = 2\nreturn a + b\n")
        .with("f.txt", "TODO: one\ntwo\nthree\n");
    let editor = setup.file("question.chat", QUESTION).start();
    stage::watch(&editor);
    (editor, provider)
}

/// Opens a file in Neovim with a language server.
fn serve(editor: &Editor, path: &str, mute: bool) {
    editor.lua(SERVER, &json!([path, mute]));
    editor.wait_for("diagnostics of the file", |editor| {
        editor.lua("return #vim.diagnostic.get(0)", &json!([])) == json!(1)
    });
    editor.command("buffer question.chat");
}

/// Sends the chat, and returns the result of the edit.
fn send(editor: &Editor) -> String {
    editor.keys("<C-]>");
    stage::wait_end(editor, "Edited.\n\n@You:\n\n");
    stage::result(editor, "t_1")
}

#[test]
fn a_new_syntax_error_is_named_after_the_result() {
    let (editor, _provider) = editor(json!({}), &edit("f.lua", "local b = 2", "local b = = 2"));
    let result = send(&editor);
    let (first, rest) = result.split_once("New problems in ").unwrap();
    assert!(first.contains("```\nApplied the edit to f.lua"), "{result}");
    let lines: Vec<&str> = rest.lines().collect();
    assert_eq!(lines[0], "f.lua after this change:");
    assert!(lines[1].starts_with("line 2: syntax error: "), "{result}");
    assert!(lines[1].ends_with(": local b = = 2"), "{result}");
    // The error in the first line was there before.
    assert!(!result.contains("local a"), "{result}");
}

#[test]
fn a_change_that_breaks_nothing_is_reported_as_before() {
    let (editor, _provider) = editor(json!({}), &edit("f.lua", "local b = 2", "local b = 3"));
    let result = send(&editor);
    assert!(!result.contains("problems"), "{result}");
}

#[test]
fn the_new_diagnostics_of_a_language_server_are_named() {
    let new = "TODO: zero\nTODO: one";
    let (editor, _provider) = editor(json!({}), &edit("f.txt", "TODO: one", new));
    serve(&editor, "f.txt", false);
    let result = send(&editor);
    let report =
        "New problems in f.txt after this change:\nline 1: error: not done (todo): TODO: zero\n```";
    assert!(result.ends_with(report), "{result}");
    assert!(
        result.contains("```\nApplied the edit to f.txt"),
        "{result}"
    );
}

#[test]
fn a_server_that_says_nothing_and_an_option_end_the_wait() {
    for (options, mute) in [
        (json!({}), true),
        (json!({"tools": {"diagnostics": false}}), false),
    ] {
        let (editor, _provider) = editor(options, &edit("f.txt", "two", "TODO: two"));
        serve(&editor, "f.txt", mute);
        let result = send(&editor);
        assert!(result.contains("Applied the edit to f.txt"), "{result}");
        assert!(!result.contains("problems"), "{result}");
    }
}

#[test]
fn a_script_that_edits_through_another_tool_gets_the_problems_and_the_counts() {
    let python = "import llmr.mcp as m\n\
        print(m.call_tool('edit', {'label': '', 'path': 'f.lua', 'oldText': 'b = 2', 'newText': 'b = = 2'}))\n";
    let calls = Answer::says("I'll edit.").tool_use("t_1", "fix", &json!({}));
    let provider = Provider::anthropic([calls, Answer::says("Edited.")]);
    let options = json!({"tools": {"auto_approve": ["$default", "fix"]}});
    let folder = "../config/flemma/tools/fix";
    let setup = stage::with_options(&provider, options)
        .with(&format!("{folder}/tool.toml"), HELLO)
        .with(&format!("{folder}/s.py"), python)
        .with("f.lua", "local a = = 1\nlocal b = 2\nreturn a + b\n");
    let editor = setup.file("question.chat", QUESTION).start();
    let result = send(&editor);
    let (first, rest) = result.split_once("New problems in ").unwrap();
    assert!(first.contains("Applied the edit to f.lua"), "{result}");
    assert!(
        rest.starts_with("f.lua after this change:\nline 2: syntax error: "),
        "{result}"
    );
    editor.wait_screen("the counts", |rows| {
        rows.iter()
            .any(|row| row.contains("+1 −1") && row.contains(":Flemma undo"))
    });
}

#[test]
fn the_trees_of_large_texts_are_freed_after_their_checks() {
    let (editor, _provider) = editor(json!({}), &json!({}));
    let code = "
        -- What LuaJIT compiles of Neovim's own files may keep a parser.
        jit.off()
        local parsers, make = setmetatable({}, { __mode = 'k' }), vim.treesitter.get_string_parser
        vim.treesitter.get_string_parser = function(...)
          local parser = make(...)
          parsers[parser] = true
          return parser
        end
        local text = ('local x = 1\\n'):rep(8000) .. 'x = = 1'
        for _ = 1, 3 do
          local found
          require('flemma.problems.syntax').find('lua', text, 400, function(items)
            found = items
          end)
          vim.wait(10000, function()
            collectgarbage('stop')
            return found ~= nil
          end, 1)
          assert(#found == 1)
        end
        return vim.wait(10000, function()
          -- Only the check itself may collect.
          collectgarbage('stop')
          return next(parsers) == nil
        end, 1)";
    assert_eq!(editor.lua(code, &json!([])), json!(true));
}
