use std::fs::Metadata;

pub(super) fn wrote_alone(_metadata: &Metadata) -> bool {
    true
}
