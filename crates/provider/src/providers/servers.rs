//! Servers of Chat Completions and in what they differ, one row each.
//!
//! Any address may lead to any of them, so a row is found by the provider, by the host, or
//! by the name of the model. What the decoder accepts from every server is in tables of its
//! own (`endings`, `usage`, `content`, `retry::limits`, `thinking_tags`). Help has a table made
//! from these rows, which `tests/documents.rs` writes and checks. Looked up in November 2026, at the
//! source or in responses that users published. Not confirmed: the place of Together's cached
//! tokens, OpenAI's limit of an ID, and llama.cpp's lines that begin with `error:`.

use crate::{Endpoint, RefusedParameter, ids::IdRule};

/// A server, or a family of models that has the same rules on any server.
#[derive(Debug)]
pub struct ServerFacts {
    /// Name in help.
    pub name: &'static str,
    /// Names of its providers in the options.
    pub(crate) providers: &'static [&'static str],
    /// Ends of its host names.
    pub(crate) hosts: &'static [&'static str],
    /// Beginnings of its models' names, behind the last `/`.
    pub(crate) models: &'static [&'static str],
    /// The IDs of calls that it accepts.
    pub(crate) ids: IdRule,
    /// Parameters that it does not take, and the names that it takes instead.
    pub(crate) refused: &'static [(&'static str, Option<&'static str>)],
    /// Known facts about it, for help.
    pub known: &'static str,
    /// Where that is documented or was reported.
    pub source: &'static str,
}

/// Defaults of a row.
const PLAIN: ServerFacts = ServerFacts {
    name: "",
    providers: &[],
    hosts: &[],
    models: &[],
    ids: IdRule::Visible(MAX_ID),
    refused: &[],
    known: "",
    source: "",
};

/// Maximum length of an ID at OpenAI, and of those that other servers make, with few
/// exceptions.
const MAX_ID: usize = 40;

