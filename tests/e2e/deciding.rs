//! The window of a pending call: why it asks, all of it, and plain keys that decide.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// A chat in which these commands are pending, with the cursor on the first.
pub fn commands(commands: &[&str], tools: &Json) -> (Provider, Editor) {
    let calls = commands.iter().enumerate();
    let answer = calls.fold(Answer::new(), |answer, (at, text)| {
        answer.tool_use(&format!("t_{at}"), "bash", &command(text))
    });
    let provider = Provider::anthropic([answer, Answer::says("Well.")]);
    let editor = ask_with(&provider, json!({"tools": tools}));
    wait_pending(&editor, "t_0");
    (provider, editor)
}

/// Sends the chat, and waits until the cursor is on this pending call.
fn wait_pending(editor: &Editor, id: &str) {
    editor.keys("<C-]>");
    wait_cursor(editor, &format!("**Tool Result:** `{id}`"));
    editor.wait_screen("the keys", |rows| rows.concat().contains("Enter: decide"));
}

/// Opens the window of the call at the cursor, and waits for its text.
pub fn open_window(editor: &Editor) {
    editor.keys("<CR>");
    wait_window(editor, true);
}

pub fn wait_window(editor: &Editor, is_open: bool) {
    editor.wait_for("the window of the call", |it| {
        let name = it.lua("return vim.api.nvim_buf_get_name(0)", &json!([]));
        name.as_str().unwrap().starts_with("flemma-decision://") == is_open
    });
}

fn nothing_asked() -> Json {
    json!({"auto_approve": []})
}

#[track_caller]
fn asks(tool: &str, input: &Json, tools: &Json, expected: &str) {
    let calls = Answer::new().tool_use("t_0", tool, input);
    let provider = Provider::anthropic([calls]);
    let setup = with_options(&provider, json!({"tools": tools}));
    let setup = setup.file(".ssh/id_rsa", "key\n").with("f.txt", "one\n");
    let editor = setup.file("question.chat", QUESTION).size(100, 30).start();
    watch(&editor);
    wait_pending(&editor, "t_0");
    let line = format!("asks: {expected}");
    editor.wait_screen(&line, |rows| rows.iter().any(|row| row.starts_with(&line)));
}

#[test]
fn a_pending_call_says_why_it_asks() {
    let auto = json!({"auto_approve": ["read", "write", "bash"]});
    let write = |path: &str| json!({"label": "", "path": path, "content": "x\n"});
    asks("read", &file("~/.ssh/id_rsa"), &auto, "private keys");
    asks(
        "write",
        &write(".git/hooks/x"),
        &auto,
        "the file is in a .git folder",
    );
    asks(
        "read",
        &file("f.txt"),
        &nothing_asked(),
        "not in auto_approve",
    );
    asks(
        "read",
        &file("/etc/hosts"),
        &nothing_asked(),
        "outside the project",
    );
    asks(
        "write",
        &write("../other.txt"),
        &nothing_asked(),
        "outside the project",
    );
    asks(
        "bash",
        &command("rm f.txt"),
        &nothing_asked(),
        "runs a command",
    );
    let safe = json!({"auto_approve": ["$shell-safe"]});
    asks(
        "bash",
        &command("cat ~/.ssh/id_rsa"),
        &safe,
        "a command that could show secrets",
    );
}

#[test]
fn a_call_of_a_chat_that_was_closed_says_why_it_asks() {
    let text = "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `read` (`t_0`)\n\n```json\n{\"label\": \"\", \
                \"path\": \"~/.ssh/id_rsa\"}\n```\n\n@You:\n**Tool Result:** `t_0`\n\n```flemma:tool status=pending\n```\n";
    let provider = Provider::anthropic([""; 0]);
    let editor = open(&provider, text);
    editor.wait_screen("the reason", |rows| {
        rows.iter().any(|row| row.starts_with("asks: private keys"))
    });
}

