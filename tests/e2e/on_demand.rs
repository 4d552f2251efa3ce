//! Tools that no request includes by default: the user adds them, or the model finds them
//! by keywords and runs them through another tool, under their own rules.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage::*;

fn run(name: &str, arguments: Json) -> Json {
    json!({"name": name, "arguments": arguments})
}

#[track_caller]
fn offered(editor: &Editor, provider: &Provider, at: usize) -> Vec<String> {
    editor.wait_for("a request", |_| provider.requests().len() > at);
    let tools = provider.requests()[at].body["tools"].clone();
    let tools = tools.as_array().into_iter().flatten();
    tools
        .map(|it| it["name"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_request_has_the_default_tools_and_those_that_the_user_adds() {
    let usual = ["bash", "calculator", "edit", "read", "write"];
    let provider = Provider::anthropic([Answer::says("a"), Answer::says("b")]);
    let editor = ask_with(&provider, json!({}));
    editor.keys("<C-]>");
    assert_eq!(offered(&editor, &provider, 0), usual);
    let provider = Provider::anthropic([Answer::says("a")]);
    let more = json!({"tools": {"offer": ["ls", "grep", "tool_search"]}});
    let editor = ask_with(&provider, more);
    editor.keys("<C-]>");
    assert_eq!(
        offered(&editor, &provider, 0),
        [
            "bash",
            "calculator",
            "edit",
            "grep",
            "ls",
            "read",
            "tool_search",
            "write"
        ]
    );
    let provider = Provider::anthropic([Answer::says("a")]);
    let editor = type_below(&provider, "flemma.opt.tools:append(\"http_get\")");
    editor.keys("<C-]>");
    let names = offered(&editor, &provider, 0);
    assert!(names.contains(&"http_get".to_owned()), "{names:?}");
}

#[test]
fn grep_and_ls_run_with_the_standard_preset() {
    let provider = Provider::anthropic([Answer::new()
        .tool_use(
            "t_g",
            "grep",
            json!({"label": "", "pattern": "a", "path": null, "glob": "*.txt", "limit": null}),
        )
        .tool_use(
            "t_l",
            "ls",
            json!({"label": "", "path": null, "max_depth": null, "limit": null}),
        )]);
    let setup = with_options(&provider, json!({"tools": {"auto_approve": ["$standard"]}}));
    let editor = setup
        .with("f.txt", "a\n")
        .file("question.chat", QUESTION)
        .start();
    watch(&editor);
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_g", "t_l"]), ["ran", "ran"]);
    assert!(result(&editor, "t_g").contains("f.txt:1:a"));
}

#[test]
fn a_tool_that_was_found_runs_by_its_own_rules() {
    let provider = Provider::anthropic([Answer::new()
        .tool_use("t_s", "tool_search", json!({"query": "calculator"}))
        .tool_use("t_r", "execute_tool", run("read", file("f.txt")))
        .tool_use("t_b", "execute_tool", run("bash", command("touch ran")))
        .tool_use(
            "t_c",
            "execute_tool",
            run("calculator", json!({"expression": "7*8"})),
        )
        .tool_use("t_n", "execute_tool", run("nothing", json!({})))
        .tool_use("t_x", "execute_tool", run("read", json!({"path": 7})))
        .tool_use(
            "t_e",
            "execute_tool",
            run("execute_tool", run("read", file("f.txt"))),
        )]);
    let options = json!({"tools": {
        "auto_approve": ["$default", "tool_search", "$no-calculator"],
        "presets": {"$no-calculator": {"deny": ["calculator"]}},
    }});
    let setup = with_options(&provider, options);
    let editor = setup
        .with("f.txt", "in the file\n")
        .file("question.chat", QUESTION)
        .start();
    watch(&editor);
    editor.keys("<C-]>");
    let ids = ["t_s", "t_r", "t_b", "t_c", "t_n", "t_x", "t_e"];
    assert_eq!(
        outcomes(&editor, ids),
        [
            "ran", "ran", "waits", "denied", "failed", "failed", "failed"
        ]
    );
    assert!(result(&editor, "t_r").contains("in the file"));
    let found = result(&editor, "t_s");
    let json = found
        .split_once("```\n")
        .unwrap()
        .1
        .rsplit_once("\n```")
        .unwrap()
        .0;
    let found: Json = serde_json::from_str(json).unwrap();
    assert_eq!(
        (&found[0]["name"], &found[0]["score"]),
        (&json!("calculator"), &json!(1))
    );
    assert_eq!(found[0]["inputSchema"]["required"], json!(["expression"]));
    assert!(result(&editor, "t_n").contains("There is no tool named \"nothing\""));
    assert!(result(&editor, "t_x").contains("The arguments do not fit the schema of \"read\""));
    assert!(result(&editor, "t_e").contains("cannot run itself"));
    editor.wait_screen("what the waiting call would do", |rows| {
        rows.iter()
            .any(|it| it.contains("execute_tool: bash: $ touch ran"))
    });
    // The user's own act lets the call inside run.
    editor.keys("/pending<CR><M-CR>");
    editor.wait_for("the command", |editor| editor.dir().join("ran").exists());
}

#[test]
fn a_protected_file_asks_through_another_tool_too() {
    let write = json!({"label": "", "path": ".envrc", "content": "x"});
    let provider =
        Provider::anthropic([Answer::new().tool_use("t_w", "execute_tool", run("write", write))]);
    let editor = ask_with(
        &provider,
        json!({"tools": {"auto_approve": ["$default", "execute_tool"]}}),
    );
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t_w"]), ["waits"]);
    assert!(!editor.dir().join(".envrc").exists());
}

#[test]
fn a_chat_without_a_tool_cannot_reach_it_through_another() {
    let call = run("bash", command("touch ran"));
    let provider = Provider::anthropic([Answer::new().tool_use("t", "execute_tool", call)]);
    let editor = type_below(&provider, "flemma.opt.tools = {\"read\", \"execute_tool\"}");
    editor.keys("<C-]>");
    assert_eq!(outcomes(&editor, ["t"]), ["failed"]);
    assert!(result(&editor, "t").contains("There is no tool named \"bash\""));
}

#[test]
fn on_the_command_line_the_question_is_about_the_inner_call() {
    let shell = Shell::offline();
    let write = run(
        "write",
        json!({"label": "", "path": "out.txt", "content": "x"}),
    );
    let ran = shell.run_with(&["tool", "execute_tool", &write.to_string()], "n\n");
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let asked = format!(
        "Tool write wants to write to {}",
        shell.path("out.txt").display()
    );
    assert!(ran.err.contains(&asked), "{}", ran.err);
    let read = run("calculator", json!({"expression": "7*8"}));
    let ran = shell.run(&["tool", "execute_tool", &read.to_string()]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(0), "56\n"), "{ran:?}");
    let ran = shell.run(&["tool", "tool_search", r#"{"query":"calculator"}"#, "--yes"]);
    assert!(ran.out.contains("\"score\": 1,"), "{ran:?}");
}
