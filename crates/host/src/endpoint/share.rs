//! `max_tokens` as a share of what the model can say.

use provider::{Parameters, catalogue::Model};

use crate::settings::Settings;

/// Fewest tokens that a share of the model's limit comes to: the reference's floor.
const LEAST_SHARE: u32 = 1024;

/// What `max_tokens` says as a share of the model's limit.
fn share(provider: &str, settings: &Settings) -> Option<u8> {
    let given = settings.parameter(provider, "max_tokens")?;
    crate::settings::share(given.as_str()?)
}

/// Most tokens of an answer, where `max_tokens` is a share and the model is known.
pub(super) fn tokens(provider: &str, settings: &Settings, about: &Model) -> Option<u32> {
    let output = about.output?;
    let tokens = u64::from(output) * u64::from(share(provider, settings)?) / 100;
    Some(u32::try_from(tokens).map_or(output, |it| it.max(LEAST_SHARE).min(output)))
}

/// What of the settings cannot be followed in a request with these parameters, in
/// sentences for the user.
pub fn unmet(provider: &str, settings: &Settings, parameters: &Parameters) -> Option<String> {
    let share = share(provider, settings).filter(|_| parameters.about.output.is_none())?;
    Some(format!(
        "max_tokens is \"{share}%\" of what the model can say, and that is not known of \"{}\", so the request goes \
         out as without max_tokens. Set a number, or models[\"{}\"].output in setup().",
        parameters.model, parameters.model
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::endpoint::{Destination, destination};

    #[test]
    fn a_share_is_one_of_what_the_model_can_say() {
        let given = |max_tokens: Value, model: &str| {
            let models = json!({"mine": {"output": 10_000}, "small": {"output": 1500}});
            let given =
                json!({"model": model, "models": models, "parameters": {"max_tokens": max_tokens}});
            let (settings, problems) = Settings::read(&given, &tools::Registry::builtin());
            assert_eq!(problems, [""; 0]);
            let key = |name: &str| (name == "ANTHROPIC_API_KEY").then(|| "k".to_owned());
            let Ok(Destination::Server(_, parameters)) = destination(&settings, &key) else {
                panic!("no server");
            };
            let unmet = unmet("anthropic", &settings, &parameters);
            (parameters.max_tokens, unmet.is_some())
        };
        assert_eq!(given(json!("50%"), "mine"), (Some(5000), false));
        assert_eq!(given(json!("1%"), "mine"), (Some(1024), false));
        assert_eq!(given(json!("10%"), "small"), (Some(1024), false));
        assert_eq!(given(json!("100%"), "small"), (Some(1500), false));
        assert_eq!(given(json!(700), "mine"), (Some(700), false));
        assert_eq!(given(json!("50%"), "nobody-knows"), (None, true));
        assert_eq!(given(json!(700), "nobody-knows"), (Some(700), false));
    }
}
