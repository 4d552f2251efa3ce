//! `flemma run` and `:Flemma run`: commands written as YAML.

use std::fs;

use harness::{Answer, Provider, repository};
use serde_json::{Value as Json, json};

use crate::shell::Shell;
use crate::stage;

/// A shell whose project has the example commands of the specification.
fn shell(provider: &Provider) -> Shell {
    let shell = Shell::new(provider);
    for name in [
        "project-analyzer",
        "auto-refactor",
        "check-deps",
        "comprehensive-review",
    ] {
        shell.write(&format!(".flemma/commands/{name}.yaml"), &example(name));
    }
    shell
}

fn example(name: &str) -> String {
    fs::read_to_string(repository().join(format!("examples/commands/{name}.yaml"))).unwrap()
}

/// Returns true if a request offers the tools that a command has in addition to those of a chat.
fn offers_http_get(body: &Json) -> bool {
    let tools = body["tools"].as_array().into_iter().flatten();
    tools
        .map(|tool| &tool["name"])
        .any(|name| name == "http_get")
}

#[test]
fn a_command_sends_its_prompt_and_prints_the_last_words() {
    let look = json!({"path": "package.json"});
    let list = json!({"path": "README.md", "max_lines": 1});
    let provider = Provider::anthropic([
        Answer::says("Looking.")
            .tool_use("t_1", "read_file", &look)
            .tool_use("t_2", "read_file", &list),
        Answer::says("All is well."),
    ]);
    let shell = shell(&provider);
    // The default model takes no temperature.
    shell.configure("model = \"claude-sonnet-4-6\"\n");
    shell.write("README.md", "one\ntwo\n");
    let ran = shell.run(&["run", "project-analyzer", "./my-app"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "All is well.\n"),
        "{ran:?}"
    );
    let requests = provider.requests();
    let body = &requests[0].body;
    assert!(
        body["system"]
            .to_string()
            .contains("You are an expert software architect")
    );
    let text = body["messages"][0]["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with("Analyze the project at: ./my-app\n"),
        "{text}"
    );
    assert_eq!(
        (&body["temperature"], &body["max_tokens"]),
        (&json!(0.5), &json!(2000))
    );
    assert!(offers_http_get(body), "{body}");
    // The model gets an error for the missing file, and the run continues.
    let results = &requests[1].body["messages"][2]["content"];
    assert_eq!(results[0]["is_error"], true);
    assert!(
        results[1]["content"]
            .as_str()
            .unwrap()
            .contains("1 more line"),
        "{results}"
    );
}

#[test]
fn a_missing_argument_has_its_default_or_is_reported() {
    let provider = Provider::anthropic([Answer::says("Fine.")]);
    let shell = shell(&provider);
    assert_eq!(shell.run(&["run", "project-analyzer"]).code, Some(0));
    let text = &provider.requests()[0].body["messages"][0]["content"][0]["text"];
    assert!(
        text.as_str()
            .unwrap()
            .starts_with("Analyze the project at: .\n")
    );
    for (words, code, said) in [
        (
            &["run", "auto-refactor"][..],
            2,
            "missing required argument: file",
        ),
        (&["run", "check-deps", "x"], 2, "one argument too many"),
        (&["run", "check-dep"], 1, "Did you mean \"check-deps\"?"),
        (&["run", "./nothing.yaml"], 1, "nothing.yaml"),
    ] {
        let ran = shell.run(words);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(ran.err.contains(said), "{ran:?}");
    }
    assert_eq!(provider.requests().len(), 1);
    let listed = shell.run(&["run"]).out;
    assert!(
        listed.contains("auto-refactor <file>") && listed.contains("project-analyzer [path]"),
        "{listed}"
    );
}

#[test]
fn five_rounds_are_the_limit() {
    let provider = Provider::anthropic((0..9).map(|turn| {
        let id = format!("t_{turn}");
        let call = json!({"expression": "1+1"});
        Answer::says(&format!("Round {turn}.")).tool_use(&id, "calculator", &call)
    }));
    let shell = shell(&provider);
    let ran = shell.run(&["run", "check-deps"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(3), "Round 4.\n"),
        "{ran:?}"
    );
    assert_eq!(provider.requests().len(), 5);
    assert!(ran.err.contains("round limit (5) reached"), "{}", ran.err);
}

