use std::path::Path;
use std::process::Command;

pub(super) const EDITOR: &str = "vi";

pub(super) fn with_path(words: &str, path: &Path) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", &format!("{words} \"$@\""), "sh"])
        .arg(path);
    command
}
