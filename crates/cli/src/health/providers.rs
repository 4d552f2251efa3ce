//! Providers: the one in use with its key and whether it answers, and the variables of the
//! others.

use policy::settings::Settings;
use provider::catalogue;
use provider::providers::{self, PROVIDERS, ProviderSpec};
use session::credentials::how_to_store;
use session::endpoint::{self, Destination, GetVariable};

use super::Finding;
use crate::backends::{TIMEOUT, reach};

/// Returns a finding about the provider in use, then one about each other provider, and one
/// about the catalogue of models.
pub fn report(settings: &Settings, variables: GetVariable<'_>) -> Vec<Finding> {
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
    let date = catalogue::date();
    let models = Finding::new(
        "info",
        format!("Limits and prices of models are of {date}; options in `models` override them."),
    );
    std::iter::once(first)
        .chain(others)
        .chain([models])
        .collect()
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
    // Vertex builds its address from the project, and `local` starts its own server.
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

/// Returns whether the provider in use answers; `None` if there is no address or key for it.
pub async fn reached(settings: &Settings, variables: GetVariable<'_>) -> Option<Finding> {
    let mut settings = settings.clone();
    if settings.provider == "auto" {
        endpoint::from_environment(variables)?.clone_into(&mut settings.provider);
    }
    // Its server is started by the first request.
    if settings.provider == providers::LOCAL {
        return None;
    }
    let wanted = endpoint::wanted_key(&settings, variables).filter(|it| it.command.is_some());
    let is_wanted = |name: &str| wanted.as_ref().is_some_and(|it| it.variable == name);
    // No key is sent, so the command that prints it need not run.
    let at = |name: &str| {
        if is_wanted(name) {
            Some("not sent".to_owned())
        } else {
            variables(name)
        }
    };
    let Ok(Destination::Server(endpoint, _)) = endpoint::destination(&settings, &at) else {
        return None;
    };
    let (name, address) = (&endpoint.provider, endpoint.shown_base());
    Some(match reach(&endpoint).await {
        Ok(took) => {
            let took = took.as_millis();
            Finding::new(
                "ok",
                format!("{name} answers at {address} after {took} ms."),
            )
        }
        Err(why) => Finding::new(
            "warn",
            format!(
                "{name} does not answer at {address} within {} s: {why}.",
                TIMEOUT.as_secs()
            ),
        )
        .fixed_by(format!(
            "Check the network, $HTTPS_PROXY, and parameters.{name}.base_url."
        )),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use tools::Registry;

    use super::*;

    fn of(given: &Value, set: &[&str]) -> Vec<Finding> {
        let (settings, _) = Settings::read(given, &Registry::builtin());
        report(&settings, &|name| {
            set.contains(&name).then(|| "value".to_owned())
        })
    }

    #[test]
    fn every_provider_with_a_key_is_listed_once() {
        let lines = of(&json!({"provider": "groq"}), &["MOONSHOT_API_KEY"]);
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
    fn the_date_of_the_catalogue_is_shown() {
        let lines = of(&json!({}), &[]);
        let shown = format!("are of {};", catalogue::date());
        assert!(lines.iter().any(|it| it.text.contains(&shown)), "{lines:?}");
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
            let lines = of(&given, set);
            assert_eq!(
                (lines[0].level, lines[0].text.as_str()),
                (level, text),
                "{given}"
            );
            assert_eq!(lines[0].fix.is_some(), level == "warn");
        }
    }
}
