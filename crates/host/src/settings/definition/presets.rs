//! `presets`: names for a provider, a model and parameters.

use super::Field;
use crate::settings::kind::Kind;

/// The option.
pub const PRESETS: Field = Field::new(
    "presets",
    Kind::Map(&Kind::Any(&[Kind::Text, Kind::Free])),
    "{}",
    "\
Names, each beginning with `$`, for whom to send to: a provider, a model and
parameters of it, as one writes them behind |:Flemma-switch|, or as a table: >lua

presets = {
  [\"$fast\"] = \"gemini gemini-2.5-flash thinking=low\",
  [\"$deep\"] = { provider = \"openai\", model = \"gpt-5.4\", thinking = \"high\" },
}
<
`model = \"$fast\"` begins with one.",
);