#[test]
fn the_window_shows_all_of_a_call_and_nothing_in_it_hides() {
    let long = format!(
        "echo {}\nprintf '\u{1b}[8m\u{202e}' # last",
        "x".repeat(400)
    );
    let (_provider, editor) = commands(&[&long], &nothing_asked());
    open_window(&editor);
    let text = editor.text();
    assert!(text.starts_with("bash\nasks: runs a command\n"), "{text}");
    assert!(text.contains(&"x".repeat(400)), "{text}");
    assert!(text.contains("printf '<1b>[8m<202e>' # last"), "{text}");
    assert!(text.contains("label\n  testing"), "{text}");
    let keys = "a runs · t tries · A all · r rejects · l allows by rule · ? help · q leaves";
    editor.wait_screen("the keys", |rows| rows.iter().any(|row| row.trim() == keys));
    // It cannot be modified.
    editor.keys("ix<Esc>dd");
    assert_eq!(editor.text(), text);
}

#[test]
fn a_plain_key_in_the_window_runs_the_call() {
    let (_provider, editor) = commands(&["echo one", "echo two"], &nothing_asked());
    open_window(&editor);
    editor.keys("a");
    wait_window(&editor, false);
    editor.wait_for("one result", |it| {
        outcomes(it, ["t_0", "t_1"]) == ["ran", "waits"]
    });
    assert_eq!(
        editor.lua("return vim.bo.filetype", &json!([])),
        json!("chat")
    );
}

#[test]
fn a_plain_key_in_the_window_runs_all_calls() {
    let (provider, editor) = commands(&["echo one", "echo two"], &nothing_asked());
    open_window(&editor);
    editor.keys("A");
    wait_end(&editor, "Well.\n\n@You:\n\n");
    assert_eq!(outcomes(&editor, ["t_0", "t_1"]), ["ran", "ran"]);
    assert_eq!(provider.requests().len(), 2);
}

#[test]
fn a_call_is_rejected_in_its_window_with_a_reason() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    open_window(&editor);
    editor.keys("r<Esc>");
    // Leaving the prompt decides nothing.
    wait_window(&editor, true);
    assert_eq!(became_in_chat(&editor), "pending");
    editor.keys("rnot now<CR>");
    wait_window(&editor, false);
    let expected = "**Tool Result:** `t_0` (error)\n\n```\nnot now\n```";
    wait_result(&editor, "t_0", expected);
}

/// The status of the placeholder, while another buffer is the current one.
fn became_in_chat(editor: &Editor) -> &'static str {
    let code = "local text = table.concat(vim.api.nvim_buf_get_lines(vim.fn.bufnr('question.chat'), 0, -1, false), '\\n')
        return text:find('status=pending', 1, true) ~= nil";
    if editor.lua(code, &json!([])) == json!(true) {
        "pending"
    } else {
        "decided"
    }
}

#[test]
fn q_leaves_and_the_call_waits() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    open_window(&editor);
    editor.keys("q");
    wait_window(&editor, false);
    assert_eq!(became(&editor, "t_0"), "waits");
    assert_eq!(
        editor.lua("return #vim.api.nvim_list_wins()", &json!([])),
        json!(1)
    );
    // Enter opens it again, also on the call itself.
    editor.keys("gg/Tool Use<CR>");
    open_window(&editor);
}

#[test]
fn a_rule_is_chosen_in_the_window() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    editor.lua(
        "vim.ui.select = function(items, options, done) _G.asked = options.prompt done(nil) end",
        &json!([]),
    );
    open_window(&editor);
    editor.keys("l");
    editor.wait_for("the list of rules", |it| {
        it.lua("return _G.asked ~= nil", &json!([])) == json!(true)
    });
    assert_eq!(became_in_chat(&editor), "pending");
}

#[test]
fn no_key_decides_before_the_window_could_be_read() {
    let tools = json!({"auto_approve": [], "review_delay": 600_000});
    let (_provider, editor) = commands(&["echo one"], &tools);
    open_window(&editor);
    for key in ["a", "A", "l", "r", "a"] {
        editor.keys(key);
    }
    editor.wait_for("the message", |it| {
        it.messages()
            .contains("it came before you could read the call")
    });
    wait_window(&editor, true);
    assert_eq!(became_in_chat(&editor), "pending");
}

#[test]
fn a_call_that_changed_behind_its_window_is_not_decided_there() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    open_window(&editor);
    let change = "local chat = vim.fn.bufnr('question.chat')
        for row, line in ipairs(vim.api.nvim_buf_get_lines(chat, 0, -1, false)) do
          if line:find('echo one', 1, true) then
            vim.api.nvim_buf_set_lines(chat, row - 1, row, false, { (line:gsub('echo one', 'rm -rf .')) })
          end
        end";
    editor.lua(change, &json!([]));
    editor.keys("a");
    editor.wait_for("the message", |it| {
        it.messages()
            .contains("not as it was shown. Nothing was decided.")
    });
    assert_eq!(became_in_chat(&editor), "pending");
}

