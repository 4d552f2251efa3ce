//! Looks at the files that a command would read: none may be secret, whatever its paths
//! lead to and wherever the command may run.

use std::path::{Component, Path, PathBuf};

use super::{Look, secret};
use crate::files::leads_to;
use crate::shell::programs::{Reads, Search};
use crate::shell::words::Word;
use crate::shell::{Unsafe, expand};

/// Files in `/proc` that tell about the machine and not about a program.
const MACHINE: [&str; 8] = [
    "cpuinfo",
    "filesystems",
    "loadavg",
    "meminfo",
    "stat",
    "swaps",
    "uptime",
    "version",
];
/// Most entries of folders that are looked at to find secrets below a folder.
const ENTRIES: usize = 30_000;
/// Folders full of what programs fetched or made. They hold no secrets of the user.
const SHALLOW: [&str; 5] = ["node_modules", "target", "__pycache__", "objects", ".venv"];

impl Look<'_> {
    pub(super) fn reads(&self, name: &str, reads: &Reads<'_>) -> Result<(), Unsafe> {
        for folder in &self.folders {
            self.path(name, folder)?;
        }
        self.paths(name, &reads.paths)?;
        if name == "diff" {
            self.pairs(name, &reads.paths)?;
        }
        if let Some(search) = reads.deep {
            let mut roots = self.all(name, &reads.paths)?;
            if search.here {
                roots.extend(self.folders.iter().cloned());
            }
            for root in roots {
                self.deep(name, &root, search)?;
            }
        }
        Ok(())
    }

    pub(super) fn paths(&self, name: &str, words: &[&Word]) -> Result<(), Unsafe> {
        for path in self.all(name, words)? {
            self.path(name, &path)?;
        }
        Ok(())
    }

    /// Of a folder and a file, `diff` reads the file of that name in the folder.
    fn pairs(&self, name: &str, words: &[&Word]) -> Result<(), Unsafe> {
        let all = self.all(name, words)?;
        for folder in all.iter().filter(|it| it.is_dir()) {
            for file in all.iter().filter_map(|it| it.file_name()) {
                self.path(name, &folder.join(file))?;
            }
        }
        Ok(())
    }

    /// The files that words name, wherever the command may run.
    fn all(&self, name: &str, words: &[&Word]) -> Result<Vec<PathBuf>, Unsafe> {
        let mut found = Vec::new();
        for word in words {
            for folder in &self.folders {
                match &word.pattern {
                    None => found.extend(spellings(&word.value, folder)),
                    Some(pattern) => {
                        let files = expand::expand(pattern, folder);
                        found.extend(files.ok_or_else(|| Unsafe::Argument {
                            program: name.to_owned(),
                            argument: word.value.clone(),
                            could: "read more files than can be checked",
                        })?);
                    }
                }
            }
        }
        Ok(found)
    }

    /// Refuses what is secret, and what a program keeps to itself.
    fn path(&self, name: &str, path: &Path) -> Result<(), Unsafe> {
        let real = leads_to(path);
        let mut parts = real.components().skip(1).map(Component::as_os_str);
        let first = parts.next().and_then(|it| it.to_str()).unwrap_or_default();
        let second = parts.next().and_then(|it| it.to_str());
        let is_private = match first {
            "proc" => !second.is_some_and(|it| MACHINE.contains(&it)),
            "sys" => true,
            "dev" => second != Some("null"),
            _ => false,
        };
        if is_private {
            return Err(secret(name, path));
        }
        let secrets = &self.machine.secrets;
        // A folder that is not there yet is judged by what it would hold.
        let found = secrets.find(path);
        let found = found.or_else(|| secrets.find(&path.join("x")));
        found.map_or(Ok(()), |found| {
            Err(Unsafe::Secret {
                program: name.to_owned(),
                path: path.to_owned(),
                grant: Some(found.grant()),
            })
        })
    }

    /// Refuses a search through a folder in which something is secret.
    fn deep(&self, name: &str, root: &Path, search: Search) -> Result<(), Unsafe> {
        let root = leads_to(root);
        let above = |it: &Path| it.starts_with(&root);
        if above(Path::new("/proc")) || self.machine.home().is_some_and(|it| above(&leads_to(&it)))
        {
            return Err(secret(name, &root));
        }
        let mut left = ENTRIES;
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Some(rest) = left.checked_sub(1) else {
                    return Err(secret(name, &root));
                };
                left = rest;
                let (path, entry_name) = (entry.path(), entry.file_name());
                let entry_name = entry_name.to_string_lossy();
                if entry_name.starts_with('.') && !search.hidden {
                    continue;
                }
                let is_link = entry.file_type().is_ok_and(|it| it.is_symlink());
                // `diff` follows links.
                if !is_link || name == "diff" {
                    self.path(name, &path)?;
                }
                let is_folder = entry.file_type().is_ok_and(|it| it.is_dir());
                if is_folder && !SHALLOW.contains(&&*entry_name) {
                    open.push(path);
                }
            }
        }
        Ok(())
    }
}

/// The paths that a word may mean: the shell drops `x/..` where a program follows a
/// link `x` first. What follows a colon may be a path in a revision.
pub(super) fn spellings(word: &str, folder: &Path) -> Vec<PathBuf> {
    if word == "-" || word == "/dev/stdin" {
        return Vec::new();
    }
    let path = folder.join(word);
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            part => plain.push(part),
        }
    }
    let behind = word.split_once(':').map(|(_, it)| folder.join(it));
    let mut all = vec![path];
    all.extend((plain != all[0]).then_some(plain));
    all.extend(behind.filter(|it| it != folder));
    all
}
