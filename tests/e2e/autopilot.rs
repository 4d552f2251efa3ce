//! Autopilot: parallel calls, consecutive answers, and when it stops.

use harness::{Answer, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;

/// Approves everything, with further tool options.
fn approving(mut tools: Json) -> Json {
    tools["require_approval"] = json!(false);
    json!({"tools": tools})
}

/// An answer that runs a command.
fn runs(id: &str, text: &str) -> Answer {
    Answer::new().tool_use(id, "bash", &command(text))
}

#[test]
fn a_cancelled_command_leaves_no_process() {
    let text = "sleep 61 & echo $! > child; echo $$ > shell; wait";
    let provider = Provider::anthropic([runs("t_1", text)]);
    let editor = ask_with(&provider, approving(json!({})));
    editor.keys("<C-]>");
    let pid = |name: &str| std::fs::read_to_string(editor.dir().join(name)).unwrap_or_default();
    editor.wait_for("both run", |_| {
        pid("child").ends_with('\n') && pid("shell").ends_with('\n')
    });
    editor.keys("<C-c>");
    wait_event(&editor, "FlemmaToolFinished t_1");
    for name in ["child", "shell"] {
        let folder = std::path::Path::new("/proc").join(pid(name).trim());
        editor.wait_for("the process is gone", |_| {
            let status = std::fs::read_to_string(folder.join("stat")).unwrap_or_default();
            status.is_empty() || status.contains(") Z ")
        });
    }
}

#[test]
fn the_option_decides_where_the_cursor_goes_after_a_result() {
    for (option, expected) in [
        ("result", "**Tool Result:** `t_1`"),
        ("stay", "{\"label\":"),
        ("next", "Later."),
    ] {
        let provider = Provider::anthropic([runs("t_1", "echo out")]);
        let options = json!({"tools": {
            "cursor_after_result": option, "autopilot": {"enabled": false},
        }});
        let editor = ask_with(&provider, options);
        editor.keys("<C-]>");
        wait_event(&editor, "FlemmaRequestFinished success");
        at_rest(&editor);
        editor.keys("<C-]>");
        wait_cursor(&editor, "**Tool Result:** `t_1`");
        editor.keys("Go<CR>Later.<Esc>/label<CR>0<M-CR>");
        wait_result(&editor, "t_1", "**Tool Result:** `t_1`\n\n```\nout\n```");
        at_rest(&editor);
        wait_cursor(&editor, expected);
    }
}

#[test]
fn the_cursor_of_another_window_never_moves() {
    let calls = Answer::new()
        .tool_use(
            "t_1",
            "bash",
            &command("until [ -e go ]; do sleep 0.02; done"),
        )
        .tool_use(
            "t_2",
            "write",
            &json!({"label": "", "path": "x", "content": "x"}),
        );
    let provider = Provider::anthropic([calls]);
    let options = json!({"tools": {"auto_approve": ["bash"]}});
    let setup = with_options(&provider, options).with("other.txt", "one\ntwo\nthree\n");
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor.keys("<C-]>");
    wait_event(&editor, "FlemmaToolStarted t_1");
    editor.keys(":botright split other.txt<CR>jl");
    std::fs::write(editor.dir().join("go"), "").unwrap();
    wait_event(&editor, "FlemmaToolFinished t_1");
    editor.lua(
        "vim.api.nvim_win_call(vim.fn.win_getid(1), function() vim.cmd('Flemma tool:cancel') end)",
        &json!([]),
    );
    wait_message(&editor, "No tool is running here.");
    assert_eq!(editor.cursor(), (1, 1));
    assert_eq!(editor.text(), "one\ntwo\nthree\n");
}

/// The data of each event of a turn with one call. A failing autocommand of the user stops nothing.
#[test]
fn events_report_the_start_and_the_end() {
    let provider = Provider::anthropic([runs("t_1", "echo out"), Answer::says("Done.")]);
    let editor = ask_with(&provider, approving(json!({})));
    let code = r#"
        reported = {}
        vim.api.nvim_create_autocmd("User", { pattern = "Flemma*", callback = function(event)
          event.data.bufnr = event.data.bufnr == vim.api.nvim_get_current_buf()
          table.insert(reported, { event.match, event.data })
        end })
        vim.api.nvim_create_autocmd("User", { pattern = "Flemma*", callback = function()
          error("my own mistake")
        end })
    "#;
    editor.lua(code, &json!([]));
    editor.keys("<C-]>");
    wait_event(&editor, "FlemmaRested");
    let call = json!({"bufnr": true, "tool_id": "t_1", "tool_name": "bash"});
    let with = |mut data: Json, name: &str, value: Json| {
        data[name] = value;
        data
    };
    let request = json!({"bufnr": true});
    let answered = with(request.clone(), "status", json!("success"));
    let ended = with(call.clone(), "status", json!("success"));
    let ended = with(ended, "details", json!({"exit_code": 0}));
    assert_eq!(
        editor.lua("return reported", &json!([])),
        json!([
            ["FlemmaRequestStarted", request],
            ["FlemmaRequestFinished", answered],
            ["FlemmaToolStarted", with(call.clone(), "tool_label", json!("Bash"))],
            ["FlemmaToolFinished", ended],
            ["FlemmaRequestStarted", request],
            ["FlemmaRequestFinished", answered],
            ["FlemmaRested", {"bufnr": true, "limit": false, "stuck": false, "queued": 0, "waiting": []}],
        ])
    );
    wait_message(&editor, "my own mistake");
}

/// One call runs until its gate opens, and two are pending. Every kind of cancel ends all three.
#[test]
fn cancel_ends_running_and_approved_calls() {
    for keys in ["<C-c>", ":Flemma cancel<CR>", ":Flemma tool:cancel-all<CR>"] {
        let calls = Answer::new()
            .tool_use("t_1", "bash", &command("echo started; sleep 3000"))
            .tool_use("t_2", "bash", &command("echo two"))
            .tool_use(
                "t_3",
                "write",
                &json!({"label": "x", "path": "f.txt", "content": "x"}),
            );
        let provider = Provider::anthropic([calls]);
        let editor = ask_with(&provider, json!({"tools": {"auto_approve": []}}));
        editor.keys("<C-]>");
        editor.wait_for("three calls that wait", |editor| {
            editor.text().matches("status=pending").count() == 3
        });
        editor.keys(&format!("gg{APPROVE}<C-]>"));
        crate::traces::wait_running(&editor);
        editor.keys(keys);
        editor.wait_for("the end of all calls", |editor| {
            !editor.text().contains("status=")
        });
        for id in ["t_1", "t_2", "t_3"] {
            let block = result(&editor, id);
            assert!(
                block.contains("(error)") && block.contains("ancelled"),
                "{keys}: {block}"
            );
        }
        expect_requests(&editor, 1);
        editor.keys(keys);
        wait_message(&editor, "Nothing is running here.");
    }
}
