//! The machine that this process runs on.

/// Returns a name that two machines rarely share: on Unix the host name, on Linux with the
/// machine's id where it has one. Empty on Windows, where state is never shared between
/// machines. State that belongs to files of one machine is stored under this name.
pub fn name() -> String {
    #[cfg(unix)]
    let host = rustix::system::uname()
        .nodename()
        .to_string_lossy()
        .into_owned();
    #[cfg(windows)]
    let host = String::new();
    // Containers often share a host name, and others have no id (machine-id(5)).
    let id = std::fs::read_to_string("/etc/machine-id").unwrap_or_default();
    format!("{host} {}", id.trim())
}