#[test]
fn keys_without_a_modifier_type_in_a_pending_block() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    let maps = "local found = {}
        for _, map in ipairs(vim.api.nvim_buf_get_keymap(0, 'n')) do
          -- `K` is Neovim's own.
          if map.lhs ~= 'K' and not map.lhs:find('^[<g\\\\[%]]') then found[#found + 1] = map.lhs end
        end
        return found";
    let plain = editor.lua(maps, &json!([]));
    let leader: Vec<&str> = plain
        .as_array()
        .unwrap()
        .iter()
        .filter_map(Json::as_str)
        .collect();
    assert!(leader.iter().all(|it| it.starts_with('\\')), "{leader:?}");
    editor.keys("\\a");
    wait_end(&editor, "Well.\n\n@You:\n\n");
}

#[test]
fn ctrl_bracket_says_what_waits_and_which_keys_decide() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    editor.keys("<C-]>");
    wait_message(
        &editor,
        "bash waits: Enter decides, Alt-Enter runs, Alt-r rejects.",
    );
    assert_eq!(became(&editor, "t_0"), "waits");
}

#[test]
fn the_decision_empties_the_message_line_unless_something_else_is_there() {
    let their_own = ":lua vim.api.nvim_echo({{'Their own.'}}, false, {})<CR>";
    for (before, seen, decides, stays) in [
        ("<CR>", "q leaves", "a", ""),
        ("", "needs approval", "<M-CR>", ""),
        (their_own, "Their own.", "<M-CR>", "Their own."),
    ] {
        let (_provider, editor) = commands(&["echo one"], &nothing_asked());
        let said = |rows: &[String]| rows.last().cloned().unwrap_or_default();
        editor.keys("<C-]>");
        editor.wait_screen("what waits", |rows| {
            said(rows).contains("bash waits: Enter")
        });
        editor.keys(before);
        editor.wait_screen(seen, |rows| {
            rows.iter().any(|it| it.contains(seen)) && !said(rows).starts_with(':')
        });
        editor.keys(decides);
        wait_end(&editor, "Well.\n\n@You:\n\n");
        editor.wait_screen("the message line", |rows| said(rows) == stays);
    }
}

#[test]
fn a_message_below_a_pending_call_is_offered_as_the_reason_of_a_rejection() {
    let (provider, editor) = commands(&["echo one", "echo two"], &nothing_asked());
    editor.lua(
        "vim.ui.select = function(items, options, done) _G.items = items done(items[2], 2) end",
        &json!([]),
    );
    editor.keys("GoUse another command.<Esc><C-]>");
    wait_message(
        &editor,
        "bash and another call wait, so your message is not sent.",
    );
    let expected = "**Tool Result:** `t_0` (error)\n\n```\nUse another command.\n```";
    wait_result(&editor, "t_0", expected);
    assert_eq!(editor.text().matches("Use another command.").count(), 1);
    assert_eq!(became(&editor, "t_1"), "waits");
    assert_eq!(provider.requests().len(), 1);
}

#[test]
fn a_message_below_a_pending_call_stays_if_the_user_decides_first() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    editor.lua(
        "vim.ui.select = function(items, options, done) _G.items = items done(items[1], 1) end",
        &json!([]),
    );
    editor.keys("GoUse another command.<Esc><C-]>");
    wait_message(&editor, "bash waits, so your message is not sent.");
    editor.wait_for("the question", |it| {
        it.lua("return _G.items ~= nil", &json!([])) == json!(true)
    });
    at_rest(&editor);
    assert_eq!(became(&editor, "t_0"), "waits");
    assert!(
        editor.text().ends_with("Use another command.\n"),
        "{}",
        editor.text()
    );
}

