//! References to the editor and the Git repository: `@diagnostics`, `@quickfix`, `@diff`, and
//! `@buffer:NAME`, with their completion.

use std::path::Path;
use std::process::Command;

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

/// Commits all files of a folder to a new repository.
fn commit(folder: &Path) {
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "calc.py"],
        &["commit", "--quiet", "-m", "first"],
    ] {
        let author = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
        let mut git = Command::new("git");
        git.args(author).args(arguments).current_dir(folder);
        assert!(git.output().unwrap().status.success(), "{arguments:?}");
    }
}

/// All text of the first message of a request.
fn sent(provider: &Provider) -> String {
    let content: Json = provider.requests()[0].body["messages"][0]["content"].clone();
    let blocks = content.as_array().into_iter().flatten();
    blocks.filter_map(|it| it["text"].as_str()).collect()
}

/// An editor with an unsaved change in `calc.py`, and a chat in a second window.
fn with_file(provider: &Provider) -> Editor {
    let setup = setup(provider).with("calc.py", "def add(a, b):\n    return a + b\n");
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    commit(&editor.dir());
    editor.keys(":split calc.py<CR>:set hidden<CR>2GA  # sum<Esc>");
    editor
}

#[test]
fn the_model_gets_what_the_editor_and_git_have_when_the_chat_is_sent() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = with_file(&provider);
    editor.lua(
        "local buffer = vim.fn.bufnr('calc.py')
         local namespace = vim.api.nvim_create_namespace('linter')
         vim.diagnostic.set(namespace, buffer, { { lnum = 1, col = 4, message = 'No\\ntype', severity = 2,
           source = 'lint', code = 'E7' } })
         vim.fn.setqflist({}, ' ', { title = ':grep a', items = { { bufnr = buffer, lnum = 1, col = 5, text = 'def' },
           { text = 'done' } } })",
        &json!([]),
    );
    std::fs::write(editor.dir().join("new.txt"), "new\n").unwrap();
    editor.lua(
        "vim.fn.writefile({ 'local function f() end' }, '.m.lua') vim.cmd.badd('.m.lua') vim.fn.bufload('.m.lua')",
        &json!([]),
    );
    let text = "@You:\nSee @buffer:calc.py, @diagnostics, @quickfix, @symbols and @diff\n";
    editor.keys("<C-w>p");
    editor.paste(text);
    editor.keys("<C-]>");
    editor.wait_text("@Assistant:\nWell.");
    let sent = sent(&provider);
    for part in [
        "@buffer:calc.py (not saved):\n```python\ndef add(a, b):\n    return a + b  # sum\n```",
        "@diagnostics:\n```\ncalc.py:2:5: warning: No\n    type [lint E7]\n```",
        "@quickfix:\n```\n:grep a\ncalc.py:1:5: def\ndone\n```",
        "@symbols:\n```\n.m.lua:1: function: f\n```",
        // Git sees the file, not the buffer.
        "@diff:\n```diff\nThere are no changes.\nNew files, not in this diff: .m.lua, new.txt, question.chat\n```",
    ] {
        assert!(sent.contains(part), "no {part}\nin {sent}");
    }
    assert!(editor.text().contains("See @buffer:calc.py, @diag"));
}

#[test]
fn a_buffer_that_is_not_open_and_a_name_of_two_are_diagnostics() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = setup(&provider).with("a/x.py", "a\n").with("b/x.py", "b\n");
    let editor = setup.file("question.chat", "").start();
    watch(&editor);
    editor.keys(":set hidden<CR>:edit a/x.py<CR>:edit b/x.py<CR>:buffer question.chat<CR>");
    editor.paste("@You:\n@buffer:x.py\n@buffer:y.py\n");
    editor.keys("<C-]>");
    let messages = |editor: &Editor| {
        let code = "return vim.tbl_map(function(it) return it.message end, vim.diagnostic.get(0))";
        editor.lua(code, &json!([])).to_string()
    };
    editor.wait_for("diagnostics", |it| {
        let all = messages(it);
        all.contains("@buffer:x.py fits several open buffers: a/x.py, b/x.py.")
            && all.contains("@buffer:y.py is not an open buffer.")
    });
    assert!(provider.requests().is_empty());
    editor.keys(":%s/x.py/b\\/x.py/e<CR>:%s/.*y.py//e<CR><C-]>");
    editor.wait_text("@Assistant:\nWell.");
    assert!(sent(&provider).contains("```python\nb\n```"));
}

