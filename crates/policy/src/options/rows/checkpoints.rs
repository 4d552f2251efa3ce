//! The table `checkpoints`.

use super::{Kind, MANY, OptionDef, option, table};

pub(super) const CHECKPOINTS: OptionDef = table(
    "checkpoints",
    Kind::Table(&[&[
        option(
            "enabled",
            Kind::Flag,
            "true",
            "\
Whether files are stored before a call changes them, so that `:Flemma undo` can
restore them; see |flemma-undo|.",
        ),
        option(
            "limit",
            Kind::Whole(1, MANY),
            "500",
            "\
Maximum size of a project's checkpoints in MB. Those of the oldest turns are
removed first, and a message says so.",
        ),
    ]]),
    "",
);
