//! What each provider gets of a file in which every provider has answered.
//!
//! The answers are the recorded streams, written into the chat as the host does.

use std::fs;

use chat::{answer::AnswerWriter, document::Document, prompt, text::Text};
use provider::{Decoder, StreamEvent};

use super::*;

/// Provider, its stream, and the part of its thinking that only it may get.
const TURNS: [(&str, &str, &[&str]); 5] = [
    (
        "anthropic",
        "anthropic/interleaved_thinking",
        &["First.", "s1", "s2"],
    ),
    (
        "openai",
        "responses/several_reasoning_items",
        &["gAAAAAB0", "gAAAAAB2", "gAAAAAB3"],
    ),
    (
        "gemini",
        "gemini/thinking_and_parallel_calls",
        &["AbC+/1==", "DeF=="],
    ),
    (
        "deepseek",
        "chat_completions/reasoning_before_a_call",
        &["Look."],
    ),
    ("openai_compatible", "chat_completions/ids_missing", &[]),
];

/// Returns the file after all of [`TURNS`]. Each call is answered by hand, one of them with
/// an error.
fn file() -> String {
    let mut file = "@You:\nGo.\n".to_owned();
    for (provider, stream, _) in TURNS {
        let protocol = PROVIDERS.iter().find(|it| it.0 == provider).unwrap().1;
        let (answer, ids) = answer(provider, protocol, stream);
        file.push_str("\n@Assistant:");
        file.push_str(&answer);
        file.push_str("\n\n@You:\n");
        for (at, id) in ids.iter().enumerate() {
            let mark = if at == 0 { " (error)" } else { "" };
            file.push_str(&format!(
                "**Tool Result:** `{id}`{mark}\n\n```\nno such file\n```\n\n"
            ));
        }
        file.push_str("Go on.\n");
    }
    file
}

/// Returns an answer as written to the file, and the IDs of its calls.
fn answer(provider: &str, protocol: Protocol, stream: &str) -> (String, Vec<String>) {
    let path = format!("{}/tests/streams/{stream}.sse", env!("CARGO_MANIFEST_DIR"));
    let mut decoder = Decoder::of(&endpoint(provider, protocol));
    let mut writer = AnswerWriter::new();
    let mut ids = Vec::new();
    for event in decoder.push(&fs::read(path).unwrap()) {
        match event {
            StreamEvent::Text(text) => writer.text(&text),
            StreamEvent::TextEnd => writer.end_text(),
            StreamEvent::Thinking(text) => writer.thinking(&text),
            StreamEvent::ThinkingEnd { signature } => {
                writer.end_thinking(signature.as_deref().map(|value| (provider, value)));
            }
            StreamEvent::ToolUse(call) => {
                writer.tool_use(&call.name, &call.id, &call.input);
                ids.push(call.id);
            }
            _ => {}
        }
    }
    writer.finish(None);
    (writer.take(), ids)
}

/// Returns true if a body contains the secret, plain or in a base64 item.
fn holds(body: &str, secret: &str) -> bool {
    body.contains(&format!("\"{secret}\"")) || body.contains(&format!("{secret}\\n"))
}

#[test]
fn each_provider_gets_every_turn_and_only_its_own_thinking() {
    let file = file();
    let text = Text::from_bytes(file.as_str());
    let document = Document::parse(&text);
    let prompt = prompt::build(&document, &[]);
    let calls = file.matches("**Tool Use:**").count();
    assert!(calls >= 6, "{file}");
    for (name, protocol) in PROVIDERS {
        let body = body(&prompt, name, protocol);
        for (provider, _, secrets) in TURNS {
            for secret in secrets {
                assert_eq!(
                    holds(&body, secret),
                    provider == name,
                    "{secret} of {provider} to {name}: {body}"
                );
            }
        }
        assert_eq!(
            body.matches("no such file").count(),
            calls,
            "{name}: {body}"
        );
        assert_eq!(
            body.matches("Go on.").count(),
            TURNS.len(),
            "{name}: {body}"
        );
    }
}

#[test]
fn what_is_not_sent_stays_in_the_file() {
    let file = file();
    let text = Text::from_bytes(file.as_str());
    assert_eq!(Document::parse(&text).print(), file.as_bytes());
    for (provider, _, secrets) in TURNS {
        let marked = format!("<thinking {provider}:signature=\"");
        assert_eq!(
            file.contains(&marked),
            !secrets.is_empty(),
            "{provider}: {file}"
        );
    }
}
