use std::ffi::OsString;
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::Command;

pub(super) const EDITOR: &str = "notepad";

pub(super) fn with_path(words: &str, path: &Path) -> Command {
    // With `/s`, `cmd` takes the outermost quotes away and leaves the others.
    let mut line = OsString::from("\"");
    line.push(words);
    line.push(" \"");
    line.push(path);
    line.push("\"\"");
    let mut command = Command::new("cmd.exe");
    command.args(["/d", "/s", "/c"]).raw_arg(line);
    command
}
