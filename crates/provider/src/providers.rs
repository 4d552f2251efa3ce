//! The providers, one row each: address, key, default model, dialect, documentation.
//!
//! Everything that lists providers reads these rows: the options, choosing a provider,
//! completion, `flemma backends`, `:checkhealth`. README and `:help` contain tables made
//! from them, which `tests/documents.rs` writes and checks.
//!
//! Dialects are the differences between servers of Chat Completions; a provider's row names its
//! dialects. Sources: the reasoning and tool pages of each provider's manual.

pub mod servers;

use crate::Protocol;

/// The provider whose address consists of a project and a location.
pub const VERTEX: &str = "vertex";

/// The provider whose server Flemma starts on this machine. It also names the "variable"
/// of its address: no environment contains one of that name by chance.
pub const LOCAL: &str = "local";

/// A provider that is reached over HTTP.
#[derive(Debug)]
pub struct ProviderSpec {
    /// Name in the options.
    pub name: &'static str,
    /// The text that README adds to the name, with its punctuation; may be empty.
    pub note: &'static str,
    /// Web page of its API reference; empty if Flemma's manual has all there is.
    pub docs: &'static str,
    /// Wire format of requests and streams.
    pub protocol: Protocol,
    /// Usual address; empty if the user must give one.
    pub base_url: &'static str,
    /// Environment variable of another address.
    pub base_url_variable: &'static str,
    /// Environment variable of the key; empty if it never takes one.
    pub key_variable: &'static str,
    /// True if it refuses requests without a key.
    pub needs_key: bool,
    /// Default model. If it is empty, a server without a key uses its first model, and any
    /// other provider needs the option `model`.
    pub model: &'static str,
    /// Paragraph about it in `:help flemma-thinking`; may be empty.
    pub thinking: &'static str,
    /// Chat Completions dialect by the beginning of the model's name. The first match
    /// counts; without one the server is sent plain Chat Completions.
    pub(crate) dialects: &'static [(&'static str, Dialect)],
}

impl ProviderSpec {
    /// The dialect of one of its models.
    pub(crate) fn dialect(&self, model: &str) -> Dialect {
        let mut rows = self.dialects.iter();
        let row = rows.find(|(prefix, _)| model.starts_with(prefix));
        row.map_or(PLAIN, |row| row.1)
    }
}

/// Returns the provider with this name.
pub fn find(name: &str) -> Option<&'static ProviderSpec> {
    PROVIDERS.iter().find(|spec| spec.name == name)
}

/// Returns the dialect of a provider's model; plain Chat Completions for an unknown
/// provider.
pub(crate) fn dialect(provider: &str, model: &str) -> Dialect {
    find(provider).map_or(PLAIN, |spec| spec.dialect(model))
}

/// Returns the first provider for which the environment is sufficient: its key is set, or
/// its address if it needs no key. `variables` reads an environment.
pub fn set_up(variables: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    let set = |name: &str| variables(name).is_some_and(|value| !value.is_empty());
    let is_set_up = |spec: &&ProviderSpec| {
        if spec.needs_key {
            // Without a default model the key alone is not sufficient.
            !spec.model.is_empty() && set(spec.key_variable)
        } else {
            set(spec.base_url_variable)
        }
    };
    PROVIDERS.iter().find(is_set_up).map(|spec| spec.name)
}

/// Returns the providers that are servers on this machine with a default address.
pub fn on_this_machine() -> impl Iterator<Item = &'static ProviderSpec> {
    let is_local = |spec: &&ProviderSpec| !spec.needs_key && !spec.base_url.is_empty();
    PROVIDERS.iter().filter(is_local)
}

/// Defaults of a row: a hosted provider with Chat Completions.
const HOSTED: ProviderSpec = ProviderSpec {
    name: "",
    note: "",
    docs: "",
    protocol: Protocol::ChatCompletions,
    base_url: "",
    base_url_variable: "",
    key_variable: "",
    needs_key: true,
    model: "",
    thinking: "",
    dialects: &[],
};

