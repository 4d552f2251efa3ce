//! The providers and the parameters that each has of its own.

use super::{Field, GENERAL, Kind, MANY};

/// The values of `provider`.
pub const NAMES: &[&str] = &[
    "anthropic",
    "openai",
    "gemini",
    "vertex",
    "local",
    "openai_compatible",
    "ollama",
    "llamacpp",
    "groq",
    "together",
    "openrouter",
    "deepseek",
    "moonshot",
    "tutor",
    "auto",
];

const CONNECTION: &[Field] = &[
    Field::new(
        "api_key",
        Kind::Text,
        "null",
        "The key, for those who do not have it in the environment.",
    ),
    Field::new(
        "api_key_command",
        Kind::List(&Kind::Text),
        "null",
        "\
A program and its arguments that print the key: the last place that is asked,
see |flemma-keys-of-providers|. No shell is involved. >lua

api_key_command = { \"pass\", \"show\", \"anthropic\" }
<",
    ),
    Field::new(
        "base_url",
        Kind::Text,
        "null",
        "\
The server's address, for all but Anthropic and Gemini with its version,
mostly `/v1`. nil: that of the environment, else the usual; see |flemma-providers|.",
    ),
    Field::new(
        "ca_file",
        Kind::Text,
        "null",
        "\
A file of certificate authorities in PEM that are trusted for this provider
beside those of the system, as for a gateway of your own; see |flemma-network|.",
    ),
];

/// The options of a provider that has no parameters of its own.
pub const SERVER: Kind = Kind::Table(&[CONNECTION, GENERAL]);

/// A table for each provider.
pub const PROVIDERS: &[Field] = &[
    Field::table(
        "anthropic",
        Kind::Table(&[CONNECTION, GENERAL, &[budget("anthropic.thinking_budget")]]),
        "",
    ),
    Field::table("openai", Kind::Table(&[CONNECTION, GENERAL, OPENAI]), ""),
    Field::table(
        "gemini",
        Kind::Table(&[CONNECTION, GENERAL, &[budget("gemini.thinking_budget")]]),
        "",
    ),
    Field::table("vertex", Kind::Table(&[CONNECTION, GENERAL, VERTEX]), ""),
    Field::table(
        "local",
        Kind::Table(&[LOCAL, GENERAL]),
        "\
A llama.cpp server that Flemma starts, see |flemma-local|. The name is a word of
Lua, so it stands in brackets: >lua

parameters = { [\"local\"] = { model_path = \"~/models/NAME.gguf\" } }
<",
    ),
    server("openai_compatible"),
    server("ollama"),
    server("llamacpp"),
    server("groq"),
    server("together"),
    server("openrouter"),
    server("deepseek"),
    server("moonshot"),
];

/// The parameters of a provider as one writes them: with `=`, and with each value of
/// those that have few. What is about keys is left out.
pub fn parameter_words(provider: &str) -> Vec<String> {
    let table = PROVIDERS.iter().find(|field| field.name == provider);
    let fields = table.and_then(|field| field.kind.fields());
    let open = |field: &&Field| !field.name.starts_with("api_key");
    let words = fields.into_iter().flatten().filter(open).map(|field| {
        let values = field.kind.values();
        let empty = [String::new()];
        let values = if values.is_empty() {
            &empty[..]
        } else {
            &values
        };
        let words = values.iter().map(|value| format!("{}={value}", field.name));
        words.collect::<Vec<_>>()
    });
    words.flatten().collect()
}

const LOCAL: &[Field] = &[
    Field::new(
        "model_path",
        Kind::Text,
        "null",
        "The model, a GGUF file. `flemma local` says how to get one.",
    ),
    Field::new(
        "server",
        Kind::Text,
        "null",
        "llama.cpp's server program. nil: `llama-server` in $PATH.",
    ),
    Field::new(
        "extra_args",
        Kind::List(&Kind::Text),
        "null",
        "\
Further arguments for it. >lua

extra_args = { \"--ctx-size\", \"32768\" }
<",
    ),
];

const VERTEX: &[Field] = &[
    budget("vertex.thinking_budget"),
    Field::new(
        "project_id",
        Kind::Text,
        "null",
        "The project that pays. Otherwise $GOOGLE_CLOUD_PROJECT.",
    ),
    Field::new(
        "location",
        Kind::Text,
        "null",
        "\
Where the model runs. Otherwise $GOOGLE_CLOUD_LOCATION, or \"global\".",
    ),
];

const OPENAI: &[Field] = &[
    Field::new(
        "reasoning",
        Kind::Choice(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        "null",
        "\
How much the model thinks, in OpenAI's words and as it stands; wins over
`thinking`. Not every model knows every word.",
    )
    .in_frontmatter("openai.reasoning"),
    Field::new(
        "reasoning_summary",
        Kind::Choice(&["auto", "concise", "detailed", "none"]),
        "null",
        "\
How OpenAI sums up what the model thought. nil: \"auto\" when `thinking` or
`reasoning` is set, which some models give only to organizations that
OpenAI has verified; \"none\" does without.",
    )
    .in_frontmatter("openai.reasoning_summary"),
];

const fn budget(in_frontmatter: &'static str) -> Field {
    Field::new(
        "thinking_budget",
        Kind::Whole(1, MANY),
        "null",
        "\
Tokens to think with; wins over `thinking`. A model that takes no number
gets the nearest level.",
    )
    .in_frontmatter(in_frontmatter)
}

const fn server(name: &'static str) -> Field {
    Field::table(name, SERVER, "")
}
