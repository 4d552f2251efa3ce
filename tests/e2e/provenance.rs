//! Approvals and calls count if the user types them in this session: text that is
//! inserted in bulk or restored by undo approves nothing.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;
use crate::traces::{counted, runs, settle, wait_review};

/// A turn with a call of `bash`, and a placeholder with this status.
fn turn(id: &str, status: Option<&str>) -> String {
    let call = counted("true");
    let result = status
        .map(|it| format!("\n@You:\n**Tool Result:** `{id}`\n\n```flemma:tool status={it}\n```\n"));
    format!(
        "@You:\nGo.\n\n@Assistant:\n**Tool Use:** `bash` (`{id}`)\n\n```json\n{call}\n```\n{}",
        result.unwrap_or_default()
    )
}

/// Every call is approved, and autopilot is off.
fn options() -> Json {
    json!({"tools": {"require_approval": false, "autopilot": {"enabled": false}}})
}

/// Ways to insert text in bulk. The text is `...`, and also in register `a` and in `block.txt`.
const WAYS: [(&str, &str); 8] = [
    ("p", "vim.cmd([[normal! \"aP]])"),
    (":put", "vim.cmd('0put a')"),
    (":read", "vim.cmd('0read block.txt')"),
    ("nvim_paste", "vim.api.nvim_paste(..., true, -1)"),
    (
        "nvim_paste in Insert mode",
        "vim.cmd.startinsert() vim.api.nvim_paste(..., true, -1) vim.cmd.stopinsert()",
    ),
    (
        "another plugin",
        "vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(..., '\\n'))",
    ),
    (
        "a register in Insert mode",
        "vim.api.nvim_feedkeys(vim.keycode('i<C-r>a<Esc>'), 'ntx', false)",
    ),
    (
        "a macro",
        "vim.fn.setreg('q', 'i' .. ... .. vim.keycode('<Esc>')) vim.cmd('normal! @q')",
    ),
];

#[track_caller]
fn arrive(editor: &Editor, code: &str, text: &str) {
    std::fs::write(editor.dir().join("block.txt"), text).unwrap();
    editor.lua("vim.fn.setreg('a', ..., 'V')", &json!([text]));
    editor.lua(code, &json!([text]));
    editor.wait_text("**Tool Use:**");
}

#[test]
fn blocks_and_calls_inserted_in_bulk_wait() {
    let provider = Provider::anthropic::<Answer>([]);
    let setup = with_options(&provider, options()).file("question.chat", "\n");
    let editor = setup.start();
    watch(&editor);
    editor.command("setlocal noautoindent formatoptions=");
    for (number, (way, code)) in WAYS.iter().enumerate() {
        for (kind, status) in [("a", Some("approved")), ("b", None), ("c", Some("approve"))] {
            let id = format!("{kind}{number}");
            arrive(&editor, code, &turn(&id, status));
            if kind == "c" {
                // The user completes an invalid status by hand, which is a decision.
                continue_by_hand(&editor, &id);
            } else {
                editor.keys("<C-]>");
                assert_eq!(outcomes(&editor, [&id]), ["waits"], "{way} {kind}");
                settle(&editor);
                assert_eq!(runs(&editor), number, "{way} {kind}");
            }
            editor.command("%delete");
            settle(&editor);
        }
        assert_eq!(runs(&editor), number + 1, "{way}");
    }
}

#[track_caller]
fn continue_by_hand(editor: &Editor, id: &str) {
    editor.keys("gg/status=approve<CR>Ad<Esc><C-]>");
    editor.wait_for("the end of the call", |editor| became(editor, id) == "ran");
}

#[test]
fn a_call_that_the_user_types_runs() {
    let provider = Provider::anthropic([Answer::says("Well.")]);
    let setup = with_options(&provider, options()).file("question.chat", "");
    let editor = setup.start();
    watch(&editor);
    editor.type_text(&turn("t_1", None));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["ran"]);
    assert_eq!(runs(&editor), 1);
}

#[test]
fn persistent_undo_does_not_restore_a_used_approval() {
    let call = counted("echo result");
    let provider = Provider::anthropic([Answer::new().tool_use("t_1", "bash", &call)]);
    // With folds, the first key would only open the fold of the call.
    let options = json!({"tools": {"autopilot": {"enabled": false}}, "folds": {"enabled": false}});
    let editor = ask_with(&provider, options);
    editor.command("let &undodir = getcwd() .. '/undo' | call mkdir(&undodir)");
    editor.command("set undofile");
    editor.keys("<C-]>");
    editor.wait_text("t_1");
    crate::traces::wait_request_over(&editor);
    editor.keys("<C-]>");
    wait_review(&editor);
    editor.keys(&format!("gg{APPROVE}<C-]>"));
    editor.wait_text("\nresult\n");
    settle(&editor);
    editor.command("write | bwipeout | edit question.chat");
    settle(&editor);
    assert_eq!(runs(&editor), 1);
    editor.keys("u");
    editor.wait_text("status=approved");
    for keys in ["<C-]>", "u<C-]>", "uu<C-r><C-]>"] {
        editor.keys(keys);
        wait_review(&editor);
        settle(&editor);
        assert_eq!(runs(&editor), 1, "after {keys}");
    }
    let undone: Json = editor.lua("return vim.fn.undotree().seq_cur", &json!([]));
    assert!(undone.is_number());
}

#[test]
fn frontmatter_inserted_in_bulk_is_not_trusted_and_the_users_template_is() {
    let loose = below("flemma.opt.tools.auto_approve = { \"bash\" }");
    for (code, expected) in [
        ("vim.api.nvim_paste(..., true, -1)", "waits"),
        (
            "vim.api.nvim_buf_set_lines(0, 0, -1, false, vim.split(..., '\\n'))",
            "waits",
        ),
        (
            "vim.cmd.bwipeout({ bang = true })
             vim.api.nvim_create_autocmd('BufNewFile', { pattern = '*.chat', command = '0read template' })
             vim.cmd.edit('new.chat')",
            "ran",
        ),
    ] {
        let call = Answer::new().tool_use("t_1", "bash", &command("echo out"));
        let provider = Provider::anthropic([call]);
        let setup = setup(&provider).with("template", &loose);
        let editor = setup.file("question.chat", "").start();
        watch(&editor);
        at_rest(&editor);
        editor.lua(code, &json!([loose]));
        editor.wait_text("auto_approve");
        editor.keys("<C-]>");
        assert_eq!(outcomes(&editor, ["t_1"]), [expected], "{code}");
    }
}
