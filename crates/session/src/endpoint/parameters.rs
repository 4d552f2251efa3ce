//! The parameters of a request that the options set.

use std::time::Duration;

use policy::settings::Settings;
use provider::catalogue::{self, Model};
use provider::providers::ProviderSpec;
use provider::{
    CacheRetention, Endpoint, Parameters, Patience, Thinking, ThinkingLevel, Unmet, WebTools,
};
use serde_json::{Map, Value};

/// Minimum number of tokens for a share of the model's limit.
const LEAST_SHARE: u32 = 1024;

/// Returns the parameters of each request to a provider.
pub(super) fn given(spec: &ProviderSpec, settings: &Settings) -> Parameters {
    with_list(spec, settings, &Map::new())
}

/// Returns the parameters as [`given`] does, with what the provider's own list says about the
/// model.
pub(super) fn with_list(
    spec: &ProviderSpec,
    settings: &Settings,
    list: &Map<String, Value>,
) -> Parameters {
    let number = |name: &str| settings.parameter(spec.name, name).and_then(Value::as_f64);
    let word = |name: &str| settings.parameter(spec.name, name).and_then(Value::as_str);
    let model = settings.model.clone();
    let model = model.unwrap_or_else(|| spec.model.to_owned());
    let own = settings.models.get(&model);
    let about = Box::new(catalogue::refined(spec.name, &model, list, own));
    let max_tokens = number("max_tokens").filter(|it| *it >= 1.0 && *it <= f64::from(u32::MAX));
    // The cast is exact, because the option takes whole numbers in this range.
    let max_tokens = max_tokens.map(|it| it as u32);
    Parameters {
        text_tools: match word("tool_protocol") {
            Some("text") => true,
            Some("native") => false,
            // Unknown models are taken to have tools, as most do.
            _ => about.tools == Some(false),
        },
        max_tokens: max_tokens.or_else(|| shared_tokens(spec.name, settings, &about)),
        about,
        model,
        temperature: number("temperature"),
        thinking: thinking(spec, settings),
        cache: match word("cache_retention") {
            Some("none") => CacheRetention::None,
            Some("long") => CacheRetention::Long,
            _ => CacheRetention::Short,
        },
        patience: patience(spec.name, settings),
        effort: word("reasoning").map(str::to_owned),
        summary: word("reasoning_summary").map(str::to_owned),
        cache_key: None,
        web: web_tools(settings),
        ..Parameters::default()
    }
}

/// Returns the timeouts and retries of requests to `provider`.
pub fn patience(provider: &str, settings: &Settings) -> Patience {
    let number = |name: &str| settings.parameter(provider, name).and_then(Value::as_f64);
    // Cannot panic, because the option table limits these numbers.
    let seconds = |name: &str| number(name).map(Duration::from_secs_f64);
    let usual = Patience::default();
    Patience {
        connect: seconds("connect_timeout").unwrap_or(usual.connect),
        idle: seconds("timeout").unwrap_or(usual.idle),
        retries: number("max_retries").map_or(usual.retries, |it| it as u32),
        longest_wait: seconds("max_retry_wait").unwrap_or(usual.longest_wait),
    }
}

/// Returns the provider's own web tools that a chat may use.
pub fn web_tools(settings: &Settings) -> WebTools {
    let tools = &settings.tools;
    let wanted = tools.web.as_str();
    let is_on = tools.web == Value::Bool(true);
    WebTools {
        search: is_on || wanted == Some("search"),
        fetch: is_on || wanted == Some("fetch"),
        allowed_domains: tools.web_allowed_domains.clone(),
        blocked_domains: tools.web_blocked_domains.clone(),
        max_uses: tools.web_max_uses,
    }
}

/// Returns how much the model thinks: the provider's own number, or the general level.
fn thinking(spec: &ProviderSpec, settings: &Settings) -> Option<Thinking> {
    let own = settings.parameter(spec.name, "thinking_budget");
    match own.or_else(|| settings.parameter(spec.name, "thinking"))? {
        Value::String(level) => ThinkingLevel::named(level).map(Thinking::Level),
        Value::Bool(false) => Some(Thinking::Off),
        other => match other.as_f64()? {
            // 0 is another spelling of "off".
            tokens if tokens >= 1.0 => Some(Thinking::Budget(tokens as u32)),
            _ => Some(Thinking::Off),
        },
    }
}

/// Returns `max_tokens` in percent, if it is a share of the model's limit.
fn share(provider: &str, settings: &Settings) -> Option<u8> {
    let given = settings.parameter(provider, "max_tokens")?;
    policy::options::share(given.as_str()?)
}

/// Returns the token limit of an answer, if `max_tokens` is a share of a known limit.
fn shared_tokens(provider: &str, settings: &Settings, about: &Model) -> Option<u32> {
    let output = about.output?;
    let tokens = u64::from(output) * u64::from(share(provider, settings)?) / 100;
    // A small share of a small limit would leave no room for a sentence.
    Some(u32::try_from(tokens).map_or(output, |it| it.max(LEAST_SHARE).min(output)))
}

/// Returns the options that a request with these parameters cannot carry.
pub fn unmet(endpoint: &Endpoint, settings: &Settings, parameters: &Parameters) -> Vec<Unmet> {
    let share = unmet_share(&endpoint.provider, settings, parameters);
    let others = provider::unmet(endpoint, parameters);
    share.into_iter().chain(others).collect()
}

fn unmet_share(provider: &str, settings: &Settings, parameters: &Parameters) -> Option<Unmet> {
    let share = share(provider, settings).filter(|_| parameters.about.output.is_none())?;
    let text = format!(
        "max_tokens is \"{share}%\" of the model's output limit, which is not known for \"{}\", so the request goes \
         out as without max_tokens. Set a number, or models[\"{}\"].output in setup().",
        parameters.model, parameters.model
    );
    Some(Unmet {
        option: "max_tokens",
        text,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::endpoint::{Destination, destination};

    #[test]
    fn a_share_is_a_part_of_the_models_limit() {
        let given = |max_tokens: Value, model: &str| {
            let models = json!({"mine": {"output": 10_000}, "small": {"output": 1500}});
            let given =
                json!({"model": model, "models": models, "parameters": {"max_tokens": max_tokens}});
            let (settings, problems) = Settings::read(&given, &tools::Registry::builtin());
            assert_eq!(problems, [""; 0]);
            let key = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "k".to_owned());
            let Ok(Destination::Server(endpoint, parameters)) = destination(&settings, &key) else {
                panic!("no server");
            };
            let unmet = unmet(&endpoint, &settings, &parameters);
            (parameters.max_tokens, !unmet.is_empty())
        };
        assert_eq!(given(json!("50%"), "mine"), (Some(5000), false));
        assert_eq!(given(json!("1%"), "mine"), (Some(1024), false));
        assert_eq!(given(json!("10%"), "small"), (Some(1024), false));
        assert_eq!(given(json!("100%"), "small"), (Some(1500), false));
        assert_eq!(given(json!(700), "mine"), (Some(700), false));
        assert_eq!(given(json!("50%"), "unknown-model"), (None, true));
        assert_eq!(given(json!(700), "unknown-model"), (Some(700), false));
    }
}
