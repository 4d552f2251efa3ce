//! Where paths of limits really are.

use std::path::{Path, PathBuf};

use crate::files::follow;

/// The real paths of those that are there, none below another of them.
pub(super) fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut real: Vec<PathBuf> = paths
        .iter()
        .filter(|path| path.is_absolute())
        .filter_map(|path| path.canonicalize().ok())
        .collect();
    real.sort();
    real.dedup_by(|path, above| path.starts_with(above));
    real
}

/// The path with every symbolic link followed, as far as there is something; what
/// is missing is taken as it is spelled, for it will be made so. A link to nothing
/// leads to what it names. A path that cannot be resolved is itself: nothing can be
/// written there either.
pub fn leads_to(path: &Path) -> PathBuf {
    follow(path).unwrap_or_else(|_| path.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn what_is_not_there_and_what_is_below_another_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        let given = [
            root.join("a/b"),
            root.join("none"),
            root.join("a"),
            "rel".into(),
        ];
        assert_eq!(real(&given), [root.join("a")]);
    }
}