const GEMINI_THINKING: &str = "\
Gemini 2.5 takes a number of tokens, Gemini 3 the nearest level that it supports. `false` \
turns thinking off, or down to the minimum of a model that always thinks.";

const OLLAMA_THINKING: &str =
    "`reasoning_effort`: low, medium, or high. With Ollama, `false` sends \"none\".";

const DEEPSEEK_THINKING: &str = "\
On or off; DeepSeek also takes an effort. The chat marks the thinking of these providers \
with their name, and it is sent back to them, as they require.";

/// The providers, in the order in which `auto` tries them.
pub const PROVIDERS: &[ProviderSpec] = &[
    ProviderSpec {
        name: "anthropic",
        docs: "https://docs.anthropic.com/en/api/messages",
        protocol: Protocol::AnthropicMessages,
        base_url: "https://api.anthropic.com",
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variable: "ANTHROPIC_API_KEY",
        model: "claude-sonnet-5-5",
        thinking: "\
Models up to 4.5 take a number of tokens (1024 or more), later ones an effort, 4.6 both. From 5 \
on they think by default, and most from 5.5 on always think: `false` is sent as the lowest effort, \
or for Sonnet as notes between calls. No temperature is sent with thinking, or to models after 4.6. A \
number gets at most three quarters of `max_tokens`, or none if that is less than 1024. Without \
`max_tokens`, the limit is the model's own, or 32000 plus the number, also for unknown models.",
        ..HOSTED
    },
    ProviderSpec {
        name: "openai",
        note: " (Responses API)",
        docs: "https://platform.openai.com/docs/api-reference/responses",
        protocol: Protocol::Responses,
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        key_variable: "OPENAI_API_KEY",
        model: "gpt-6.1-sol",
        thinking: "\
An effort in the model's own terms; the chat shows a summary of the thinking. Models \
without reasoning get no effort, models with reasoning get no temperature.",
        ..HOSTED
    },
    ProviderSpec {
        name: "gemini",
        docs: "https://ai.google.dev/api/generate-content",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GEMINI_BASE_URL",
        key_variable: "GEMINI_API_KEY",
        model: "gemini-3.8-flash",
        thinking: GEMINI_THINKING,
        ..HOSTED
    },
    ProviderSpec {
        name: VERTEX,
        note: " (Gemini on Vertex AI; set `parameters.vertex.project_id`)",
        docs: "https://cloud.google.com/vertex-ai/generative-ai/docs/model-reference/inference",
        protocol: Protocol::Gemini,
        base_url_variable: "VERTEX_BASE_URL",
        key_variable: "VERTEX_AI_ACCESS_TOKEN",
        model: "gemini-3.8-flash",
        thinking: GEMINI_THINKING,
        ..HOSTED
    },
    ProviderSpec {
        name: LOCAL,
        note: " (a llama.cpp server that Flemma starts; see `flemma local`)",
        base_url_variable: LOCAL,
        needs_key: false,
        ..HOSTED
    },
    ProviderSpec {
        name: "openai_compatible",
        note: " (any other Chat Completions server)",
        docs: "https://platform.openai.com/docs/api-reference/chat",
        base_url_variable: "OPENAI_COMPATIBLE_BASE_URL",
        key_variable: "OPENAI_COMPATIBLE_API_KEY",
        needs_key: false,
        thinking: OLLAMA_THINKING,
        ..HOSTED
    },
    ProviderSpec {
        name: "llamacpp",
        note: " (on this machine)",
        docs: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variable: "LLAMACPP_BASE_URL",
        key_variable: "LLAMA_API_KEY",
        needs_key: false,
        thinking: "Variables of the model's chat template.",
        dialects: &[(
            "",
            Dialect {
                thinking: ThinkingStyle::Template((None, THREE)),
                asks_parallel: true,
                ..PLAIN
            },
        )],
        ..HOSTED
    },
    ProviderSpec {
        name: "ollama",
        note: " (on this machine)",
        docs: "https://github.com/ollama/ollama/blob/main/docs/openai.md",
        base_url: "http://127.0.0.1:11434/v1",
        base_url_variable: "OLLAMA_BASE_URL",
        key_variable: "OLLAMA_API_KEY",
        needs_key: false,
        thinking: OLLAMA_THINKING,
        dialects: &[("", EFFORT_OR_NONE)],
        ..HOSTED
    },
    ProviderSpec {
        name: "groq",
        docs: "https://console.groq.com/docs/openai",
        base_url: "https://api.groq.com/openai/v1",
        base_url_variable: "GROQ_BASE_URL",
        key_variable: "GROQ_API_KEY",
        thinking: "Only gpt-oss (an effort) and Qwen (on or off).",
        dialects: &[
            ("openai/gpt-oss", EFFORT_OR_LOW),
            (
                "qwen/",
                with_thinking(ThinkingStyle::EffortApart((Some("none"), ["default"; 5]))),
            ),
            ("", with_thinking(ThinkingStyle::Never)),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "together",
        docs: "https://docs.together.ai/docs/openai-api-compatibility",
        base_url: "https://api.together.xyz/v1",
        base_url_variable: "TOGETHER_BASE_URL",
        key_variable: "TOGETHER_API_KEY",
        thinking: "On or off; gpt-oss takes an effort.",
        dialects: &[
            ("openai/gpt-oss", EFFORT_OR_LOW),
            ("", with_thinking(ThinkingStyle::Enabled)),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "openrouter",
        docs: "https://openrouter.ai/docs/api-reference/overview",
        base_url: "https://openrouter.ai/api/v1",
        base_url_variable: "OPENROUTER_BASE_URL",
        key_variable: "OPENROUTER_API_KEY",
        thinking: "An effort, or a number of tokens.",
        dialects: &[(
            "",
            Dialect {
                returns: Returns::Details,
                ..with_thinking(ThinkingStyle::Reasoning((Some("none"), XHIGH)))
            },
        )],
        ..HOSTED
    },
    ProviderSpec {
        name: "deepseek",
        docs: "https://api-docs.deepseek.com",
        base_url: "https://api.deepseek.com",
        base_url_variable: "DEEPSEEK_BASE_URL",
        key_variable: "DEEPSEEK_API_KEY",
        thinking: DEEPSEEK_THINKING,
        dialects: &[(
            "",
            returning_text(ThinkingStyle::Toggle(Some((None, FIVE)))),
        )],
        ..HOSTED
    },
    ProviderSpec {
        name: "moonshot",
        docs: "https://platform.moonshot.ai/docs",
        base_url: "https://api.moonshot.ai/v1",
        base_url_variable: "MOONSHOT_BASE_URL",
        key_variable: "MOONSHOT_API_KEY",
        thinking: DEEPSEEK_THINKING,
        dialects: &[
            // Always thinks.
            ("kimi-k2-thinking", returning_text(ThinkingStyle::Never)),
            // These never think.
            ("kimi-k2-0", returning_text(ThinkingStyle::Never)),
            ("moonshot-v1", returning_text(ThinkingStyle::Never)),
            ("kimi-latest", returning_text(ThinkingStyle::Never)),
            ("", returning_text(ThinkingStyle::Toggle(None))),
        ],
        ..HOSTED
    },
    ProviderSpec {
        name: "xai",
        note: " (Grok)",
        docs: "https://docs.x.ai/docs/api-reference",
        base_url: "https://api.x.ai/v1",
        base_url_variable: "XAI_BASE_URL",
        key_variable: "XAI_API_KEY",
        thinking: "An effort. Before 4.3 only grok-3-mini takes one; from 4.5 the lowest is low.",
        dialects: &[
            ("grok-4.3", EFFORT_OR_NONE),
            // These models reject requests with an effort.
            ("grok-4.20", with_thinking(ThinkingStyle::Never)),
            ("grok-4.", EFFORT_OR_LOW),
            ("grok-4", with_thinking(ThinkingStyle::Never)),
            // This model has no medium effort.
            (
                "grok-3-mini",
                with_thinking(ThinkingStyle::Effort((
                    Some("low"),
                    ["low", "low", "low", "high", "high"],
                ))),
            ),
            ("grok-3", with_thinking(ThinkingStyle::Never)),
            ("grok-2", with_thinking(ThinkingStyle::Never)),
            ("grok-code", with_thinking(ThinkingStyle::Never)),
            ("", EFFORT_OR_LOW),
        ],
        ..HOSTED
    },
];

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

const THREE: [&str; 5] = ["low", "low", "medium", "high", "high"];

const FIVE: [&str; 5] = ["minimal", "low", "medium", "high", "max"];

const XHIGH: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

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
    /// True if a tool may be marked as strict.
    pub strict: bool,
    /// True if parallel calls must be requested explicitly.
    pub asks_parallel: bool,
}

/// Plain Chat Completions, as supported by the oldest servers.
const PLAIN: Dialect = Dialect {
    thinking: ThinkingStyle::Effort((None, THREE)),
    returns: Returns::Never,
    strict: true,
    asks_parallel: false,
};

/// `reasoning_effort`, where "none" turns thinking off.
const EFFORT_OR_NONE: Dialect = with_thinking(ThinkingStyle::Effort((Some("none"), THREE)));

/// `reasoning_effort` of a model that always thinks.
const EFFORT_OR_LOW: Dialect = with_thinking(ThinkingStyle::Effort((Some("low"), THREE)));

/// Plain Chat Completions with another thinking style.
const fn with_thinking(thinking: ThinkingStyle) -> Dialect {
    Dialect { thinking, ..PLAIN }
}

/// A server that rejects a conversation without the thinking that preceded tool calls.
const fn returning_text(thinking: ThinkingStyle) -> Dialect {
    Dialect {
        thinking,
        returns: Returns::Text,
        strict: false,
        asks_parallel: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_four_providers_have_another_protocol_than_chat_completions() {
        let others = PROVIDERS
            .iter()
            .filter(|spec| spec.protocol != Protocol::ChatCompletions)
            .map(|spec| (spec.name, spec.protocol));
        assert_eq!(
            others.collect::<Vec<_>>(),
            [
                ("anthropic", Protocol::AnthropicMessages),
                ("openai", Protocol::Responses),
                ("gemini", Protocol::Gemini),
                (VERTEX, Protocol::Gemini),
            ]
        );
    }

    #[test]
    fn three_providers_have_no_default_address() {
        let without = PROVIDERS.iter().filter(|spec| spec.base_url.is_empty());
        let without: Vec<&str> = without.map(|spec| spec.name).collect();
        assert_eq!(without, [VERTEX, LOCAL, "openai_compatible"]);
        let local: Vec<&str> = on_this_machine().map(|spec| spec.name).collect();
        assert_eq!(local, ["llamacpp", "ollama"]);
    }

    #[test]
    fn only_providers_with_their_own_protocol_have_a_default_model() {
        for spec in PROVIDERS {
            let is_own = spec.protocol != Protocol::ChatCompletions;
            assert_eq!(!spec.model.is_empty(), is_own, "{}", spec.name);
            assert_eq!(find(spec.name).map(|it| it.model), Some(spec.model));
        }
        assert!(find("").is_none());
    }

    #[test]
    fn the_first_provider_with_a_key_or_address_is_chosen() {
        for (variables, expected) in [
            (vec![], None),
            (vec![("ANTHROPIC_API_KEY", "")], None),
            (vec![("OPENAI_API_KEY", "k")], Some("openai")),
            (
                vec![("OPENAI_API_KEY", "k"), ("ANTHROPIC_API_KEY", "k")],
                Some("anthropic"),
            ),
            (
                vec![("OLLAMA_BASE_URL", "http://127.0.0.1:1")],
                Some("ollama"),
            ),
            // A key alone does not choose a server that needs no key.
            (vec![("OLLAMA_API_KEY", "k")], None),
            // There is no default model.
            (vec![("GROQ_API_KEY", "k")], None),
            // Another address alone does not replace the key.
            (vec![("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")], None),
        ] {
            let read = |name: &str| {
                let found = variables.iter().find(|(set, _)| *set == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(set_up(&read), expected, "{variables:?}");
        }
    }
}
