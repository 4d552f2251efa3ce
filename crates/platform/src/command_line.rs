//! Command lines that the user wrote, such as the value of `$EDITOR`.

use std::path::Path;
use std::process::Command;

/// The editor of users who have set none.
pub const EDITOR: &str = if cfg!(windows) { "notepad" } else { "vi" };

/// Runs a command line with a path as its last argument. The system's shell splits the words, which
/// may be quoted. On Windows the path must contain none of `"` and `%`.
pub fn with_path(words: &str, path: &Path) -> Command {
    #[cfg(unix)]
    {
        let mut command = Command::new("sh");
        command
            .args(["-c", &format!("{words} \"$@\""), "sh"])
            .arg(path);
        command
    }
    #[cfg(windows)]
    {
        use std::os::windows::process::CommandExt;
        // With `/s`, `cmd` takes the outermost quotes away and leaves the others.
        let mut line = std::ffi::OsString::from("\"");
        line.push(words);
        line.push(" \"");
        line.push(path);
        line.push("\"\"");
        let mut command = Command::new("cmd.exe");
        command.args(["/d", "/s", "/c"]).raw_arg(line);
        command
    }
}
