//! How an answer ends, on the command line and in the file, in every protocol.

use harness::{Answer, Provider};
use serde_json::json;

use crate::shell::{Ran, Shell};
use crate::stage::{QUESTION, command};

/// A provider, and its stop reasons for a token limit and a failure.
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

/// Sends a question to a provider with these answers.
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
            .tool_use("t_1", "bash", &command("touch ran"))
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
fn optional_arguments_may_be_missing() {
    let left_out = Answer::new()
        .tool_use("t_1", "read", &json!({"path": "f.txt"}))
        .tool_use("t_2", "bash", &json!({"command": "echo hi", "label": null}));
    for (provider, _, _) in PROTOCOLS {
        let answers = vec![left_out.clone(), Answer::says("Done.")];
        let (ran, chat, _) = send(provider, answers, &["--approve", "bash"]);
        assert_eq!(ran.code, Some(0), "{ran:?}");
        assert!(chat.contains("f.txt does not exist"), "{chat}");
        assert!(chat.contains("```\nhi\n```"), "{chat}");
    }
}

#[test]
fn a_character_split_between_events_is_whole() {
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

#[test]
fn a_call_that_a_rule_denies_has_an_exit_code() {
    let script = || {
        vec![
            Answer::new().tool_use("t_1", "bash", &command("make")),
            Answer::says("I may not."),
        ]
    };
    let (ran, chat, _) = send(Provider::anthropic, script(), &["--restricted"]);
    assert_eq!(ran.code, Some(4), "{ran:?}\n{chat}");
    assert!(ran.err.contains("Denied by a rule: bash (t_1)."), "{ran:?}");

    let provider = Provider::anthropic(script());
    let shell = Shell::new(&provider);
    let spec = "name: x\nprompt:\n  template: Make it.\n";
    shell.write("x.yaml", spec);
    let ran = shell.run(&["run", "./x.yaml", "--restricted"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    assert_eq!(ran.out, "I may not.\n");
}

#[test]
fn a_result_that_mentions_a_denial_is_not_one() {
    let says = "echo 'The tool was denied by a policy.'; exit 3";
    let script = vec![
        Answer::new().tool_use("t_1", "bash", &command(says)),
        Answer::says("Well."),
    ];
    let (ran, _, _) = send(Provider::anthropic, script, &["--approve", "bash"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn lost_output_is_an_error_and_a_closed_pipe_is_not() {
    let provider = Provider::anthropic(["One.", "Two."]);
    let shell = Shell::new(&provider);
    shell.write("question.chat", QUESTION);
    let commands: [&[&str]; 5] = [
        &["send", "question.chat"],
        &["tools"],
        &["backends"],
        &["man"],
        &["tool", "calculator", r#"{"expression": "1"}"#],
    ];
    for command in commands {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
        let ran = shell
            .command(command)
            .stdout(full.unwrap())
            .output()
            .unwrap();
        assert_eq!(ran.status.code(), Some(1), "{command:?}");
        let said = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(
            said.contains("The output could not be written"),
            "{command:?}: {said}"
        );
    }
    assert!(
        shell.read("question.chat").contains("One."),
        "the answer is kept"
    );

    let mut read = shell.command(&["tools"]).spawn().unwrap();
    drop(read.stdout.take());
    assert_eq!(read.wait().unwrap().code(), Some(0));
}
