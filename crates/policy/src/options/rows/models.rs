//! The option `models`: facts about models that the catalogue does not know.
//!
//! The fields are those of the catalogue's file.

use super::{MANY, OptionDef, OptionKind, option, table, unset};

/// Dollars for a million tokens; no model costs more.
const PRICE: OptionKind = OptionKind::Number(0.0, 1e6);
const COUNT: OptionKind = OptionKind::Whole(1, MANY);

pub(super) const MODELS: OptionDef = option(
    "models",
    OptionKind::Map(&OptionKind::Table(&[MODEL])),
    "{}",
    "\
Properties of models, by the provider's names for them. They override the
built-in catalogue and what the provider's own list of models says; see
|flemma-model-lists|. Models that are in none of them work as well. Prices are
in dollars per million tokens: >lua

models = {
  [\"qwen3-coder\"] = {
    context = 262144, output = 65536,
    price = { input = 0.2, output = 0.8, cache_read = 0.05 },
  },
}
<
`output` is the maximum number of tokens of an answer. `thinking` is the form in
which the model takes the amount of thinking: \"none\", \"budget\" (tokens, from
`thinking_min` to `thinking_max`), or \"levels\" (the words in `levels`, lowest
first). `thinking_default = true`: the model thinks unless told otherwise.
`thinking_off = false`: it always thinks. `thinking_between_tools = true`: then
it can at least be told to think only between calls. `thinking_shown = false`:
it shows its thinking only on request. `preserved_thinking = true`: its thinking
is bound to what came before (|flemma-preserved-thinking|). `system_messages =
true`: it takes instructions and tools in the middle of a conversation; only
Anthropic's models differ in this. `temperature = false`: it accepts no
temperature. `tools = false`: it cannot call tools (|flemma-text-tools|).
`images = false` and `pdf = false`: it gets only the names of such files.
`lifecycle` (\"active\", \"deprecated\", or \"retired\") and `retires_at`, a date, say
whether the provider still offers it, which a message tells you.",
);

const MODEL: &[OptionDef] = &[
    unset("context", COUNT, ""),
    unset("output", COUNT, ""),
    table(
        "price",
        OptionKind::Table(&[&[
            unset("input", PRICE, ""),
            unset("output", PRICE, ""),
            unset("cache_read", PRICE, ""),
            unset("cache_write", PRICE, ""),
            unset("cache_write_long", PRICE, ""),
        ]]),
        "",
    ),
    unset(
        "thinking",
        OptionKind::Choice(&["none", "budget", "levels"]),
        "",
    ),
    unset("levels", OptionKind::List(&OptionKind::Text), ""),
    unset("thinking_min", COUNT, ""),
    unset("thinking_max", COUNT, ""),
    unset("thinking_default", OptionKind::Flag, ""),
    unset("thinking_off", OptionKind::Flag, ""),
    unset("thinking_between_tools", OptionKind::Flag, ""),
    unset("thinking_shown", OptionKind::Flag, ""),
    unset("preserved_thinking", OptionKind::Flag, ""),
    unset("system_messages", OptionKind::Flag, ""),
    unset("temperature", OptionKind::Flag, ""),
    unset("tools", OptionKind::Flag, ""),
    unset("images", OptionKind::Flag, ""),
    unset("pdf", OptionKind::Flag, ""),
    unset(
        "lifecycle",
        OptionKind::Choice(&["active", "deprecated", "retired"]),
        "",
    ),
    unset("retires_at", OptionKind::Text, ""),
];
