//! The table `folds`.

use super::{Kind, OptionDef, option, table};

pub(super) const FOLDS: OptionDef = table(
    "folds",
    Kind::Table(&[&[
        option(
            "enabled",
            Kind::Flag,
            "true",
            "\
Whether messages, thinking, calls, and results can be folded; see
|flemma-folds|. A window whose 'foldmethod' is not \"manual\" keeps its own.",
        ),
        option(
            "closed",
            Kind::List(&Kind::Choice(&[
                "frontmatter",
                "system",
                "message",
                "thinking",
                "tool_use",
                "tool_result",
            ])),
            r#"["system", "thinking", "tool_use", "tool_result"]"#,
            "\
The kinds of folds that are closed as soon as they are complete. Pending calls
and errors stay open.",
        ),
    ]]),
    "",
);
