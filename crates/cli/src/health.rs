//! `flemma health`: what `:checkhealth flemma` says about options and providers, as JSON
//! lines.
//!
//! Reads the options from standard input, in the form that `setup()` takes. Reports whether a
//! key is set, and never shows or fetches one.

use std::io::Read;
use std::process::ExitCode;

use policy::trust::Trust;
use provider::providers::{self, PROVIDERS, ProviderSpec};
use serde::Serialize;
use serde_json::Value;
use tools::Registry;

use crate::credentials::how_to_store;
use crate::endpoint::{self, GetVariable};
use crate::options::{InvalidOption, Scope};
use crate::project::ProjectConfig;
use crate::settings::Settings;
use crate::state_dir;
use crate::stdout;

/// One line of the report.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Finding {
    /// The function of `vim.health` that shows it: `start`, `ok`, `info`, `warn`, or
    /// `error`.
    level: &'static str,
    /// One sentence.
    text: String,
    /// What the user can do, if something is missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<String>,
}

impl Finding {
    fn new(level: &'static str, text: String) -> Self {
        Self {
            level,
            text,
            fix: None,
        }
    }
}

/// Prints the report for the options on standard input.
pub fn print() -> ExitCode {
    let mut given = String::new();
    // Without options the report is about the defaults.
    drop(std::io::stdin().read_to_string(&mut given));
    let given: Value = serde_json::from_str(&given).unwrap_or_default();
    let (settings, problems) = Settings::examine(&given, Scope::Setup, &Registry::builtin());
    let variables = |name: &str| tools::variable(name);
    let lines = options(&problems.invalid)
        .into_iter()
        .chain(project_options(&settings))
        .chain([Finding::new("start", "Providers".to_owned())])
        .chain(report(&settings, &variables));
    let lines = lines.filter_map(|it| serde_json::to_string(&it).ok());
    stdout::print(&lines.collect::<Vec<_>>().join("\n")).into()
}

/// Returns a heading and the invalid options.
fn options(invalid: &[InvalidOption]) -> Vec<Finding> {
    let mut lines = vec![Finding::new("start", "Options".to_owned())];
    if invalid.is_empty() {
        let text = "All options of setup() are valid.";
        lines.push(Finding::new("ok", text.to_owned()));
    }
    lines.extend(invalid.iter().map(|it| Finding {
        fix: Some("See `:help flemma-option-list`.".to_owned()),
        ..Finding::new("error", it.to_string())
    }));
    lines
}

/// Returns a finding about the options of the project that contains the current folder.
fn project_options(settings: &Settings) -> Option<Finding> {
    let folder = std::env::current_dir().ok()?;
    let config = ProjectConfig::around(&folder, &Trust::open(&state_dir::path()))?;
    // Tools that are registered later are not known here.
    let reading = config.apply(settings, None);
    let shown = config.path.display();
    Some(match config.messages(&reading).as_slice() {
        [] => Finding::new("ok", format!("Project: {shown} applies.")),
        messages => Finding {
            fix: Some("See `:help flemma-project`.".to_owned()),
            ..Finding::new("warn", messages.join(" "))
        },
    })
}

/// Returns a finding about the provider in use, then one about each other provider.
fn report(settings: &Settings, variables: GetVariable<'_>) -> Vec<Finding> {
    let used = match settings.provider.as_str() {
        "auto" => endpoint::from_environment(variables),
        name => Some(name),
    };
    let spec = used.and_then(providers::find);
    let first = match spec {
        Some(spec) => in_use(spec, settings, variables),
        None => without_key(&settings.provider),
    };
    let others = PROVIDERS
        .iter()
        .filter(|it| spec.is_none_or(|spec| spec.name != it.name));
    let others = others.filter_map(|it| variables_of(it, variables));
    std::iter::once(first).chain(others).collect()
}

/// Describes `tutor`, or `auto` if the environment has neither key nor address.
fn without_key(name: &str) -> Finding {
    let text = match name {
        "auto" => {
            "Provider: \"auto\", and the environment has neither key nor address of one. A server on this machine is \
             used if one answers, else the built-in tutor."
        }
        _ => "Provider: the built-in tutor, which needs no key.",
    };
    Finding::new("ok", text.to_owned())
}

