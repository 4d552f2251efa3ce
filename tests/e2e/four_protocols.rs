//! One conversation in one file, continued by four providers in turn, each in its own
//! protocol: thinking, two calls at once, and a failed result.

use harness::{Answer, Editor, Provider};
use serde_json::{Value as Json, json};

use crate::stage::*;
use crate::wire::*;

/// The answers of one provider: calls, then text in its first turn, and text in its second.
fn script(name: &str) -> [Answer; 3] {
    let calls = Answer::new()
        .thinking(&format!("Thought of {name}.\n@You: no"), Some("c2lnbmVk"))
        .text(&format!("I am {name}."))
        .tool_use(&format!("{name}_1"), "read", &file("f.txt"))
        .tool_use(&format!("{name}_2"), "read", &file("none.txt"));
    let done = Answer::says(&format!("Done by {name}."));
    [calls, done, Answer::says(&format!("Seen by {name}."))]
}

#[track_caller]
fn ask(editor: &Editor, provider: &Provider, question: &str, answer: &str) {
    editor.command(&format!(
        "Flemma switch {} {}",
        provider.name(),
        model(provider)
    ));
    wait_message(editor, &format!("sent to {}", provider.name()));
    editor.keys(&format!("Gi{question}<Esc><C-]>"));
    wait_end(editor, &format!("@Assistant:\n{answer}\n\n@You:\n\n"));
}

/// A model with thinking.
fn model(provider: &Provider) -> &'static str {
    match provider.name() {
        "anthropic" => "claude-sonnet-4-5",
        "openai" => "gpt-5.4",
        "gemini" => "gemini-2.5-pro",
        _ => "any",
    }
}

fn expect_valid(name: &str, body: &Json) {
    match name {
        "anthropic" => expect_valid_messages(body),
        "openai" => expect_valid_input(body),
        "gemini" => expect_valid_contents(body),
        _ => expect_valid_completion(body),
    }
}

#[test]
fn one_conversation_works_in_all_four_protocols() {
    let names = ["anthropic", "openai", "gemini", "openai_compatible"];
    let providers = [
        Provider::anthropic(script(names[0])),
        Provider::responses(script(names[1])),
        Provider::gemini(script(names[2])),
        Provider::chat_completions(script(names[3])),
    ];
    let options = json!({"parameters": {"thinking": "low", "max_tokens": 4000}});
    let setup = providers
        .iter()
        .fold(offline(), |setup, it| setup.provider(it));
    let setup = setup.options(options).with("f.txt", "a\n");
    let editor = setup.file("question.chat", "@You:\n\n").start();
    watch(&editor);
    for (provider, name) in providers.iter().zip(names) {
        ask(&editor, provider, "Read both.", &format!("Done by {name}."));
    }
    for (provider, name) in providers.iter().zip(names) {
        ask(
            &editor,
            provider,
            "What do you see?",
            &format!("Seen by {name}."),
        );
    }

    let chat = editor.text();
    assert_eq!(chat.matches("**Tool Use:**").count(), 8, "{chat}");
    assert_eq!(chat.matches("` (error)\n").count(), 4, "{chat}");
    for (provider, name) in providers.iter().zip(names) {
        let requests = provider.requests();
        assert_eq!(requests.len(), 3, "{name}");
        requests
            .iter()
            .for_each(|request| expect_valid(name, &request.body));
        let last = requests[2].body.to_string();
        for other in names {
            assert!(
                last.contains(&format!("I am {other}.")),
                "{other} at {name}: {last}"
            );
            let thought = last.contains(&format!("Thought of {other}."));
            // Chat Completions has no field for earlier thinking, and Gemini only its signature.
            let own = other == name && ["anthropic", "openai"].contains(&name);
            assert_eq!(thought, own, "what {other} thought at {name}: {last}");
        }
        let signed = last.contains("c2lnbmVk");
        assert_eq!(signed, name != "openai_compatible", "{name}: {last}");
        assert_eq!(
            last.matches("none.txt does not exist").count(),
            4,
            "{name}: {last}"
        );
    }
}
