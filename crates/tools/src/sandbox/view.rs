//! Translates paths below `/tmp` between sandboxed commands and the machine.
//!
//! Commands have a `/tmp` of their own. File tools run outside the sandbox and use these
//! translated paths to access the same files.

use std::path::{Component, Path, PathBuf};

use super::paths::{MAX_LINKS, parts};

/// The folder that differs between commands and the machine.
pub(super) const TMP: &str = "/tmp";

/// What commands see at `/tmp`.
#[derive(Debug)]
pub(super) struct View<'a> {
    /// The folder that commands see as `/tmp`.
    pub tmp: &'a Path,
    /// Folders and files below the machine's `/tmp` that commands see nevertheless.
    pub shown: Vec<&'a Path>,
}

impl View<'_> {
    /// Whether commands see the machine's own file at `path`.
    pub(super) fn is_seen(&self, path: &Path) -> bool {
        !path.starts_with(TMP) || self.shown.iter().any(|shown| path.starts_with(shown))
    }

    /// Translates a path in the sandbox to a path on the machine. Symbolic links are resolved as
    /// in the sandbox. A path that doesn't lead through the chat's `/tmp` is returned unchanged.
    pub(super) fn outside(&self, path: &Path) -> PathBuf {
        // Already translated.
        if path.starts_with(self.tmp) {
            return path.to_owned();
        }
        let (mut links, mut is_private) = (MAX_LINKS, false);
        let mut seen = PathBuf::from("/");
        let mut rest = parts(path);
        while let Some(next) = rest.pop() {
            match next.components().next() {
                Some(Component::RootDir | Component::Prefix(_)) => seen = PathBuf::from("/"),
                Some(Component::ParentDir) => drop(seen.pop()),
                Some(Component::Normal(name)) => {
                    seen.push(name);
                    is_private |= !self.is_seen(&seen);
                    // A link is resolved where the command would read it.
                    let target = self.real(&seen).read_link();
                    // After as many links as the kernel follows, the next one stays, and
                    // opening the path fails.
                    if let Some(target) = target.ok().filter(|_| links > 0) {
                        links -= 1;
                        seen.pop();
                        rest.extend(parts(&target));
                    }
                }
                Some(Component::CurDir) | None => {}
            }
        }
        if is_private {
            self.real(&seen)
        } else {
            path.to_owned()
        }
    }

    fn real(&self, seen: &Path) -> PathBuf {
        match seen.strip_prefix(TMP) {
            Ok(rest) if !self.is_seen(seen) => self.tmp.join(rest),
            _ => seen.to_owned(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn paths_lead_through_the_chats_tmp_as_they_do_for_commands() {
        let folder = tempfile::tempdir().unwrap();
        let tmp = folder.path().canonicalize().unwrap();
        std::fs::create_dir(tmp.join("sub")).unwrap();
        for (name, target) in [
            ("relative", "sub/file"),
            ("absolute", "/tmp/sub"),
            ("out", "/etc"),
            ("up", "../etc/hostname"),
            ("shown", "/tmp/project/file"),
            ("circle", "circle"),
        ] {
            symlink(target, tmp.join(name)).unwrap();
        }
        let view = View {
            tmp: &tmp,
            shown: vec![Path::new("/tmp/project")],
        };
        for (path, expected) in [
            ("/tmp/x/y", tmp.join("x/y")),
            ("/tmp", tmp.clone()),
            ("/tmp/relative", tmp.join("sub/file")),
            ("/tmp/absolute/new", tmp.join("sub/new")),
            ("/tmp/out/hosts", "/etc/hosts".into()),
            ("/tmp/up", "/etc/hostname".into()),
            ("/tmp/shown", "/tmp/project/file".into()),
            ("/tmp/circle", tmp.join("circle")),
            ("/etc/../tmp/x", tmp.join("x")),
            ("/tmp/project/a", "/tmp/project/a".into()),
            ("/tmp/project/../x", tmp.join("x")),
            ("/tmp/projects", tmp.join("projects")),
            ("/etc/hosts", "/etc/hosts".into()),
        ] {
            assert_eq!(view.outside(Path::new(path)), expected, "{path}");
        }
        let once = view.outside(Path::new("/tmp/x"));
        assert_eq!(view.outside(&once), once);
    }
}
