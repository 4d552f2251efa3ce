//! Options that a request cannot carry.

use provider::{ThinkingLevel, catalogue, unmet};

use super::*;

fn unmet_by(
    provider: &str,
    protocol: Protocol,
    model: &str,
    set: fn(&mut Parameters),
) -> Vec<String> {
    let mut parameters = Parameters {
        model: model.to_owned(),
        about: Box::new(catalogue::model(provider, model, None)),
        ..parameters()
    };
    set(&mut parameters);
    let mut endpoint = endpoint(protocol);
    provider.clone_into(&mut endpoint.provider);
    let unmet = unmet(&endpoint, &parameters);
    unmet.into_iter().map(|it| it.text).collect()
}

#[track_caller]
fn check(model: &str, set: fn(&mut Parameters), expected: &[&str]) {
    let protocol_of = |model: &str| match model {
        it if it.starts_with("claude") => ("anthropic", Protocol::AnthropicMessages),
        it if it.starts_with("gemini") => ("gemini", Protocol::Gemini),
        it if it.starts_with("deepseek") => ("deepseek", Protocol::ChatCompletions),
        it if it.starts_with("llama") => ("openai_compatible", Protocol::ChatCompletions),
        _ => ("openai", Protocol::Responses),
    };
    let (provider, protocol) = protocol_of(model);
    assert_eq!(
        unmet_by(provider, protocol, model, set),
        expected,
        "{model}"
    );
}

#[test]
fn a_temperature_that_is_not_sent_is_reported() {
    let warm: fn(&mut Parameters) = |it| it.temperature = Some(0.5);
    let warm_and_thinking: fn(&mut Parameters) = |it| {
        it.temperature = Some(0.5);
        it.thinking = Some(Thinking::Level(ThinkingLevel::Low));
    };
    let never = |model: &str| format!("{model} accepts no temperature, so none is sent.");
    let thinks =
        |model: &str| format!("{model} accepts no temperature while it thinks, so none is sent.");
    for model in ["claude-opus-5-5", "claude-opus-4-7", "gpt-6.1-sol"] {
        check(model, warm, &[&never(model)]);
    }
    for model in ["claude-sonnet-4-6", "claude-haiku-4-5", "gpt-5.4"] {
        check(model, warm_and_thinking, &[&thinks(model)]);
    }
    for model in ["claude-sonnet-4-6", "gpt-4.1", "gemini-2.5-pro", "llama-3"] {
        check(model, warm, &[]);
    }
    check("gemini-2.5-pro", warm_and_thinking, &[]);
}

#[test]
fn thinking_that_cannot_be_turned_off_is_reported_with_what_is_sent() {
    let off: fn(&mut Parameters) = |it| it.thinking = Some(Thinking::Off);
    for (model, said) in [
        (
            "claude-opus-5-5",
            "claude-opus-5-5 cannot turn thinking off, so its lowest level, \"low\", is sent.",
        ),
        (
            "claude-sonnet-5-5",
            "claude-sonnet-5-5 cannot turn thinking off completely: it still thinks in short notes between calls.",
        ),
        (
            "gpt-6.1-sol",
            "gpt-6.1-sol cannot turn thinking off, so its lowest level, \"low\", is sent.",
        ),
        (
            "gemini-3.8-flash",
            "gemini-3.8-flash cannot turn thinking off, so its lowest level, \"low\", is sent.",
        ),
        (
            "gemini-2.5-pro",
            "gemini-2.5-pro cannot turn thinking off, so its smallest budget is sent.",
        ),
        (
            "llama-3",
            "Thinking cannot be turned off in requests to llama-3, so the model decides.",
        ),
    ] {
        check(model, off, &[said]);
    }
    for model in [
        "claude-haiku-5-5",
        "claude-opus-5",
        "claude-sonnet-4-6",
        "claude-3-haiku",
        "gpt-5.4",
        "gpt-4.1",
        "gemini-2.5-flash",
        "deepseek-v4",
    ] {
        check(model, off, &[]);
    }
}

#[test]
fn a_level_that_the_model_does_not_have_is_reported() {
    let max: fn(&mut Parameters) = |it| it.thinking = Some(Thinking::Level(ThinkingLevel::Max));
    for model in [
        "claude-opus-5-5",
        "claude-sonnet-5-5",
        "claude-haiku-5-5",
        "claude-opus-5-6",
        "gpt-5.6",
        "gpt-6.1-sol",
        "gpt-6-luna",
        "gemini-2.5-pro",
    ] {
        check(model, max, &[]);
    }
    check(
        "gpt-5.4",
        max,
        &["gpt-5.4 has no thinking level \"max\", so \"xhigh\" is sent."],
    );
    check(
        "gpt-4.1",
        max,
        &["gpt-4.1 does not think, so the option thinking has no effect."],
    );
    check(
        "claude-haiku-4-5",
        |it| {
            it.thinking = Some(Thinking::Budget(8000));
            it.max_tokens = Some(1000);
        },
        &["max_tokens leaves no room for thinking, so the model does not think."],
    );
}
