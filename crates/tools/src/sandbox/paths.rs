//! Where paths of limits really are.

use std::path::{Path, PathBuf};

/// Most symbolic links that are followed, as in the kernel.
pub(super) const MAX_LINKS: usize = 40;

/// The real paths of those that are there, none below another of them.
pub(super) fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    outermost(each_real(paths).collect())
}

/// The real paths of those that are there.
pub(super) fn each_real(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let absolute = paths.iter().filter(|path| path.is_absolute());
    absolute.filter_map(|path| path.canonicalize().ok())
}

/// Those that are below no other, sorted.
pub(super) fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup_by(|path, above| path.starts_with(above));
    paths
}

/// The components of a path, the first one last.
pub(super) fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
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
