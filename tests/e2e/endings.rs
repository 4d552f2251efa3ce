//! How an answer ends, on the command line and in the file, on every protocol.

use harness::{Answer, Provider};
use serde_json::json;

use crate::shell::{Ran, Shell};
use crate::stage::{QUESTION, command};

/// A provider of each protocol, its word for a token limit, and one for a failure.
type Protocol = (fn(Vec<Answer>) -> Provider, &'static str, &'static str);

const PROTOCOLS: [Protocol; 4] = [
    (Provider::anthropic, "max_tokens", "novelty"),
    (
        Provider::chat_completions,
        "length",
        "insufficient_system_resource",
    ),
    (Provider::gemini, "MAX_TOKENS", "OTHER"),
    (Provider::responses, "max_output_tokens", "abort"),
];

/// Sends a question to a provider that gives these answers.
fn send(
    provider: fn(Vec<Answer>) -> Provider,
    answers: Vec<Answer>,
    more: &[&str],
) -> (Ran, String, Shell) {
    let provider = provider(answers);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let arguments = [
        &[
            "send",
            "question.chat",
            "--provider",
            provider.name(),
            "--model",
            "m",
        ],
        more,
    ];
    let ran = shell.run(&arguments.concat());
    let chat = shell.read("question.chat");
    (ran, chat, shell)
}

#[test]
fn an_answer_that_ends_for_an_unknown_reason_fails_and_runs_no_call() {
    for (provider, _, word) in PROTOCOLS {
        let answer = Answer::says("Half.")
            .tool_use("t_1", "bash", command("touch ran"))
            .stop(word);
        let (ran, chat, shell) = send(provider, vec![answer], &["--approve", "bash"]);
        assert_eq!(ran.code, Some(1), "{word}: {ran:?}");
        assert!(chat.contains("<!-- flemma:aborted: "), "{word}: {chat}");
        assert!(!shell.path("ran").exists(), "{word}: {chat}");
    }
}

#[test]
fn an_answer_that_reaches_its_token_limit_is_marked_and_has_an_exit_code() {
    for (provider, word, _) in PROTOCOLS {
        let (ran, chat, _) = send(provider, vec![Answer::says("Half.").stop(word)], &[]);
        assert_eq!(ran.code, Some(3), "{word}: {ran:?}");
        assert_eq!(ran.out, "Half.\n");
        assert!(ran.err.contains("reached its token limit"), "{ran:?}");
        let marked = "Half.\n\n<!-- flemma:aborted: The answer reached its token limit";
        assert!(chat.contains(marked), "{word}: {chat}");
    }
}

#[test]
fn arguments_that_may_be_left_out_are() {
    let left_out = Answer::new()
        .tool_use("t_1", "read", json!({"path": "f.txt"}))
        .tool_use("t_2", "bash", json!({"command": "echo hi", "label": null}));
    for (provider, _, _) in PROTOCOLS {
        let answers = vec![left_out.clone(), Answer::says("Done.")];
        let (ran, chat, _) = send(provider, answers, &["--approve", "bash"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(chat.contains("f.txt does not exist"), "{chat}");
        assert!(chat.contains("```\nhi\n```"), "{chat}");
    }
}

#[test]
fn a_character_that_a_server_cuts_in_two_is_one() {
    let half = |text: &str| {
        let delta = r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"TEXT"}}"#;
        format!(
            "event: content_block_delta\ndata: {}\n\n",
            delta.replace("TEXT", text)
        )
    };
    let answer = Answer::says("Well ")
        .bytes(half(r"\ud83d"))
        .bytes(half(r"\ude00, \ud83d."));
    let (ran, chat, _) = send(Provider::anthropic, vec![answer], &[]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(chat.contains("Well \u{1f600}, \u{fffd}."), "{chat}");
}
