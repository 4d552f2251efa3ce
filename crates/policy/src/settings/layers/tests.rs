//! Options in their layers, and what a switch changes.
#![allow(clippy::unwrap_used)]

use tools::Registry;

use super::*;

fn settings(given: &Value) -> Settings {
    Settings::read(given, &Registry::builtin()).0
}

fn row(
    settings: &Settings,
    frontmatter: &BTreeMap<String, Value>,
    name: &str,
) -> (String, Option<Scope>) {
    let mut rows = settings.rows(frontmatter).into_iter();
    let found = rows.find(|row| row.name == name);
    found.map_or_else(|| panic!("no option {name}"), |row| (row.value, row.layer))
}

#[test]
fn each_value_names_the_last_layer_that_set_it() {
    let given = json!({"model": "m", "tools": {"autopilot": {"enabled": true}}});
    let settings = settings(&given)
        .switched("tools.autopilot.enabled", &json!(false))
        .unwrap();
    let chat = BTreeMap::from([("parameters.temperature".to_owned(), json!(0.5))]);
    for (name, value, layer) in [
        ("provider", r#""anthropic""#, None),
        ("model", r#""m""#, Some(Scope::Setup)),
        ("tools.autopilot.enabled", "false", Some(Scope::Runtime)),
        ("parameters.temperature", "0.5", Some(Scope::Frontmatter)),
        ("tools.default_timeout", "120", None),
        ("keymaps.normal.send", r#""<C-]>""#, None),
    ] {
        assert_eq!(
            row(&settings, &chat, name),
            (value.to_owned(), layer),
            "{name}"
        );
    }
    assert!(!settings.tools.autopilot.enabled);
}

#[test]
fn a_switch_outlives_another_setup() {
    let switched = settings(&json!({}))
        .switched("tools.autopilot.enabled", &json!(false))
        .unwrap();
    let again = settings(&json!({"model": "m"})).keep_switched(&switched);
    assert!(!again.tools.autopilot.enabled);
    assert_eq!(again.model.as_deref(), Some("m"));
}

#[test]
fn a_switch_never_brings_back_rules_that_failed_to_load() {
    let broken = settings(&json!({"tools": {"auto_aprove": []}}));
    let switched = broken
        .switched("tools.autopilot.enabled", &json!(false))
        .unwrap();
    assert_eq!(switched.policy().decide("read"), None);
}

#[test]
fn a_key_is_never_shown() {
    let settings = settings(&json!({"parameters": {"anthropic": {"api_key": "s3cret"}}}));
    let shown = row(&settings, &BTreeMap::new(), "parameters.anthropic.api_key");
    assert_eq!(shown, ("(set)".to_owned(), Some(Scope::Setup)));
    assert!(!format!("{:?}", settings.rows(&BTreeMap::new())).contains("s3cret"));
}

#[test]
fn an_unset_key_is_shown_as_unset() {
    let shown = row(
        &settings(&json!({})),
        &BTreeMap::new(),
        "parameters.openai.api_key",
    );
    assert_eq!(shown, ("nil".to_owned(), None));
}

#[test]
fn a_layer_is_shown_by_its_name() {
    let name = |layer| {
        let row = OptionStatus {
            name: String::new(),
            value: String::new(),
            layer,
        };
        row.layer_name()
    };
    for (layer, expected) in [
        (None, "defaults"),
        (Some(Scope::Setup), "setup"),
        (Some(Scope::ConfigFile), "config.toml"),
        (Some(Scope::Project), "project"),
        (Some(Scope::Rules), "rules"),
        (Some(Scope::Runtime), "runtime"),
        (Some(Scope::Frontmatter), "frontmatter"),
    ] {
        assert_eq!(name(layer), expected);
    }
}

#[test]
fn a_general_parameter_of_the_chat_takes_the_place_of_a_providers_own() {
    let given = json!({"parameters": {"anthropic": {"max_tokens": 5, "temperature": 1}}});
    let chat = settings(&given).with_chat(json!({"parameters": {"max_tokens": 9}}));
    let none = BTreeMap::new();
    for (name, value, layer) in [
        ("max_tokens", "9", Some(Scope::Frontmatter)),
        ("anthropic.max_tokens", "nil", Some(Scope::Frontmatter)),
        ("anthropic.temperature", "1", Some(Scope::Setup)),
        ("openai.max_tokens", "nil", None),
    ] {
        let shown = row(&chat, &none, &format!("parameters.{name}"));
        assert_eq!(shown, (value.to_owned(), layer), "{name}");
    }
}

#[test]
fn the_tools_of_a_chat_are_a_row_of_their_own() {
    let chosen = BTreeMap::from([("tools".to_owned(), json!(["bash"]))]);
    let rows = settings(&json!({})).rows(&chosen);
    assert_eq!(rows.len(), options::leaves().count() + 1);
    let expected = OptionStatus {
        name: "tools".to_owned(),
        value: r#"{ "bash" }"#.to_owned(),
        layer: Some(Scope::Frontmatter),
    };
    assert_eq!(rows.last(), Some(&expected));
}

fn target(line: &str) -> Target {
    Target::of_line(line)
}

/// The provider, its model, and its thinking.
fn chosen(settings: &Settings) -> String {
    let model = settings.model.as_deref().unwrap_or("its own");
    let thinking = settings.parameter(&settings.provider, "thinking");
    let thinking = thinking.map_or("unset".to_owned(), as_lua);
    format!("{} {model} {thinking}", settings.provider)
}

#[test]
fn a_switch_takes_the_place_of_an_earlier_one() {
    let mine = settings(&json!({"model": "mine"}));
    assert!(!mine.is_switched());
    for (switches, expected) in [
        (&["openai"][..], "openai its own unset"),
        (&["openai gpt thinking=low"], "openai gpt \"low\""),
        (
            &["openai gpt thinking=low", "openai"],
            "openai its own unset",
        ),
        (&["openai gpt", "anthropic"], "anthropic mine unset"),
        (&["anthropic other"], "anthropic other unset"),
    ] {
        let switched = switches.iter().fold(mine.clone(), |settings, line| {
            settings.switched_to(&target(line)).unwrap()
        });
        assert_eq!(chosen(&switched), expected, "{switches:?}");
        assert!(switched.is_switched());
    }
    let gemini = settings(&json!({"provider": "gemini", "model": "mine"}));
    for (line, expected) in [
        ("gemini", "gemini mine unset"),
        ("anthropic", "anthropic its own unset"),
    ] {
        let switched = gemini.switched_to(&target(line)).unwrap();
        assert_eq!(chosen(&switched), expected);
    }
    assert!(mine.switched_to(&target("gemni")).is_err());
}

#[test]
fn another_model_of_the_same_provider_keeps_its_parameters() {
    let setup = settings(&json!({"model": "mine"}));
    let thinking = setup
        .switched_to(&target("anthropic m thinking=low"))
        .unwrap();
    for (line, expected) in [
        ("anthropic n", "anthropic n \"low\""),
        ("anthropic", "anthropic m \"low\""),
        ("anthropic n temperature=1", "anthropic n unset"),
        ("openai n", "openai n unset"),
    ] {
        let chat = thinking.with_model_of(&target(line)).unwrap();
        assert_eq!(chosen(&chat), expected, "{line}");
    }
    assert!(thinking.with_model_of(&target("gemni n")).is_err());
}

#[test]
fn parameters_are_switched_alone_and_nil_takes_one_back() {
    let setup = settings(&json!({"parameters": {"anthropic": {"thinking": "max"}}}));
    let low = setup
        .with_parameters(&target("anthropic thinking=low"))
        .unwrap();
    assert_eq!(chosen(&low), "anthropic its own \"low\"");
    let warm = low
        .with_parameters(&target("anthropic temperature=1"))
        .unwrap();
    assert_eq!(chosen(&warm), "anthropic its own \"low\"");
    let back = warm
        .with_parameters(&target("anthropic thinking="))
        .unwrap();
    assert_eq!(chosen(&back), "anthropic its own \"max\"");
    assert_eq!(back.parameter("anthropic", "temperature"), Some(&json!(1)));
}

#[test]
fn the_target_of_a_chat_is_kept_beside_what_else_was_switched() {
    let setup = settings(&json!({"model": "mine"}));
    let chat = setup
        .switched_to(&target("openai gpt thinking=low"))
        .unwrap();
    let off = setup
        .switched("tools.autopilot.enabled", &json!(false))
        .unwrap();
    let kept = off.keep_target(&chat);
    assert_eq!(chosen(&kept), "openai gpt \"low\"");
    assert!(!kept.tools.autopilot.enabled);
    let back = kept.keep_target(&setup);
    assert_eq!(chosen(&back), "anthropic mine unset");
    assert!(!back.tools.autopilot.enabled);
}

#[test]
fn a_second_switch_keeps_the_first_and_the_registered_functions() {
    let mut setup = settings(&json!({}));
    setup.resolvers.without = vec!["x".to_owned()];
    let off = setup
        .switched("tools.autopilot.enabled", &json!(false))
        .unwrap();
    let both = off.switched("sandbox.enabled", &json!(false)).unwrap();
    assert!(!both.tools.autopilot.enabled && !both.sandbox.enabled);
    assert_eq!(both.resolvers, setup.resolvers);
    assert!(both.switched("keymaps.enabled", &json!(true)).is_err());
}

#[test]
fn values_are_shown_as_lua_writes_them() {
    for (value, lua) in [
        (json!(["$default", "bash"]), r#"{ "$default", "bash" }"#),
        (
            json!({"$x": {"deny": ["a"]}}),
            r#"{ ["$x"] = { deny = { "a" } } }"#,
        ),
        (json!({"function": 3}), "function"),
        (json!(null), "nil"),
    ] {
        assert_eq!(as_lua(&value), lua);
    }
}

#[test]
fn plan_mode_outlasts_a_change_of_an_option() {
    let mut settings = settings(&json!({}));
    settings.plan = true;
    let switched = settings
        .switched("tools.autopilot.enabled", &json!(false))
        .unwrap();
    assert!(switched.is_planning());
    assert!(settings.with_fixed(vec!["model"]).is_planning());
}