#[test]
fn a_write_is_asked_about_and_the_answer_can_be_piped() {
    let write = json!({"path": "out.txt", "content": "new\n"});
    for (answer, code, written) in [("y\n", 0, true), ("n\n", 4, false)] {
        let provider = Provider::anthropic([
            Answer::new().tool_use("t", "write_file", &write),
            Answer::says("Done."),
        ]);
        let shell = shell(&provider);
        let words = ["run", "auto-refactor", "f.js", "--chat", "kept.chat"];
        let ran = shell.run_with(&words, answer);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        assert!(
            ran.err.contains("Tool write_file wants to write to /"),
            "{}",
            ran.err
        );
        assert_eq!(shell.path("out.txt").exists(), written);
        assert!(shell.read("kept.chat").contains("f.js.refactored"));
        assert_eq!(shell.run_with(&words, "").code, Some(1), "the file exists");
    }
}

#[test]
fn in_neovim_a_command_opens_a_chat_and_sends_it() {
    let call = json!({"command": "ls"});
    let provider = Provider::anthropic([Answer::new().tool_use("t", "shell", &call)]);
    let options = json!({"model": "claude-sonnet-4-6"});
    let setup = stage::with_options(&provider, options).with(
        ".flemma/commands/project-analyzer.yaml",
        example("project-analyzer"),
    );
    let editor = setup.start();
    editor.keys(":Flemma run project-analyzer ./my-app<CR>");
    editor.wait_text("status=pending");
    let text = editor.text();
    assert!(
        text.contains("\n@You:\nAnalyze the project at: ./my-app\n"),
        "{text}"
    );
    assert!(text.contains("**Tool Use:** `shell` (`t`)"), "{text}");
    let body = &provider.requests()[0].body;
    assert!(offers_http_get(body), "{body}");
    assert_eq!(
        (&body["temperature"], &body["max_tokens"]),
        (&json!(0.5), &json!(2000))
    );
}

#[test]
fn in_neovim_an_unknown_command_is_reported() {
    let provider = Provider::anthropic(Vec::<Answer>::new());
    let editor = stage::with_options(&provider, json!({})).start();
    editor.keys(":Flemma run nothing<CR>");
    stage::wait_message(&editor, "There is no command \"nothing\".");
}

#[test]
fn backends_completions_and_manual_are_printed() {
    let provider = Provider::anthropic(Vec::<Answer>::new());
    let shell = Shell::new(&provider);
    let rows = shell.run(&["backends"]).out;
    let row = rows
        .lines()
        .find(|row| row.starts_with("anthropic "))
        .unwrap();
    assert!(
        row.contains(&provider.url()) && row.contains("  yes  "),
        "{rows}"
    );
    assert!(rows.lines().next().unwrap().starts_with("NAME"), "{rows}");
    for name in ["gemini", "vertex", "openai_compatible", "tutor"] {
        assert!(rows.lines().any(|row| row.starts_with(name)), "{rows}");
    }
    assert!(rows.contains("\n\nCatalogue of models: 20"), "{rows}");
    for name in ["bash", "zsh", "fish"] {
        let completions = shell.run(&["completions", name]).out;
        assert!(completions.contains("flemma") && completions.contains("dry-run"));
    }
    let page = shell.run(&["man", "send"]);
    assert!(
        page.out.contains(".TH flemma-send 1") && page.out.contains("Exit codes"),
        "{page:?}"
    );
    assert!(shell.run(&["man"]).out.contains("flemma\\-send(1)"));
    assert_eq!(shell.run(&["man", "sned"]).code, Some(2));
}

#[test]
fn a_command_may_be_named_with_a_slash() {
    let provider = Provider::anthropic(["Hello."]);
    let shell = Shell::new(&provider);
    let spec = "name: hello\nprompt:\n  template: Say hello.\n";
    shell.write(".flemma/commands/hello.yaml", spec);
    let ran = shell.run(&["run", "/hello"]);
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "Hello.\n"),
        "{ran:?}"
    );
}
