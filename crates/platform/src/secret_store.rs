//! The system's store of keys and passwords.

#[cfg(target_os = "macos")]
mod macos;
#[cfg(all(unix, not(target_os = "macos")))]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "macos")]
use macos as system;
#[cfg(all(unix, not(target_os = "macos")))]
use unix as system;
#[cfg(windows)]
use windows as system;

/// A store that a program prints keys from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SecretStore {
    /// The Secret Service of a Linux desktop, by `secret-tool`.
    SecretService,
    /// The keychain of macOS, by `security`.
    Keychain,
}

/// The store of this system. None on Windows, where no program prints what its store holds.
pub const HERE: Option<SecretStore> = system::HERE;
