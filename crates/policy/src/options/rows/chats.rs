//! The table `chats`.

use super::{Kind, OptionDef, option, table, unset};

pub(super) const CHATS: OptionDef = table(
    "chats",
    Kind::Table(&[&[
        option(
            "folder",
            Kind::Text,
            r#"".""#,
            "\
Where `:Flemma new` and `:Flemma ask` make new chats; relative to the working
directory. References such as `@./src` start from the chat's folder, so in
another folder than \".\" they need `@../`.",
        ),
        unset(
            "templates",
            Kind::Text,
            "\
Folder of your templates for `:Flemma new`, see |flemma-templates|. nil:
`flemma/templates` in `stdpath(\"config\")`.",
        ),
    ]]),
    "",
);
