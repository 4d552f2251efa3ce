#![allow(clippy::unwrap_used)]
use super::*;
use std::os::unix::fs::symlink;

fn world() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("inside")).unwrap();
    std::fs::create_dir_all(root.join("outside")).unwrap();
    std::fs::write(root.join("outside/f"), "f").unwrap();
    (folder, root)
}

#[test]
fn a_path_leads_where_its_links_do_also_when_nothing_is_there() {
    let (_folder, root) = world();
    symlink(root.join("outside"), root.join("inside/link")).unwrap();
    symlink("../outside/none", root.join("inside/dangling")).unwrap();
    symlink(root.join("inside/circle"), root.join("inside/circle")).unwrap();
    for (path, expected) in [
        ("inside/new/file", "inside/new/file"),
        ("inside/link/file", "outside/file"),
        ("inside/link/../file", "file"),
        ("inside/new/../../outside/x", "outside/x"),
        ("inside/dangling", "outside/none"),
        ("inside/./link", "outside"),
    ] {
        assert_eq!(
            paths::resolve(&root.join(path)),
            Ok(root.join(expected)),
            "{path}"
        );
    }
    assert_eq!(
        paths::resolve(&root.join("inside/circle")),
        Err(UnresolvedPath::Circle)
    );
}

#[test]
fn a_link_made_after_resolving_is_not_followed() {
    let (_folder, root) = world();
    std::fs::create_dir(root.join("inside/d")).unwrap();
    std::fs::write(root.join("inside/d/f"), "f").unwrap();
    let real = RealPath::of(&root.join("inside/d/f")).unwrap();
    assert!(matches!(real.open_file(), Ok(Some(_))));
    assert!(real.status().unwrap().is_some());
    std::fs::remove_dir_all(root.join("inside/d")).unwrap();
    symlink(root.join("outside"), root.join("inside/d")).unwrap();
    assert!(real.open_file().is_err());
    assert!(real.open_parent().is_err());
    assert!(real.status().is_err());
}

#[cfg(target_os = "linux")]
#[test]
fn links_of_processes_are_refused_and_others_below_proc_are_not() {
    for path in [
        "/proc/self/root/etc/hosts",
        "/proc/self/cwd/x",
        "/proc/thread-self/root/x",
        "/dev/fd/0",
    ] {
        assert_eq!(
            paths::resolve(Path::new(path)),
            Err(UnresolvedPath::MagicLink),
            "{path}"
        );
    }
    let own = format!("/proc/{}/mounts", std::process::id());
    assert_eq!(
        paths::resolve(Path::new("/proc/mounts")),
        Ok(PathBuf::from(own))
    );
}
