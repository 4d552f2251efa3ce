//! Each option on its way through every layer, and what messages say.
#![allow(clippy::unwrap_used)]

mod said;

use serde_json::json;
use tools::Registry;

use super::*;
use crate::frontmatter::{Known, Source, evaluate};
use crate::lua_value::as_lua;
use crate::settings::Settings;

/// Returns a value that the kind takes, and that differs from most defaults.
fn right(kind: &OptionKind) -> Value {
    match kind {
        OptionKind::Flag => json!(true),
        OptionKind::Off => json!(false),
        OptionKind::Text | OptionKind::AddressPart => json!("/x"),
        OptionKind::Module => json!("my.module"),
        OptionKind::Share => json!("50%"),
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
        "tools.http_get.allow" => json!(["docs.rs"]),
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
fn said(given: Value) -> String {
    let (_, invalid) = check(&given, Scope::Setup);
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
