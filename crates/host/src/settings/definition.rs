//! Every option, defined once: its name, the values it takes, its default and its
//! entry in the manual.
//!
//! The checks of the host, those of `setup()` in Lua, the manual's section and the
//! annotations for LuaLS are made of this; see `written`. What an option does is
//! not known here.

use serde_json::{Map, Value};

use super::kind::{Kind, MANY};

mod folds;
mod mcp;
mod models;
mod presets;
mod providers;
mod sandbox;
mod tools;

use folds::FOLDS;
use mcp::MCP;
use models::MODELS;
use presets::PRESETS;
use providers::PROVIDERS;
use sandbox::SANDBOX;
use tools::TOOLS;

pub use providers::{NAMES, parameter_words};

#[cfg(test)]
pub use providers::SERVER;

/// An option, or a table of options.
#[derive(Debug)]
pub struct Field {
    /// Its last name.
    pub name: &'static str,
    /// The values it takes.
    pub kind: Kind,
    /// Its default as JSON. Of a table, that of its options.
    pub default: &'static str,
    /// Its entry in the manual, wrapped at 74 columns.
    #[cfg_attr(not(test), expect(dead_code, reason = "`written` prints it"))]
    pub help: &'static str,
    /// What a chat's frontmatter calls it, behind `flemma.opt.`; empty when a chat
    /// cannot set it.
    pub in_frontmatter: &'static str,
}

impl Field {
    const fn new(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        help: &'static str,
    ) -> Self {
        Self {
            name,
            kind,
            default,
            help,
            in_frontmatter: "",
        }
    }

    const fn table(name: &'static str, kind: Kind, help: &'static str) -> Self {
        Self::new(name, kind, "{}", help)
    }

    const fn in_frontmatter(mut self, name: &'static str) -> Self {
        self.in_frontmatter = name;
        self
    }

    /// Whether its value is never shown.
    pub fn is_secret(&self) -> bool {
        // Servers have secrets in their environments and headers.
        self.name == "api_key" || self.name == "servers"
    }

    /// The default; of a table, those of its options.
    pub fn default(&self) -> Value {
        match self.kind.fields() {
            Some(fields) => {
                let pairs = fields.map(|field| (field.name.to_owned(), field.default()));
                Value::Object(pairs.collect::<Map<_, _>>())
            }
            None => serde_json::from_str(self.default).unwrap_or_default(),
        }
    }
}

/// Seconds.
const DAY: f64 = 86_400.0;