#[test]
fn a_pending_call_can_be_seen_where_fences_are_concealed() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    editor.lua(
        "vim.wo.conceallevel, vim.wo.concealcursor = 2, 'nc' vim.treesitter.start(0, 'markdown')",
        &json!([]),
    );
    editor.keys("gg");
    editor.wait_screen("concealed fences", |rows| {
        !rows.concat().contains("```flemma:tool")
    });
    for keys in ["gg", "G", "?Tool Result<CR>"] {
        editor.keys(keys);
        editor.wait_screen("the call and its keys", |rows| {
            let text = rows.concat();
            text.contains("bash: $ echo one") && text.contains("Enter: decide")
        });
    }
}

/// Puts the chat into a floating window, as tall as most of the screen.
fn float(editor: &Editor) {
    editor.lua(
        "vim.api.nvim_open_win(0, true, { relative = 'editor', row = 1, col = 4,
           width = vim.o.columns - 10, height = vim.o.lines - 6, border = 'rounded' })",
        &json!([]),
    );
}

#[test]
fn a_call_is_decided_in_a_floating_window() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    float(&editor);
    open_window(&editor);
    let floats = "return vim.api.nvim_win_get_config(0).relative ~= ''";
    assert_eq!(editor.lua(floats, &json!([])), json!(true));
    editor.wait_screen("the keys", |rows| {
        rows.concat().contains("a runs · t tries · A all")
    });
    editor.keys("a");
    wait_window(&editor, false);
    assert_eq!(editor.lua(floats, &json!([])), json!(true));
    wait_end(&editor, "Well.\n\n@You:\n\n");
}

#[test]
fn a_fixed_window_is_no_dead_end() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    editor.command("setlocal winfixbuf");
    open_window(&editor);
    editor.keys("q");
    wait_window(&editor, false);
    editor.command("Flemma new");
    editor.wait_for("another chat", |it| {
        it.lua("return vim.fn.expand('%:t')", &json!([])) != json!("question.chat")
    });
    editor.command("wincmd p");
    editor.command("Flemma log");
    let shows = |name: &str| {
        editor.wait_for(name, |it| {
            it.lua("return vim.fn.expand('%:t')", &json!([])) == json!(name)
        });
    };
    shows("log");
    editor.command("Flemma allow!");
    shows("allow.toml");
    let messages = editor.messages();
    assert!(
        !messages.contains("E1513") && !messages.contains("traceback"),
        "{messages}"
    );
}

#[test]
fn a_window_without_room_for_a_split_is_no_dead_end() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    editor.command("set lines=14 winheight=10 winminheight=10");
    open_window(&editor);
    editor.keys("a");
    wait_window(&editor, false);
    wait_end(&editor, "Well.\n\n@You:\n\n");
}

#[test]
fn no_message_waits_for_enter_without_a_line_for_messages() {
    let provider = Provider::anthropic([Answer::status(
        401,
        "no such key, and a long explanation of that",
    )]);
    let setup = setup(&provider)
        .file("question.chat", QUESTION)
        .size(60, 20);
    let editor = setup.start();
    watch(&editor);
    editor.command("set cmdheight=0");
    editor.keys("<C-]>");
    editor.wait_for("the error", |it| it.messages().contains("refused"));
    at_rest(&editor);
    assert!(!editor.screen().concat().contains("Press ENTER"));
    editor.keys("G");
}

#[test]
fn the_outline_opens_after_all_clients_were_stopped() {
    let (_provider, editor) = commands(&["echo one"], &nothing_asked());
    wait_server(&editor);
    editor.lua(
        "for _, client in ipairs(vim.lsp.get_clients()) do client:stop() end",
        &json!([]),
    );
    editor.keys("gO");
    editor.wait_for("the outline", |it| {
        it.lua(
            "return vim.bo.buftype == 'quickfix' and #vim.fn.getloclist(0) > 0",
            &json!([]),
        ) == json!(true)
    });
}

#[test]
fn a_file_is_opened_beside_a_fixed_window() {
    let provider = Provider::anthropic([] as [Answer; 0]);
    let setup = setup(&provider).with("f.txt", "one\n");
    let editor = setup.file("question.chat", "@You:\n@./f.txt\n").start();
    wait_server(&editor);
    editor.command("setlocal winfixbuf");
    editor.keys("gg/f.txt<CR>gd");
    editor.wait_for("the file", |it| {
        it.lua("return vim.fn.expand('%:t')", &json!([])) == json!("f.txt")
    });
    assert_eq!(
        editor.lua("return #vim.api.nvim_list_wins()", &json!([])),
        json!(2)
    );
}
