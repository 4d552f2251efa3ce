//! Real paths of limits.

use std::path::{Path, PathBuf};

use platform::paths::canonicalize;

/// Maximum number of symbolic links that are followed, as in the kernel.
pub(super) const MAX_LINKS: usize = 40;

/// The real paths of existing files and folders, without those below another one.
pub(super) fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    outermost(each_real(paths).collect())
}

/// The real paths of existing files and folders.
pub(super) fn each_real(paths: &[PathBuf]) -> impl Iterator<Item = PathBuf> {
    let absolute = paths.iter().filter(|path| path.is_absolute());
    // What does not exist cannot be mounted.
    absolute.filter_map(|path| canonicalize(path).ok())
}

/// The paths that are not below another one, sorted.
pub(super) fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    // Compared by component, so the paths below another one directly follow it.
    paths.sort();
    paths.dedup_by(|path, above| path.starts_with(above));
    paths
}

/// The components of a path in reverse order.
pub(super) fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
}

/// The absolute paths in a value such as `unix:path=/run/bus,guid=1` or
/// `/tmp/tmux-0/default,12,0`. May contain empty strings.
pub fn paths_in(value: &str) -> impl Iterator<Item = &str> {
    let words = value.split([',', ';', '=', ':']);
    let words = words.map(|word| word.find('/').map_or("", |at| &word[at..]));
    // In "unix:///run/x" the path follows two more slashes.
    words.map(|word| {
        let path = word.trim_start_matches('/');
        &word[(word.len() - path.len()).saturating_sub(1)..]
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn missing_and_nested_paths_are_left_out() {
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
