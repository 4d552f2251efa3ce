//! Script tools in a chat: offered, reviewed, changed, and stopped while Neovim runs.

use std::fs;
use std::path::{Path, PathBuf};

use harness::{Answer, Editor, Provider, Setup, repository};
use serde_json::{Value as Json, json};

use crate::script_tools::{HELLO, write_tool};
use crate::stage::*;

#[track_caller]
fn editor_with_examples(provider: &Provider, options: Json) -> Editor {
    let mut setup = with_options(provider, options);
    let root = repository().join("examples/tools");
    for file in [
        "calculator/tool.toml",
        "calculator/calculator.py",
        "shout/tool.toml",
        "shout/script.py",
        "lib/string_utils.py",
    ] {
        let text = fs::read(root.join(file)).unwrap();
        setup = setup.with(&format!("../config/flemma/tools/{file}"), text);
    }
    start(setup)
}

#[track_caller]
fn start(setup: Setup) -> Editor {
    let editor = setup.file("question.chat", QUESTION).start();
    watch(&editor);
    editor
}

fn tools_of(editor: &Editor) -> PathBuf {
    editor.dir().join("../config/flemma/tools")
}

/// The names of the tools in the request with this index.
fn offered(provider: &Provider, number: usize) -> Vec<String> {
    offered_names(&provider.wait_requests(number + 1)[number].body)
}

#[test]
fn a_script_is_offered_waits_and_returns_its_result() {
    let multiply = json!({"operation": "multiply", "a": 7, "b": 8});
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "calculator", &multiply),
        Answer::says("It is 56."),
    ]);
    let editor = editor_with_examples(&provider, json!({}));
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_1"]), ["waits"]);
    let body = provider.wait_requests(1)[0].body.clone();
    let tools = body["tools"].as_array().unwrap();
    let calculator = tools.iter().find(|it| it["name"] == "calculator").unwrap();
    assert_eq!(
        calculator["input_schema"]["required"],
        json!(["operation", "a", "b"])
    );
    editor.keys(&format!("gg{APPROVE}<C-]>"));
    editor.wait_text("It is 56.\n\n@You:\n");
    assert!(
        result(&editor, "t_1").contains("```\n56.0\n```"),
        "{}",
        editor.text()
    );
}

#[test]
fn changed_folders_apply_from_the_next_turn() {
    let call = |id: &str, name: &str, input: Json| Answer::new().tool_use(id, name, &input);
    let text = json!({"text": "abc"});
    let provider = Provider::anthropic([
        call("t_1", "shout", text.clone()),
        Answer::says("One."),
        call("t_2", "shout", text.clone()),
        Answer::says("Two."),
        call("t_3", "renamed", json!({})),
        Answer::says("Three."),
    ]);
    let approve = json!({"tools": {"auto_approve": ["shout", "renamed", "added"]}});
    let editor = editor_with_examples(&provider, approve);
    editor.keys("<C-]>");
    editor.wait_text("One.\n\n@You:\n");
    assert!(result(&editor, "t_1").contains("```\nABC\n```"));
    assert_eq!(
        offered(&provider, 0),
        [
            "bash",
            "calculator",
            "edit",
            "job_output",
            "job_stop",
            "read",
            "shout",
            "write"
        ]
    );

    // Changes a library, adds a tool, and removes another.
    let root = tools_of(&editor);
    fs::write(
        root.join("lib/string_utils.py"),
        "def to_uppercase(t):\n    return t[::-1]\n",
    )
    .unwrap();
    write_tool(&root, "added", "print('new')");
    fs::remove_dir_all(root.join("calculator")).unwrap();
    editor.keys("GiAgain.<Esc><C-]>");
    editor.wait_text("Two.\n\n@You:\n");
    assert!(result(&editor, "t_2").contains("```\ncba\n```"));
    let names = offered(&provider, 2);
    assert_eq!(
        names,
        [
            "bash",
            "calculator",
            "edit",
            "job_output",
            "job_stop",
            "read",
            "shout",
            "write",
            "added"
        ]
    );

    // Changes a name, a definition, and a script.
    fs::write(
        root.join("added/tool.toml"),
        format!("name = \"renamed\"\n{HELLO}").replace("hello", "bye"),
    )
    .unwrap();
    fs::write(root.join("added/s.py"), "print('newer')").unwrap();
    editor.keys("GiAgain.<Esc><C-]>");
    editor.wait_text("Three.\n\n@You:\n");
    assert!(result(&editor, "t_3").contains("```\nnewer\n```"));
    let tools = offered_tools(&provider.requests()[4].body);
    let renamed = tools.iter().find(|it| it["name"] == "renamed");
    assert_eq!(renamed.unwrap()["description"], "Says bye");
}