/// Returns where the provider in use gets its key, or what is missing.
fn in_use(spec: &ProviderSpec, settings: &Settings, variables: GetVariable<'_>) -> Finding {
    let name = spec.name;
    let is_given = |option: &str| {
        settings
            .parameter(name, option)
            .is_some_and(|it| !it.is_null())
    };
    let is_set = |variable: &str| variables(variable).is_some_and(|it| !it.trim().is_empty());
    let has_address = !spec.base_url.is_empty()
        || matches!(name, providers::VERTEX | providers::LOCAL)
        || is_given("base_url")
        || is_set(spec.base_url_variable);
    if !has_address {
        let variable = spec.base_url_variable;
        return Finding {
            fix: Some(format!("Set ${variable} or parameters.{name}.base_url.")),
            ..Finding::new("warn", format!("Provider: {name}, which has no address."))
        };
    }
    let key = match () {
        () if is_given("api_key") => format!("its key is parameters.{name}.api_key"),
        () if is_set(spec.key_variable) => format!("${} is set", spec.key_variable),
        // The command is not run here: it may ask for a password.
        () if is_given("api_key_command") => {
            format!("parameters.{name}.api_key_command prints its key")
        }
        () if !spec.needs_key => "it needs no key".to_owned(),
        () => return missing(spec),
    };
    Finding::new("ok", format!("Provider: {name}; {key}."))
}

fn missing(spec: &ProviderSpec) -> Finding {
    let (name, variable) = (spec.name, spec.key_variable);
    let text =
        format!("Provider: {name}, but ${variable} is not set, nor is a key in the options.");
    let fix = format!(
        "Set ${variable} before Neovim starts, or {}. Keys: {}",
        how_to_store(name),
        spec.docs
    );
    Finding {
        fix: Some(fix),
        ..Finding::new("warn", text)
    }
}

/// Returns which variables of another provider are set.
fn variables_of(spec: &ProviderSpec, variables: GetVariable<'_>) -> Option<Finding> {
    let state = |variable: &str| match variables(variable) {
        Some(value) if !value.trim().is_empty() => format!("${variable} is set"),
        _ => format!("${variable} is not set"),
    };
    // A provider without a key has nothing to set up.
    let key = (!spec.key_variable.is_empty()).then(|| state(spec.key_variable))?;
    // Most providers have an address, and the variable that replaces it is rarely set.
    let address = state(spec.base_url_variable);
    let shown = address.ends_with("is set") || spec.base_url.is_empty();
    let parts = [Some(key), shown.then_some(address)];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let text = format!("{}: {}.", spec.name, parts.join(", "));
    Some(Finding::new("info", text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(given: Value, set: &[&str]) -> Vec<Finding> {
        let (settings, _) = Settings::read(&given, &Registry::builtin());
        report(&settings, &|name| {
            set.contains(&name).then(|| "value".to_owned())
        })
    }

    #[test]
    fn every_provider_with_a_key_is_listed_once() {
        let lines = of(json!({"provider": "groq"}), &["MOONSHOT_API_KEY"]);
        for spec in PROVIDERS.iter().filter(|it| !it.key_variable.is_empty()) {
            let variable = format!("${} is ", spec.key_variable);
            let hits = lines.iter().filter(|it| it.text.contains(&variable));
            assert_eq!(hits.count(), 1, "{variable}");
        }
        assert!(
            lines
                .iter()
                .any(|it| it.text == "moonshot: $MOONSHOT_API_KEY is set.")
        );
    }

    #[test]
    fn the_provider_in_use_comes_first_with_its_key_or_what_is_missing() {
        let key = json!({"parameters": {"openai": {"api_key": "k"}}, "provider": "openai"});
        let command =
            json!({"provider": "groq", "parameters": {"groq": {"api_key_command": ["pass"]}}});
        for (given, set, level, text) in [
            (
                json!({}),
                &["ANTHROPIC_API_KEY"][..],
                "ok",
                "Provider: anthropic; $ANTHROPIC_API_KEY is set.",
            ),
            (
                json!({}),
                &[],
                "warn",
                "Provider: anthropic, but $ANTHROPIC_API_KEY is not set, nor is a key in the options.",
            ),
            (
                key,
                &[],
                "ok",
                "Provider: openai; its key is parameters.openai.api_key.",
            ),
            (
                command,
                &[],
                "ok",
                "Provider: groq; parameters.groq.api_key_command prints its key.",
            ),
            (
                json!({"provider": "ollama"}),
                &[],
                "ok",
                "Provider: ollama; it needs no key.",
            ),
            (
                json!({"provider": "auto"}),
                &["OPENAI_API_KEY"],
                "ok",
                "Provider: openai; $OPENAI_API_KEY is set.",
            ),
            (
                json!({"provider": "tutor"}),
                &[],
                "ok",
                "Provider: the built-in tutor, which needs no key.",
            ),
            (
                json!({"provider": "openai_compatible"}),
                &[],
                "warn",
                "Provider: openai_compatible, which has no address.",
            ),
        ] {
            let lines = of(given.clone(), set);
            assert_eq!(
                (lines[0].level, lines[0].text.as_str()),
                (level, text),
                "{given}"
            );
            assert_eq!(lines[0].fix.is_some(), level == "warn");
        }
    }
}
