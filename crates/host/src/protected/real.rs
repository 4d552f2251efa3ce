//! Where a path leads, whether or not something is there.

use std::path::{Component, Path, PathBuf};

/// Most symbolic links that are followed, as in the kernel.
const MAX_LINKS: usize = 40;

/// The path as it is spelled, without `.` and `..`. It is absolute.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
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
