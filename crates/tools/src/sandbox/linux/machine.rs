//! Finds what a sandbox must block on this machine besides files: kernel settings, and sockets
//! that programs listen on.
//!
//! This module only searches; `bwrap` blocks what was found.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use crate::sandbox::paths_in;

/// What a sandbox must block on this machine.
#[derive(Debug, Clone, Default)]
pub(super) struct Machine {
    /// Entries of `/proc` that control the kernel.
    pub kernel: Vec<PathBuf>,
    /// The other files of `/proc` that belong to no process. Root may open them for writing.
    pub readings: Vec<PathBuf>,
    /// Folders of `/sys` that describe the machine's network devices: their names, addresses, and
    /// traffic.
    pub networks: Vec<PathBuf>,
    /// Sockets that have a path.
    pub sockets: Vec<PathBuf>,
    /// Whether this process runs as root.
    pub is_root: bool,
}

impl Machine {
    /// Examines the machine as it is now.
    pub(super) fn look() -> Self {
        // Cached, because they hardly change while the system runs.
        static KERNEL: OnceLock<[Vec<PathBuf>; 2]> = OnceLock::new();
        let [kernel, readings] = KERNEL.get_or_init(kernel).clone();
        Self {
            kernel,
            readings,
            networks: networks(),
            sockets: sockets(),
            is_root: rustix::process::geteuid().is_root(),
        }
    }
}

/// The entries of `/proc` that belong to no process: first folders and writable files, then the
/// rest. A folder counts as writable whatever its mode, because it may contain writable files.
fn kernel() -> [Vec<PathBuf>; 2] {
    let (mut switches, mut readings) = (Vec::new(), Vec::new());
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let name = entry.file_name();
        let is_process = name.as_encoded_bytes().iter().all(u8::is_ascii_digit);
        match entry.metadata() {
            // Links such as `/proc/self` and `/proc/net` lead to processes.
            Ok(found) if is_process || found.is_symlink() => {}
            Ok(found) if found.is_dir() || found.mode() & 0o222 != 0 => switches.push(entry.path()),
            Ok(_) => readings.push(entry.path()),
            // The process has ended since it was listed.
            Err(_) => {}
        }
    }
    switches.sort();
    readings.sort();
    [switches, readings]
}

/// `/sys/class/net`, and the folders to which the links in it lead. `/sys` belongs to the network
/// namespace that mounted it, so a command without network would see the devices of the machine.
fn networks() -> Vec<PathBuf> {
    let class = Path::new("/sys/class/net");
    let devices = fs::read_dir(class).into_iter().flatten().flatten();
    let real = devices.filter_map(|it| it.path().canonicalize().ok());
    let folders = real.filter_map(|it| Some(it.parent()?.to_owned()));
    let folders = folders.filter(|it| it.ends_with("net") && *it != *class);
    let folders: BTreeSet<PathBuf> = folders.collect();
    let class = class.is_dir().then(|| class.to_owned());
    class.into_iter().chain(folders).collect()
}

/// The sockets that programs listen on in our network namespace, and those that the environment
/// names, which may belong to another namespace.
fn sockets() -> Vec<PathBuf> {
    let listening = fs::read("/proc/net/unix").unwrap_or_default();
    let listening = String::from_utf8_lossy(&listening);
    let values = crate::variables().map(|(_, value)| value.to_string_lossy().into_owned());
    let values: Vec<String> = values.collect();
    let named = values.iter().flat_map(|value| paths_in(value));
    let paths: BTreeSet<&str> = listening.lines().filter_map(bound).chain(named).collect();
    let is_socket = |path: &&str| {
        // A named path may not exist, or be something else.
        let found = fs::symlink_metadata(path);
        found.is_ok_and(|it| it.file_type().is_socket())
    };
    let there = paths.into_iter().filter(is_socket);
    let real = there.filter_map(|path| Path::new(path).canonicalize().ok());
    BTreeSet::from_iter(real).into_iter().collect()
}

/// The path in a line of `/proc/net/unix`: the eighth column, according to proc(5). Abstract
/// sockets have none.
fn bound(line: &str) -> Option<&str> {
    let path = line.split_once(" /")?.1;
    let start = line.len() - path.len() - 1;
    line.get(start..)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::net::UnixListener;

    #[test]
    fn a_socket_with_a_listener_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a socket");
        let _listener = UnixListener::bind(&path).unwrap();
        assert!(sockets().contains(&path));
    }

    #[test]
    fn paths_in_values_of_variables_are_found() {
        let found = |value: &'static str| paths_in(value).find(|path| path.len() > 1);
        assert_eq!(found("unix:path=/run/bus,guid=1"), Some("/run/bus"));
        assert_eq!(
            found("/tmp/tmux-0/default,12,0"),
            Some("/tmp/tmux-0/default")
        );
        assert_eq!(found("unix:///run/docker.sock"), Some("/run/docker.sock"));
        assert_eq!(found("unix:@/tmp/.X11-unix/X0"), Some("/tmp/.X11-unix/X0"));
        assert_eq!(found("plain"), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn kernel_settings_are_found() {
        let [switches, readings] = kernel();
        assert!(switches.contains(&PathBuf::from("/proc/sys")));
        assert!(readings.contains(&PathBuf::from("/proc/version")));
        let mut all = switches.iter().chain(&readings);
        assert!(!all.any(|path| path.ends_with("self")));
    }
}
