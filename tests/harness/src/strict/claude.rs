//! What each Claude model accepts, as of November 2026.
//!
//! Sources: the migration guides and "What's new" pages of Claude Opus 5.5, Sonnet 5.5, Haiku 5.5, and
//! Fable 5.2, "Mid-conversation system messages", and "Compaction on demand" (platform.claude.com).
//! Where they leave a case open, the stricter reading is used.

/// Rules of a model.
#[derive(Debug, Clone, Copy)]
pub(super) struct Claude {
    /// True if each thinking block is bound to its prefix. Such models think by default, hide their
    /// thinking by default, and take neither sampling parameters nor a prefill.
    pub(super) preserves_thinking: bool,
    /// What `thinking: {type: "disabled"}` does.
    pub(super) off: Off,
    /// True if `thinking: {type: "enabled"}` with a budget is accepted.
    pub(super) has_budget: bool,
    /// True if `tool_choice` may force a call.
    pub(super) forces_calls: bool,
    /// True if `messages` may contain the role `system`.
    pub(super) has_system_messages: bool,
    /// True if it summarizes conversations on demand.
    pub(super) compacts: bool,
    /// Maximum of `max_tokens`.
    pub(super) output: u64,
    /// Values of `output_config.effort`; none are accepted if empty.
    pub(super) efforts: &'static [&'static str],
}

/// How thinking can be turned off, if at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Off {
    Accepted,
    /// Not with a higher effort than "high".
    UpToHigh,
    /// Refused; `between_tools` is accepted instead.
    BetweenTools,
    Refused,
}

const ALL: &[&str] = &["low", "medium", "high", "xhigh", "max"];

/// A model with preserved thinking that always thinks.
const FIRST: Claude = Claude {
    preserves_thinking: true,
    off: Off::Refused,
    has_budget: false,
    forces_calls: false,
    has_system_messages: true,
    compacts: true,
    output: 128_000,
    efforts: ALL,
};

const WITHOUT_COMPACTION: Claude = Claude {
    compacts: false,
    ..FIRST
};

/// A model before preserved thinking.
const EARLIER: Claude = Claude {
    preserves_thinking: false,
    off: Off::Accepted,
    has_budget: true,
    forces_calls: true,
    has_system_messages: false,
    compacts: false,
    output: 64_000,
    efforts: &["low", "medium", "high", "max"],
};

/// The rules by the beginning of a model's name. The first match counts. A later member of a family
/// is taken for its present one.
const MODELS: &[(&str, Claude)] = &[
    // The documentation of compaction is older than these two.
    ("claude-fable-5-2", WITHOUT_COMPACTION),
    ("claude-mythos-5-2", WITHOUT_COMPACTION),
    ("claude-fable-5", FIRST),
    ("claude-mythos-5", FIRST),
    ("claude-opus-5-", FIRST),
    (
        "claude-sonnet-5-",
        Claude {
            off: Off::BetweenTools,
            ..FIRST
        },
    ),
    (
        "claude-haiku-5-",
        Claude {
            off: Off::UpToHigh,
            ..WITHOUT_COMPACTION
        },
    ),
    (
        "claude-opus-5",
        Claude {
            preserves_thinking: false,
            off: Off::UpToHigh,
            ..FIRST
        },
    ),
    (
        "claude-opus-4-8",
        Claude {
            has_system_messages: true,
            compacts: true,
            output: 128_000,
            efforts: ALL,
            has_budget: false,
            ..EARLIER
        },
    ),
];

/// Returns the rules of a model.
pub(super) fn rules(model: &str) -> Claude {
    let mut rows = MODELS.iter();
    let row = rows.find(|(prefix, _)| model.starts_with(prefix));
    row.map_or(EARLIER, |row| row.1)
}

/// Returns true if `reader` reads the thinking of `writer`. ("Switching models mid-conversation",
/// which names these pairs; others are dropped.)
pub(super) fn reads(reader: &str, writer: &str) -> bool {
    let is = |model: &str, family: &str| model.starts_with(family);
    reader == writer
        || is(writer, "claude-haiku-5-5")
        || is(reader, "claude-fable-5")
            && (is(writer, "claude-opus-5") || is(writer, "claude-fable-5-1"))
}

/// Returns true if the thinking of `writer` works only for the account that produced it.
pub(super) fn is_bound_to_account(writer: &str) -> bool {
    writer.starts_with("claude-sonnet-5-5") || writer.starts_with("claude-haiku-5-5")
}
