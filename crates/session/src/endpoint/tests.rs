//! Tests of which provider a request goes to.
#![allow(clippy::unwrap_used)]

use super::*;
use provider::{Thinking, ThinkingLevel};
use serde_json::json;

fn at(given: &Value, set: &[(&str, &str)]) -> Result<(Endpoint, Parameters), String> {
    let (settings, _) = Settings::read(given, &tools::Registry::builtin());
    let set: Vec<(String, String)> = set
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    let variables = |name: &str| {
        set.iter()
            .find(|(it, _)| it == name)
            .map(|(_, value)| value.clone())
    };
    match destination(&settings, &variables) {
        Ok(Destination::Server(endpoint, parameters)) => Ok((endpoint, *parameters)),
        Ok(Destination::Tutor) => Err("tutor".to_owned()),
        Err(problem) => Err(problem.to_string()),
    }
}

#[test]
fn a_missing_key_is_named_with_its_variable() {
    let problem = at(&json!({}), &[]).unwrap_err();
    assert!(
        problem.contains("$ANTHROPIC_API_KEY is not set"),
        "{problem}"
    );
}

#[test]
fn an_address_in_setup_beats_one_in_the_environment() {
    let set = [
        ("ANTHROPIC_API_KEY", "k"),
        ("ANTHROPIC_BASE_URL", "http://127.0.0.1:1"),
    ];
    assert_eq!(
        at(&json!({}), &set).unwrap().0.base_url,
        "http://127.0.0.1:1"
    );
    let given = json!({"parameters": {"anthropic": {"base_url": "http://127.0.0.1:2"}}});
    assert_eq!(at(&given, &set).unwrap().0.base_url, "http://127.0.0.1:2");
}

#[test]
fn a_key_in_setup_is_used_and_reported_as_its_source() {
    let given = json!({"parameters": {"anthropic": {"api_key": "from-setup"}}});
    let (endpoint, _) = at(&given, &[("ANTHROPIC_API_KEY", "from-environment")]).unwrap();
    assert_eq!(endpoint.api_key.unwrap().expose(), "from-setup");
    assert_eq!(endpoint.key_source, "parameters.anthropic.api_key");
}

#[test]
fn a_providers_own_parameter_beats_the_general_one() {
    let given = json!({"parameters": {"max_tokens": 100, "temperature": 0.5, "anthropic": {"max_tokens": 200}}});
    let (_, parameters) = at(&given, &[("ANTHROPIC_API_KEY", "k")]).unwrap();
    assert_eq!(
        (parameters.max_tokens, parameters.temperature),
        (Some(200), Some(0.5))
    );
}

#[test]
fn thinking_is_a_level_a_number_or_off_and_the_providers_own_number_wins() {
    let thinking = |parameters: Value| {
        let given = json!({"parameters": parameters});
        at(&given, &[("ANTHROPIC_API_KEY", "k")])
            .unwrap()
            .1
            .thinking
    };
    assert_eq!(thinking(json!({})), None);
    assert_eq!(thinking(json!({"thinking": false})), Some(Thinking::Off));
    assert_eq!(
        thinking(json!({"thinking": "high"})),
        Some(Thinking::Level(ThinkingLevel::High))
    );
    assert_eq!(
        thinking(json!({"thinking": 2000})),
        Some(Thinking::Budget(2000))
    );
    let own = json!({"thinking": "high", "anthropic": {"thinking_budget": 3000}});
    assert_eq!(thinking(own), Some(Thinking::Budget(3000)));
}

#[test]
fn an_unknown_provider_is_an_error_with_the_known_ones() {
    let problem = at(&json!({"provider": "antropic"}), &[]).unwrap_err();
    assert!(
        problem.contains("anthropic, openai, gemini, vertex, local, openai_compatible"),
        "{problem}"
    );
}

#[test]
fn the_address_of_vertex_is_made_of_project_and_location() {
    let token = ("VERTEX_AI_ACCESS_TOKEN", "t");
    let given = json!({"provider": "vertex", "parameters": {"vertex": {"project_id": "p-1"}}});
    let (endpoint, _) = at(&given, &[token]).unwrap();
    assert_eq!(
        endpoint.base_url,
        "https://aiplatform.googleapis.com/v1beta1/projects/p-1/locations/global/publishers/google"
    );
    let set = [token, ("GOOGLE_CLOUD_LOCATION", "europe-west4")];
    let (endpoint, _) = at(&given, &set).unwrap();
    assert!(endpoint.base_url.starts_with(
        "https://europe-west4-aiplatform.googleapis.com/v1beta1/projects/p-1/locations/europe-west4/"
    ));
    let given = json!({"provider": "vertex"});
    for (project, said) in [
        ("", "needs a project"),
        ("a/../b", "cannot be part of an address"),
    ] {
        let set = [token, ("GOOGLE_CLOUD_PROJECT", project)];
        let problem = at(&given, &set).unwrap_err();
        assert!(problem.contains(said), "{problem}");
    }
}

#[test]
fn auto_chooses_the_provider_with_a_key_in_the_environment() {
    assert_eq!(
        from_environment(&|name| (name == "ANTHROPIC_API_KEY").then(|| "k".to_owned())),
        Some("anthropic")
    );
    assert_eq!(from_environment(&|_| None), None);
    let groq = |name: &str| (name == "GROQ_API_KEY").then(|| "k".to_owned());
    assert_eq!(from_environment(&groq), None, "it has no default model");
}

#[test]
fn each_provider_has_its_documented_address_and_its_own_key() {
    for (name, key, base_url) in [
        ("openai", "OPENAI_API_KEY", "https://api.openai.com/v1"),
        ("groq", "GROQ_API_KEY", "https://api.groq.com/openai/v1"),
        (
            "together",
            "TOGETHER_API_KEY",
            "https://api.together.xyz/v1",
        ),
        (
            "openrouter",
            "OPENROUTER_API_KEY",
            "https://openrouter.ai/api/v1",
        ),
        ("deepseek", "DEEPSEEK_API_KEY", "https://api.deepseek.com"),
        ("moonshot", "MOONSHOT_API_KEY", "https://api.moonshot.ai/v1"),
    ] {
        let given = json!({"provider": name, "model": "m"});
        let (endpoint, _) = at(&given, &[(key, "k")]).unwrap();
        assert_eq!(endpoint.base_url, base_url);
        assert_eq!(endpoint.api_key.unwrap().expose(), "k");
        let problem = at(&given, &[]).unwrap_err();
        assert!(problem.contains(key), "{problem}");
    }
    for (name, base_url) in [
        ("ollama", "http://127.0.0.1:11434/v1"),
        ("llamacpp", "http://127.0.0.1:8080/v1"),
    ] {
        let (endpoint, _) = at(&json!({"provider": name}), &[]).unwrap();
        assert_eq!(
            (endpoint.base_url.as_str(), endpoint.api_key),
            (base_url, None)
        );
    }
}

#[test]
fn a_provider_without_a_default_model_asks_for_one() {
    let problem = at(&json!({"provider": "groq"}), &[("GROQ_API_KEY", "k")]).unwrap_err();
    assert!(problem.contains("No model is set for groq"), "{problem}");
}

#[test]
fn openais_own_options_reach_its_parameters() {
    let own = json!({"reasoning": "xhigh", "reasoning_summary": "none"});
    let given = json!({"provider": "openai", "parameters": {"openai": own}});
    let (_, parameters) = at(&given, &[("OPENAI_API_KEY", "k")]).unwrap();
    assert_eq!(parameters.effort.as_deref(), Some("xhigh"));
    assert_eq!(parameters.summary.as_deref(), Some("none"));
}
