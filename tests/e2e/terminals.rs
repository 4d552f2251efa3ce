//! Text that would move the cursor or reorder words: escaped on a terminal, raw in a
//! pipe.

use harness::{Answer, Provider};
use serde_json::{Value as Json, json};

use crate::shell::Shell;

/// Text that reverses and colors what follows it.
const TRICK: &str = "\u{202e}txt.exe\u{1b}[31m\u{200b}\u{9b}";
const SPELLED: &str = "<202e>txt.exe^[[31m<200b><9b>";

/// Returns true if a text has no character that a terminal interprets.
fn is_harmless(text: &str) -> bool {
    let special = ['\u{202e}', '\u{1b}', '\u{200b}', '\u{9b}'];
    !text.contains(special)
}

#[test]
fn a_models_text_is_escaped_on_a_terminal_and_raw_in_a_pipe() {
    let answer = || Answer::says(&format!("Open {TRICK}"));
    let provider = Provider::anthropic([answer(), answer(), answer()]);
    let shell = Shell::new(&provider);
    let ran = shell.at_terminal(&["send", "a.chat", "-m", "Go."], &[]);
    assert!(ran.out.contains(&format!("Open {SPELLED}")), "{ran:?}");
    assert!(is_harmless(&ran.out), "{ran:?}");
    let ran = shell.run(&["send", "b.chat", "-m", "Go."]);
    assert_eq!(ran.out, format!("Open {TRICK}\n"));
    let ran = shell.run(&["send", "c.chat", "-m", "Go.", "--events", "jsonl"]);
    assert!(
        is_harmless(&ran.out) && ran.out.contains("\\u202e"),
        "{ran:?}"
    );
    let lines = ran
        .out
        .lines()
        .map(|it| serde_json::from_str::<Json>(it).unwrap());
    let words: String = lines
        .filter(|it| it["event"] == "text")
        .map(|it| it["text"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(words, format!("Open {TRICK}"));
}

#[test]
fn a_dry_run_prints_the_request_with_escapes() {
    let shell = Shell::new(&Provider::anthropic([Answer::says("Never.")]));
    let ran = shell.run(&["send", "a.chat", "--dry-run", "-m", TRICK]);
    assert!(is_harmless(&ran.out), "{ran:?}");
    let (_, body) = ran.out.split_once("\n\n").unwrap();
    let body: Json = serde_json::from_str(body).unwrap();
    assert!(body.to_string().contains('\u{202e}'), "{body}");
}

#[test]
fn results_and_lists_are_escaped_on_a_terminal_and_raw_in_a_pipe() {
    let shell = Shell::offline();
    shell.write("f.txt", &format!("Open {TRICK}\n"));
    shell.write(
        ".flemma/commands/x.yaml",
        "name: x\ndescription: \"Open \\u202etxt.exe\"\nprompt:\n  template: Hi.\n",
    );
    let call = ["tool", "read", r#"{"path":"f.txt"}"#];
    for (arguments, spelled, whole) in [
        (&call[..], SPELLED, TRICK),
        (&["run"], "<202e>txt.exe", "\u{202e}txt.exe"),
    ] {
        let ran = shell.at_terminal(arguments, &[]);
        assert!(ran.out.contains(&format!("Open {spelled}")), "{ran:?}");
        assert!(is_harmless(&ran.out), "{ran:?}");
        let ran = shell.run(arguments);
        assert!(ran.out.contains(&format!("Open {whole}")), "{ran:?}");
    }
}

#[test]
fn the_log_and_messages_about_a_file_are_escaped() {
    let answer = Answer::new().tool_use("t_1", "ba\u{202e}sh", &json!({}));
    let provider = Provider::anthropic([answer]);
    let shell = Shell::new(&provider);
    let ran = shell.run(&["send", "a.chat", "-m", "Go."]);
    assert!(
        is_harmless(&ran.err) && ran.err.contains("ba<202e>sh"),
        "{ran:?}"
    );
    let ran = shell.at_terminal(&["log"], &[]);
    assert!(
        is_harmless(&ran.out) && ran.out.contains("ba<202e>sh"),
        "{ran:?}"
    );
    let ran = shell.run(&["log", "--json"]);
    assert!(
        is_harmless(&ran.out) && ran.out.contains("ba\\u202esh"),
        "{ran:?}"
    );
    let ran = shell.run(&["send", "no\u{202e}ne.chat"]);
    assert!(ran.err.contains("no<202e>ne.chat"), "{ran:?}");
}
