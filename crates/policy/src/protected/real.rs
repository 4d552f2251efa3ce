//! How a path is spelled.

use std::path::{Component, Path, PathBuf};

/// The path as it is spelled, without `.` and `..`. It is absolute.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            // By spelling alone, without links: where the path really leads is judged separately.
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