#[test]
fn references_and_buffers_are_completed() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = with_file(&provider);
    editor.keys("<C-w>pi@You:<Esc>");
    wait_server(&editor);
    editor.keys("GoSee @quick<C-x><C-o>");
    editor.wait_text("See @quickfix");
    editor.keys(" and @buffer:ca<C-x><C-o>");
    editor.wait_text("See @quickfix and @buffer:calc.py");
    editor.keys(" and @diff:u<C-x><C-o>");
    editor.wait_text("and @diff:unstaged");
}

#[test]
fn the_menu_of_neovim_completes_as_the_user_types() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let editor = with_file(&provider);
    editor.keys("<C-w>pi@You:<Esc>");
    wait_server(&editor);
    editor.lua(
        "local client = vim.lsp.get_clients({ bufnr = 0, name = 'flemma' })[1]
         vim.o.completeopt = 'menuone,noselect'
         vim.lsp.completion.enable(true, client.id, 0, { autotrigger = true })",
        &json!([]),
    );
    for (typed, offered) in [
        ("@", "@diagnostics"),
        ("@./", "@./calc.py"),
        ("@diff:", "@diff:staged"),
    ] {
        editor.keys("o");
        editor.keys(typed);
        if typed.ends_with(':') {
            editor.keys("<C-x><C-o>");
        }
        editor.wait_screen(offered, |rows| rows.iter().any(|it| it.contains(offered)));
        editor.keys("<C-e><Esc>");
    }
}

#[test]
fn the_menu_of_neovim_has_roles_statuses_options_with_help_and_models() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let text = "```lua\n\n```\n\n@You:\nGo.\n\n**Tool Result:** `t_1`\n\n```flemma:tool status=pending\n```\n";
    let editor = setup(&provider).file("question.chat", text).start();
    watch(&editor);
    wait_server(&editor);
    editor.command("set completeopt=menuone,noselect,popup");
    for (keys, offered, help) in [
        (
            "2GAflemma.opt.tools.autop",
            "flemma.opt.tools.autopilot",
            "",
        ),
        (
            "2GSflemma.opt.thinki",
            "flemma.opt.thinking",
            "How much the model thinks",
        ),
        ("2GSflemma.opt.model = 'claude-opus", "anthropic", ""),
        ("/status=<CR>cWstatus=a", "approved", ""),
        ("Go@As", "@Assistant:", ""),
    ] {
        editor.keys(keys);
        editor.keys("<C-x><C-o>");
        let shows = |text: &'static str| {
            editor.wait_screen(text, |rows| rows.iter().any(|it| it.contains(text)));
        };
        shows(offered);
        editor.keys("<C-n>");
        shows(help);
        editor.keys("<C-e><Esc>u");
    }
}

#[test]
fn the_command_line_sends_a_diff_and_refuses_what_only_neovim_has() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let shell = Shell::new(&provider);
    shell.write("calc.py", "old\n");
    commit(&shell.path(""));
    shell.write("calc.py", "new\n");
    shell.write("question.chat", "@You:\n@diff and @buffer:calc.py\n");
    let ran = shell.run(&["send", "question.chat"]);
    assert_ne!(ran.code, Some(0), "{ran:?}");
    let why = "Line 2: @buffer:calc.py exists only in Neovim.";
    assert!(ran.err.contains(why), "{}", ran.err);
    assert!(provider.requests().is_empty());

    shell.write("question.chat", "@You:\n@diff\n");
    let ran = shell.run(&["send", "question.chat"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(sent(&provider).contains("-old\n+new\n"));
}