/// All options.
pub const ROOT: Kind = Kind::Table(&[&[
    Field::new(
        "provider",
        Kind::Choice(NAMES),
        r#""anthropic""#,
        "\
Whom to send to; see |flemma-providers| for where each is and which key it
takes from the environment. \"auto\" takes the provider whose key or address
is set, else a server on this machine, else the built-in tutor.",
    ),
    Field::new(
        "model",
        Kind::Text,
        "null",
        "The model's name in the provider's words. nil: the provider's default.",
    ),
    Field::table(
        "parameters",
        Kind::Table(&[GENERAL, TOOL_PROTOCOL, PROVIDERS]),
        "\
What goes with each request. A table named after a provider holds
parameters for that provider alone, and wins: >lua

parameters = { max_tokens = 4000, anthropic = { max_tokens = 8000 } }
<",
    ),
    MODELS,
    PRESETS,
    Field::table("tools", Kind::Tools(&[TOOLS]), ""),
    SANDBOX,
    MCP,
    Field::table("trust", Kind::Table(&[TRUST]), ""),
    Field::table("ui", Kind::Table(&[UI]), ""),
    FOLDS,
    Field::table("keymaps", Kind::Table(&[KEYMAPS]), "Keys in chat buffers."),
    Field::new(
        "highlights",
        Kind::Map(&Kind::Any(&[Kind::Text, Kind::Free])),
        "{}",
        "\
A group by its name in lower case, to the group it links to or to a
definition as in |nvim_set_hl()|: >lua

highlights = { tool_preview = \"NonText\", user = { bold = true } }
<",
    ),
    Field::table("host", Kind::Table(&[HOST]), ""),
]]);

/// Of every provider; which models need it is told by the model.
const TOOL_PROTOCOL: &[Field] = &[Field::new(
    "tool_protocol",
    Kind::Choice(&["auto", "native", "text"]),
    "null",
    "\
How the model is told of tools. \"native\": as its provider has it. \"text\":
in the system prompt, and its calls are read from its words; see
|flemma-text-tools|. nil or \"auto\": \"text\" for models that `models` or the
catalogue calls unable to call tools.",
)];

const GENERAL: &[Field] = &[
    Field::new(
        "max_tokens",
        Kind::Any(&[Kind::Whole(1, MANY), Kind::Share]),
        "null",
        "\
Most tokens of an answer, or a share of what the model can say, such as
\"50%\", at least 1024. nil: what the provider allows, with Anthropic 8192
and what it may think. So it is where the model's limit is not known.",
    )
    .in_frontmatter("max_tokens"),
    Field::new(
        "temperature",
        Kind::Number(0.0, 2.0),
        "null",
        "How freely the model chooses its words. nil: not sent.",
    )
    .in_frontmatter("temperature"),
    Field::new(
        "thinking",
        Kind::Any(&[
            Kind::Choice(&["minimal", "low", "medium", "high", "max"]),
            Kind::Whole(0, MANY),
            Kind::Off,
        ]),
        "null",
        "\
How much the model thinks before it answers: a level, a number of tokens,
or false.",
    )
    .in_frontmatter("thinking"),
    Field::new(
        "cache_retention",
        Kind::Choice(&["none", "short", "long"]),
        "null",
        "\
How long the provider may keep what was sent, so that the next request
costs less. \"none\" asks it not to.",
    )
    .in_frontmatter("cache_retention"),
    Field::new(
        "timeout",
        Kind::Number(1.0, DAY),
        "null",
        "\
Seconds in which nothing arrives, before or in an answer, after which it is
given up. nil: 120.",
    )
    .in_frontmatter("timeout"),
    Field::new(
        "connect_timeout",
        Kind::Number(0.1, DAY),
        "null",
        "Seconds a connection may take. nil: 10.",
    )
    .in_frontmatter("connect_timeout"),
    Field::new(
        "max_retries",
        Kind::Whole(0, 100),
        "null",
        "\
How often a request is sent again that failed before its answer began: too
many requests, an overloaded server, a connection that broke. nil: 5.",
    ),
    Field::new(
        "max_retry_wait",
        Kind::Number(0.0, DAY),
        "null",
        "\
The longest wait in seconds that a server may ask for with `Retry-After`.
If it wants more, you are told when to try again. nil: 60.",
    ),
];

const TRUST: &[Field] = &[
    Field::new(
        "frontmatter",
        Kind::Choice(&["ask", "always"]),
        r#""ask""#,
        "\
What frontmatter that you did not type may loosen. \"ask\": nothing until
`:Flemma trust`. \"always\": whatever it says.",
    ),
    Field::new(
        "unrecognized_calls",
        Kind::Choice(&["review", "policy"]),
        r#""review""#,
        "\
Calls that stood in the file when it was opened and that no provider made
here. \"review\": they wait for you. \"policy\": the rules decide.",
    ),
];

const UI: &[Field] = &[
    Field::new(
        "usage",
        Kind::Any(&[Kind::Whole(1, 3600), Kind::Off]),
        "8",
        "\
Seconds for which the line of the last role marker shows what an answer took
and cost. false: not at all; |:Flemma-usage| and the status line say it.",
    ),
    Field::new(
        "bell",
        Kind::Any(&[Kind::Choice(&["bell", "osc9"]), Kind::Off]),
        "false",
        "\
What the terminal gets when a chat that you don't see needs you: \"bell\", or
\"osc9\", a desktop notification in terminals that know OSC 9. See
|flemma-hidden|.",
    ),
];

const KEYMAPS: &[Field] = &[
    Field::new("enabled", Kind::Flag, "true", "false: no keys."),
    Field::table(
        "normal",
        Kind::Table(&[&[
            Field::new("send", KEY, r#""<C-]>""#, "The next step. false: no key."),
            Field::new(
                "tool_execute",
                KEY,
                r#""<M-CR>""#,
                "Runs the call at the cursor.",
            ),
            Field::new(
                "approve_all",
                KEY,
                r#""<M-a>""#,
                "Runs every call that waits.",
            ),
            Field::new(
                "reject",
                KEY,
                r#""<M-r>""#,
                "\
Refuses the call at the cursor, or the only one that waits, with a reason
that you are asked for.",
            ),
            Field::new("cancel", KEY, r#""<C-c>""#, "Stops what runs."),
        ]]),
        "",
    ),
    Field::table(
        "insert",
        Kind::Table(&[&[Field::new("send", KEY, r#""<C-]>""#, "The next step.")]]),
        "",
    ),
];

const KEY: Kind = Kind::Any(&[Kind::Text, Kind::Off]);

const HOST: &[Field] = &[
    Field::new(
        "path",
        Kind::Text,
        "null",
        "\
The host program. nil: $FLEMMA_HOST, the newest build in the plugin's
folder, or `flemma` in $PATH.",
    ),
    Field::new(
        "log",
        Kind::Text,
        "null",
        "\
Where plugin and host write their log. Keys are never in it. nil:
`flemma.log` in `stdpath(\"log\")`.",
    ),
];

/// Every option that is no table, with its whole name.
pub fn leaves() -> Vec<(String, &'static Field)> {
    fn collect(kind: &Kind, prefix: &str, found: &mut Vec<(String, &'static Field)>) {
        for field in kind.fields().into_iter().flatten() {
            let name = format!("{prefix}{}", field.name);
            if field.kind.fields().is_some() {
                collect(&field.kind, &format!("{name}."), found);
            } else {
                found.push((name, field));
            }
        }
    }
    let mut found = Vec::new();
    collect(&ROOT, "", &mut found);
    found
}

/// The default of everything.
pub fn defaults() -> Value {
    let fields = ROOT.fields().into_iter().flatten();
    let pairs = fields.map(|field| (field.name.to_owned(), field.default()));
    Value::Object(pairs.collect::<Map<_, _>>())
}
