//! Scripts that send requests to a model, which may call tools.

use harness::{Answer, Provider, repository};
use serde_json::json;

use crate::script_tools::{copy, own};
use crate::shell::{Ran, Shell};

/// Runs the specification's script that requests a completion, with this provider.
fn ask(provider: &Provider, approve: &str) -> Ran {
    let shell = Shell::new(provider);
    copy(&repository().join("examples/tools"), &own(&shell));
    // What the chat may do is not for what a script asks.
    shell.configure(&format!(
        "provider = \"{}\"\nmodel = \"set\"\n[tools]\nweb = true\n",
        provider.name()
    ));
    let call = r#"{"question": "What is 15 times 23?", "model": "asked"}"#;
    shell.run(&["tool", "ask", call, "--approve", approve])
}

fn multiply(id: &str) -> Answer {
    let arguments = json!({"operation": "multiply", "a": 15, "b": 23});
    let call = json!({"name": "calculator", "arguments": arguments});
    Answer::new()
        .thinking("Well.", Some("sig"))
        .tool_use(id, "execute_tool", &call)
}

#[test]
fn a_script_asks_a_model_that_calls_a_tool_by_the_rules() {
    let search = Answer::new().tool_use("t_0", "tool_search", &json!({"query": "arithmetic"}));
    let provider = Provider::anthropic([search, multiply("t_1"), Answer::says("It is 345.")]);
    let ran = ask(&provider, "ask,calculator");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(0), "It is 345.\n"),
        "{ran:?}"
    );
    let requests = provider.requests();
    let first = &requests[0].body;
    assert_eq!(first["model"], "asked");
    assert!(
        first["system"]
            .to_string()
            .contains("You are a helpful assistant.")
    );
    let names: Vec<&str> = first["tools"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it["name"].as_str())
        .collect();
    assert_eq!(names, ["execute_tool", "tool_search"]);
    let found = requests[1].body["messages"].to_string();
    assert!(
        found.contains("Performs basic arithmetic") && found.contains("inputSchema"),
        "{found}"
    );
    assert!(requests[2].body["messages"].to_string().contains("345.0"));
}

#[test]
fn a_script_runs_no_call_that_the_rules_do_not_approve() {
    let shout = json!({"name": "shout", "arguments": {"text": "x"}});
    let call = Answer::new().tool_use("t_1", "execute_tool", &shout);
    let provider = Provider::anthropic([call, Answer::says("I could not.")]);
    let ran = ask(&provider, "ask");
    assert_eq!(
        (ran.code, ran.out.as_str()),
        (Some(4), "I could not.\n"),
        "{ran:?}"
    );
    let messages = provider.requests()[1].body["messages"].to_string();
    assert!(messages.contains("no policy approves it"), "{messages}");
}

#[test]
fn a_model_that_only_calls_tools_is_asked_ten_times() {
    let provider = Provider::chat_completions((0..20).map(|_| multiply("same_id")));
    let ran = ask(&provider, "ask,calculator");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("called tools 10 times in a row"),
        "{ran:?}"
    );
    assert_eq!(provider.requests().len(), 10);
}

#[test]
fn a_script_without_an_answer_gets_the_reason() {
    let provider = Provider::anthropic([Answer::status(
        400,
        r#"{"error": {"message": "no such model"}}"#,
    )]);
    let ran = ask(&provider, "ask");
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(
        ran.out.contains("CompletionError") && ran.out.contains("no such model"),
        "{ran:?}"
    );
}
