//! Files of programs, and where they are found.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::variables::is_same_name;

/// Advice for a user without `bash`: a clause that follows "the user can".
pub const SHELL_ADVICE: &str = if cfg!(windows) {
    "install Git for Windows, whose bash runs commands, or set tools.bash.shell"
} else {
    "set tools.bash.shell"
};

/// True if a name leads to a program that only an administrator can have installed, if it is in a
/// system folder. False on Windows, where programs are searched in the working directory first, and
/// no permission says which folders only an administrator can write to.
pub const SYSTEM_PROGRAMS_ARE_KNOWN: bool = cfg!(unix);

/// The file of the program `name` in an environment. `None` if there is none, or if `name` is a path.
///
/// On Windows, `name` may lack the extension, `bash` and `sh` are those of Git and never of WSL,
/// which runs on another system, `python3` may be `python`, and of a Unix path such as
/// `/usr/bin/python3`, the last component counts.
pub fn locate(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    #[cfg(unix)]
    {
        let path = path_of(environment).filter(|_| !name.contains('/'));
        find(name, path?)
    }
    #[cfg(windows)]
    {
        let name = match name.strip_prefix('/') {
            // A script names its program like this.
            Some(unix) => unix.rsplit('/').next().unwrap_or(unix),
            None if name.contains(['/', '\\', ':']) => return None,
            None => name,
        };
        if shells::NAMES.contains(&name) {
            return shells::find(name, environment);
        }
        let path = path_of(environment)?;
        let found = find(name, path);
        found.or_else(|| find("python", path).filter(|_| name == "python3"))
    }
}

/// The file of the program `name` in the folders of `path`, the value of the variable for them.
pub fn find(name: &str, path: &OsStr) -> Option<PathBuf> {
    // A relative folder would be relative to this process instead of to the command.
    let folders = std::env::split_paths(path).filter(|folder| folder.is_absolute());
    let mut files = folders.map(|folder| folder.join(name));
    files.find_map(|file| program_at(&file))
}

#[cfg(unix)]
fn program_at(file: &Path) -> Option<PathBuf> {
    (file.is_file() && check(file).is_ok()).then(|| file.to_owned())
}

#[cfg(windows)]
fn program_at(file: &Path) -> Option<PathBuf> {
    /// Extensions of programs, in the order in which `cmd.exe` tries them.
    const EXTENSIONS: [&str; 4] = ["com", "exe", "bat", "cmd"];
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

/// Fails as starting `file` would if it is missing or not executable. Windows has no permission to
/// execute, so there it is only missing or not.
///
/// # Errors
///
/// It can't be started.
pub fn check(file: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use rustix::fs::{Access, access};
        Ok(access(file, Access::EXEC_OK)?)
    }
    #[cfg(windows)]
    {
        if file.metadata()?.is_file() {
            Ok(())
        } else {
            Err(io::ErrorKind::PermissionDenied.into())
        }
    }
}

/// The folders of programs in an environment.
pub fn path_of(environment: &[(OsString, OsString)]) -> Option<&OsStr> {
    let is_path = |variable: &&(OsString, OsString)| is_same_name(&variable.0, "PATH");
    // Of several, the last one counts, as in the environment that the program gets.
    let path = environment.iter().rev().find(is_path);
    path.map(|(_, folders)| folders.as_os_str())
}

/// The shells of Git, which runs commands on Windows.
#[cfg(windows)]
mod shells {
    use super::*;

    /// Shells, which WSL also has.
    pub const NAMES: [&str; 2] = ["bash", "sh"];
    /// Folders whose `bash.exe` starts the one of WSL.
    const OF_WSL: [&str; 2] = ["system32", "windowsapps"];
    /// Variables of folders in which the installer of Git puts its own, and the path from there.
    const OF_GIT: [(&str, &str); 3] = [
        ("ProgramFiles", "Git"),
        ("LOCALAPPDATA", r"Programs\Git"),
        ("ProgramFiles(x86)", "Git"),
    ];

    /// The file of a shell: in the folders of programs, or where Git is usually installed.
    pub fn find(name: &str, environment: &[(OsString, OsString)]) -> Option<PathBuf> {
        let file = format!("{name}.exe");
        let folders = path_of(environment).map(std::env::split_paths);
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
}

#[cfg(test)]
#[cfg(windows)]
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
