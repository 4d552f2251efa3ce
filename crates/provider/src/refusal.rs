//! Refusals that another request avoids: of beta features, and of thinking that is bound to
//! another conversation.
//!
//! A feature that a server names in an error is left out of further requests to it.

use crate::{
    Endpoint, Feature, Parameters, Protocol, anthropic,
    error_body::{ErrorBody, error_text},
};

/// A refusal that another request avoids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ServerRefusal {
    /// The server does not know a feature, so all requests to it have to do without.
    Feature(Feature),
    /// Something before the chat's signed thinking has changed.
    BoundThinking,
}

/// Words by which an error names a feature, in lower case. Each beta header is named in full,
/// or a server rejects all of them with one of the last.
const NAMES: [(Feature, &[&str]); 4] = [
    (
        Feature::BlockBinding,
        &[
            anthropic::BINDING,
            "block_binding",
            "prefix_mismatch_behavior",
        ],
    ),
    (
        Feature::ToolChanges,
        &[
            "inline-tools-",
            "tool-changes-",
            "tool_addition",
            "tool_definition",
        ],
    ),
    // Also the error for a summary that the provider did not sign.
    (Feature::Compaction, &[anthropic::COMPACTION, "compaction"]),
    (
        Feature::SystemMessages,
        &[
            "role 'system'",
            "role \"system\"",
            "role `system`",
            ".role: input should be",
            "unexpected role",
        ],
    ),
];

/// Words by which an error rejects beta headers without naming one.
const ANY_BETA: [&str; 2] = ["anthropic-beta", "beta flag"];

/// Words of Anthropic's error for thinking whose conversation has changed.
///
/// Source: platform.claude.com, "Fix a thinking block bound to a different conversation",
/// November 2026.
pub(crate) const BOUND: &str = "bound to a different conversation";

/// Returns what an error response refuses, if a request without it can succeed.
pub fn refusal(
    endpoint: &Endpoint,
    parameters: &Parameters,
    status: u16,
    body: &[u8],
) -> Option<ServerRefusal> {
    // Only this protocol has features that a server may lack.
    let is_ours = endpoint.protocol == Protocol::AnthropicMessages;
    if !is_ours || !matches!(status, 400 | 404 | 422) {
        return None;
    }
    let text = error_text(&ErrorBody::read(body)).to_lowercase();
    // This error also names `block_binding`, as its remedy.
    if text.contains(BOUND) {
        return (!parameters.without.signed_thinking).then_some(ServerRefusal::BoundThinking);
    }
    let has_summary = parameters.summarize.is_some() || parameters.signed_summary.is_some();
    let is_used = |feature: &Feature| {
        !parameters.without.has(*feature) && (*feature != Feature::Compaction || has_summary)
    };
    let named = NAMES
        .iter()
        .find(|(feature, names)| is_used(feature) && names.iter().any(|it| text.contains(it)));
    let any_beta = || {
        let betas = [
            Feature::Compaction,
            Feature::BlockBinding,
            Feature::ToolChanges,
        ];
        let is_beta = ANY_BETA.iter().any(|it| text.contains(it));
        betas.into_iter().find(|it| is_beta && is_used(it))
    };
    let feature = named.map(|(feature, _)| *feature).or_else(any_beta)?;
    Some(ServerRefusal::Feature(feature))
}
