//! The table `chats`.

use super::{OptionDef, OptionKind, option, table, unset};

pub(super) const CHATS: OptionDef = table(
    "chats",
    OptionKind::Table(&[&[
        unset(
            "folder",
            OptionKind::Text,
            "\
Where `:Flemma new` and `:Flemma ask` make new chats; relative to the working
directory, as \".\". nil: a folder for each project in
`stdpath(\"state\")/flemma`. References such as `@./src` then start from the
project, and otherwise from the chat's folder. See |flemma-new|.",
        ),
        option(
            "autosave",
            OptionKind::Any(&[OptionKind::Choice(&["new", "all"]), OptionKind::Off]),
            r#""new""#,
            "\
Which chats are saved after each answer and each result: \"new\", those that
`:Flemma new`, `:Flemma ask`, and `:Flemma tutor` made; \"all\", also files that were there
before; false, none. See |flemma-autosave|.",
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
