//! What the servers that speak Chat Completions differ in: data, by the name of the
//! provider and the beginning of the model's name. The first row that fits counts.
//!
//! Sources: the reasoning and tool pages of each provider's manual. A server that
//! no row names is sent only what the oldest of them understand.

/// How a server is asked to think.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ask {
    /// It cannot be asked, or refuses to be.
    Never,
    /// `reasoning_effort`, in these words.
    Effort(Words),
    /// Likewise, and its thinking is to come apart from its text.
    EffortApart(Words),
    /// `thinking`, on or off, and an effort where there are words for it.
    Toggle(Option<Words>),
    /// `reasoning` with an effort or a number of tokens.
    Reasoning(Words),
    /// `reasoning`, on or off.
    Enabled,
    /// The variables of the model's chat template.
    Template(Words),
}

/// The words for off and for the five levels, the least first. Off may have none.
pub(super) type Words = (Option<&'static str>, [&'static str; 5]);

const THREE: [&str; 5] = ["low", "low", "medium", "high", "high"];
const FIVE: [&str; 5] = ["minimal", "low", "medium", "high", "max"];
const XHIGH: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];
const DEFAULT: [&str; 5] = ["default"; 5];

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
pub(super) struct Dialect {
    pub ask: Ask,
    /// How what its model thought goes back to it.
    pub returns: Returns,
    /// Whether a tool may be marked as strict.
    pub strict: bool,
    /// Whether it must be allowed to call several tools at once.
    pub asks_parallel: bool,
}

/// What is sent to everybody else.
const PLAIN: Dialect = Dialect {
    ask: Ask::Effort((None, THREE)),
    returns: Returns::Never,
    strict: true,
    asks_parallel: false,
};

/// DeepSeek and Moonshot want to see again what their models thought before they
/// called tools, and refuse the conversation otherwise.
const RETURNS: Dialect = Dialect {
    ask: Ask::Toggle(None),
    returns: Returns::Text,
    strict: false,
    asks_parallel: false,
};

const fn asked(ask: Ask, dialect: Dialect) -> Dialect {
    Dialect { ask, ..dialect }
}

/// Provider, beginning of the model's name, dialect.
const ROWS: [(&str, &str, Dialect); 14] = [
    (
        "ollama",
        "",
        asked(Ask::Effort((Some("none"), THREE)), PLAIN),
    ),
    (
        "llamacpp",
        "",
        Dialect {
            ask: Ask::Template((None, THREE)),
            asks_parallel: true,
            ..PLAIN
        },
    ),
    (
        "groq",
        "openai/gpt-oss",
        asked(Ask::Effort((Some("low"), THREE)), PLAIN),
    ),
    (
        "groq",
        "qwen/",
        asked(Ask::EffortApart((Some("none"), DEFAULT)), PLAIN),
    ),
    ("groq", "", asked(Ask::Never, PLAIN)),
    (
        "together",
        "openai/gpt-oss",
        asked(Ask::Effort((Some("low"), THREE)), PLAIN),
    ),
    ("together", "", asked(Ask::Enabled, PLAIN)),
    (
        "openrouter",
        "",
        Dialect {
            ask: Ask::Reasoning((Some("none"), XHIGH)),
            returns: Returns::Details,
            ..PLAIN
        },
    ),
    (
        "deepseek",
        "",
        asked(Ask::Toggle(Some((None, FIVE))), RETURNS),
    ),
    // Always thinks.
    ("moonshot", "kimi-k2-thinking", asked(Ask::Never, RETURNS)),
    // Never does.
    ("moonshot", "kimi-k2-0", asked(Ask::Never, RETURNS)),
    ("moonshot", "moonshot-v1", asked(Ask::Never, RETURNS)),
    ("moonshot", "kimi-latest", asked(Ask::Never, RETURNS)),
    ("moonshot", "", RETURNS),
];

/// How `provider` is spoken to when its `model` is asked.
pub(super) fn dialect(provider: &str, model: &str) -> Dialect {
    let fits = |row: &&(&str, &str, Dialect)| row.0 == provider && model.starts_with(row.1);
    ROWS.iter().find(fits).map_or(PLAIN, |row| row.2)
}

/// How thinking goes back to this provider; if it does, it is marked as its own.
pub(crate) fn returns(provider: &str) -> Returns {
    dialect(provider, "").returns
}
