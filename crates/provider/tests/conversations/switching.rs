//! One file in which every provider has answered, and what each of them is sent.
//!
//! The answers are the recorded streams, written into the chat as the host does.

use std::fs;

use chat::{answer::AnswerWriter, document::Document, prompt, text::Text};
use provider::{Decoder, StreamEvent};

use super::*;

/// Provider, its stream, and what of its thinking only it may see again.
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

/// The file after all of [`TURNS`]: a call of each is answered by hand, one of them
/// with an error.
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

/// An answer as it stands in the file, and the ids of its calls.
fn answer(provider: &str, protocol: Protocol, stream: &str) -> (String, Vec<String>) {
    let path = format!("{}/tests/streams/{stream}.sse", env!("CARGO_MANIFEST_DIR"));
    let mut decoder = Decoder::of(&endpoint(provider, protocol));
    let mut writer = AnswerWriter::new();
    let mut ids = Vec::new();
    for event in decoder.push(&fs::read(path).unwrap()) {
        match event {
            StreamEvent::Text(text) => writer.text(&text),
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

/// Whether a body holds the secret, as it is or inside an item that was base64.
fn holds(body: &str, secret: &str) -> bool {
    body.contains(&format!("\"{secret}\"")) || body.contains(&format!("{secret}\\n"))
}

#[test]
fn each_provider_is_sent_every_turn_and_only_its_own_thinking() {
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
