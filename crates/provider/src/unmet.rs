//! Options that a request cannot carry, with sentences for the user.
//!
//! The protocols say what their requests carry; this module compares it with what was set.

use crate::catalogue::ThinkingKind;
use crate::thinking::{Amount, Carried};
use crate::{
    Endpoint, Parameters, Protocol, Thinking, anthropic, chat_completions, gemini, responses, web,
};

/// An option that a request cannot carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmet {
    /// Last part of its path in `setup()`: `temperature`.
    pub option: &'static str,
    /// A sentence with the consequence.
    pub text: String,
}

/// Returns the options that requests with these parameters cannot carry.
pub fn unmet(endpoint: &Endpoint, parameters: &Parameters) -> Vec<Unmet> {
    let carried = match endpoint.protocol {
        Protocol::AnthropicMessages => anthropic::carried(parameters),
        Protocol::ChatCompletions => chat_completions::carried(endpoint, parameters),
        Protocol::Gemini => gemini::carried(parameters),
        Protocol::Responses => responses::carried(parameters),
    };
    let who = match parameters.model.as_str() {
        "" => endpoint.provider.as_str(),
        model => model,
    };
    let of = |option| move |text| Unmet { option, text };
    let temperature = temperature(who, parameters, &carried).map(of("temperature"));
    let thinking = thinking(who, parameters, carried.thinking).map(of("thinking"));
    let web = web::not_offered(who, endpoint, parameters).map(of("web"));
    temperature.into_iter().chain(thinking).chain(web).collect()
}

fn temperature(who: &str, parameters: &Parameters, carried: &Carried<'_>) -> Option<String> {
    if carried.temperature || parameters.finite_temperature().is_none() {
        return None;
    }
    Some(match parameters.about.temperature {
        Some(false) => format!("{who} accepts no temperature, so none is sent."),
        Some(true) | None => {
            format!("{who} accepts no temperature while it thinks, so none is sent.")
        }
    })
}

fn thinking(who: &str, parameters: &Parameters, carried: Amount<'_>) -> Option<String> {
    // An effort in the provider's own terms overrides the option.
    let wanted = parameters
        .thinking
        .filter(|_| parameters.effort.is_none())?;
    let never_thinks = parameters.about.thinking == Some(ThinkingKind::None);
    match (wanted, wanted.level(), carried) {
        (_, None, Amount::Off) => None,
        (_, None, _) if never_thinks => None,
        (_, None, Amount::Unsaid | Amount::On) => Some(format!(
            "Thinking cannot be turned off in requests to {who}, so the model decides."
        )),
        (_, None, Amount::BetweenTools) => Some(format!(
            "{who} cannot turn thinking off completely: it still thinks in short notes between calls."
        )),
        (_, None, Amount::Level(level)) => Some(format!(
            "{who} cannot turn thinking off, so its lowest level, \"{level}\", is sent."
        )),
        (_, None, Amount::Budget) => Some(format!(
            "{who} cannot turn thinking off, so its smallest budget is sent."
        )),
        (_, Some(_), _) if never_thinks => Some(format!(
            "{who} does not think, so the option thinking has no effect."
        )),
        (_, Some(_), Amount::Off) => {
            Some("max_tokens leaves no room for thinking, so the model does not think.".to_owned())
        }
        (_, Some(_), Amount::Unsaid) => Some(format!(
            "Requests to {who} cannot say how much to think, so the model decides."
        )),
        (Thinking::Level(_), Some(_), Amount::On) => Some(format!(
            "Thinking of {who} can only be turned on or off, so the model decides how much."
        )),
        (Thinking::Level(level), Some(_), Amount::Level(sent)) if sent != level.name() => {
            Some(format!(
                "{who} has no thinking level \"{}\", so \"{sent}\" is sent.",
                level.name()
            ))
        }
        // A number of tokens becomes the level that is nearest, as the help says.
        (_, Some(_), Amount::On | Amount::BetweenTools | Amount::Level(_) | Amount::Budget) => None,
    }
}
