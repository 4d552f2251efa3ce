use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::variables::is_same_name;

pub(super) const SHELL_ADVICE: &str =
    "install Git for Windows, whose bash runs commands, or set tools.bash.shell";
/// Extensions of programs, in the order in which `cmd.exe` tries them.
const EXTENSIONS: [&str; 4] = ["com", "exe", "bat", "cmd"];
/// Shells, which WSL also has.
const SHELLS: [&str; 2] = ["bash", "sh"];
/// Folders whose `bash.exe` starts the one of WSL.
const OF_WSL: [&str; 2] = ["system32", "windowsapps"];
/// Variables of folders in which the installer of Git puts its own, and the path from there.
const OF_GIT: [(&str, &str); 3] = [
    ("ProgramFiles", "Git"),
    ("LOCALAPPDATA", r"Programs\Git"),
    ("ProgramFiles(x86)", "Git"),
];

pub(super) fn locate(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let name = match name.strip_prefix('/') {
        // A script names its program like this.
        Some(unix) => unix.rsplit('/').next().unwrap_or(unix),
        None if name.contains(['/', '\\', ':']) => return None,
        None => name,
    };
    if SHELLS.contains(&name) {
        return shell(name, environment);
    }
    let path = super::path_of(environment)?;
    let found = super::find(name, path);
    found.or_else(|| super::find("python", path).filter(|_| name == "python3"))
}

pub(super) fn program_at(file: &Path) -> Option<PathBuf> {
    let extension = file.extension().unwrap_or_default();
    let mut known = EXTENSIONS.iter();
    if known.any(|it| extension.eq_ignore_ascii_case(it)) && file.is_file() {
        return Some(file.to_owned());
    }
    let with = |extension: &&str| {
        let mut name = file.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        PathBuf::from(name)
    };
    let mut files = EXTENSIONS.iter().map(with);
    files.find(|file| file.is_file())
}

pub(super) fn check(file: &Path) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

/// The file of a shell: in the folders of programs, or where Git is usually installed.
fn shell(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let file = format!("{name}.exe");
    let folders = super::path_of(environment).map(std::env::split_paths);
    let folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
    let on_path = folders
        .iter()
        .filter(|it| it.is_absolute() && !is_of_wsl(it));
    let on_path = on_path.map(|folder| folder.join(&file));
    // The installer adds `Git\cmd` to the path, which has no shell.
    let beside_git = folders.iter().filter(|it| it.join("git.exe").is_file());
    let beside_git = beside_git.filter_map(|folder| Some(folder.parent()?.to_owned()));
    let usual = OF_GIT.iter().filter_map(|(variable, below)| {
        let mut all = environment.iter();
        let (_, folder) = all.find(|(name, _)| is_same_name(name, variable))?;
        Some(Path::new(folder).join(below))
    });
    let of_git = beside_git
        .chain(usual)
        .map(|git| git.join("bin").join(&file));
    let mut files = on_path.chain(of_git);
    files.find(|file| file.is_file())
}

fn is_of_wsl(folder: &Path) -> bool {
    let name: &OsStr = folder.file_name().unwrap_or_default();
    OF_WSL.iter().any(|it| name.eq_ignore_ascii_case(it))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_that_of_git_and_a_name_may_lack_its_extension() {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for file in [
            r"System32\bash.exe",
            r"Git\cmd\git.exe",
            r"Git\bin\bash.exe",
            r"tools\npx.cmd",
            r"tools\python.exe",
        ] {
            std::fs::create_dir_all(at(file).parent().unwrap()).unwrap();
            std::fs::write(at(file), "").unwrap();
        }
        let folders = ["System32", r"Git\cmd", "tools"].map(at);
        let path = std::env::join_paths(folders).unwrap();
        let environment = [("Path".into(), path)];
        for (name, expected) in [
            ("bash", r"Git\bin\bash.exe"),
            ("/usr/bin/bash", r"Git\bin\bash.exe"),
            ("git", r"Git\cmd\git.exe"),
            ("git.exe", r"Git\cmd\git.exe"),
            ("npx", r"tools\npx.cmd"),
            ("python3", r"tools\python.exe"),
            ("/usr/bin/python3", r"tools\python.exe"),
        ] {
            assert_eq!(locate(name, &environment), Some(at(expected)), "{name}");
        }
        for name in [r"tools\npx", r"C:\npx", "none"] {
            assert_eq!(locate(name, &environment), None, "{name}");
        }
    }
}
