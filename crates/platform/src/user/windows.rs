use std::fs::Metadata;

pub(super) fn wrote_alone(_: &Metadata) -> bool {
    true
}

pub(super) fn owns(_: &Metadata) -> bool {
    true
}

pub(super) fn has_alone(_: &Metadata) -> bool {
    true
}

pub(super) fn all_can_write(_: &Metadata) -> bool {
    false
}

pub(super) fn real_id() -> Option<u32> {
    None
}

pub(super) fn file_name_part() -> String {
    "user".to_owned()
}
