//! Facts about listed and unlisted models.

use provider::catalogue::{self, ThinkingKind};
use provider::providers::PROVIDERS;
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
fn current_models_have_their_limits_levels_and_prices() {
    for (provider, name, context, output, highest, price) in [
        (
            "anthropic",
            "claude-opus-5-5",
            1_000_000,
            128_000,
            "max",
            [4.0, 20.0, 0.2],
        ),
        (
            "anthropic",
            "claude-sonnet-5-5",
            1_000_000,
            128_000,
            "max",
            [2.0, 10.0, 0.1],
        ),
        (
            "anthropic",
            "claude-haiku-5-5",
            1_000_000,
            128_000,
            "max",
            [0.1, 0.5, 0.01],
        ),
        (
            "anthropic",
            "claude-fable-5-1",
            1_000_000,
            128_000,
            "max",
            [10.0, 50.0, 0.25],
        ),
        (
            "openai",
            "gpt-6.1-sol",
            1_050_000,
            128_000,
            "max",
            [2.0, 10.0, 0.1],
        ),
        (
            "openai",
            "gpt-6-astra",
            1_050_000,
            128_000,
            "max",
            [10.0, 50.0, 1.0],
        ),
        (
            "openai",
            "gpt-6-luna",
            1_050_000,
            128_000,
            "max",
            [0.1, 0.5, 0.01],
        ),
        (
            "openai",
            "gpt-5.6-sol",
            1_050_000,
            128_000,
            "max",
            [4.0, 20.0, 0.4],
        ),
        (
            "gemini",
            "gemini-3.8-flash",
            1_048_576,
            65_536,
            "high",
            [0.75, 3.75, 0.075],
        ),
    ] {
        let model = catalogue::model(provider, name, None);
        assert_eq!(
            (model.context, model.output),
            (Some(context), Some(output)),
            "{name}"
        );
        assert_eq!(
            model.levels.last().map(String::as_str),
            Some(highest),
            "{name}"
        );
        let sent = model
            .price
            .map(|it| [it.input, it.output, it.cache_read.unwrap()]);
        assert_eq!(sent, Some(price), "{name}");
    }
}

