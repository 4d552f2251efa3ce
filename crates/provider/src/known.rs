//! The providers, a row each: where one is, which key it takes, and how it is
//! spoken to. Data alone; how each differs in a request is in the provider crate.

use crate::Protocol;

/// The provider whose address is made of a project and a location.
pub const VERTEX: &str = "vertex";

/// The provider whose server is started on this machine: no environment holds a
/// variable of that name by chance.
pub const LOCAL: &str = "local";

/// A provider that speaks over HTTP.
#[derive(Debug)]
pub struct Known {
    /// Its name in the options.
    pub name: &'static str,
    /// How it is spoken to.
    pub protocol: Protocol,
    /// Where it is without configuration; empty when that must be said.
    pub base_url: &'static str,
    /// The variable that says where it is.
    pub base_url_variable: &'static str,
    /// The variable that holds its key.
    pub key_variable: &'static str,
    /// Whether it refuses requests without a key.
    pub needs_key: bool,
    /// The model without configuration. Empty: a server on this machine chooses,
    /// any other wants to be told.
    pub model: &'static str,
}

/// The provider whose key or address is set, if one is: the first that needs nothing else.
/// `variables` reads an environment.
pub fn set_up(variables: &dyn Fn(&str) -> Option<String>) -> Option<&'static str> {
    let set = |name: &str| variables(name).is_some_and(|value| !value.is_empty());
    KNOWN
        .iter()
        .find(|known| {
            if known.needs_key {
                // Whoever has no default model cannot be asked just like that.
                !known.model.is_empty() && set(known.key_variable)
            } else {
                set(known.base_url_variable)
            }
        })
        .map(|known| known.name)
}

/// The providers of this version, in the order in which `auto` looks for them.
/// Addresses and variables as in the providers' own manuals.
pub const KNOWN: &[Known] = &[
    Known {
        name: "anthropic",
        protocol: Protocol::AnthropicMessages,
        base_url: "https://api.anthropic.com",
        base_url_variable: "ANTHROPIC_BASE_URL",
        key_variable: "ANTHROPIC_API_KEY",
        needs_key: true,
        model: "claude-sonnet-4-6",
    },
    Known {
        name: "openai",
        protocol: Protocol::Responses,
        base_url: "https://api.openai.com/v1",
        base_url_variable: "OPENAI_BASE_URL",
        key_variable: "OPENAI_API_KEY",
        needs_key: true,
        model: "gpt-5.4",
    },
    Known {
        name: "gemini",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com",
        base_url_variable: "GEMINI_BASE_URL",
        key_variable: "GEMINI_API_KEY",
        needs_key: true,
        model: "gemini-2.5-pro",
    },
    Known {
        name: VERTEX,
        protocol: Protocol::Gemini,
        // Made of project and location.
        base_url: "",
        base_url_variable: "VERTEX_BASE_URL",
        key_variable: "VERTEX_AI_ACCESS_TOKEN",
        needs_key: true,
        model: "gemini-2.5-pro",
    },
    Known {
        name: LOCAL,
        protocol: Protocol::ChatCompletions,
        // It is started on whatever port is free.
        base_url: "",
        base_url_variable: LOCAL,
        key_variable: "",
        needs_key: false,
        model: "",
    },
    Known {
        name: "openai_compatible",
        protocol: Protocol::ChatCompletions,
        base_url: "",
        base_url_variable: "OPENAI_COMPATIBLE_BASE_URL",
        key_variable: "OPENAI_COMPATIBLE_API_KEY",
        needs_key: false,
        model: "",
    },
    Known {
        name: "ollama",
        protocol: Protocol::ChatCompletions,
        base_url: "http://127.0.0.1:11434/v1",
        base_url_variable: "OLLAMA_BASE_URL",
        key_variable: "OLLAMA_API_KEY",
        needs_key: false,
        model: "",
    },
    Known {
        name: "llamacpp",
        protocol: Protocol::ChatCompletions,
        base_url: "http://127.0.0.1:8080/v1",
        base_url_variable: "LLAMACPP_BASE_URL",
        key_variable: "LLAMA_API_KEY",
        needs_key: false,
        model: "",
    },
    Known {
        name: "groq",
        protocol: Protocol::ChatCompletions,
        base_url: "https://api.groq.com/openai/v1",
        base_url_variable: "GROQ_BASE_URL",
        key_variable: "GROQ_API_KEY",
        needs_key: true,
        model: "",
    },
    Known {
        name: "together",
        protocol: Protocol::ChatCompletions,
        base_url: "https://api.together.xyz/v1",
        base_url_variable: "TOGETHER_BASE_URL",
        key_variable: "TOGETHER_API_KEY",
        needs_key: true,
        model: "",
    },
    Known {
        name: "openrouter",
        protocol: Protocol::ChatCompletions,
        base_url: "https://openrouter.ai/api/v1",
        base_url_variable: "OPENROUTER_BASE_URL",
        key_variable: "OPENROUTER_API_KEY",
        needs_key: true,
        model: "",
    },
    Known {
        name: "deepseek",
        protocol: Protocol::ChatCompletions,
        base_url: "https://api.deepseek.com",
        base_url_variable: "DEEPSEEK_BASE_URL",
        key_variable: "DEEPSEEK_API_KEY",
        needs_key: true,
        model: "",
    },
    Known {
        name: "moonshot",
        protocol: Protocol::ChatCompletions,
        base_url: "https://api.moonshot.ai/v1",
        base_url_variable: "MOONSHOT_BASE_URL",
        key_variable: "MOONSHOT_API_KEY",
        needs_key: true,
        model: "",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_provider_whose_key_or_address_is_set_is_taken() {
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
            // A server that needs no key is not chosen for one.
            (vec![("OLLAMA_API_KEY", "k")], None),
            // There is no default model to ask.
            (vec![("GROQ_API_KEY", "k")], None),
            // Another address alone does not replace the key.
            (vec![("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")], None),
        ] {
            let read = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(set_up(&read), expected, "{variables:?}");
        }
    }
}