/// The rows. The first that fits counts.
pub const SERVERS: &[ServerFacts] = &[
    ServerFacts {
        name: "Mistral",
        hosts: &["mistral.ai"],
        models: &[
            "mistral-",
            "ministral-",
            "magistral-",
            "codestral-",
            "devstral-",
            "pixtral-",
            "open-mistral-",
            "open-mixtral-",
            "labs-devstral-",
            "mixtral-",
            "voxtral-",
        ],
        ids: IdRule::Alphanumeric(9),
        refused: &[("max_completion_tokens", Some("max_tokens"))],
        known: "Content is a list of parts with thinking and references. IDs of calls are \
                nine letters and digits. Unknown parameters are refused (422).",
        source: "https://docs.mistral.ai/capabilities/reasoning",
        ..PLAIN
    },
    ServerFacts {
        name: "OpenAI",
        hosts: &["api.openai.com", "openai.azure.com"],
        refused: &[("max_tokens", Some("max_completion_tokens"))],
        known: "IDs of calls have at most 40 characters. Models that reason refuse max_tokens \
                and temperature.",
        source: "https://platform.openai.com/docs/api-reference/chat",
        ..PLAIN
    },
    ServerFacts {
        name: "Moonshot",
        providers: &["moonshot"],
        hosts: &["moonshot.ai", "moonshot.cn", "kimi.com"],
        models: &["kimi-", "moonshot-"],
        known: "Usage is in the choice, cached tokens at its top. IDs such as functions.bash:0 \
                are sent back unchanged. Some models take only temperature 1.",
        source: "https://platform.moonshot.ai/docs",
        ..PLAIN
    },
    ServerFacts {
        name: "DeepSeek",
        providers: &["deepseek"],
        hosts: &["deepseek.com"],
        models: &["deepseek-"],
        known: "Cached tokens are prompt_cache_hit_tokens. On other servers the thinking of R1 \
                comes in <think>, often without the opening tag.",
        source: "https://api-docs.deepseek.com",
        ..PLAIN
    },
    ServerFacts {
        name: "Groq",
        providers: &["groq"],
        hosts: &["groq.com"],
        known: "Usage is in x_groq. Limits have durations such as 2m59.56s in headers and \
                messages.",
        source: "https://console.groq.com/docs/rate-limits",
        ..PLAIN
    },
    ServerFacts {
        name: "Together",
        providers: &["together"],
        hosts: &["together.xyz", "together.ai"],
        known: "Answers end with eos. Cached tokens are at the top of the usage.",
        source: "https://github.com/togethercomputer/together-python",
        ..PLAIN
    },
    ServerFacts {
        name: "OpenRouter",
        providers: &["openrouter"],
        hosts: &["openrouter.ai"],
        known: "Errors of the server behind it are in the choice. Limits are quoted as headers \
                in the error. Signed thinking is in reasoning_details.",
        source: "https://openrouter.ai/docs/api/reference/errors-and-debugging",
        ..PLAIN
    },
    ServerFacts {
        name: "xAI",
        providers: &["xai"],
        hosts: &["x.ai"],
        models: &["grok-"],
        known: "Output tokens do not include the thinking; the total does.",
        source: "https://docs.x.ai/docs/guides/reasoning",
        ..PLAIN
    },
    ServerFacts {
        name: "Ollama",
        providers: &["ollama"],
        known: "Calls arrive whole; older versions give all of them the index 0. Its own figures \
                are prompt_eval_count and eval_count.",
        source: "https://github.com/ollama/ollama/blob/main/openai/openai.go",
        ..PLAIN
    },
    ServerFacts {
        name: "llama.cpp",
        providers: &["llamacpp", "local"],
        known: "Usage may be in timings, where the prompt excludes the cache. Lines that begin \
                with error: report errors. Thinking comes in tags if its format is none.",
        source: "https://github.com/ggml-org/llama.cpp/blob/master/tools/server/README.md",
        ..PLAIN
    },
    ServerFacts {
        name: "Google",
        providers: &["gemini", "vertex"],
        hosts: &["googleapis.com"],
        known: "The time to wait is in RetryInfo, and QuotaFailure names the quota. A quota of \
                the day is not tried again.",
        source: "https://ai.google.dev/gemini-api/docs/rate-limits",
        ..PLAIN
    },
    ServerFacts {
        name: "Anthropic",
        providers: &["anthropic"],
        hosts: &["anthropic.com"],
        known: "IDs of calls have letters, digits, _ and -. Limits are reset at times in \
                anthropic-ratelimit-*-reset. Cached tokens are not part of input_tokens.",
        source: "https://docs.anthropic.com/en/api/rate-limits",
        ..PLAIN
    },
];

/// Returns the row of an endpoint's model.
fn facts(endpoint: &Endpoint, model: &str) -> &'static ServerFacts {
    let rest = endpoint.base_url.split("://").nth(1).unwrap_or_default();
    let authority = rest.split('/').next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let is_host = |name: &&'static str| {
        let parent = host.strip_suffix(*name);
        parent.is_some_and(|parent| parent.is_empty() || parent.ends_with('.'))
    };
    let name = model
        .rsplit('/')
        .next()
        .unwrap_or(model)
        .to_ascii_lowercase();
    let by_model = |row: &&ServerFacts| row.models.iter().any(|it| name.starts_with(it));
    let mut rows = SERVERS.iter();
    // Mistral's rule is part of the models' own templates, so it holds on every server.
    let own = rows
        .clone()
        .find(|row| by_model(row) && row.ids != PLAIN.ids);
    let by_host = rows.clone().find(|row| row.hosts.iter().any(is_host));
    let provider = endpoint.provider.as_str();
    own.or(by_host)
        .or_else(|| rows.find(|row| row.providers.contains(&provider)))
        .unwrap_or(&PLAIN)
}

/// Returns the IDs that the server of an endpoint's model accepts.
pub(crate) fn id_rule(endpoint: &Endpoint, model: &str) -> IdRule {
    facts(endpoint, model).ids
}

/// Returns the parameters that the server of an endpoint's model is known to refuse.
pub(crate) fn refused(endpoint: &Endpoint, model: &str) -> Vec<RefusedParameter> {
    let refused = facts(endpoint, model).refused.iter();
    let refused = refused.map(|(name, instead)| RefusedParameter::known(name, *instead));
    refused.collect()
}