#[test]
fn each_level_is_its_own() {
    let opus = catalogue::model("anthropic", "claude-opus-5-5", None);
    let flash = catalogue::model("gemini", "gemini-3.6-flash", None);
    for level in ThinkingLevel::ALL {
        let nearest = if level == ThinkingLevel::Minimal {
            "low"
        } else {
            level.name()
        };
        assert_eq!(opus.level(level), Some(nearest));
        let nearest = if level > ThinkingLevel::High {
            "high"
        } else {
            level.name()
        };
        assert_eq!(flash.level(level), Some(nearest));
    }
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
fn the_providers_list_changes_limits_and_ends_and_adds_what_is_missing() {
    let list = json!({
        "context": 7, "output": 5, "lifecycle": "active", "images": false,
        "price": {"input": 1, "output": 1},
    });
    let list = list.as_object().unwrap();
    let refined = |name, own| catalogue::refined("openai", name, list, own);
    let known = refined("gpt-5", None);
    assert_eq!((known.context, known.output), (Some(7), Some(5)));
    assert_eq!(known.price.unwrap().input, 1.25, "of the catalogue");
    assert_eq!(known.end("gpt-5", "2027-01-01"), None);
    assert_eq!(known.images, Some(false));
    let unknown = refined("unheard-of", None);
    assert_eq!(unknown.price.unwrap().input, 1.0);
    let own = refined("gpt-5", Some(&json!({"context": 9})));
    assert_eq!((own.context, own.output), (Some(9), Some(5)));
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

/// The models of text that were current on 2026-11-26. Sources: the model names in the types of
/// the SDKs anthropic 2.14 (`types/model.py`) and openai 3.57 (`types/shared/chat_model.py`,
/// `responses_model.py`), without models that had ended and without those for audio and search;
/// the SDK google-genai 3.6 and the pages of ai.google.dev.
const CURRENT: &[(&str, &[&str])] = &[
    (
        "anthropic",
        &[
            "claude-fable-5-2",
            "claude-mythos-5-2",
            "claude-haiku-5-5",
            "claude-sonnet-5-5",
            "claude-fable-5-1",
            "claude-opus-5-5",
            "claude-mythos-5-1",
            "claude-sonnet-5",
            "claude-fable-5",
            "claude-mythos-5",
            "claude-opus-5",
            "claude-opus-4-8",
            "claude-opus-4-7",
            "claude-opus-4-6",
            "claude-sonnet-4-6",
            "claude-haiku-4-5",
            "claude-haiku-4-5-20251001",
            "claude-opus-4-5",
            "claude-opus-4-5-20251101",
            "claude-sonnet-4-5",
            "claude-sonnet-4-5-20250929",
        ],
    ),
    (
        "openai",
        &[
            "gpt-6-astra",
            "gpt-6.2-astra",
            "gpt-6.1-sol",
            "gpt-6.2-sol",
            "gpt-6.1-terra",
            "gpt-6-sol",
            "gpt-6-luna",
            "gpt-6-cyber",
            "gpt-6-rosalind",
            "gpt-5.6-sol",
            "gpt-5.6-terra",
            "gpt-5.6-luna",
            "gpt-5.6-cyber",
            "gpt-daybreak-blue-latest",
            "gpt-daybreak-red-latest",
            "gpt-5.5",
            "gpt-5.5-2026-04-23",
            "gpt-5.5-pro",
            "gpt-5.5-pro-2026-04-23",
            "gpt-5.4",
            "gpt-5.4-mini",
            "gpt-5.4-nano",
            "gpt-5.4-mini-2026-03-17",
            "gpt-5.4-nano-2026-03-17",
            "gpt-5.2",
            "gpt-5.2-2025-12-11",
            "gpt-5.2-pro",
            "gpt-5.2-pro-2025-12-11",
            "gpt-5.1",
            "gpt-5.1-2025-11-13",
            "gpt-5",
            "gpt-5-mini",
            "gpt-5-nano",
            "gpt-5-pro",
            "gpt-5-2025-08-07",
            "gpt-5-mini-2025-08-07",
            "gpt-5-nano-2025-08-07",
            "gpt-4.1",
            "gpt-4.1-mini",
            "gpt-4.1-2025-04-14",
            "gpt-4.1-mini-2025-04-14",
            "o3",
            "o3-2025-04-16",
            "o3-pro",
            "gpt-4o",
            "gpt-4o-2024-11-20",
            "gpt-4o-mini",
            "gpt-4o-mini-2024-07-18",
        ],
    ),
    (
        "gemini",
        &[
            "gemini-4-argon",
            "gemini-4-hydrogen",
            "gemini-3.8-flash",
            "gemini-3.7-flash",
            "gemini-3.6-flash",
            "gemini-3.5-flash",
            "gemini-3.5-flash-lite",
            "gemini-3.1-flash-lite",
            "gemini-3.1-pro-preview",
            "gemini-3-flash-preview",
            "gemini-2.5-pro",
            "gemini-2.5-flash",
            "gemini-2.5-flash-lite",
        ],
    ),
    ("vertex", &["gemini-3.8-flash", "gemini-3.5-flash"]),
];

/// Current models whose facts no source has: the list of prices lacks them, or their limits.
const WITHOUT_FACTS: &[(&str, &str)] = &[
    ("openai", "gpt-6.2-astra-law"),
    ("openai", "gpt-rosalind-research"),
    ("gemini", "gemini-3.8-pro"),
];

#[test]
fn current_models_have_context_output_limit_and_price() {
    for (provider, names) in CURRENT {
        for name in *names {
            let model = catalogue::model(provider, name, None);
            assert!(catalogue::knows(provider, name), "{name}");
            let known = [
                model.context.is_some(),
                model.output.is_some(),
                model.price.is_some(),
            ];
            assert_eq!(known, [true; 3], "{name}");
        }
    }
    // A row that has been found since belongs to the list above.
    for (provider, name) in WITHOUT_FACTS {
        assert!(!catalogue::knows(provider, name), "{name}");
    }
}

#[test]
fn a_model_can_end_earlier_at_one_of_its_providers() {
    let end = |provider| catalogue::model(provider, "gemini-2.5-pro", None).retires_at;
    assert_eq!(end("gemini").as_deref(), Some("2026-12-01"));
    assert_eq!(end("vertex").as_deref(), Some("2026-10-20"));
}

#[test]
fn the_end_of_a_model_is_known_before_and_after_it() {
    let end = |provider, name, today| catalogue::model(provider, name, None).end(name, today);
    for (provider, name, today, expected) in [
        (
            "openai",
            "gpt-5",
            "2026-11-26",
            Some("gpt-5 ends on 2026-12-11."),
        ),
        (
            "openai",
            "gpt-5",
            "2026-12-11",
            Some("gpt-5 ended on 2026-12-11."),
        ),
        (
            "openai",
            "o3-2025-04-16",
            "2026-11-26",
            Some("o3-2025-04-16 ends on 2026-12-11."),
        ),
        (
            "vertex",
            "gemini-2.5-pro",
            "2026-11-26",
            Some("gemini-2.5-pro ended on 2026-10-20."),
        ),
        ("anthropic", "claude-sonnet-5-5", "2030-01-01", None),
    ] {
        assert_eq!(end(provider, name, today).as_deref(), expected, "{name}");
    }
    let own = |facts| catalogue::model("local", "x", Some(&facts)).end("x", "2026-11-26");
    let deprecated = own(json!({"lifecycle": "deprecated"}));
    assert_eq!(deprecated.as_deref(), Some("x will end."));
    let retired = own(json!({"lifecycle": "retired", "retires_at": "2026-12-24"}));
    assert_eq!(retired.as_deref(), Some("x has ended."));
    assert_eq!(own(json!({"lifecycle": "active"})), None);
}

#[test]
fn no_default_model_ends_soon() {
    for spec in PROVIDERS.iter().filter(|it| !it.model.is_empty()) {
        let model = catalogue::model(spec.name, spec.model, None);
        assert!(catalogue::knows(spec.name, spec.model), "{}", spec.name);
        assert_eq!(model.end(spec.model, catalogue::date()), None);
    }
}

#[test]
fn a_price_that_is_no_price_is_unknown() {
    for price in [
        json!({"input": -1, "output": 2}),
        json!({"input": 1, "output": 1e300}),
        json!({"input": 1}),
        json!({"input": 1, "output": 2, "cache_read": -0.1}),
        json!({"input": 1, "output": 2, "above": {"tokens": 5, "input": -1, "output": 2}}),
    ] {
        let own = json!({"context": 5, "price": price});
        let model = catalogue::model("local", "x", Some(&own));
        assert_eq!((model.context, model.price), (Some(5), None), "{own}");
    }
}

#[test]
fn every_entry_of_the_file_is_valid() {
    let mut count = 0;
    let is_date = |it: &str| {
        let parts: Vec<usize> = it.split('-').map(str::len).collect();
        parts == [4, 2, 2] && it.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    assert!(is_date(catalogue::date()));
    let providers = PROVIDERS.iter().map(|it| it.name);
    for provider in providers {
        for name in catalogue::names(provider) {
            let model = catalogue::model(provider, name, None);
            assert!(model.context.is_some() && model.output.is_some(), "{name}");
            assert!(model.price.is_some(), "{name}");
            assert!(model.retires_at.as_deref().is_none_or(is_date), "{name}");
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
        searches: None,
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
    // Writes cost the same multiple of the input, short or long.
    let haiku = catalogue::model("anthropic", "claude-haiku-5-5", None);
    let usage = Usage {
        cache_creation: Some(200_000),
        ..Usage::default()
    };
    let price = haiku.price.unwrap();
    assert!((price.cost(&usage, false).total() - 0.2 * 0.625).abs() < 1e-9);
    assert!((price.cost(&usage, true).total() - 0.2 * 1.0).abs() < 1e-9);
}
