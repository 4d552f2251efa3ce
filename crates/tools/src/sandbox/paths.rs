//! Where paths of limits really are.

use std::path::{Component, Path, PathBuf};

/// Most symbolic links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

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
/// leads to what it names.
pub fn leads_to(path: &Path) -> PathBuf {
    let mut links = MAX_LINKS;
    let mut real = PathBuf::from("/");
    let mut rest: Vec<PathBuf> = parts(path);
    while let Some(next) = rest.pop() {
        match next.components().next() {
            Some(Component::RootDir | Component::Prefix(_)) => real = PathBuf::from("/"),
            Some(Component::ParentDir) => {
                real.pop();
            }
            Some(Component::Normal(name)) => match real.join(name).read_link() {
                // In a circle nothing can be written either.
                Ok(target) if links > 0 => {
                    links -= 1;
                    rest.extend(parts(&target));
                }
                _ => real.push(name),
            },
            Some(Component::CurDir) | None => {}
        }
    }
    real
}

/// The components of a path, the first one last.
fn parts(path: &Path) -> Vec<PathBuf> {
    let parts = path.components().rev();
    parts.map(|part| PathBuf::from(part.as_os_str())).collect()
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
        symlink(root.join("inside/circle"), root.join("inside/circle")).unwrap();

        for (path, expected) in [
            ("inside/new/file", "inside/new/file"),
            ("inside/link/file", "outside/file"),
            ("inside/link/../file", "file"),
            ("inside/new/../../outside/x", "outside/x"),
            ("inside/dangling", "outside/none"),
            ("inside/circle", "inside/circle"),
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
