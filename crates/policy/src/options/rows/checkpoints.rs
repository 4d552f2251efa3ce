//! The table `checkpoints`.

use super::{MANY, OptionDef, OptionKind, option, table};

pub(super) const CHECKPOINTS: OptionDef = table(
    "checkpoints",
    OptionKind::Table(&[&[
        option(
            "enabled",
            OptionKind::Flag,
            "true",
            "\
Whether files are stored before a call changes them, so that `:Flemma undo` can
restore them; see |flemma-undo|.",
        ),
        option(
            "limit",
            OptionKind::Whole(1, MANY),
            "500",
            "\
Maximum size of a project's checkpoints in MB. Those of the oldest turns are
removed first, and a message says so.",
        ),
    ]]),
    "",
);
