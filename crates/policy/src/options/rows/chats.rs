//! The table `chats`.

use super::{OptionDef, OptionKind, option, table, unset};

pub(super) const CHATS: OptionDef = table(
    "chats",
    OptionKind::Table(&[&[
        option(
            "folder",
            OptionKind::Text,
            r#"".""#,
            "\
Where `:Flemma new` and `:Flemma ask` make new chats; relative to the working
directory. References such as `@./src` start from the chat's folder, so in
another folder than \".\" they need `@../`.",
        ),
        unset(
            "templates",
            OptionKind::Text,
            "\
Folder of your templates for `:Flemma new`, see |flemma-templates|. nil:
`flemma/templates` in `stdpath(\"config\")`.",
        ),
    ]]),
    "",
);
