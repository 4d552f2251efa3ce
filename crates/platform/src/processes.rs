//! Processes: which have ended, the standard error of this one for those that it starts, and command
//! lines that the user wrote, such as the value of `$EDITOR`.

use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// Returns true if the process with this number has certainly ended. Always false on Windows, where that is
/// not known.
pub fn has_ended(id: u32) -> bool {
    #[cfg(unix)]
    {
        use rustix::io::Errno;
        use rustix::process::{Pid, test_kill_process};
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        // Only ESRCH means that the process has ended. EPERM is a process of another user.
        pid.is_some_and(|pid| test_kill_process(pid) == Err(Errno::SRCH) || is_zombie(id))
    }
    #[cfg(windows)]
    {
        let _ = id;
        false
    }
}

/// Returns true if a process has ended and its parent has not noticed, as in a container without an
/// init. See proc_pid_stat(5). False on systems without `/proc`.
#[cfg(unix)]
fn is_zombie(id: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The name in parentheses may contain any characters.
    let state = stat.rsplit(") ").next().unwrap_or_default();
    // Other threads of a process can outlive its first one.
    let threads = std::fs::read_dir(format!("/proc/{id}/task")).map_or(0, Iterator::count);
    state.starts_with('Z') && threads <= 1
}

/// Standard error, which is usually the terminal, as the output of another process.
///
/// # Errors
///
/// It is closed.
pub fn standard_error() -> io::Result<Stdio> {
    #[cfg(unix)]
    let stream = std::os::fd::AsFd::as_fd(&io::stderr()).try_clone_to_owned()?;
    #[cfg(windows)]
    let stream = std::os::windows::io::AsHandle::as_handle(&io::stderr()).try_clone_to_owned()?;
    Ok(stream.into())
}

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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_process_has_ended_before_its_parent_notices() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        assert!(!has_ended(child.id()));
        drop(child.stdin.take());
        while !has_ended(child.id()) {
            std::thread::yield_now();
        }
        assert!(child.wait().unwrap().success());
        assert!(has_ended(child.id()) && !has_ended(std::process::id()));
    }
}