#[test]
fn a_broken_tool_is_reported_and_offered_once_it_is_fixed() {
    let provider = Provider::anthropic([Answer::says("One."), Answer::says("Two.")]);
    let setup = with_options(&provider, json!({}));
    let editor = start(setup.with(
        "../config/flemma/tools/bad/tool.toml",
        "description = \"d\"\nscript = 5\n",
    ));
    wait_message(
        &editor,
        "bad/tool.toml, line 2: \"script\" must be text in quotes.",
    );
    let bad = tools_of(&editor).join("bad");
    fs::write(bad.join("tool.toml"), HELLO).unwrap();
    fs::write(bad.join("s.py"), "").unwrap();
    editor.keys("<C-]>");
    editor.wait_text("One.\n\n@You:\n");
    assert!(offered(&provider, 0).contains(&"bad".to_owned()));
}

#[test]
fn a_projects_tools_are_trusted_in_neovim_with_a_command() {
    let provider = Provider::anthropic([
        Answer::says("One."),
        Answer::says("Two."),
        Answer::new().tool_use("t_1", "hi", &json!({})),
        Answer::says("Three."),
    ]);
    let setup = with_options(&provider, json!({}));
    let setup = setup
        .with(".flemma/tools/hi/tool.toml", HELLO)
        .with(".flemma/tools/hi/s.py", "");
    let editor = start(setup);
    wait_message(
        &editor,
        "has tools that came with this project. They do not run until",
    );
    editor.keys("<C-]>");
    editor.wait_text("One.\n\n@You:\n");
    assert!(!offered(&provider, 0).contains(&"hi".to_owned()));
    editor.command("Flemma trust tools");
    wait_message(&editor, "can be called as they are now: hi.");
    editor.keys("GiAgain.<Esc><C-]>");
    editor.wait_text("Two.\n\n@You:\n");
    assert!(offered(&provider, 1).contains(&"hi".to_owned()));
    editor.command("Flemma trust! tools");
    wait_message(&editor, "are no longer trusted");
    editor.keys("GiAgain.<Esc><C-]>");
    editor.wait_text("Three.\n\n@You:\n");
    // What was offered is repeated, and a call is refused.
    let refused = became(&editor, "t_1");
    assert_eq!(refused, "failed", "{}", editor.text());
}

#[test]
fn cancelling_ends_a_script_and_what_it_started() {
    let provider = Provider::anthropic([Answer::new().tool_use("t_1", "slow", &json!({}))]);
    let setup = with_options(&provider, json!({"tools": {"auto_approve": ["slow"]}}));
    let python = "import subprocess, os\nchild = subprocess.Popen(['sleep', '600'])\n\
                  open('pid', 'w').write(str(child.pid))\nchild.wait()\n";
    let setup = setup.with("../config/flemma/tools/slow/tool.toml", HELLO);
    let editor = start(setup.with("../config/flemma/tools/slow/s.py", python));
    editor.keys("<C-]>");
    let pid = || fs::read_to_string(editor.dir().join("pid")).unwrap_or_default();
    editor.wait_for("the script's child", |_| !pid().is_empty());
    editor.keys("<C-c>");
    editor.wait_for("its end", |_| {
        !Path::new("/proc").join(pid()).join("exe").exists()
    });
    editor.wait_for("its result", |editor| became(editor, "t_1") == "failed");
}

#[test]
fn a_tools_other_output_reaches_autocommands_and_the_log_and_no_model() {
    let provider = Provider::anthropic([
        Answer::new().tool_use("t_1", "aside", &json!({})),
        Answer::says("Done."),
    ]);
    let options = json!({"tools": {"require_approval": false}});
    let setup = with_options(&provider, options)
        .env("FLEMMA_LOG", "flemma=debug")
        .with("../config/flemma/tools/aside/tool.toml", HELLO)
        .with(
            "../config/flemma/tools/aside/s.py",
            "import sys\nprint('aloud')\nprint('ASIDE', file=sys.stderr)",
        );
    let editor = start(setup);
    let code = "vim.api.nvim_create_autocmd('User', { pattern = 'FlemmaToolFinished',
        callback = function(event) details = event.data.details end })";
    editor.lua(code, &json!([]));
    editor.keys("<C-]>");
    editor.wait_text("Done.\n\n@You:\n");
    assert_eq!(
        editor.lua("return details", &json!([])),
        json!({"stderr": "ASIDE"})
    );
    let sent = provider.wait_requests(2)[1].body.to_string();
    assert!(sent.contains("aloud") && !sent.contains("ASIDE"), "{sent}");
    let code = "return vim.fn.readfile(vim.fn.stdpath('log') .. '/flemma.log')";
    let log = editor
        .lua(code, &json!([]))
        .to_string()
        .replace("\\\"", "\"");
    assert!(log.contains(r#"details={"stderr":"ASIDE"#), "{log}");
}
