//! Each option on its way through every layer, and what messages say.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use tools::Registry;

use super::{as_lua, *};
use crate::frontmatter::{Known, Source, evaluate};
use crate::settings::Settings;

/// Returns a value that the kind takes, and that differs from most defaults.
fn right(kind: &OptionKind) -> Value {
    match kind {
        OptionKind::Flag => json!(true),
        OptionKind::Off => json!(false),
        OptionKind::Text | OptionKind::AddressPart => json!("/x"),
        OptionKind::Module => json!("my.module"),
        OptionKind::Share => json!("50%"),
        OptionKind::Hosts => json!(["docs.rs"]),
        OptionKind::Choice(words) => json!(words[0]),
        OptionKind::Number(_, to) => json!(to),
        OptionKind::Whole(from, _) => json!(from),
        OptionKind::Function => json!({"function": 1}),
        OptionKind::List(inner) => json!([right(inner)]),
        OptionKind::Map(inner) => json!({"$x": right(inner)}),
        OptionKind::Free | OptionKind::Table(_) | OptionKind::Tools(_) => json!({}),
        OptionKind::Any(kinds) => right(&kinds[0]),
    }
}

/// Returns a right value for an option, where its kind alone does not say which one.
fn sample(path: &str, option: &OptionDef) -> Value {
    match path {
        "model" => json!("m"),
        "presets" => json!({"$x": "openai"}),
        "tools.auto_approve" | "tools.offer" => json!(["read"]),
        "sandbox.policy.network" => json!({"allow": ["docs.rs"]}),
        "tools.bash.trial_home" => json!(["~/x"]),
        "mcp.servers" => json!({"x": {"command": "x", "timeout": 86_400}}),
        _ if matches!(option.kind, OptionKind::AddressPart) => json!("europe-west1"),
        _ => right(&option.kind),
    }
}

/// No option takes it.
fn wrong() -> Value {
    json!([[7]])
}

fn in_setup(path: &str, value: &Value) -> Result<(), String> {
    in_user_layer(Scope::Setup, path, value)
}

fn in_config_file(path: &str, value: &Value) -> Result<(), String> {
    in_user_layer(Scope::ConfigFile, path, value)
}

fn in_user_layer(scope: Scope, path: &str, value: &Value) -> Result<(), String> {
    let given = nested(path, value.clone());
    let (settings, problems) = Settings::examine(&given, scope, &Registry::builtin());
    match problems.all().is_empty() {
        true if settings.value(path) == value => Ok(()),
        true => Err(format!("{path} is {}", settings.value(path))),
        false => Err(problems.all().join(" ")),
    }
}

fn in_json(path: &str, value: &Value) -> Result<(), String> {
    let text = json!({"flemma": nested(path_in_chat(path), value.clone())}).to_string();
    in_frontmatter("json", text, path)
}

fn in_lua(path: &str, value: &Value) -> Result<(), String> {
    // Brackets, because `local` is a keyword.
    let names = path_in_chat(path).split('.');
    let names: String = names.map(|name| format!("[\"{name}\"]")).collect();
    in_frontmatter(
        "lua",
        format!("flemma.opt{names} = {}", as_lua(value)),
        path,
    )
}

fn in_frontmatter(language: &str, text: String, path: &str) -> Result<(), String> {
    let known = Known {
        tools: vec!["read".to_owned()],
        ..Known::default()
    };
    let source = Source {
        language: language.to_owned(),
        text,
        first_line: 2,
        file: None,
    };
    let evaluated = evaluate(&source, &known).map_err(|failure| failure.message)?;
    let is_set = evaluated.overrides.lines.contains_key(path);
    is_set
        .then_some(())
        .ok_or_else(|| "it is not set".to_owned())
}

fn at_runtime(path: &str, value: &Value) -> Result<(), String> {
    let settings = Settings::read(&json!({}), &Registry::builtin()).0;
    match settings.switched(path, value) {
        Ok(settings) if settings.value(path) == value => Ok(()),
        Ok(settings) => Err(format!("{path} is {}", settings.value(path))),
        Err(invalid) => Err(invalid[0].message.clone()),
    }
}

type Layer = fn(&str, &Value) -> Result<(), String>;

#[test]
fn each_option_takes_its_values_in_its_layers_and_in_no_other() {
    let layers: [(Scope, Layer); 5] = [
        (Scope::Setup, in_setup),
        (Scope::ConfigFile, in_config_file),
        (Scope::Frontmatter, in_json),
        (Scope::Frontmatter, in_lua),
        (Scope::Runtime, at_runtime),
    ];
    for (path, option) in leaves() {
        for (scope, set) in layers {
            let place = format!("{path} in {}", scope.name());
            let right = set(path, &sample(path, option));
            let wrong = set(path, &wrong());
            if option.is_in(scope) {
                assert_eq!(right, Ok(()), "{place}");
                let message = wrong.unwrap_err();
                let named = [path, path_in_chat(path)];
                assert!(
                    named.iter().any(|it| message.contains(it)),
                    "{place}: {message}"
                );
            } else {
                assert!(right.is_err() && wrong.is_err(), "{place}");
            }
        }
    }
}

