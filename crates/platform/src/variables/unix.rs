#[cfg(test)]
pub(super) const HAS_CASE: bool = true;

/// None: programs need no variables that other systems lack.
pub const NEEDED: [&str; 0] = [];

pub(super) fn is_same(one: &[u8], other: &[u8]) -> bool {
    one == other
}
