//! The provider's own web tools.

use agent::*;
use harness::{Answer, Strict};
use provider::{Endpoint, Parameters, Protocol, Secret, WebTools};

use crate::stage::*;

const NEWS: (&str, &str) = ("News", "https://a.test/");

/// A program's own name for a server that speaks Anthropic's protocol.
fn searching(provider: &harness::Provider) -> Agent {
    let endpoint = Endpoint {
        provider: "mine".to_owned(),
        protocol: Protocol::AnthropicMessages,
        base_url: provider.url(),
        api_key: Some(Secret::new("test-key")),
        key_source: String::new(),
        ca_file: None,
    };
    let parameters = Parameters {
        model: "claude-opus-5-5".to_owned(),
        web: WebTools {
            search: true,
            ..WebTools::default()
        },
        ..Parameters::default()
    };
    Agent::new(Provider::found(endpoint, parameters))
}

fn usages(events: &[Event]) -> Vec<Vec<Option<u64>>> {
    let usages = events.iter().filter_map(|event| match event {
        Event::RequestFinished { usages } => Some(usages),
        _ => None,
    });
    let inputs = usages.map(|it| it.iter().map(|it| it.input).collect());
    inputs.collect()
}

#[tokio::test]
async fn a_paused_answer_goes_on_and_goes_back_as_it_came() {
    let paused = Answer::new()
        .searches("srvtoolu_1", "news", &[NEWS])
        .usage(100, 10)
        .stop("pause_turn");
    let rest = Answer::new()
        .cites("It is new.", NEWS.0, NEWS.1)
        .usage(200, 10);
    let provider = harness::Provider::anthropic([paused, rest, Answer::says("Yes.")])
        .strict(Strict::anthropic());
    let mut agent = searching(&provider);

    let events = read(agent.prompt("What is new?")).await;
    assert_eq!(events.last(), Some(&Event::Finished(Ended::Done)));
    assert_eq!(usages(&events), [[Some(100), Some(200)]]);
    read(agent.prompt("Sure?")).await;

    assert_eq!(provider.refusals(), [""; 0]);
    let answer = &provider.requests()[2].body["messages"][1]["content"];
    let blocks = answer.as_array().unwrap().iter();
    let kinds: Vec<&str> = blocks.filter_map(|it| it["type"].as_str()).collect();
    assert!(kinds.contains(&"web_search_tool_result"), "{answer}");
    assert!(answer.to_string().contains("citations"), "{answer}");
}
