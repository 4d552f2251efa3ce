//! The option `presets`: names for a provider, a model, and parameters.

use super::{OptionDef, OptionKind, option};

pub(super) const PRESETS: OptionDef = option(
    "presets",
    OptionKind::Map(&OptionKind::Any(&[OptionKind::Text, OptionKind::Free])),
    "{}",
    "\
Names for a combination of provider, model, and parameters. A name begins with
`$`; its value is a line as for |:Flemma-switch|, or a table: >lua

presets = {
  [\"$fast\"] = \"gemini gemini-3.8-flash thinking=low\",
  [\"$deep\"] = { provider = \"openai\", model = \"gpt-6.1-sol\", thinking = \"high\" },
}
<
To start with a preset, set `model = \"$fast\"`.",
);
