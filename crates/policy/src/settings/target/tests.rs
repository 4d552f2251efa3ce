//! Targets as lines, tables, and presets.
#![allow(clippy::unwrap_used)]

use tools::Registry;

use super::*;

fn target(provider: &str, model: Option<&str>, parameters: Value) -> Target {
    Target {
        provider: provider.to_owned(),
        model: model.map(str::to_owned),
        parameters: parameters.as_object().cloned().unwrap_or_default(),
    }
}

#[test]
fn a_word_is_a_number_a_flag_nothing_or_text() {
    for (word, expected) in [
        ("", Value::Null),
        ("nil", Value::Null),
        ("null", Value::Null),
        ("true", json!(true)),
        ("12", json!(12)),
        ("0.5", json!(0.5)),
        ("low", json!("low")),
        ("[1]", json!("[1]")),
        ("50%", json!("50%")),
    ] {
        assert_eq!(value_of(word), expected, "{word}");
    }
}

#[test]
fn a_line_and_a_table_name_the_same_target() {
    let expected = target(
        "openai",
        Some("m"),
        json!({"thinking": "low", "max_tokens": 9}),
    );
    for preset in [
        json!("openai m thinking=low max_tokens=9"),
        json!("thinking=low openai max_tokens=9 m"),
        json!({"provider": "openai", "model": "m", "thinking": "low", "max_tokens": 9}),
        json!({"provider": "openai", "model": "m", "thinking": "low", "parameters": {"max_tokens": 9}}),
    ] {
        assert_eq!(Target::of_preset(&preset), expected, "{preset}");
    }
    assert_eq!(
        Target::of_preset(&json!("openai")),
        target("openai", None, json!({}))
    );
}

#[test]
fn a_target_is_options_of_its_provider() {
    let parameters = json!({"thinking": "low"});
    for (provider, expected) in [
        ("openai", json!({"openai": {"thinking": "low"}})),
        ("tutor", json!({"thinking": "low"})),
        ("auto", json!({"thinking": "low"})),
    ] {
        let options = target(provider, Some("m"), parameters.clone()).options();
        let expected = json!({"provider": provider, "model": "m", "parameters": expected});
        assert_eq!(options, Ok(expected));
    }
    let problem = |provider, parameters| target(provider, None, parameters).options().unwrap_err();
    assert_eq!(
        problem("gemni", json!({})),
        ["There is no provider \"gemni\". Did you mean \"gemini\"?"]
    );
    let problems = problem("openai", json!({"thinking": "lots"}));
    assert!(problems[0].starts_with("parameters.openai.thinking is \"lots\""));
}

fn read(given: Value) -> (Settings, String) {
    let (settings, problems) = Settings::read(&given, &Registry::builtin());
    (settings, problems.join(" "))
}

#[test]
fn what_is_wrong_with_a_preset_is_reported() {
    for (presets, expected) in [
        (
            json!({"x": "openai"}),
            "presets: the name \"x\" must start with \"$\".",
        ),
        (
            json!({"$x": "nowhere"}),
            "presets.$x: There is no provider \"nowhere\".",
        ),
        (json!({"$x": "openai m"}), ""),
    ] {
        let (_, problems) = read(json!({"presets": presets}));
        assert_eq!(problems, expected, "{presets}");
    }
}

#[test]
fn a_preset_may_be_the_model() {
    let presets = json!({"$x": "openai m thinking=low", "$own": "openai"});
    let of = |given: Value| {
        let mut options = json!({"presets": presets});
        options::lay_over(&mut options, given);
        let (settings, problems) = read(options);
        let model = settings.model.clone().unwrap_or_default();
        (format!("{} {model}", settings.provider), problems)
    };
    let taken = |name: &str| (name.to_owned(), String::new());
    assert_eq!(of(json!({"model": "$x"})), taken("openai m"));
    assert_eq!(of(json!({"model": "$own"})), taken("openai "));
    assert_eq!(
        of(json!({"model": "$x", "provider": "openai"})),
        taken("openai m")
    );
    assert_eq!(of(json!({"model": "m"})), taken("anthropic m"));

    let (target, problems) = of(json!({"model": "$x", "provider": "gemini"}));
    assert_eq!(target, "gemini $x", "nothing is sent there");
    let why = "it is \"$x\", a preset of openai, but provider is \"gemini\".";
    assert!(problems.contains(why), "{problems}");
    let (target, problems) = of(json!({"model": "$onw"}));
    assert_eq!(target, "anthropic $onw");
    let why = "model: There is no preset \"$onw\". Did you mean \"$own\"?";
    assert_eq!(problems, why);
}
