use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

/// Extensions of programs, in the order in which `cmd.exe` tries them.
const EXTENSIONS: [&str; 4] = ["com", "exe", "bat", "cmd"];
/// Folders of programs for which a `bash.exe` is the one of WSL.
const OF_WSL: [&str; 2] = ["system32", "windowsapps"];
/// Variables of folders in which the installer of Git puts its own, and the path from there.
const OF_GIT: [(&str, &str); 3] = [
    ("ProgramFiles", "Git"),
    ("LOCALAPPDATA", r"Programs\Git"),
    ("ProgramFiles(x86)", "Git"),
];

pub(super) fn is_path_variable(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case("PATH")
}

pub(super) fn program_at(file: &Path) -> Option<PathBuf> {
    let extension = file.extension().unwrap_or_default();
    let is_known = EXTENSIONS
        .iter()
        .any(|it| extension.eq_ignore_ascii_case(it));
    if is_known && file.is_file() {
        return Some(file.to_owned());
    }
    let with = |extension: &&str| {
        let mut name = file.as_os_str().to_owned();
        name.push(".");
        name.push(extension);
        PathBuf::from(name)
    };
    EXTENSIONS
        .iter()
        .map(|it| with(&it))
        .find(|it| it.is_file())
}

pub(super) fn check(file: &Path) -> io::Result<()> {
    match file.metadata()?.is_file() {
        true => Ok(()),
        false => Err(io::ErrorKind::PermissionDenied.into()),
    }
}

pub(super) fn bash(environment: &[(OsString, OsString)]) -> Option<PathBuf> {
    let folders = super::path_of(environment).map(std::env::split_paths);
    let folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
    let on_path = folders
        .iter()
        .filter(|it| it.is_absolute() && !is_of_wsl(it));
    let on_path = on_path.map(|folder| folder.join("bash.exe"));
    // The installer adds `Git\cmd` to the path, which has no bash.
    let beside_git = folders.iter().filter(|it| it.join("git.exe").is_file());
    let beside_git = beside_git.filter_map(|folder| Some(bash_in(folder.parent()?)));
    let usual = OF_GIT.iter().filter_map(|(variable, below)| {
        let mut all = environment.iter();
        let found = all.find(|(name, _)| name.eq_ignore_ascii_case(variable));
        Some(bash_in(&Path::new(&found?.1).join(below)))
    });
    let mut files = on_path.chain(beside_git).chain(usual);
    files.find(|file| file.is_file())
}

/// The file of bash in a folder of Git.
fn bash_in(git: &Path) -> PathBuf {
    git.join(r"bin\bash.exe")
}

fn is_of_wsl(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    OF_WSL.iter().any(|it| name.eq_ignore_ascii_case(it))
}
