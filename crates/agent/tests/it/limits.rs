//! Limits, and invalid setups.

use agent::*;
use harness::Answer;
use serde_json::json;

use crate::stage::*;

fn calls(id: &str) -> Answer {
    Answer::new().tool_use(id, "get_weather", &json!({"city": "Oslo"}))
}

#[tokio::test]
async fn a_model_that_only_calls_is_stopped_and_every_call_has_a_result() {
    let provider = harness::Provider::anthropic([calls("t1"), calls("t2"), Answer::says("Sunny.")]);
    let mut agent = agent(&provider)
        .with_tools(vec![Box::new(Weather)])
        .approve(["get_weather"])
        .with_max_turns(2);

    let events = read(agent.prompt("Weather?")).await;

    assert_eq!(provider.requests().len(), 2);
    let text = shown(&events);
    assert!(
        text.ends_with("User: result t2 Weather in Oslo: 72°F, sunny\nlimit 2\nTurnLimit"),
        "{text}"
    );

    assert_eq!(
        agent.prompt("Go on.").answer().await,
        Ok("Sunny.".to_owned())
    );
    let messages = &provider.requests()[2].body["messages"];
    assert_eq!(messages[4]["content"][1]["text"], "Go on.");
}

#[tokio::test]
async fn the_same_failure_three_times_ends_the_run() {
    let wrong = |id: &str| Answer::new().tool_use(id, "get_weather", &json!({"town": "Oslo"}));
    let provider = harness::Provider::anthropic([wrong("t1"), wrong("t2"), wrong("t3")]);
    let mut agent = agent(&provider)
        .with_tools(vec![Box::new(Weather)])
        .approve(["get_weather"]);

    let ended = agent.prompt("Weather?").answer().await.unwrap_err();

    let Ended::Failed(problem) = ended else {
        panic!("{ended:?}");
    };
    assert!(problem.what.contains("same call"), "{problem}");
    assert_eq!(provider.requests().len(), 3);
}

#[tokio::test]
async fn a_failed_request_ends_the_run_and_the_next_prompt_retries() {
    let provider = harness::Provider::anthropic([
        Answer::status(400, r#"{"error": {"message": "too odd"}}"#),
        Answer::says("Ok."),
    ]);
    let mut agent = agent(&provider);

    let ended = agent.prompt("Odd.").answer().await.unwrap_err();

    let Ended::Failed(problem) = ended else {
        panic!("{ended:?}");
    };
    assert!(problem.what.contains("too odd"), "{problem}");
    assert_eq!(agent.prompt("Even.").answer().await, Ok("Ok.".to_owned()));
    let sent = &provider.requests()[1].body["messages"][0]["content"];
    assert!(sent.to_string().contains("Odd."), "{sent}");
}

#[tokio::test]
async fn an_invalid_setup_is_reported_and_nothing_is_sent() {
    let provider = harness::Provider::anthropic([Answer::says("Never.")]);
    let twice = || -> Vec<Box<dyn Tool>> { vec![Box::new(Weather), Box::new(Weather)] };
    for (mut agent, words, said) in [
        (agent(&provider), " \n", "There is nothing to send."),
        (
            agent(&provider).approve(["$readnly"]),
            "Hi.",
            "No preset is named \"$readnly\"",
        ),
        (
            agent(&provider).with_tools(twice()),
            "Hi.",
            "Two tools are named \"get_weather\"",
        ),
    ] {
        let events = read(agent.prompt(words)).await;
        assert!(
            shown(&events).starts_with(&format!("failed {said}")),
            "{}",
            shown(&events)
        );
    }
    assert!(provider.requests().is_empty());
}

#[test]
fn an_unknown_provider_is_an_error_that_lists_the_known_ones() {
    let problem = Provider::named("antropic").unwrap_err().to_string();
    assert!(
        problem.contains("Providers: anthropic, openai, gemini"),
        "{problem}"
    );
}
