//! Facts about listed and unlisted models.
#![allow(clippy::unwrap_used)]

use provider::catalogue::{self, ThinkingKind};
use provider::{ThinkingLevel, Usage};
use serde_json::json;

#[test]
fn a_model_is_found_with_and_without_a_date() {
    for name in [
        "claude-sonnet-4-5",
        "claude-sonnet-4-5-20250929",
        "claude-sonnet-4-5@20250929",
        "claude-sonnet-4-5-latest",
    ] {
        let model = catalogue::model("anthropic", name, None);
        assert_eq!(model.output, Some(64_000), "{name}");
        assert_eq!(model.price.unwrap().input, 3.0, "{name}");
    }
    let dated = catalogue::model("openai", "gpt-5-mini-2025-08-07", None);
    assert_eq!(dated.price.unwrap().output, 2.0);
}

#[test]
fn an_unlisted_model_of_a_family_has_its_abilities_but_no_prices() {
    let next = catalogue::model("anthropic", "claude-opus-9", None);
    assert_eq!(next.price, None);
    assert_eq!(next.thinking, Some(ThinkingKind::Levels));
    let next = catalogue::model("gemini", "gemini-3.9-pro", None);
    assert_eq!(
        (next.price, next.thinking),
        (None, Some(ThinkingKind::Levels))
    );
}

#[test]
fn an_unknown_model_has_no_facts() {
    let unknown = catalogue::Model::default();
    assert_eq!(catalogue::model("openai_compatible", "qwen", None), unknown);
    assert_eq!(catalogue::model("no such provider", "gpt-5", None), unknown);
}

#[test]
fn the_users_facts_override_single_fields() {
    let own = json!({"output": 1000, "price": {"input": 9}});
    let model = catalogue::model("anthropic", "claude-sonnet-4-5", Some(&own));
    assert_eq!((model.output, model.context), (Some(1000), Some(200_000)));
    let price = model.price.unwrap();
    assert_eq!((price.input, price.output), (9.0, 15.0));
}

#[test]
fn an_invalid_field_does_not_hide_others() {
    let own = json!({"output": "many", "context": 5});
    let model = catalogue::model("local", "x", Some(&own));
    assert_eq!((model.output, model.context), (None, Some(5)));
}

#[test]
fn a_level_becomes_the_nearest_that_the_model_has() {
    let pro = catalogue::model("gemini", "gemini-3-pro-preview", None);
    for (wanted, word) in [
        (ThinkingLevel::Minimal, "low"),
        (ThinkingLevel::Low, "low"),
        (ThinkingLevel::High, "high"),
        (ThinkingLevel::Max, "high"),
    ] {
        assert_eq!(pro.level(wanted), Some(word), "{wanted:?}");
    }
    let sonnet = catalogue::model("anthropic", "claude-sonnet-4-5", None);
    assert_eq!(sonnet.level(ThinkingLevel::High), None);
    assert_eq!(sonnet.clamp_budget(128), 1024);
}

#[test]
fn every_entry_of_the_file_is_valid() {
    let mut count = 0;
    for provider in ["anthropic", "openai", "gemini", "vertex", "deepseek"] {
        for name in catalogue::names(provider) {
            let model = catalogue::model(provider, name, None);
            assert!(model.context.is_some() && model.output.is_some(), "{name}");
            assert!(model.price.is_some(), "{name}");
            let has_levels = !model.levels.is_empty();
            let wants_levels = model.thinking == Some(ThinkingKind::Levels);
            assert_eq!(has_levels, wants_levels, "{name}");
            count += 1;
        }
    }
    assert!(count > 40, "{count}");
}

#[test]
fn a_request_costs_what_its_tokens_cost() {
    let usage = Usage {
        input: Some(1000),
        output: Some(500),
        thoughts: Some(400),
        cache_read: Some(10_000),
        cache_creation: Some(2000),
    };
    let sonnet = catalogue::model("anthropic", "claude-sonnet-4-5", None);
    let price = sonnet.price.unwrap();
    let short = 0.003 + 0.0075 + 0.003 + 0.0075;
    assert!((price.cost(&usage, false).total() - short).abs() < 1e-9);
    let long = 0.003 + 0.0075 + 0.003 + 0.012;
    assert!((price.cost(&usage, true).total() - long).abs() < 1e-9);
}

#[test]
fn a_long_prompt_has_higher_prices_for_all_tokens() {
    let price = catalogue::model("gemini", "gemini-2.5-pro", None)
        .price
        .unwrap();
    let of = |input, cached| {
        let usage = Usage {
            input: Some(input),
            cache_read: Some(cached),
            ..Usage::default()
        };
        price.cost(&usage, false).total()
    };
    assert!((of(200_000, 0) - 0.25).abs() < 1e-9);
    assert!((of(200_001, 0) - 0.500_002_5).abs() < 1e-9);
    assert!((of(1, 200_000) - (2.5e-6 + 0.05)).abs() < 1e-9);
}
