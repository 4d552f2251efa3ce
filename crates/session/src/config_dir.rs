//! The folder of the user's configuration: `config.toml`, script tools, and commands.

use std::path::PathBuf;

use platform::places;

/// Returns `$XDG_CONFIG_HOME/flemma`, or else `flemma` in `~/.config` or, on Windows,
/// `AppData/Local`; `None` without a home folder.
pub fn path() -> Option<PathBuf> {
    let set = tools::variable_os("XDG_CONFIG_HOME").map(PathBuf::from);
    let folder = set
        // The base directory specification says that relative paths are ignored.
        .filter(|path| path.is_absolute())
        .or_else(|| std::env::home_dir().map(|home| home.join(places::CONFIG)))?;
    Some(folder.join("flemma"))
}
