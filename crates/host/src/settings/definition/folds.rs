//! Options of what can be folded.

use super::Field;
use crate::settings::kind::Kind;

pub const FOLDS: Field = Field::table(
    "folds",
    Kind::Table(&[&[
        Field::new(
            "enabled",
            Kind::Flag,
            "true",
            "\
Whether messages, thinking, calls and results can be folded; see
|flemma-folds|. A window whose 'foldmethod' is not \"manual\" keeps its own.",
        ),
        Field::new(
            "closed",
            Kind::List(&Kind::Choice(&[
                "frontmatter",
                "message",
                "thinking",
                "tool_use",
                "tool_result",
            ])),
            r#"["thinking", "tool_use", "tool_result"]"#,
            "\
Which of them are closed as soon as they are complete. What waits for you
and what went wrong stays open.",
        ),
    ]]),
    "",
);
