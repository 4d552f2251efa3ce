//! The rows of the option table. Larger tables of options have files of their own.

use super::kind::{MANY, OptionKind};
use super::{ANYWHERE, CHAT, COMMAND, Loosens, OptionDef, PROJECT, RULES, option, table, unset};

mod chats;
mod checkpoints;
mod folds;
mod mcp;
mod models;
mod presets;
mod providers;
mod sandbox;
mod tools;

use chats::CHATS;
use checkpoints::CHECKPOINTS;
use folds::FOLDS;
use mcp::MCP;
use models::MODELS;
use presets::PRESETS;
use providers::PROVIDERS;
use sandbox::SANDBOX;
use tools::TOOLS;

pub use providers::{PROVIDER_NAMES, parameter_words};

#[cfg(test)]
pub use providers::SERVER;

/// Maximum time of an option, in seconds.
const DAY: f64 = 86_400.0;
/// The same as an integer.
const DAY_SECONDS: u64 = 86_400;

/// All options.
pub const ROOT: OptionKind = OptionKind::Table(&[&[
    option(
        "provider",
        OptionKind::Choice(PROVIDER_NAMES),
        r#""anthropic""#,
        "\
The provider that chats are sent to. |flemma-providers| lists the address and
the environment variable of the key of each. \"auto\" uses the first of
Anthropic, OpenAI, Gemini, and Vertex AI whose key is set, else a server whose
address is set or that runs on its usual port, else the built-in tutor.",
    )
    .scopes(ANYWHERE)
    .loosens(Loosens::Compared),
    unset(
        "model",
        OptionKind::Text,
        "The model, by the provider's name for it. nil: the provider's default.",
    )
    .scopes(ANYWHERE)
    .loosens(Loosens::Compared),
    table(
        "parameters",
        OptionKind::Table(&[GENERAL, TOOL_PROTOCOL, PROVIDERS]),
        "\
Parameters of each request. A table named after a provider holds parameters
for that provider alone, which win over the general ones: >lua

parameters = { max_tokens = 4000, anthropic = { max_tokens = 8000 } }
<",
    ),
    MODELS,
    PRESETS,
    table("tools", OptionKind::Tools(&[TOOLS]), ""),
    CHATS,
    CHECKPOINTS,
    SANDBOX,
    MCP,
    table("trust", OptionKind::Table(&[TRUST]), ""),
    table("ui", OptionKind::Table(&[UI]), ""),
    FOLDS,
    table(
        "keymaps",
        OptionKind::Table(&[KEYMAPS]),
        "Keys in chat buffers.",
    ),
    option(
        "highlights",
        OptionKind::Map(&OptionKind::Any(&[OptionKind::Text, OptionKind::Free])),
        "{}",
        "\
Highlight groups by name in lower case. The value is the group to link to, or
a definition as in |nvim_set_hl()|: >lua

highlights = { tool_preview = \"NonText\", user = { bold = true } }
<",
    ),
    table("host", OptionKind::Table(&[HOST]), ""),
    table("install", OptionKind::Table(&[INSTALL]), ""),
]]);

/// The parameters of every provider.
const GENERAL: &[OptionDef] = &[
    unset(
        "max_tokens",
        OptionKind::Any(&[OptionKind::Whole(1, MANY), OptionKind::Share]),
        "\
Maximum number of tokens of an answer, or a share of the model's limit such as
\"50%\", at least 1024 tokens. nil, or a share when the model's limit is not
known: the provider's default; for Anthropic see |flemma-thinking|.",
    )
    .scopes(ANYWHERE),
    unset(
        "temperature",
        OptionKind::Number(0.0, 2.0),
        "Randomness of the answer. nil: not sent.",
    )
    .scopes(ANYWHERE),
    unset(
        "thinking",
        OptionKind::Any(&[
            OptionKind::Choice(&["minimal", "low", "medium", "high", "xhigh", "max"]),
            OptionKind::Whole(0, MANY),
            OptionKind::Off,
        ]),
        "\
How much the model thinks before it answers: a level, a number of tokens,
or false.",
    )
    .scopes(ANYWHERE),
    unset(
        "cache_retention",
        OptionKind::Choice(&["none", "short", "long"]),
        "\
How long the provider may cache the request, so that the next one costs
less. \"none\" asks it not to.",
    )
    .scopes(ANYWHERE),
    unset(
        "timeout",
        OptionKind::Number(1.0, DAY),
        "\
Seconds without data, before or during an answer, after which the request
fails. nil: 120.",
    )
    .scopes(ANYWHERE),
    unset(
        "connect_timeout",
        OptionKind::Number(0.1, DAY),
        "Seconds to wait for a connection. nil: 10.",
    )
    .scopes(ANYWHERE),
    unset(
        "max_retries",
        OptionKind::Whole(0, 100),
        "\
How often a request is repeated if it fails before its answer begins: too
many requests, an overloaded server, a broken connection. nil: 5.",
    )
    .scopes(ANYWHERE),
    unset(
        "max_retry_wait",
        OptionKind::Number(0.0, DAY),
        "\
Longest wait in seconds that a server may demand with `Retry-After`. If it
demands more, a message says when to try again. nil: 60.",
    )
    .scopes(ANYWHERE),
];

/// A general parameter that cannot be set for a single provider.
const TOOL_PROTOCOL: &[OptionDef] = &[unset(
    "tool_protocol",
    OptionKind::Choice(&["auto", "native", "text"]),
    "\
How the model gets its tools. \"native\": by the provider's tool calling.
\"text\": the system prompt describes the tools, and calls are read from the
answer; see |flemma-text-tools|. nil or \"auto\": \"text\" for models that
cannot call tools according to `models` or the catalogue.",
)
.scopes(ANYWHERE)];

const TRUST: &[OptionDef] = &[
    option(
        "frontmatter",
        OptionKind::Choice(&["ask", "always"]),
        r#""ask""#,
        "\
Whether frontmatter that you did not type can loosen your options. \"ask\": only
after `:Flemma trust`. \"always\": yes.",
    ),
    option(
        "unrecognized_calls",
        OptionKind::Choice(&["review", "policy"]),
        r#""review""#,
        "\
What happens to calls that were in the file when it was opened and that no
provider made here. \"review\": they ask. \"policy\": the rules decide.",
    ),
];

const UI: &[OptionDef] = &[
    option(
        "highlight",
        OptionKind::Flag,
        "true",
        "\
Markdown in messages, and code in the colors of its language. false: only the
structure of the chat has colors. See |flemma-looks|.",
    ),
    option(
        "winbar",
        OptionKind::Flag,
        "true",
        "\
Provider, model, phase, tokens, cost, and context above each window of a chat
that has no 'winbar' of yours. See |flemma-status-line|.",
    ),
    option(
        "usage",
        OptionKind::Any(&[OptionKind::Whole(1, 3600), OptionKind::Off]),
        "8",
        "\
Seconds for which the time and cost of an answer are shown behind the last
role marker. false: only in |:Flemma-usage| and the status line.",
    ),
    option(
        "bell",
        OptionKind::Any(&[OptionKind::Choice(&["bell", "osc9"]), OptionKind::Off]),
        "false",
        "\
Signal to the terminal when a chat that is not visible needs you: \"bell\", or
\"osc9\", a desktop notification in terminals that support OSC 9. See
|flemma-hidden|.",
    ),
];

const KEYMAPS: &[OptionDef] = &[
    option(
        "enabled",
        OptionKind::Flag,
        "true",
        "false: no keys are mapped.",
    ),
    table(
        "normal",
        OptionKind::Table(&[&[
            option(
                "send",
                KEY,
                r#""<C-]>""#,
                "Review, run, or send. false: no key.",
            ),
            option(
                "tool_execute",
                KEY,
                r#""<M-CR>""#,
                "Run the call at the cursor.",
            ),
            option(
                "review",
                KEY,
                r#""<CR>""#,
                "\
Decide about the pending call at the cursor: review what it would change, or
see all of it in a window whose keys run or reject it. See |flemma-decision|.",
            ),
            option(
                "try",
                KEY,
                r#""<M-t>""#,
                "\
Try the command at the cursor: run it where it changes nothing, and see what it
would do. See |flemma-trials|.",
            ),
            option("approve_all", KEY, r#""<M-a>""#, "Run every pending call."),
            option(
                "reject",
                KEY,
                r#""<M-r>""#,
                "\
Reject the call at the cursor, or the only pending one, and ask you for a
reason.",
            ),
            option(
                "cancel",
                KEY,
                r#""<C-c>""#,
                "Stop the answer, or all running and pending calls.",
            ),
            option(
                "next_message",
                KEY,
                r#""]m""#,
                "Go to the next message; see |flemma-navigation|.",
            ),
            option(
                "previous_message",
                KEY,
                r#""[m""#,
                "Go to the message before.",
            ),
            option("next_call", KEY, r#""]t""#, "Go to the next call."),
            option("previous_call", KEY, r#""[t""#, "Go to the call before."),
            option(
                "definition",
                KEY,
                r#""gd""#,
                "Go from a call to its result, from a result to its call, or to a file.",
            ),
            option(
                "outline",
                KEY,
                r#""gO""#,
                "List messages, calls, and results; <CR> goes to one.",
            ),
        ]]),
        "",
    ),
    table(
        "insert",
        OptionKind::Table(&[&[option("send", KEY, r#""<C-]>""#, "Review, run, or send.")]]),
        "",
    ),
    table(
        "leader",
        OptionKind::Table(&[&[
            option(
                "tool_execute",
                KEY,
                r#""<LocalLeader>a""#,
                "Run the call at the cursor. For terminals without the Alt key.",
            ),
            option(
                "try",
                KEY,
                r#""<LocalLeader>t""#,
                "Try the command at the cursor.",
            ),
            option(
                "approve_all",
                KEY,
                r#""<LocalLeader>A""#,
                "Run every pending call.",
            ),
            option(
                "reject",
                KEY,
                r#""<LocalLeader>r""#,
                "Reject the call at the cursor, or the only pending one.",
            ),
            option(
                "allow",
                KEY,
                r#""<LocalLeader>l""#,
                "Choose a rule that approves calls like the one at the cursor.",
            ),
        ]]),
        "",
    ),
    table(
        "operator",
        OptionKind::Table(&[&[
            option(
                "inner_message",
                KEY,
                r#""im""#,
                "The text of a message, in Visual mode and after an operator.",
            ),
            option(
                "a_message",
                KEY,
                r#""am""#,
                "The same with the role marker and the blank lines below.",
            ),
        ]]),
        "",
    ),
];

const KEY: OptionKind = OptionKind::Any(&[OptionKind::Text, OptionKind::Off]);

const HOST: &[OptionDef] = &[
    unset(
        "path",
        OptionKind::Text,
        "\
The host program. nil: $FLEMMA_HOST, the newest installed or built program in
the plugin's folder, or `flemma` in $PATH.",
    ),
    unset(
        "log",
        OptionKind::Text,
        "\
The log file of plugin and host, which never contains keys. nil:
`flemma.log` in `stdpath(\"log\")`.",
    ),
];

const INSTALL: &[OptionDef] = &[unset(
    "url",
    OptionKind::Text,
    "\
The folder from which |:Flemma-install| downloads the archive with the host
program. Its digest is part of the plugin, so a mirror needs no trust. nil:
the archives of the release.",
)];
