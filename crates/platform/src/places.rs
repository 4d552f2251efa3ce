//! Where programs keep configuration and state.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// The folder of programs' configuration, in the home folder.
pub const CONFIG: &str = system::CONFIG;
/// The folder of programs' data, in the home folder.
pub const DATA: &str = system::DATA;
/// The folder of programs' state, in the home folder.
pub const STATE: &str = system::STATE;

/// The name of Neovim's folder in that of the state, from the value of `$NVIM_APPNAME` or `nvim`.
pub fn neovim_state(app: &str) -> String {
    system::neovim_state(app)
}

/// Folders whose files run or are read when a session or a shell starts: the names of the folder
/// and of the one above it, in lower case. Empty where other lists have all of them.
pub const START_FOLDERS: &[(&str, &str)] = system::START_FOLDERS;

/// Folders of the system below a drive, in lower case. Empty on systems without drives.
pub const ON_DRIVE: &[&str] = system::ON_DRIVE;
