//! Web search and fetch that a provider runs itself while it answers.
//!
//! What each protocol's tools take is data. Limits that a provider cannot keep are never dropped:
//! then its tools are not offered, and the user is told.

use crate::providers::VERTEX;
use crate::{Endpoint, Parameters, Protocol, WebTools};

/// What the tools of a protocol take.
struct Takes {
    /// True if pages can be read without searches.
    fetch_alone: bool,
    allowed: bool,
    blocked: bool,
    /// True if both lists can be in one request.
    both: bool,
    max_uses: bool,
}

/// Sources: the types of the SDKs `anthropic` 2.14, `openai` 3.57, and `google-genai` 3.6
/// (November 2026), and "Web search tool" on platform.claude.com.
fn takes(protocol: Protocol, provider: &str, model: &str) -> Option<Takes> {
    match protocol {
        Protocol::AnthropicMessages => Some(Takes {
            fetch_alone: true,
            allowed: true,
            blocked: true,
            both: false,
            max_uses: true,
        }),
        Protocol::Responses => Some(Takes {
            fetch_alone: false,
            allowed: true,
            blocked: false,
            both: false,
            max_uses: true,
        }),
        // Vertex AI and models before Gemini 3 take these tools only without functions.
        Protocol::Gemini if provider == VERTEX || is_before_gemini_3(model) => None,
        Protocol::Gemini => Some(Takes {
            fetch_alone: true,
            allowed: false,
            blocked: false,
            both: false,
            max_uses: false,
        }),
        Protocol::ChatCompletions => None,
    }
}

fn is_before_gemini_3(model: &str) -> bool {
    let model = model.trim_start_matches("models/");
    ["gemini-1", "gemini-2"]
        .iter()
        .any(|it| model.starts_with(it))
}

/// Returns the web tools that a request offers; none if it cannot carry what the user wants.
pub(crate) fn offered<'p>(
    protocol: Protocol,
    provider: &str,
    parameters: &'p Parameters,
) -> Option<&'p WebTools> {
    let web = &parameters.web;
    (web.is_on() && unmet(protocol, provider, parameters).is_none()).then_some(web)
}

/// Returns true if the answer may be paused: the next request sends it back, and it goes on.
pub fn may_pause(endpoint: &Endpoint, parameters: &Parameters) -> bool {
    let protocol = endpoint.protocol;
    // Other protocols have no pauses.
    protocol == Protocol::AnthropicMessages
        && offered(protocol, &endpoint.provider, parameters).is_some()
}

/// Returns why a request offers no web tools, although the user wants them; a phrase.
fn unmet(protocol: Protocol, provider: &str, parameters: &Parameters) -> Option<&'static str> {
    let web = &parameters.web;
    let Some(takes) = takes(protocol, provider, &parameters.model) else {
        return Some("it offers none that Flemma can use");
    };
    let (allowed, blocked) = (&web.allowed_domains, &web.blocked_domains);
    if parameters.text_tools {
        Some("this model calls tools in its text")
    } else if !takes.fetch_alone && !web.search {
        Some("it reads pages only after a search, which tools.web does not allow")
    } else if !takes.allowed && !allowed.is_empty() {
        Some("it cannot keep to tools.web_allowed_domains")
    } else if !takes.blocked && !blocked.is_empty() {
        Some("it cannot keep to tools.web_blocked_domains")
    } else if !takes.both && !allowed.is_empty() && !blocked.is_empty() {
        Some("it takes either tools.web_allowed_domains or tools.web_blocked_domains, not both")
    } else if !takes.max_uses && web.max_uses.is_some() {
        Some("it cannot keep to tools.web_max_uses")
    } else {
        None
    }
}

/// Returns a sentence about web tools that requests to `who` do not offer.
pub(crate) fn not_offered(
    who: &str,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Option<String> {
    let web = &parameters.web;
    let why = unmet(endpoint.protocol, &endpoint.provider, parameters).filter(|_| web.is_on())?;
    Some(format!("{who} is offered no web tools, because {why}."))
}

/// Dollars for 1,000 searches, by provider. Tokens of the results are input, and fetches cost
/// nothing else.
///
/// Sources: "Pricing" on platform.claude.com, developers.openai.com, and ai.google.dev (Gemini 3,
/// for each query above a free number per month), November 2026.
const PRICES: &[(&str, f64)] = &[("anthropic", 10.0), ("openai", 10.0), ("gemini", 14.0)];

/// Returns the dollars for one search, if they are known.
pub fn search_price(provider: &str) -> Option<f64> {
    let price = PRICES.iter().find(|(name, _)| *name == provider)?;
    Some(price.1 / 1000.0)
}

/// Returns what went wrong with a use of a server tool. Codes that are not known are shown as
/// they are.
///
/// Source: `WebSearchToolResultErrorCode` and `WebFetchToolResultErrorCode` of the SDK `anthropic`
/// 2.14, November 2026.
pub(crate) fn error(code: &str) -> String {
    let what = match code {
        "max_uses_exceeded" => "It was used as often as tools.web_max_uses allows",
        "too_many_requests" => "The provider's limit of requests was reached",
        "query_too_long" => "The query is too long",
        "request_too_large" => "The request is too large",
        "invalid_tool_input" | "invalid_input" => "The model called it with invalid arguments",
        "unavailable" => "The provider cannot run it at the moment",
        "url_too_long" => "The address is too long",
        "url_not_allowed" => {
            "The address is not allowed by the domains in the options or of the provider"
        }
        "url_not_in_prior_context" => {
            "The address is not in the conversation, and models may not make up addresses"
        }
        "url_not_accessible" => "The page cannot be reached",
        "unsupported_content_type" => "The page is neither text nor a PDF",
        "content_too_large" => "The page is too large",
        other => return format!("Error: {other}."),
    };
    format!("Error: {what} ({code}).")
}
