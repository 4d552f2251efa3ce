//! The providers' names and the parameters that each has of its own.

use provider::providers::PROVIDERS as PROVIDER_ROWS;

use super::GENERAL;
use crate::options::kind::{MANY, OptionKind, OptionKind::*};
use crate::options::{ANYWHERE, COMMAND, Loosens, OptionDef, Scope};

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

options! {
    // A project or a chat cannot set these: another address would get the key and the chat, and
    // the command would run.
    const CONNECTION {
        /// The API key, if it is neither in the environment nor in a key store.
        api_key: Text { secret: true },
        /// A program, with its arguments, that prints the key. It runs without a shell,
        /// and only if the key is found nowhere else; see |flemma-keys-of-providers|. >lua
        ///
        /// api_key_command = { "pass", "show", "anthropic" }
        /// <
        api_key_command: List(&Text) { scopes: COMMAND },
        /// The server's base URL. It includes the version, usually `/v1`, except for
        /// Anthropic and Gemini. nil: the environment variable, else the provider's usual
        /// address; see |flemma-providers|.
        base_url: Text { scopes: COMMAND },
        /// A PEM file of certificate authorities that are trusted for this provider in
        /// addition to those of the system, for example for a company gateway; see
        /// |flemma-network|.
        ca_file: Text { scopes: COMMAND },
    }

    // A project or a chat cannot set these, because they choose a program to run.
    const LOCAL {
        /// The model, a GGUF file. `flemma local` explains how to get one.
        model_path: Text { scopes: COMMAND },
        /// The program of llama.cpp's server. nil: `llama-server` in $PATH.
        server: Text { scopes: COMMAND },
        /// Additional arguments for the server. >lua
        ///
        /// extra_args = { "--ctx-size", "32768" }
        /// <
        extra_args: List(&Text) { scopes: COMMAND },
    }

    const BUDGET {
        /// Number of tokens for thinking; overrides `thinking`. A model that takes levels
        /// gets the nearest level.
        thinking_budget: Whole(1, MANY) { scopes: ANYWHERE },
    }

    const VERTEX {
        /// The Google Cloud project that is billed. nil: $GOOGLE_CLOUD_PROJECT.
        project_id: AddressPart { scopes: ANYWHERE, loosens: ELSEWHERE },
        /// The region in which the model runs. nil: $GOOGLE_CLOUD_LOCATION, or "global".
        location: AddressPart { scopes: ANYWHERE, loosens: ELSEWHERE },
    }

    const OPENAI {
        /// How much the model thinks, in OpenAI's terms and sent unchanged; overrides
        /// `thinking`. Not every model supports every value.
        reasoning: Choice(&["none", "minimal", "low", "medium", "high", "xhigh", "max"]) {
            scopes: ANYWHERE,
        },
        /// How OpenAI summarizes the model's thinking. nil: "auto" if `thinking` or
        /// `reasoning` is set, which some models allow only for organizations that
        /// OpenAI has verified; "none": no summary.
        reasoning_summary: Choice(&["auto", "concise", "detailed", "none"]) { scopes: ANYWHERE },
    }
}

/// The options of a provider that has no parameters of its own.
pub const SERVER: OptionKind = Table(&[CONNECTION, GENERAL]);

/// A table for each provider.
pub const PROVIDERS: &[OptionDef] = &{
    let mut tables = [const { OptionDef::new("", SERVER, "{}", &[]) }; COUNT];
    let mut at = 0;
    while at < COUNT {
        tables[at] = parameters_of(PROVIDER_ROWS[at].name);
        at += 1;
    }
    tables
};

/// Returns the table of a provider: the common parameters and its own.
const fn parameters_of(name: &'static str) -> OptionDef {
    let (kind, help): (_, &[&str]) = match name.as_bytes() {
        b"anthropic" | b"gemini" => (Table(&[CONNECTION, GENERAL, BUDGET]), &[]),
        b"openai" => (Table(&[CONNECTION, GENERAL, OPENAI]), &[]),
        b"vertex" => (Table(&[CONNECTION, GENERAL, BUDGET, VERTEX]), &[]),
        b"local" => (Table(&[LOCAL, GENERAL]), LOCAL_HELP),
        _ => (SERVER, &[]),
    };
    OptionDef::new(name, kind, "{}", help)
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

const LOCAL_HELP: &[&str] = &[
    "A llama.cpp server that Flemma starts, see |flemma-local|. The name is a",
    "keyword of Lua and needs brackets: >lua",
    "",
    "parameters = { [\"local\"] = { model_path = \"~/models/NAME.gguf\" } }",
    "<",
];

const ELSEWHERE: Loosens = Loosens::Always("would send this chat to another place or account");

#[cfg(test)]
mod tests {
    use super::*;

    // A project's `.mcp.json` may name variables that are not keys by their names.
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
