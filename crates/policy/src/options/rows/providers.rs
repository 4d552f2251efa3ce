//! The providers' names and the parameters that each has of its own.

use provider::providers::PROVIDERS as PROVIDER_ROWS;

use super::{ANYWHERE, COMMAND, GENERAL, Loosens, MANY, OptionDef, OptionKind, table, unset};
use crate::options::Scope;

/// The number of providers.
const COUNT: usize = PROVIDER_ROWS.len();

/// The values of `provider`.
pub const PROVIDER_NAMES: &[&str] = &{
    // A constant cannot be computed with iterators.
    let mut names = [""; COUNT + 2];
    let mut at = 0;
    while at < COUNT {
        names[at] = PROVIDER_ROWS[at].name;
        at += 1;
    }
    names[COUNT] = "tutor";
    names[COUNT + 1] = "auto";
    names
};

// A project or a chat cannot set these: another address would get the key and the chat, and
// the command would run.
const CONNECTION: &[OptionDef] = &[
    unset(
        "api_key",
        OptionKind::Text,
        "The API key, if it is neither in the environment nor in a key store.",
    )
    .secret(),
    unset(
        "api_key_command",
        OptionKind::List(&OptionKind::Text),
        "\
A program, with its arguments, that prints the key. It runs without a shell,
and only if the key is found nowhere else; see |flemma-keys-of-providers|. >lua

api_key_command = { \"pass\", \"show\", \"anthropic\" }
<",
    )
    .scopes(COMMAND),
    unset(
        "base_url",
        OptionKind::Text,
        "\
The server's base URL. It includes the version, usually `/v1`, except for
Anthropic and Gemini. nil: the environment variable, else the provider's usual
address; see |flemma-providers|.",
    )
    .scopes(COMMAND),
    unset(
        "ca_file",
        OptionKind::Text,
        "\
A PEM file of certificate authorities that are trusted for this provider in
addition to those of the system, for example for a company gateway; see
|flemma-network|.",
    )
    .scopes(COMMAND),
];

/// The options of a provider that has no parameters of its own.
pub const SERVER: OptionKind = OptionKind::Table(&[CONNECTION, GENERAL]);

/// A table for each provider.
pub const PROVIDERS: &[OptionDef] = &{
    let mut tables = [const { table("", SERVER, "") }; COUNT];
    let mut at = 0;
    while at < COUNT {
        tables[at] = parameters_of(PROVIDER_ROWS[at].name);
        at += 1;
    }
    tables
};

/// Returns the table of a provider: the common parameters and its own.
const fn parameters_of(name: &'static str) -> OptionDef {
    match name.as_bytes() {
        b"anthropic" => table(
            name,
            OptionKind::Table(&[CONNECTION, GENERAL, &[BUDGET]]),
            "",
        ),
        b"openai" => table(name, OptionKind::Table(&[CONNECTION, GENERAL, OPENAI]), ""),
        b"gemini" => table(
            name,
            OptionKind::Table(&[CONNECTION, GENERAL, &[BUDGET]]),
            "",
        ),
        b"vertex" => table(name, OptionKind::Table(&[CONNECTION, GENERAL, VERTEX]), ""),
        b"local" => table(name, OptionKind::Table(&[LOCAL, GENERAL]), LOCAL_HELP),
        _ => table(name, SERVER, ""),
    }
}

/// Returns the parameters of a provider as `:Flemma switch` takes them: `name=`, or
/// `name=value` for each value of those that have few. Keys are left out.
pub fn parameter_words(provider: &str) -> Vec<String> {
    let table = PROVIDERS.iter().find(|field| field.name == provider);
    let fields = table.and_then(|field| field.kind.fields());
    let can_be_switched =
        |field: &&OptionDef| field.is_in(Scope::Runtime) && !field.name.starts_with("api_key");
    let fields = fields.into_iter().flatten().filter(can_be_switched);
    let words = fields.map(|field| match field.kind.values() {
        values if values.is_empty() => vec![format!("{}=", field.name)],
        values => values
            .iter()
            .map(|it| format!("{}={it}", field.name))
            .collect(),
    });
    words.flatten().collect()
}

const LOCAL_HELP: &str = "\
A llama.cpp server that Flemma starts, see |flemma-local|. The name is a
keyword of Lua and needs brackets: >lua

parameters = { [\"local\"] = { model_path = \"~/models/NAME.gguf\" } }
<";

// A project or a chat cannot set these, because they choose a program to run.
const LOCAL: &[OptionDef] = &[
    unset(
        "model_path",
        OptionKind::Text,
        "The model, a GGUF file. `flemma local` explains how to get one.",
    )
    .scopes(COMMAND),
    unset(
        "server",
        OptionKind::Text,
        "The program of llama.cpp's server. nil: `llama-server` in $PATH.",
    )
    .scopes(COMMAND),
    unset(
        "extra_args",
        OptionKind::List(&OptionKind::Text),
        "\
Additional arguments for the server. >lua

extra_args = { \"--ctx-size\", \"32768\" }
<",
    )
    .scopes(COMMAND),
];

const ELSEWHERE: Loosens = Loosens::Always("would send this chat to another place or account");

const VERTEX: &[OptionDef] = &[
    BUDGET,
    unset(
        "project_id",
        OptionKind::AddressPart,
        "The Google Cloud project that is billed. nil: $GOOGLE_CLOUD_PROJECT.",
    )
    .scopes(ANYWHERE)
    .loosens(ELSEWHERE),
    unset(
        "location",
        OptionKind::AddressPart,
        "\
The region in which the model runs. nil: $GOOGLE_CLOUD_LOCATION, or \"global\".",
    )
    .scopes(ANYWHERE)
    .loosens(ELSEWHERE),
];

const OPENAI: &[OptionDef] = &[
    unset(
        "reasoning",
        OptionKind::Choice(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]),
        "\
How much the model thinks, in OpenAI's terms and sent unchanged; overrides
`thinking`. Not every model supports every value.",
    )
    .scopes(ANYWHERE),
    unset(
        "reasoning_summary",
        OptionKind::Choice(&["auto", "concise", "detailed", "none"]),
        "\
How OpenAI summarizes the model's thinking. nil: \"auto\" if `thinking` or
`reasoning` is set, which some models allow only for organizations that
OpenAI has verified; \"none\": no summary.",
    )
    .scopes(ANYWHERE),
];

const BUDGET: OptionDef = unset(
    "thinking_budget",
    OptionKind::Whole(1, MANY),
    "\
Number of tokens for thinking; overrides `thinking`. A model that takes levels
gets the nearest level.",
)
.scopes(ANYWHERE);

#[cfg(test)]
mod tests {
    use super::*;

    // What is no key by its name may be named by a project's `.mcp.json`.
    #[test]
    fn the_key_variable_of_each_provider_is_a_key_by_its_name() {
        for row in PROVIDER_ROWS {
            let name = row.key_variable;
            assert!(
                name.is_empty() || tools::is_provider_key(name.as_ref()),
                "{name}"
            );
        }
    }
}
