//! `models`: what the user knows of models that the catalogue does not.
//!
//! The fields are those of the catalogue's file, so that either can say the same.

use super::Field;
use crate::settings::kind::{Kind, MANY};

/// Most dollars for a million tokens; nothing costs that much.
const DEAR: f64 = 1e6;
const PRICE: Kind = Kind::Number(0.0, DEAR);

/// The option.
pub const MODELS: Field = Field::new(
    "models",
    Kind::Map(&Kind::Table(&[MODEL])),
    "{}",
    "\
What you know of models, by their names in the provider's words. It is laid
over what the plugin knows; a model that neither knows works as well. Prices
are dollars for a million tokens: >lua

models = {
  [\"qwen3-coder\"] = {
    context = 262144, output = 65536,
    price = { input = 0.2, output = 0.8, cache_read = 0.05 },
  },
}
<
`output` is the most tokens of an answer. `thinking` is how the model is told
how much to think: \"none\", \"budget\" (tokens, from `thinking_min` to
`thinking_max`), or \"levels\" (the words in `levels`, the least first);
`thinking_off = false` is a model that always thinks, `thinking_shown = false`
one that shows it only when asked, `temperature = false` one that takes none,
`tools = false` one that cannot call tools (|flemma-text-tools|). One with
`images = false` or `pdf = false` sees only the names of such files.",
);

const MODEL: &[Field] = &[
    Field::new("context", Kind::Whole(1, MANY), "null", ""),
    Field::new("output", Kind::Whole(1, MANY), "null", ""),
    Field::table(
        "price",
        Kind::Table(&[&[
            Field::new("input", PRICE, "null", ""),
            Field::new("output", PRICE, "null", ""),
            Field::new("cache_read", PRICE, "null", ""),
            Field::new("cache_write", PRICE, "null", ""),
            Field::new("cache_write_long", PRICE, "null", ""),
        ]]),
        "",
    ),
    Field::new(
        "thinking",
        Kind::Choice(&["none", "budget", "levels"]),
        "null",
        "",
    ),
    Field::new("levels", Kind::List(&Kind::Text), "null", ""),
    Field::new("thinking_min", Kind::Whole(1, MANY), "null", ""),
    Field::new("thinking_max", Kind::Whole(1, MANY), "null", ""),
    Field::new("thinking_off", Kind::Flag, "null", ""),
    Field::new("thinking_shown", Kind::Flag, "null", ""),
    Field::new("temperature", Kind::Flag, "null", ""),
    Field::new("tools", Kind::Flag, "null", ""),
    Field::new("images", Kind::Flag, "null", ""),
    Field::new("pdf", Kind::Flag, "null", ""),
];
