//! The weather tool of the tool trait's specification, next to the default tools.

use agent::*;
use harness::Answer;
use serde_json::json;

use crate::stage::*;

fn with_weather(provider: &harness::Provider) -> Agent {
    let mut tools = default_tools();
    tools.push(Box::new(Weather));
    agent(provider).with_tools(tools).approve(["get_weather"])
}

fn asks(input: &Value) -> Answer {
    Answer::new().tool_use("t1", "get_weather", input)
}

#[tokio::test]
async fn a_custom_tool_is_called_and_the_model_reads_its_result() {
    let provider = harness::Provider::anthropic([
        asks(&json!({"city": "Oslo"})),
        Answer::says("Sunny in Oslo."),
    ]);
    let mut agent = with_weather(&provider);

    let events = read(agent.prompt("Weather in Oslo?")).await;

    check(
        &events,
        r#"
        User: Weather in Oslo?
        request 1
        call t1 get_weather {"city":"Oslo"}
        Assistant: use t1
        start t1 A look at the sky
        end t1 Weather in Oslo: 72°F, sunny
        User: result t1 Weather in Oslo: 72°F, sunny
        request 2
        text Sunny in Oslo.
        Assistant: Sunny in Oslo.
        Done
        "#,
    );
    let requests = provider.requests();
    assert_eq!(requests.len(), 2);
    let result = &requests[1].body["messages"][2]["content"][0];
    assert_eq!(result["content"], "Weather in Oslo: 72°F, sunny");
    assert_ne!(result["is_error"], json!(true));
    assert_eq!(
        agent.chat().trim_end(),
        "@You:\nWeather in Oslo?\n\n@Assistant:\n**Tool Use:** `get_weather` (`t1`)\n\n```json\n{\"city\":\"Oslo\"}\n```\n\n\
         @You:\n**Tool Result:** `t1`\n\n```\nWeather in Oslo: 72°F, sunny\n```\n\n@Assistant:\nSunny in Oslo.\n\n@You:"
    );
}

#[tokio::test]
async fn the_model_is_offered_default_and_custom_tools() {
    let provider = harness::Provider::anthropic([Answer::says("Hello.")]);
    let mut agent = with_weather(&provider);

    let answer = agent.prompt("Hi.").answer().await;

    assert_eq!(answer, Ok("Hello.".to_owned()));
    let request = &provider.requests()[0];
    let tools = request.body["tools"].as_array().unwrap();
    let names: Vec<&str> = tools
        .iter()
        .map(|it| it["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "bash",
            "calculator",
            "edit",
            "get_weather",
            "job_output",
            "job_stop",
            "read",
            "write"
        ]
    );
    assert_eq!(tools[3]["description"], "Get current weather for a city.");
    let raw = String::from_utf8_lossy(&request.raw);
    assert!(!raw.contains("A look at the sky"), "{raw}");
}

#[tokio::test]
async fn details_are_reported_but_not_sent_to_providers() {
    let provider =
        harness::Provider::anthropic([asks(&json!({"city": "Oslo"})), Answer::says("Sunny.")]);
    let mut agent = with_weather(&provider);

    let events = read(agent.prompt("Weather?")).await;

    let seen = events.iter().find_map(|event| match event {
        Event::ToolFinished { details, .. } => details.clone(),
        _ => None,
    });
    assert_eq!(seen, Some(json!({"k": "SECRET"})));
    for request in provider.requests() {
        let raw = String::from_utf8_lossy(&request.raw).into_owned();
        assert!(!raw.contains("SECRET"), "{raw}");
    }
    assert!(!agent.chat().contains("SECRET"));
}

#[tokio::test]
async fn missing_arguments_are_an_error_result() {
    let provider = harness::Provider::anthropic([asks(&json!({})), Answer::says("Which city?")]);
    let mut agent = with_weather(&provider);

    let events = read(agent.prompt("Weather?")).await;

    check(
        &events,
        r#"
        User: Weather?
        request 1
        call t1 get_weather {}
        Assistant: use t1
        not run t1 The arguments do not fit the schema of "get_weather", so the call was not run: missing city ("city" is a required property).
        User: result t1 (error) The arguments do not fit the schema of "get_weather", so the call was not run: missing city ("city" is a required property).
        request 2
        text Which city?
        Assistant: Which city?
        Done
        "#,
    );
    let result = &provider.requests()[1].body["messages"][2]["content"][0];
    assert_eq!(result["is_error"], json!(true));
}

#[tokio::test]
async fn each_provider_gets_its_own_format() {
    for start in [
        harness::Provider::anthropic::<Answer>,
        harness::Provider::chat_completions,
        harness::Provider::gemini,
        harness::Provider::responses,
    ] as [fn([Answer; 2]) -> harness::Provider; 4]
    {
        let provider = start([asks(&json!({"city": "Oslo"})), Answer::says("Sunny.")]);
        let mut agent = with_weather(&provider).with_system("Be brief.");

        let answer = agent.prompt("Weather?").answer().await;

        assert_eq!(answer, Ok("Sunny.".to_owned()), "{}", provider.name());
        let raw = String::from_utf8_lossy(&provider.requests()[1].raw).into_owned();
        assert!(raw.contains("Weather in Oslo: 72"), "{raw}");
        assert!(raw.contains("Be brief."), "{raw}");
    }
}

#[tokio::test]
async fn earlier_messages_are_sent() {
    let provider = harness::Provider::anthropic([Answer::says("Oslo.")]);
    let mut agent = with_weather(&provider)
        .with_said(PromptRole::User, "I go north.")
        .with_said(PromptRole::Assistant, "@You:\nWhere to?");

    assert_eq!(
        agent.prompt("Guess.").answer().await,
        Ok("Oslo.".to_owned())
    );

    let messages = &provider.requests()[0].body["messages"];
    let texts: Vec<&str> = (0..3)
        .filter_map(|at| messages[at]["content"][0]["text"].as_str())
        .collect();
    assert_eq!(texts, ["I go north.", "@You:\nWhere to?", "Guess."]);
}

#[tokio::test]
async fn the_next_prompt_continues_the_conversation() {
    let provider = harness::Provider::anthropic([Answer::says("One."), Answer::says("Two.")]);
    let mut agent = with_weather(&provider);

    let first = agent.prompt("First").answer().await;
    let events = read(agent.prompt("Second:\n@Assistant:\n```\nopen")).await;

    assert_eq!(first, Ok("One.".to_owned()));
    check(
        &events,
        "User: Second:\n@Assistant:\n```\nopen\n```\nrequest 1\ntext Two.\nAssistant: Two.\nDone",
    );
    let messages = &provider.requests()[1].body["messages"];
    assert_eq!(messages.as_array().map(Vec::len), Some(3));
}
