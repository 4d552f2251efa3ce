//! Dialects of Chat Completions: differences between its servers.
//!
//! A provider's row names its dialects. Sources: the reasoning and tool pages of each
//! provider's manual.

/// Request fields that control a server's thinking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingStyle {
    /// None: the server has none or rejects them.
    Never,
    /// `reasoning_effort` with these names.
    Effort(EffortNames),
    /// `reasoning_effort`, and thinking is requested separately from the text.
    EffortApart(EffortNames),
    /// `thinking`, on or off, and an effort if there are names for it.
    Toggle(Option<EffortNames>),
    /// `reasoning` with an effort or a number of tokens.
    Reasoning(EffortNames),
    /// `reasoning`, on or off.
    Enabled,
    /// The variables of the model's chat template.
    Template(EffortNames),
}

/// Names for "off" and for the five levels, the lowest first. There may be none for "off".
pub(crate) type EffortNames = (Option<&'static str>, [&'static str; 5]);

pub(crate) const THREE: [&str; 5] = ["low", "low", "medium", "high", "high"];
pub(crate) const FIVE: [&str; 5] = ["minimal", "low", "medium", "high", "max"];
pub(crate) const XHIGH: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

/// The form in which the model's thinking is sent back to its server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Returns {
    /// Not at all.
    #[default]
    Never,
    /// As text, in `reasoning_content`.
    Text,
    /// With signatures, in `reasoning_details`.
    Details,
}

/// Dialect of a server.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    pub thinking: ThinkingStyle,
    /// The form in which its thinking is sent back.
    pub returns: Returns,
    /// Whether a tool may be marked as strict.
    pub strict: bool,
    /// Whether parallel calls must be requested explicitly.
    pub asks_parallel: bool,
}

/// Plain Chat Completions, as supported by the oldest servers.
pub(crate) const PLAIN: Dialect = Dialect {
    thinking: ThinkingStyle::Effort((None, THREE)),
    returns: Returns::Never,
    strict: true,
    asks_parallel: false,
};

/// `reasoning_effort`, where "none" turns thinking off.
pub(crate) const EFFORT_OR_NONE: Dialect =
    with_thinking(ThinkingStyle::Effort((Some("none"), THREE)));

/// `reasoning_effort` of a model that always thinks.
pub(crate) const EFFORT_OR_LOW: Dialect =
    with_thinking(ThinkingStyle::Effort((Some("low"), THREE)));

/// Plain Chat Completions with another thinking style.
pub(crate) const fn with_thinking(thinking: ThinkingStyle) -> Dialect {
    Dialect { thinking, ..PLAIN }
}

/// A server that rejects a conversation without the thinking that preceded tool calls.
pub(crate) const fn returning_text(thinking: ThinkingStyle) -> Dialect {
    Dialect {
        thinking,
        returns: Returns::Text,
        strict: false,
        asks_parallel: false,
    }
}
