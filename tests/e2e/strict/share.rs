//! How much of each request repeats the one before. Services cache what repeats, and charge a tenth
//! of the price for it.

use harness::{Answer, Dialect, Provider, Recorded, Strict};
use serde_json::{Value as Json, json};

use super::Talk;

/// Number of requests in the run.
const TURNS: usize = 30;
/// Bytes of each request that the one before begins with, at least, in percent of all.
const GOAL: f64 = 95.0;

/// A run of [`TURNS`] requests that edits two files in turn.
fn edits() -> Vec<Answer> {
    let edit = |turn: usize| {
        let path = ["a.txt", "b.txt"][turn % 2];
        let (old, new) = (turn / 2, turn / 2 + 1);
        let input = json!({
            "label": format!("count {path} up to {new}"), "path": path,
            "oldText": format!("n={old}\n"), "newText": format!("n={new}\n"), "edits": null,
        });
        Answer::new()
            .thinking("The other file is next.", Some("signature"))
            .text(&format!("Now {path} has {new}."))
            .tool_use(&format!("call_{turn}"), "edit", &input)
    };
    let mut answers: Vec<Answer> = (1..TURNS).map(|turn| edit(turn - 1)).collect();
    answers.push(Answer::says("Done."));
    answers
}

/// Number of bytes with which both texts begin.
fn common(one: &[u8], other: &[u8]) -> usize {
    let same = one
        .iter()
        .zip(other)
        .take_while(|(one, other)| one == other);
    same.count()
}

/// The bytes of a request without its cache marks, which move and are not compared.
fn unmarked(request: &Recorded) -> Vec<u8> {
    fn remove_marks(value: &mut Json) {
        if let Some(fields) = value.as_object_mut() {
            fields.remove("cache_control");
            fields.values_mut().for_each(remove_marks);
        }
        value
            .as_array_mut()
            .into_iter()
            .flatten()
            .for_each(remove_marks);
    }
    let mut body = request.body.clone();
    remove_marks(&mut body);
    body.to_string().into_bytes()
}

/// Plays the run, and returns its requests.
fn play(provider: Provider, model: &'static str) -> Vec<Recorded> {
    let talk = Talk::new(provider, model);
    let line = |number: usize| format!("Line {number} stays as it is.\n");
    let lines: String = (0..40).map(line).collect();
    for name in ["a.txt", "b.txt"] {
        talk.shell.write(name, &format!("n=0\n{lines}"));
    }
    let answers = edits();
    answers
        .into_iter()
        .for_each(|answer| talk.provider.then(answer));
    let message = "Count both up in turn: @./a.txt @./b.txt";
    let arguments = ["send", "a.chat", "-m", message, "--max-turns", "40"];
    let ran = talk.shell.run(&arguments);
    assert_eq!(ran.code, Some(0), "{talk:?}: {ran:?}");
    assert!(talk.shell.read("a.txt").starts_with("n=15\n"), "{talk:?}");
    assert_eq!(talk.provider.requests().len(), TURNS, "{talk:?}");
    talk.provider.requests()
}

/// The repeated share of all bytes after the first request, in percent.
fn share(bodies: &[Vec<u8>]) -> f64 {
    let pairs = bodies.iter().zip(&bodies[1..]);
    let (same, all) = pairs.fold((0, 0), |(same, all), (before, after)| {
        (same + common(before, after), all + after.len())
    });
    100.0 * same as f64 / all as f64
}

/// Asserts the share, and prints it for `cargo test -- --nocapture`.
#[track_caller]
#[allow(clippy::print_stdout)]
fn expect_goal(provider: Provider, model: &'static str) {
    let name = provider.name();
    let requests = play(provider, model);
    let raw: Vec<Vec<u8>> = requests.iter().map(|it| it.raw.clone()).collect();
    let content: Vec<Vec<u8>> = requests.iter().map(unmarked).collect();
    let (raw, content) = (share(&raw), share(&content));
    println!(
        "{name} ({model}): {content:.1}% repeat the request before, {raw:.1}% with cache marks"
    );
    assert!(content >= GOAL, "{name}: {content:.1}%");
}

#[test]
fn requests_to_anthropic_repeat_the_one_before() {
    let service = Strict::anthropic_without_dropping();
    expect_goal(
        Provider::anthropic([""; 0]).strict(service),
        "claude-opus-5-5",
    );
}

#[test]
fn requests_to_openai_repeat_the_one_before() {
    let provider = Provider::responses([""; 0]).strict(Strict::responses());
    expect_goal(provider, "gpt-6.1-sol");
}

#[test]
fn requests_to_gemini_repeat_the_one_before() {
    let provider = Provider::gemini([""; 0]).strict(Strict::gemini());
    expect_goal(provider, "gemini-3.8-pro");
}

#[test]
fn requests_with_chat_completions_repeat_the_one_before() {
    let service = Strict::chat_completions(Dialect::OpenAi);
    expect_goal(
        Provider::chat_completions([""; 0]).strict(service),
        "scripted-1",
    );
}
