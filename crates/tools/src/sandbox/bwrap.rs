//! Limits in the words of bubblewrap.
//!
//! Pure. The order matters to it: what comes later lies over what came before.
//! Source: bwrap(1).

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::Limits;

/// What the log calls it.
pub(super) const NAME: &str = "bwrap";

/// Below `/run`, and needed by programs that do nothing wrong: addresses of name
/// servers, and programs on NixOS.
const NEEDED: [&str; 5] = [
    "/run/systemd/resolve",
    "/run/resolvconf",
    "/run/nscd",
    "/run/current-system",
    "/run/opengl-driver",
];

/// The words before a command that runs in `cwd`.
pub(super) fn words(
    program: &Path,
    limits: &Limits,
    extra: &[String],
    cwd: &Path,
) -> Vec<OsString> {
    let mut words = Words(vec![program.into()]);
    let root = limits.writable.iter().any(|it| it == Path::new("/"));
    words.path(if root { "--bind" } else { "--ro-bind" }, Path::new("/"));
    // Below it are the sockets of the session: the editor's, D-Bus, containers.
    words.all(["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/run"]);
    for path in NEEDED {
        words.path("--ro-bind-try", Path::new(path));
    }
    for path in &limits.writable {
        if path != Path::new("/") {
            words.path("--bind", path);
        }
    }
    // A folder that is no place of a mount could be moved away with what is in it. Each
    // of them once and all of them first: a second mount lies over what is kept below it.
    let kept = limits.kept.iter();
    let above: BTreeSet<&Path> = kept
        .flat_map(|path| between(path, &limits.writable))
        .collect();
    for folder in above {
        words.path("--bind-try", folder);
    }
    for path in &limits.kept {
        words.path("--ro-bind-try", path);
    }
    for path in &limits.hidden {
        words.all(["--tmpfs"]);
        words.0.push(path.into());
    }
    for path in &limits.masked {
        words
            .0
            .extend(["--ro-bind-try".into(), "/dev/null".into(), path.into()]);
    }
    words.all(["--unshare-pid", "--unshare-uts", "--unshare-ipc"]);
    words.all([if limits.network {
        "--share-net"
    } else {
        "--unshare-net"
    }]);
    if !limits.privileged {
        words.all(["--unshare-user", "--disable-userns", "--cap-drop", "ALL"]);
    }
    words.all(["--die-with-parent", "--new-session", "--chdir"]);
    words.0.push(cwd.into());
    words.0.extend(extra.iter().map(OsString::from));
    words.all(["--"]);
    words.0
}

/// The folders from what is writable down to `path`, without both.
fn between<'a>(path: &'a Path, writable: &'a [PathBuf]) -> impl Iterator<Item = &'a Path> {
    let root = writable.iter().find(|root| path.starts_with(root));
    let above = path.ancestors().skip(1);
    above.take_while(move |folder| root.is_some_and(|root| *folder != root.as_path()))
}

struct Words(Vec<OsString>);

impl Words {
    fn all<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    /// A path that is the same inside and outside.
    fn path(&mut self, word: &str, path: &Path) {
        self.0.extend([word.into(), path.into(), path.into()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(limits: &Limits) -> String {
        let words = words(
            Path::new("/bin/bwrap"),
            limits,
            &["--x".to_owned()],
            Path::new("/w"),
        );
        let words: Vec<_> = words.iter().map(|it| it.to_string_lossy()).collect();
        words.join(" ")
    }

    #[test]
    fn later_words_lie_over_earlier_ones() {
        let limits = Limits {
            writable: vec!["/tmp".into(), "/w".into()],
            kept: vec!["/w/.git/config".into(), "/w/.git/hooks".into()],
            hidden: vec!["/tmp/nvim".into()],
            masked: vec!["/w/nvim.sock".into()],
            ..Limits::default()
        };
        let line = line(&limits);
        let at = |word: &str| line.find(word).unwrap_or(usize::MAX);
        assert!(line.starts_with("/bin/bwrap --ro-bind / / --dev /dev --proc /proc --tmpfs /run "));
        let kept = "--bind-try /w/.git /w/.git --ro-bind-try /w/.git/config /w/.git/config \
                    --ro-bind-try /w/.git/hooks /w/.git/hooks --tmpfs";
        assert!(at("--bind /w /w") < at(kept), "{line}");
        assert!(at("--bind /tmp /tmp") < at("--tmpfs /tmp/nvim"));
        assert!(at("--bind /w /w") < at("--ro-bind-try /dev/null /w/nvim.sock"));
        assert!(line.contains("--unshare-net") && line.contains("--cap-drop ALL"));
        assert!(line.ends_with("--chdir /w --x --"));
    }

    #[test]
    fn the_root_can_be_writable_and_the_network_and_privileges_kept() {
        let limits = Limits {
            writable: vec!["/".into()],
            network: true,
            privileged: true,
            ..Limits::default()
        };
        let line = line(&limits);
        assert!(line.starts_with("/bin/bwrap --bind / / --dev"));
        assert!(line.contains("--share-net") && !line.contains("--unshare-user"));
    }
}
