//! Checks the files that a command would read: none may be secret, in any folder in which the
//! command may run.

use std::fs::FileType;
use std::path::{Component, Path, PathBuf};

use super::{Inspection, secret};
use crate::files::{leads_to, without_dots};
use crate::shell::options::is_in;
use crate::shell::programs::{Reads, Search};
use crate::shell::words::Word;
use crate::shell::{Unsafe, expand};

/// Files in `/proc` that describe the machine, not a process.
const MACHINE: &str = "cpuinfo filesystems loadavg meminfo stat swaps uptime version";
/// Maximum number of entries that a search for secrets below a folder visits.
const ENTRIES: usize = 30_000;
/// Folders of downloaded or generated files. They contain no secrets of the user.
const SHALLOW: [&str; 5] = ["node_modules", "target", "__pycache__", "objects", ".venv"];

impl Inspection<'_> {
    /// Checks everything that a command reads.
    pub(super) fn reads(&self, name: &str, reads: &Reads<'_>) -> Result<(), Unsafe> {
        // No command may run in a secret folder.
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

    /// Checks the files that words name.
    pub(super) fn paths(&self, name: &str, words: &[&Word]) -> Result<(), Unsafe> {
        for path in self.all(name, words)? {
            self.path(name, &path)?;
        }
        Ok(())
    }

    /// Checks the files that `diff` adds: for a folder and a file, it reads the file of that name
    /// in the folder.
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
    pub(super) fn all(&self, name: &str, words: &[&Word]) -> Result<Vec<PathBuf>, Unsafe> {
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

    /// Refuses secret files, and the private files of processes and devices.
    fn path(&self, name: &str, path: &Path) -> Result<(), Unsafe> {
        let real = leads_to(path);
        let mut parts = real.components().skip(1).map(Component::as_os_str);
        let first = parts.next().and_then(|it| it.to_str()).unwrap_or_default();
        let second = parts.next().and_then(|it| it.to_str());
        let is_private = match first {
            "proc" => !second.is_some_and(|it| is_in(MACHINE, it)),
            "sys" => true,
            // A device may have the content of a whole disk, or wait for input.
            "dev" => second != Some("null"),
            _ => false,
        };
        if is_private {
            return Err(secret(name, path));
        }
        let secrets = &self.machine.secrets;
        // A folder that does not exist yet is checked by a file in it.
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

    /// Refuses a search through a folder that contains a secret, or too many files to check.
    pub(super) fn deep(&self, name: &str, root: &Path, search: Search) -> Result<(), Unsafe> {
        let root = leads_to(root);
        let above = |it: &Path| it.starts_with(&root);
        // These always contain secrets, and too many files to check.
        if above(Path::new("/proc")) || self.machine.home().is_some_and(|it| above(&leads_to(&it)))
        {
            return Err(secret(name, &root));
        }
        let mut left = ENTRIES;
        let mut open = vec![root.clone()];
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                // What cannot be checked is refused like a secret.
                left = left.checked_sub(1).ok_or_else(|| secret(name, &root))?;
                let entry_name = entry.file_name();
                let entry_name = entry_name.to_string_lossy();
                // The command skips it, too.
                if entry_name.starts_with('.') && !search.hidden {
                    continue;
                }
                let kind = entry.file_type();
                // `grep` and `rg` skip links in folders; `diff` follows them.
                if name == "diff" || !kind.as_ref().is_ok_and(FileType::is_symlink) {
                    self.path(name, &entry.path())?;
                }
                if kind.is_ok_and(|it| it.is_dir()) && !SHALLOW.contains(&&*entry_name) {
                    open.push(entry.path());
                }
            }
        }
        Ok(())
    }
}

/// The paths that a word may mean.
///
/// For `x/..` the shell drops both parts, while a program follows a link `x` first. The part
/// after any colon may be a path in a Git revision, as in `:0:x`.
pub(super) fn spellings(word: &str, folder: &Path) -> Vec<PathBuf> {
    // Both are the command's input, which another command of the line may provide.
    if word == "-" || word == "/dev/stdin" {
        return Vec::new();
    }
    let path = folder.join(word);
    let plain = without_dots(&path);
    let behind = word.match_indices(':').map(|(at, _)| &word[at + 1..]);
    let behind = behind.map(|it| folder.join(it));
    let mut all = vec![path];
    all.extend((plain != all[0]).then_some(plain));
    all.extend(behind.filter(|it| it != folder));
    all
}
