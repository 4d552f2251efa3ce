//! The table `folds`.

use super::{OptionDef, OptionKind, option, table};

pub(super) const FOLDS: OptionDef = table(
    "folds",
    OptionKind::Table(&[&[
        option(
            "enabled",
            OptionKind::Flag,
            "true",
            "\
Whether messages, thinking, calls, and results can be folded; see
|flemma-folds|. A window whose 'foldmethod' is not \"manual\" keeps its own.",
        ),
        option(
            "closed",
            OptionKind::List(&OptionKind::Choice(&[
                "frontmatter",
                "system",
                "message",
                "thinking",
                "tool_use",
                "tool_result",
            ])),
            r#"["system", "thinking", "tool_use", "tool_result"]"#,
            "\
The kinds of folds that are closed as soon as they are complete. A pending
call is closed only if all of its arguments are shown below its result's
header. Errors stay open.",
        ),
    ]]),
    "",
);
