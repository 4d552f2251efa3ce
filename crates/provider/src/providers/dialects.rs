//! Dialects of Chat Completions: how servers that speak it differ.
//!
//! The row of a provider names its dialects. Sources: the reasoning and tool pages of
//! each provider's manual.

/// How a server is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ThinkingStyle {
    /// It cannot be asked, or refuses to be.
    Never,
    /// `reasoning_effort`, in these words.
    Effort(EffortNames),
    /// Likewise, and its thinking is to come apart from its text.
    EffortApart(EffortNames),
    /// `thinking`, on or off, and an effort where there are words for it.
    Toggle(Option<EffortNames>),
    /// `reasoning` with an effort or a number of tokens.
    Reasoning(EffortNames),
    /// `reasoning`, on or off.
    Enabled,
    /// The variables of the model's chat template.
    Template(EffortNames),
}

/// The words for off and for the five levels, the least first. Off may have none.
pub(crate) type EffortNames = (Option<&'static str>, [&'static str; 5]);

pub(crate) const THREE: [&str; 5] = ["low", "low", "medium", "high", "high"];
pub(crate) const FIVE: [&str; 5] = ["minimal", "low", "medium", "high", "max"];
pub(crate) const XHIGH: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

/// How what a model thought goes back to its server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Returns {
    /// It does not.
    #[default]
    Never,
    /// As text, in `reasoning_content`.
    Text,
    /// With the proof of who made it, in `reasoning_details`.
    Details,
}

/// How one server is spoken to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Dialect {
    pub thinking: ThinkingStyle,
    /// How what its model thought goes back to it.
    pub returns: Returns,
    /// Whether a tool may be marked as strict.
    pub strict: bool,
    /// Whether it must be allowed to call several tools at once.
    pub asks_parallel: bool,
}

/// Plain Chat Completions, which is what the oldest servers understand.
pub(crate) const PLAIN: Dialect = Dialect {
    thinking: ThinkingStyle::Effort((None, THREE)),
    returns: Returns::Never,
    strict: true,
    asks_parallel: false,
};

/// `reasoning_effort`, where "none" turns thinking off.
pub(crate) const EFFORT_OR_NONE: Dialect =
    with_thinking(ThinkingStyle::Effort((Some("none"), THREE)));

/// `reasoning_effort` of a model that cannot be kept from thinking.
pub(crate) const EFFORT_OR_LOW: Dialect =
    with_thinking(ThinkingStyle::Effort((Some("low"), THREE)));

/// Plain Chat Completions but for how the server is asked to think.
pub(crate) const fn with_thinking(thinking: ThinkingStyle) -> Dialect {
    Dialect { thinking, ..PLAIN }
}

/// A server that refuses a conversation unless it gets back what its model thought before
/// it called tools.
pub(crate) const fn returning_text(thinking: ThinkingStyle) -> Dialect {
    Dialect {
        thinking,
        returns: Returns::Text,
        strict: false,
        asks_parallel: false,
    }
}