#[test]
fn each_default_is_a_value_that_the_option_takes() {
    for (path, option) in leaves() {
        let default = option.default();
        assert!(default.is_null() || option.kind.takes(&default), "{path}");
    }
}

#[test]
fn of_the_options_of_a_chat_only_parameters_never_loosen() {
    for (path, option) in leaves().filter(|(_, option)| option.is_in(Scope::Frontmatter)) {
        let is_harmless = matches!(option.loosens, Loosens::Never);
        assert!(!is_harmless || path.starts_with("parameters."), "{path}");
        if let Loosens::Unless { strict, .. } = option.loosens {
            assert!(option.kind.takes(&json(strict)), "{path}");
        }
    }
}

#[test]
fn names_below_flemma_opt_are_those_of_one_option() {
    for (path, _) in leaves() {
        if let Some(parameter) = path.strip_prefix("parameters.") {
            assert!(find(parameter).is_none(), "{path}");
        }
        let in_chat = find_in_chat(path_in_chat(path)).unwrap().0;
        assert!(path.starts_with(&in_chat), "{path} {in_chat}");
    }
}

/// Returns what is said about the options.
fn said(given: &Value) -> String {
    let (_, invalid) = check(given, Scope::Setup);
    let all: Vec<String> = invalid.iter().map(ToString::to_string).collect();
    all.join(" ")
}

#[test]
fn the_parameters_of_a_provider_are_offered_as_words() {
    let words = parameter_words("openai");
    for (word, expected) in [
        ("max_tokens=", true),
        ("thinking=low", true),
        ("thinking=false", true),
        ("thinking=", false),
        ("base_url=", true),
        ("api_key=", false),
        ("api_key_command=", false),
        ("thinking_budget=", false),
    ] {
        assert_eq!(words.iter().any(|it| it == word), expected, "{word}");
    }
    assert!(parameter_words("gemini").contains(&"thinking_budget=".to_owned()));
    assert_eq!(parameter_words("tutor"), [""; 0]);
}

#[test]
fn an_option_is_found_by_its_path() {
    let name = |path: &str| find(path).map(|option| option.name);
    assert_eq!(name("tools"), Some("tools"));
    assert_eq!(name("tools.autopilot.max_cost"), Some("max_cost"));
    for path in [
        "",
        "tool",
        "tools.x",
        "tools.autopilot.max_cost.x",
        "max_cost",
    ] {
        assert_eq!(name(path), None, "{path}");
    }
}

#[test]
fn what_a_value_loosens_depends_on_the_users_own() {
    let strict = Loosens::Unless {
        strict: "true",
        what: "x",
    };
    let (on, off) = (json!(true), json!(false));
    for (loosens, value, own, expected) in [
        (Loosens::Never, &on, &off, false),
        (Loosens::Compared, &on, &off, false),
        (Loosens::Always("x"), &off, &off, true),
        (Loosens::WhenTurnedOn("x"), &on, &off, true),
        (Loosens::WhenTurnedOn("x"), &on, &on, false),
        (Loosens::WhenTurnedOn("x"), &off, &off, false),
        (strict, &on, &off, false),
        (strict, &off, &off, true),
    ] {
        let what = loosens.what(value, own);
        assert_eq!(what, expected.then_some("x"), "{loosens:?} {value} {own}");
    }
}

#[test]
fn what_an_option_is_has_its_path_its_values_its_default_and_its_help() {
    let limit = about("max_tokens").unwrap();
    let lines: Vec<&str> = limit.lines().collect();
    assert_eq!(lines[0], "parameters.max_tokens");
    assert!(lines[1].contains("; default: "), "{limit}");
    assert!(lines.len() > 3 && lines[2].is_empty(), "{limit}");
    // A table has no values of its own.
    let table = about("tools").unwrap();
    assert!(!table.contains("default:"), "{table}");
    assert_eq!(about("nothing"), None);
}

