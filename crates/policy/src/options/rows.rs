//! The options, each declared once.
//!
//! A table whose values the host reads is a struct, from which its rows are made. A table that
//! only Neovim reads, or code that takes JSON, has rows alone.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::kind::{MANY, OptionKind, OptionKind::*};
use super::{ANYWHERE, Loosens::*, OptionDef};

/// A type whose values an option takes.
trait OptionValue {
    /// The values that fit.
    const KIND: OptionKind;
}

impl OptionValue for bool {
    const KIND: OptionKind = Flag;
}

impl OptionValue for usize {
    const KIND: OptionKind = Whole(0, MANY);
}

impl OptionValue for String {
    const KIND: OptionKind = Text;
}

impl<T: OptionValue> OptionValue for Option<T> {
    const KIND: OptionKind = T::KIND;
}

impl<T: OptionValue> OptionValue for Vec<T> {
    const KIND: OptionKind = List(&T::KIND);
}

impl<T: OptionValue> OptionValue for BTreeMap<String, T> {
    const KIND: OptionKind = Map(&T::KIND);
}

/// Declares tables of options: `name: type as kind = default { scopes: …, loosens: … }`, or
/// `name: kind = …` in a `const`. The kind follows from most types, and without a default the
/// option is nil. The documentation of an option is its entry in the manual.
macro_rules! options {
    () => {};
    (@kind $type:ty) => { <$type as OptionValue>::KIND };
    (@kind $type:ty, $kind:expr) => { $kind };
    (@default) => { "null" };
    (@default $default:tt) => { stringify!($default) };
    ($(#[$meta:meta])* pub struct $name:ident { $(
        $(#[doc = $help:literal])*
        $field:ident: $type:ty $(as $kind:ident $(($($of:tt)*))?)? $(= $default:tt)?
        $({ $($key:ident: $value:expr),* $(,)? })?
    ),* $(,)? } $($rest:tt)*) => {
        #[derive(Debug, Clone, Default, Deserialize)]
        // A table of options may have no entry of its own.
        #[allow(missing_docs)]
        $(#[$meta])*
        pub struct $name { $($(#[doc = $help])* pub $field: $type),* }

        impl $name {
            pub(crate) const ROWS: &[OptionDef] = &[$(OptionDef {
                $($($key: $value,)*)?
                ..OptionDef::new(
                    stringify!($field),
                    options!(@kind $type $(, $kind $(($($of)*))?)?),
                    options!(@default $($default)?),
                    &[$($help),*],
                )
            }),*];
        }

        impl OptionValue for $name {
            const KIND: OptionKind = Table(&[Self::ROWS]);
        }

        options! { $($rest)* }
    };
    ($(#[$meta:meta])* const $name:ident { $(
        $(#[doc = $help:literal])*
        $field:ident: $kind:ident $(($($of:tt)*))? $(= $default:tt)?
        $({ $($key:ident: $value:expr),* $(,)? })?
    ),* $(,)? } $($rest:tt)*) => {
        $(#[$meta])*
        const $name: &[OptionDef] = &[$(OptionDef {
            $($($key: $value,)*)?
            ..OptionDef::new(
                stringify!($field),
                $kind $(($($of)*))?,
                options!(@default $($default)?),
                &[$($help),*],
            )
        }),*];

        options! { $($rest)* }
    };
}

/// Declares options that take one of several words.
macro_rules! choices {
    ($($(#[$meta:meta])* pub enum $name:ident { $(
        $(#[$inner:meta])* $variant:ident = $word:literal
    ),* $(,)? })*) => {$(
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
        $(#[$meta])*
        pub enum $name { $($(#[$inner])* #[serde(rename = $word)] $variant),* }

        impl OptionValue for $name {
            const KIND: OptionKind = Choice(&[$($word),*]);
        }
    )*};
}

// After the macros, which they use.
mod providers;
mod tools;

pub use providers::{PROVIDER_NAMES, parameter_words};
pub use tools::{
    AutopilotSettings, BackendChoice, Backends, BashSettings, Bwrap, HttpSettings, NetworkHosts,
    NetworkPolicy, Preset, ReviewRule, SandboxPolicy, SandboxSettings, ToolSettings, Unlisted,
};

use providers::PROVIDERS;
#[cfg(test)]
pub use providers::SERVER;

/// Maximum time of an option, in seconds.
const DAY: f64 = 86_400.0;
/// The same as an integer.
const DAY_SECONDS: u64 = 86_400;
/// A key, or none.
const KEY: OptionKind = Any(&[Text, Off]);
/// A number of tokens.
const COUNT: OptionKind = Whole(1, MANY);
/// Dollars for a million tokens; no model costs more.
const PRICE: OptionKind = Number(0.0, 1e6);

/// All options.
pub const ROOT: OptionKind = Values::KIND;

options! {
    /// The values of all options.
    pub struct Values {
        /// The provider that chats are sent to. |flemma-providers| lists the address and
        /// the environment variable of the key of each. "auto" uses the first of
        /// Anthropic, OpenAI, Gemini, and Vertex AI whose key is set, else a server whose
        /// address is set or that runs on its usual port, else the built-in tutor.
        provider: String as Choice(PROVIDER_NAMES) = "anthropic" { scopes: ANYWHERE, loosens: Compared },
        /// The model, by the provider's name for it. nil: the provider's default.
        model: Option<String> { scopes: ANYWHERE, loosens: Compared },
        /// Parameters of each request. A table named after a provider holds parameters
        /// for that provider alone, which win over the general ones: >lua
        ///
        /// parameters = { max_tokens = 4000, anthropic = { max_tokens = 8000 } }
        /// <
        parameters: serde_json::Map<String, Value> as Table(&[GENERAL, TOOL_PROTOCOL, PROVIDERS]),
        /// Properties of models, by the provider's names for them. They override the
        /// built-in catalogue and what the provider's own list of models says; see
        /// |flemma-model-lists|. Models that are in none of them work as well. Prices are
        /// in dollars per million tokens: >lua
        ///
        /// models = {
        ///   ["qwen3-coder"] = {
        ///     context = 262144, output = 65536,
        ///     price = { input = 0.2, output = 0.8, cache_read = 0.05 },
        ///   },
        /// }
        /// <
        /// `output` is the maximum number of tokens of an answer. `thinking` is the form in
        /// which the model takes the amount of thinking: "none", "budget" (tokens, from
        /// `thinking_min` to `thinking_max`), or "levels" (the words in `levels`, lowest
        /// first). `thinking_default = true`: the model thinks unless told otherwise.
        /// `thinking_off = false`: it always thinks. `thinking_between_tools = true`: then
        /// it can at least be told to think only between calls. `thinking_shown = false`:
        /// it shows its thinking only on request. `preserved_thinking = true`: its thinking
        /// is bound to what came before (|flemma-preserved-thinking|). `system_messages =
        /// true`: it takes instructions and tools in the middle of a conversation; only
        /// Anthropic's models differ in this. `compaction = true`: Anthropic writes and signs
        /// summaries of its chats (|flemma-summaries|). `temperature = false`: it accepts no
        /// temperature. `tools = false`: it cannot call tools (|flemma-text-tools|).
        /// `images = false` and `pdf = false`: it gets only the names of such files.
        /// `lifecycle` ("active", "deprecated", or "retired") and `retires_at`, a date, say
        /// whether the provider still offers it, which a message tells you.
        models: BTreeMap<String, Value> as Map(&Table(&[MODEL])) = {},
        /// Names for a combination of provider, model, and parameters. A name begins with
        /// `$`; its value is a line as for |:Flemma-switch|, or a table: >lua
        ///
        /// presets = {
        ///   ["$fast"] = "gemini gemini-3.8-flash thinking=low",
        ///   ["$deep"] = { provider = "openai", model = "gpt-6.1-sol", thinking = "high" },
        /// }
        /// <
        /// To start with a preset, set `model = "$fast"`.
        presets: BTreeMap<String, Value> as Map(&Any(&[Text, Free])) = {},
        tools: ToolSettings as Tools(&[ToolSettings::ROWS]),
        chats: Value as Table(&[CHATS]),
        checkpoints: CheckpointSettings,
        context: ContextSettings,
        /// What commands can do on this machine; see |flemma-sandboxing|. A chat can
        /// restrict it: `flemma.opt.sandbox = { policy = { network = false } }`.
        sandbox: SandboxSettings,
        mcp: McpSettings,
        trust: TrustSettings,
        ui: UiSettings,
        folds: FoldSettings,
        /// Keys in chat buffers.
        keymaps: Value as Table(&[KEYMAPS]),
        /// Highlight groups by name in lower case. The value is the group to link to, or
        /// a definition as in |nvim_set_hl()|: >lua
        ///
        /// highlights = { tool_preview = "NonText", user = { bold = true } }
        /// <
        highlights: Value as Map(&Any(&[Text, Free])) = {},
        host: Value as Table(&[HOST]),
        install: Value as Table(&[INSTALL]),
    }

    /// The parameters of every provider.
    const GENERAL {
        /// Maximum number of tokens of an answer, or a share of the model's limit such as
        /// "50%", at least 1024 tokens. nil, or a share when the model's limit is not
        /// known: the provider's default; for Anthropic see |flemma-thinking|.
        max_tokens: Any(&[Whole(1, MANY), Share]) { scopes: ANYWHERE },
        /// Randomness of the answer. nil: not sent.
        temperature: Number(0.0, 2.0) { scopes: ANYWHERE },
        /// How much the model thinks before it answers: a level, a number of tokens,
        /// or false.
        thinking: Any(&[
            Choice(&["minimal", "low", "medium", "high", "xhigh", "max"]),
            Whole(0, MANY),
            Off,
        ]) { scopes: ANYWHERE },
        /// How long the provider may cache the request, so that the next one costs
        /// less. "none" asks it not to.
        cache_retention: Choice(&["none", "short", "long"]) { scopes: ANYWHERE },
        /// Seconds without data, before or during an answer, after which the request
        /// fails. nil: 120.
        timeout: Number(1.0, DAY) { scopes: ANYWHERE },
        /// Seconds to wait for a connection. nil: 10.
        connect_timeout: Number(0.1, DAY) { scopes: ANYWHERE },
        /// How often a request is repeated if it fails before its answer begins: too
        /// many requests, an overloaded server, a broken connection. nil: 5.
        max_retries: Whole(0, 100) { scopes: ANYWHERE },
        /// Longest wait in seconds that a server may demand with `Retry-After`. If it
        /// demands more, a message says when to try again. nil: 60.
        max_retry_wait: Number(0.0, DAY) { scopes: ANYWHERE },
    }

    /// A general parameter that cannot be set for a single provider.
    const TOOL_PROTOCOL {
        /// How the model gets its tools. "native": by the provider's tool calling.
        /// "text": the system prompt describes the tools, and calls are read from the
        /// answer; see |flemma-text-tools|. nil or "auto": "text" for models that
        /// cannot call tools according to `models` or the catalogue.
        tool_protocol: Choice(&["auto", "native", "text"]) { scopes: ANYWHERE },
    }

    /// Facts about a model, as in the file of the catalogue.
    const MODEL {
        context: COUNT,
        output: COUNT,
        price: Table(&[PRICES]),
        thinking: Choice(&["none", "budget", "levels"]),
        levels: List(&Text),
        thinking_min: COUNT,
        thinking_max: COUNT,
        thinking_default: Flag,
        thinking_off: Flag,
        thinking_between_tools: Flag,
        thinking_shown: Flag,
        preserved_thinking: Flag,
        system_messages: Flag,
        compaction: Flag,
        temperature: Flag,
        tools: Flag,
        images: Flag,
        pdf: Flag,
        lifecycle: Choice(&["active", "deprecated", "retired"]),
        retires_at: Text,
    }

    /// Dollars for a million tokens.
    const PRICES {
        input: PRICE,
        output: PRICE,
        cache_read: PRICE,
        cache_write: PRICE,
        cache_write_long: PRICE,
    }

    /// `chats.*`
    const CHATS {
        /// Where `:Flemma new` and `:Flemma ask` make new chats; relative to the working
        /// directory, such as ".". nil: a folder for each project in
        /// `stdpath("state")/flemma`. References such as `@./src` then start from the
        /// project, and otherwise from the chat's folder. See |flemma-new|.
        folder: Text,
        /// Which chats are saved after each answer and each result: "new", those that
        /// `:Flemma new`, `:Flemma ask`, and `:Flemma tutor` made; "all", also files that
        /// existed before; false, none. See |flemma-autosave|.
        autosave: Any(&[Choice(&["new", "all"]), Off]) = "new",
        /// Folder of your templates for `:Flemma new`, see |flemma-templates|. nil:
        /// `flemma/templates` in `stdpath("config")`.
        templates: Text,
    }

    /// `checkpoints.*`
    #[derive(PartialEq, Eq)]
    pub struct CheckpointSettings {
        /// Whether files are stored before a call changes them, so that `:Flemma undo` can
        /// restore them; see |flemma-undo|.
        enabled: bool = true,
        /// Maximum size of a project's checkpoints in MB. Those of the oldest turns are
        /// removed first, and a message says so.
        limit: u64 as Whole(1, MANY) = 500,
    }

    /// `context.*`
    #[derive(PartialEq)]
    pub struct ContextSettings {
        /// The share of the model's context from which a summary is offered, see
        /// |flemma-summaries|. false: never. It is also never offered for a model whose
        /// context is not known.
        compact_at: Value as Any(&[Share, Off]) = "80%",
        /// Whether the model then writes the summary, and it is put into the chat, before
        /// the next request without asking you.
        auto_compact: bool = false,
    }

    /// `mcp.*`
    pub struct McpSettings {
        /// Servers of the Model Context Protocol, see |flemma-mcp-servers|. A server is a
        /// program with its arguments, or an address: >lua
        ///
        /// mcp = {
        ///   servers = {
        ///     files = { command = { "npx", "-y", "@modelcontextprotocol/server-filesystem", "." } },
        ///     docs = { url = "https://example.com/mcp", headers = { Authorization = "Bearer ${DOCS_TOKEN}" } },
        ///   },
        /// }
        /// <
        /// `env` is added to a program's environment, `cwd` is the folder in which it runs,
        /// and `timeout` is the maximum number of seconds of a call (default:
        /// `tools.default_timeout`).
        /// `${NAME}` and `${NAME:-otherwise}` are replaced by environment variables.
        /// `oauth` names the client as which you log in, see |flemma-mcp-login|: `client_id`,
        /// `client_secret`, `client_metadata_url`, `scopes`, and `callback_port`.
        // The environments and headers of servers contain secrets.
        servers: serde_json::Map<String, Value> as Map(&Table(&[MCP_SERVER])) = {} { secret: true },
        /// Whether the servers of a project's `.mcp.json` are used as well, after
        /// `:Flemma mcp:trust`.
        project: bool = true,
    }

    /// The client as which the user logs in at a server.
    const MCP_LOGIN {
        client_id: Text,
        client_secret: Text,
        client_metadata_url: Text,
        scopes: List(&Text),
        callback_port: Whole(1, 65535),
    }

    /// A server of `mcp.servers`.
    const MCP_SERVER {
        command: Any(&[Text, List(&Text)]),
        args: List(&Text),
        env: Map(&Text) { secret: true },
        cwd: Text,
        url: Text,
        headers: Map(&Text) { secret: true },
        oauth: Table(&[MCP_LOGIN]) { secret: true },
        timeout: Whole(1, DAY_SECONDS),
        type: Choice(&["stdio", "http"]),
    }

    /// `trust.*`
    #[derive(PartialEq, Eq)]
    pub struct TrustSettings {
        /// Whether frontmatter that you did not type can loosen your options. "ask": only
        /// after `:Flemma trust`. "always": yes.
        frontmatter: FrontmatterTrust = "ask",
        /// What happens to calls that were in the file when it was opened and that no
        /// provider made here. "review": they ask. "policy": the rules decide.
        unrecognized_calls: UnrecognizedCalls = "review",
    }

    /// `ui.*`
    pub struct UiSettings {
        /// Markdown in messages, and code in the colors of its language. false: only the
        /// structure of the chat has colors. See |flemma-looks|.
        highlight: bool = true,
        /// Provider, model, phase, tokens, cost, and context above each window of a chat
        /// that has no 'winbar' of yours. See |flemma-status-line|.
        winbar: bool = true,
        /// Seconds for which the time and cost of an answer are shown behind the last
        /// role marker. false: only in |:Flemma-usage| and the status line.
        usage: Value as Any(&[Whole(1, 3600), Off]) = 8,
        /// Signal to the terminal when a chat that is not visible needs you: "bell", or
        /// "osc9", a desktop notification in terminals that support OSC 9. See
        /// |flemma-hidden|.
        bell: Value as Any(&[Choice(&["bell", "osc9"]), Off]) = false,
    }

    /// `folds.*`
    #[derive(PartialEq, Eq)]
    pub struct FoldSettings {
        /// Whether messages, thinking, calls, and results can be folded; see
        /// |flemma-folds|. A window whose 'foldmethod' is not "manual" keeps its own.
        enabled: bool = true,
        /// The kinds of folds that are closed as soon as they are complete. A pending
        /// call is closed only if all of its arguments are shown below its result's
        /// header. Errors stay open.
        closed: Vec<String> as List(&Choice(&[
            "frontmatter", "system", "message", "thinking", "tool_use", "tool_result",
        ])) = ["system", "thinking", "tool_use", "tool_result"],
    }

    /// `keymaps.*`
    const KEYMAPS {
        /// false: no keys are mapped.
        enabled: Flag = true,
        normal: Table(&[NORMAL]),
        insert: Table(&[INSERT]),
        leader: Table(&[LEADER]),
        operator: Table(&[OPERATOR]),
    }

    const NORMAL {
        /// Review, run, or send. false: no key.
        send: KEY = "<C-]>",
        /// Run the call at the cursor.
        tool_execute: KEY = "<M-CR>",
        /// Decide about the pending call at the cursor: review what it would change, or
        /// see all of it in a window whose keys run or reject it. See |flemma-decision|.
        review: KEY = "<CR>",
        /// Try the command at the cursor: run it where it changes nothing, and see what it
        /// would do. See |flemma-trials|.
        try: KEY = "<M-t>",
        /// Run every pending call.
        approve_all: KEY = "<M-a>",
        /// Reject the call at the cursor, or the only pending one, and ask you for a
        /// reason.
        reject: KEY = "<M-r>",
        /// Stop the answer, or all running and pending calls.
        cancel: KEY = "<C-c>",
        /// Go to the next message; see |flemma-navigation|.
        next_message: KEY = "]m",
        /// Go to the message before.
        previous_message: KEY = "[m",
        /// Go to the next call.
        next_call: KEY = "]t",
        /// Go to the call before.
        previous_call: KEY = "[t",
        /// Go from a call to its result, from a result to its call, or to a file.
        definition: KEY = "gd",
        /// List messages, calls, and results; <CR> goes to one.
        outline: KEY = "gO",
    }

    const INSERT {
        /// Review, run, or send.
        send: KEY = "<C-]>",
    }

    const LEADER {
        /// Run the call at the cursor. For terminals without the Alt key.
        tool_execute: KEY = "<LocalLeader>a",
        /// Try the command at the cursor.
        try: KEY = "<LocalLeader>t",
        /// Run every pending call.
        approve_all: KEY = "<LocalLeader>A",
        /// Reject the call at the cursor, or the only pending one.
        reject: KEY = "<LocalLeader>r",
        /// Choose a rule that approves calls like the one at the cursor.
        allow: KEY = "<LocalLeader>l",
    }

    const OPERATOR {
        /// The text of a message, in Visual mode and after an operator.
        inner_message: KEY = "im",
        /// The same with the role marker and the blank lines below.
        a_message: KEY = "am",
    }

    /// `host.*`
    const HOST {
        /// The host program. nil: $FLEMMA_HOST, the newest installed or built program in
        /// the plugin's folder, or `flemma` in $PATH.
        path: Text,
        /// The log file of plugin and host, which never contains keys. nil:
        /// `flemma.log` in `stdpath("log")`.
        log: Text,
    }

    /// `install.*`
    const INSTALL {
        /// The folder from which |:Flemma-install| downloads the archive with the host
        /// program. Its digest is part of the plugin, so a mirror needs no trust. nil:
        /// the archives of the release.
        url: Text,
    }
}

choices! {
    /// `trust.frontmatter`
    pub enum FrontmatterTrust {
        /// Nothing until the user trusts it.
        #[default]
        Ask = "ask",
        /// Whatever it says.
        Always = "always",
    }

    /// `trust.unrecognized_calls`
    pub enum UnrecognizedCalls {
        /// The user.
        #[default]
        Review = "review",
        /// The rules, as for any other call.
        Policy = "policy",
    }
}
