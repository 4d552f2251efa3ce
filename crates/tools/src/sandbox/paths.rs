//! Where paths of limits really are.

use std::path::{Component, Path, PathBuf};

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

/// Where a path leads: links are followed as far as the path exists, and what does
/// not exist is taken as it is spelled.
pub(super) fn leads_to(path: &Path) -> PathBuf {
    let mut rest = Vec::new();
    let mut there = path;
    loop {
        if let Ok(real) = there.canonicalize() {
            return rest.iter().rev().fold(real, |path, part| match part {
                Component::ParentDir => path.parent().map_or_else(|| path.clone(), Path::to_owned),
                Component::Normal(name) => path.join(name),
                _ => path,
            });
        }
        // A link that leads nowhere is followed by whoever writes to it.
        if let Ok(target) = there.read_link() {
            let above = there.parent().unwrap_or(Path::new("/"));
            return rest
                .iter()
                .rev()
                .fold(leads_to(&above.join(target)), |path, part| path.join(part));
        }
        let Some(last) = there.components().next_back() else {
            return path.to_owned();
        };
        let Some(above) = there.parent() else {
            return path.to_owned();
        };
        rest.push(last);
        there = above;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn a_path_leads_where_its_links_do_also_when_nothing_is_there() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("inside")).unwrap();
        std::fs::create_dir_all(root.join("outside")).unwrap();
        symlink(root.join("outside"), root.join("inside/link")).unwrap();
        symlink(root.join("outside/none"), root.join("inside/dangling")).unwrap();

        for (path, expected) in [
            ("inside/new/file", "inside/new/file"),
            ("inside/link/file", "outside/file"),
            ("inside/link/../file", "file"),
            ("inside/new/../../outside/x", "outside/x"),
            ("inside/dangling", "outside/none"),
        ] {
            assert_eq!(leads_to(&root.join(path)), root.join(expected), "{path}");
        }
    }

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