#[test]
fn a_wrong_value_is_reported_with_its_path_and_what_it_must_be() {
    for (given, expected) in [
        (
            json!({"provider": "antropic"}),
            "provider is \"antropic\"; it must be \"anthropic\", \"openai\", \"gemini\"",
        ),
        (
            json!({"provider": "antropic"}),
            "Did you mean \"anthropic\"?",
        ),
        (
            json!({"parameters": {"anthropc": {}}}),
            "There is no option \"parameters.anthropc\". Did you mean \"anthropic\"?",
        ),
        (
            json!({"tools": {"max_concurrent": 1.5}}),
            "tools.max_concurrent is 1.5; it must be a whole number from 0.",
        ),
        (
            json!({"tools": {"auto_approve": ["read", 3]}}),
            "a list of strings, a function or the path of a module.",
        ),
        (
            json!({"tools": {"presets": {"$x": {"aprove": []}}}}),
            "There is no option \"tools.presets.$x.aprove\". Did you mean \"approve\"?",
        ),
        (json!({"tools": 3}), "tools is 3; it must be a table."),
        (
            json!({"keymaps": {"normal": {"send": true}}}),
            "keymaps.normal.send is true; it must be a string or false.",
        ),
        (
            json!({"model": {"function": 3}}),
            "model is a function; it must be a string.",
        ),
        (
            json!({"colour": 1}),
            "There is no option \"colour\". Options: provider,",
        ),
        (
            json!({"folds": {"closed": ["message", "thnking"]}}),
            "folds.closed: unknown value \"thnking\". Did you mean \"thinking\"?",
        ),
        (
            json!({"folds": {"closed": ["x"]}}),
            "folds.closed: unknown value \"x\".",
        ),
        (
            json!({"folds": {"closed": "thinking"}}),
            "folds.closed is \"thinking\"; it must be a list of \"frontmatter\",",
        ),
        (
            json!({"mcp": {"servers": {"x": {"timeout": 86_401}}}}),
            "mcp.servers.x.timeout is 86401; it must be a whole number from 1 to 86400.",
        ),
    ] {
        let said = said(&given);
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_number_that_json_cannot_hold_is_reported_wherever_it_is() {
    let infinite = json!({"not_finite": "inf"});
    for (path, expected) in [
        (
            "parameters.timeout",
            "parameters.timeout is inf; it must be a number from 1 to 86400.",
        ),
        ("parameters.max_tokens", "parameters.max_tokens is inf;"),
        ("models.x.price.input", "models.x.price.input is inf;"),
        ("mcp.servers.x.timeout", "mcp.servers.x.timeout is inf;"),
        (
            "presets.$x.temperature",
            "presets.$x.temperature is inf; it must be a finite number.",
        ),
        (
            "tools.mine.deep",
            "tools.mine.deep is inf; it must be a finite number.",
        ),
    ] {
        assert!(
            said(&nested(path, infinite.clone())).contains(expected),
            "{path}"
        );
    }
    let list = json!({"presets": {"$x": {"stop": [1, {"not_finite": "-inf"}]}}});
    assert_eq!(
        said(&list),
        "presets.$x.stop.2 is -inf; it must be a finite number."
    );
}

#[test]
fn a_secret_is_not_shown_when_it_is_wrong() {
    for given in [
        json!({"parameters": {"anthropic": {"api_key": {"s3cret": "s3cret"}}}}),
        json!({"mcp": {"servers": {"x": {"env": ["s3cret"]}}}}),
        json!({"mcp": {"servers": {"x": {"headers": {"A": ["s3cret"]}}}}}),
    ] {
        let said = said(&given);
        assert!(said.contains(" is a table; it must be a"), "{said}");
        assert!(!said.contains("s3cret"), "{said}");
    }
}

#[test]
fn a_mistake_concerns_the_table_that_was_meant() {
    for (given, expected) in [
        (json!({"tools": 3}), true),
        (json!({"tools": {"require_approval": 3}}), true),
        (json!({"tols": {}}), true),
        (json!({"toolsmith": {}}), false),
        (json!({"ui": {"tools": 3}}), false),
    ] {
        let (_, invalid) = check(&given, Scope::Setup);
        assert_eq!(invalid[0].is_about("tools"), expected, "{given}");
    }
}

#[test]
fn a_mistake_names_the_users_word() {
    for (given, word) in [
        (json!({"colour": 1}), Some("colour")),
        (json!({"provider": "antropic"}), Some("antropic")),
        (json!({"folds": {"closed": ["thnking"]}}), Some("thnking")),
        (json!({"tools": 3}), None),
    ] {
        let (_, invalid) = check(&given, Scope::Setup);
        assert_eq!(invalid[0].word.as_deref(), word, "{given}");
    }
}

#[test]
fn values_are_written_as_lua_would_read_them() {
    for (value, expected) in [
        (json!(null), "nil"),
        (json!(true), "true"),
        (json!("a\"b"), "\"a\\\"b\""),
        (json!("\\ \n\u{1}2 é"), r#""\\ \n\0012 é""#),
        (json!(2.0), "2"),
        (json!(0.5), "0.5"),
        (json!(u64::MAX), "18446744073709551615"),
        (json!([]), "{}"),
        (json!(["a", 1]), "{ \"a\", 1 }"),
        (json!({}), "{}"),
        (json!({"function": 1}), "function"),
        (
            json!({"a_1": 1, "1a": 2, "b c": 3, "end": 4}),
            "{ a_1 = 1, [\"1a\"] = 2, [\"b c\"] = 3, [\"end\"] = 4 }",
        ),
    ] {
        assert_eq!(as_lua(&value), expected, "{value}");
    }
}
