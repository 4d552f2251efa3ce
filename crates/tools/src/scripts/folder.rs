//! The script tools in a root folder, scanned again when something has changed.
//!
//! A scan is cheap: it lists the folders and gets the metadata of each `tool.toml`. Only changed
//! files are read.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fmt, fs};

use platform::files::{FileKind, FileStatus, FolderAccess, OpenFolder};
use sha2::{Digest, Sha256};

use super::manifest::{self, Manifest};
use super::{Script, ScriptRoot};
use crate::files::{RealPath, open_regular_in};
use crate::tool::Tool;

/// The name of the file that describes a tool.
const FILE: &str = "tool.toml";
/// Maximum size of the file: 256 KB.
const LARGEST: u64 = 256 * 1024;

/// A problem with a script tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The problem and what to do, without a final full stop.
    pub what: String,
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        write!(f, "{file}, line {}: {}", self.line, self.what)
    }
}

/// A root folder and the tools that were found in it.
#[derive(Debug)]
pub struct ScriptFolder {
    place: Arc<ScriptRoot>,
    seen: BTreeMap<String, Seen>,
    /// Why the root could not be read.
    unreadable: Option<String>,
}

/// A tool's folder at the last scan.
#[derive(Debug)]
struct Seen {
    stamp: Option<FileStatus>,
    /// True if its script existed.
    has_script: bool,
    found: Result<Script, ScriptProblem>,
}

impl Seen {
    fn has_script(&self) -> bool {
        let script = self.found.as_ref().map(Script::file);
        script.is_ok_and(|file| file.is_file())
    }

    /// Why the tool cannot be used.
    fn problem(&self) -> Option<ScriptProblem> {
        match &self.found {
            Err(problem) => Some(problem.clone()),
            Ok(script) if !self.has_script => Some(script.without_file()),
            Ok(_) => None,
        }
    }
}

impl ScriptFolder {
    /// An empty list of tools, until the first scan.
    pub fn new(place: ScriptRoot) -> Self {
        Self {
            place: Arc::new(place),
            seen: BTreeMap::new(),
            unreadable: None,
        }
    }

    /// The settings of all tools in this folder.
    pub fn place(&self) -> &ScriptRoot {
        &self.place
    }

    /// Scans the folder and reads changed tools. Returns true if anything changed. A missing folder
    /// counts as empty.
    pub fn scan(&mut self) -> bool {
        let (names, unreadable) = match folders(&self.place.root) {
            Ok(names) => (names, None),
            Err(error) if error.kind() == io::ErrorKind::NotFound => (Vec::new(), None),
            Err(error) => (Vec::new(), Some(error.to_string())),
        };
        let mut changed = unreadable != self.unreadable;
        self.unreadable = unreadable;
        let count = self.seen.len();
        self.seen.retain(|name, _| names.contains(name));
        changed |= self.seen.len() != count;
        for name in names {
            changed |= self.scan_tool(name);
        }
        changed
    }

    fn scan_tool(&mut self, name: String) -> bool {
        let folder = self.place.root.join(&name);
        // Follows links, as reading the file does.
        let stamp = FileStatus::at(&folder.join(FILE)).ok();
        if let Some(seen) = self.seen.get_mut(&name)
            && seen.stamp == stamp
        {
            // The script can come and go without a change of the manifest.
            let has_script = seen.has_script();
            return std::mem::replace(&mut seen.has_script, has_script) != has_script;
        }
        // A folder without a manifest is not a tool.
        if stamp.is_none() {
            return self.seen.remove(&name).is_some();
        }
        let found = read_manifest(&folder).map(|manifest| Script {
            manifest: Arc::new(manifest),
            folder,
            place: self.place.clone(),
        });
        let mut seen = Seen {
            stamp,
            has_script: false,
            found,
        };
        seen.has_script = seen.has_script();
        self.seen.insert(name, seen);
        true
    }

    /// The usable tools, in the order of their folders.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let scripts = self.named().into_values();
        scripts
            .map(|it| Arc::new(it.clone()) as Arc<dyn Tool>)
            .collect()
    }

    /// The problems of the other tools.
    pub fn problems(&self) -> Vec<ScriptProblem> {
        let unreadable = self.unreadable.iter().map(|why| ScriptProblem {
            file: self.place.root.clone(),
            line: 1,
            what: format!("The folder cannot be read: {why}"),
        });
        let own = self.seen.values().filter_map(Seen::problem);
        let named = self.named();
        let twice = self.usable().filter_map(|script| {
            let first = named.get(script.manifest.name.as_str())?;
            (first.folder != script.folder).then(|| ScriptProblem {
                file: script.folder.join(FILE),
                line: 1,
                what: format!(
                    "\"{}\" is the name of the tool in {} already. Give it another name",
                    script.manifest.name,
                    first.folder.display()
                ),
            })
        });
        unreadable.chain(own).chain(twice).collect()
    }

    fn usable(&self) -> impl Iterator<Item = &Script> {
        let there = self.seen.values().filter(|seen| seen.has_script);
        there.filter_map(|seen| seen.found.as_ref().ok())
    }

    /// The first tool of each name.
    fn named(&self) -> BTreeMap<&str, &Script> {
        let mut named = BTreeMap::new();
        // In the order of the folders' names, so that the result is the same on every machine.
        for script in self.usable() {
            named.entry(script.manifest.name.as_str()).or_insert(script);
        }
        named
    }
}

impl Script {
    fn file(&self) -> PathBuf {
        self.folder.join(&self.manifest.script)
    }

    fn without_file(&self) -> ScriptProblem {
        ScriptProblem {
            file: self.folder.join(FILE),
            line: 1,
            what: format!(
                "There is no file {}, which \"script\" names. Write it, or name another",
                self.file().display()
            ),
        }
    }
}

/// The names of the subfolders that are not hidden, sorted.
fn folders(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        // A link counts as a folder, because a look at its target costs another system call.
        let kind = entry.file_type()?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if (kind.is_dir() || kind.is_symlink()) && !name.starts_with('.') {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Reads the `tool.toml` of a tool's folder.
///
/// # Errors
///
/// It can't be read, or it is invalid.
pub(super) fn read_manifest(folder: &Path) -> Result<Manifest, ScriptProblem> {
    let file = folder.join(FILE);
    let problem = |line, what| ScriptProblem {
        file: file.clone(),
        line,
        what,
    };
    let text = read(&file).map_err(|error| problem(1, format!("It cannot be read: {error}")))?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    manifest::parse(&text, &name).map_err(|wrong| problem(wrong.line, wrong.what))
}

fn read(file: &Path) -> io::Result<String> {
    let metadata = fs::metadata(file)?;
    // Checked before reading, because a pipe would block the scan forever.
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(io::Error::other("it is not a file of at most 256 KB"));
    }
    fs::read_to_string(file)
}

// Digest of a folder of tools, which detects changes since the user trusted it.

/// Maximum number of files and bytes (50 MB) of a folder that the user can trust.
const MOST_FILES: usize = 2000;
const MOST_BYTES: u64 = 50 * 1024 * 1024;

/// The SHA-256, in hexadecimal, of the names and contents of all files below `root`.
/// Left out are folders `__pycache__`, which no script of ours reads.
///
/// # Errors
///
/// Something cannot be read, is a link or no file, or there is too much.
pub fn digest(root: &Path) -> io::Result<String> {
    let mut all = Walk {
        hash: Sha256::new(),
        files: 0,
        bytes: 0,
    };
    // Links may lead to the root, but none is followed below it.
    let real = RealPath::of(root).map_err(io::Error::other)?;
    all.folder(&real.open_folder(FolderAccess::List)?, "")?;
    let digest = all.hash.finalize();
    Ok(digest.iter().map(|byte| format!("{byte:02x}")).collect())
}

struct Walk {
    hash: Sha256,
    files: usize,
    bytes: u64,
}

impl Walk {
    fn folder(&mut self, folder: &OpenFolder, shown: &str) -> io::Result<()> {
        let mut names = Vec::new();
        for entry in folder.entries()? {
            names.push(entry?.name);
        }
        // The order on disk may differ between two copies of a folder.
        names.sort();
        for name in names {
            let shown = format!("{shown}/{}", name.to_string_lossy());
            match folder.status(&name)?.kind {
                // Python writes these when a script runs, so they would change the digest.
                FileKind::Folder if name == "__pycache__" => {}
                FileKind::Folder => {
                    let inner = folder.folder(Path::new(&name), FolderAccess::List)?;
                    self.folder(&inner, &shown)?;
                }
                FileKind::File => self.file(folder, Path::new(&name), &shown)?,
                _ => {
                    // A link could lead to files that change without the digest.
                    let why = format!("{shown} is not a file in this folder");
                    return Err(io::Error::other(why));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, folder: &OpenFolder, name: &Path, shown: &str) -> io::Result<()> {
        self.files += 1;
        let left = MOST_BYTES - self.bytes;
        let mut content = Vec::new();
        let opened = open_regular_in(folder, name, Path::new(shown)).map_err(io::Error::other)?;
        opened.file.take(left + 1).read_to_end(&mut content)?;
        if content.len() as u64 > left || self.files > MOST_FILES {
            return Err(io::Error::other("it holds too much to be trusted"));
        }
        self.bytes += content.len() as u64;
        // Lengths first, so that no name can be taken for content.
        for part in [shown.as_bytes(), &content] {
            self.hash.update((part.len() as u64).to_le_bytes());
            self.hash.update(part);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    //! Scans of a folder of tools while it changes.
    #![allow(clippy::unwrap_used)]

    use std::fs;

    use super::*;

    struct Stage {
        dir: tempfile::TempDir,
        folder: ScriptFolder,
    }

    impl Stage {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let folder = ScriptFolder::new(ScriptRoot {
                root: dir.path().join("tools"),
                libraries: Vec::new(),
                agreed: None,
            });
            Self { dir, folder }
        }

        fn write(&self, file: &str, text: &str) {
            let path = self.dir.path().join("tools").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }

        fn tool(&self, folder: &str, rest: &str) {
            let text = format!("description = \"d\"\nscript = \"s.py\"\n{rest}");
            self.write(&format!("{folder}/tool.toml"), &text);
            self.write(&format!("{folder}/s.py"), "");
        }

        /// Scans the folder. Returns whether anything changed, and the names of the tools.
        fn scan(&mut self) -> (bool, Vec<String>) {
            let changed = self.folder.scan();
            let tools = self.folder.tools();
            (
                changed,
                tools.iter().map(|it| it.name().to_owned()).collect(),
            )
        }

        fn problems(&self) -> Vec<String> {
            let root = format!("{}/", self.dir.path().join("tools").display());
            let problems = self.folder.problems();
            problems
                .iter()
                .map(|it| it.to_string().replace(&root, ""))
                .collect()
        }
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|it| (*it).to_owned()).collect()
    }

    #[test]
    fn a_scan_finds_all_changes_and_nothing_else() {
        let mut stage = Stage::new();
        assert_eq!(stage.scan(), (false, vec![]));
        stage.tool("a", "");
        stage.tool("b", "");
        assert_eq!(stage.scan(), (true, names(&["a", "b"])));
        assert_eq!(stage.scan(), (false, names(&["a", "b"])));
        stage.tool("b", "name = \"renamed\"\n");
        assert_eq!(stage.scan(), (true, names(&["a", "renamed"])));
        fs::rename(
            stage.folder.place.root.join("a"),
            stage.folder.place.root.join("c"),
        )
        .unwrap();
        assert_eq!(stage.scan(), (true, names(&["c", "renamed"])));
        fs::remove_dir_all(&stage.folder.place.root).unwrap();
        assert_eq!(stage.scan(), (true, vec![]));
        assert_eq!(stage.problems(), Vec::<String>::new());
    }

    #[test]
    fn a_broken_tool_is_reported_and_affects_no_other() {
        let mut stage = Stage::new();
        stage.tool("good", "");
        stage.write("bad/tool.toml", "description = \"d\"\nscript = 5\n");
        stage.write("lost/tool.toml", "description = \"d\"\nscript = \"s.py\"\n");
        stage.write("notes/readme.txt", "no tool");
        stage.write(".hidden/tool.toml", "no TOML");
        assert_eq!(stage.scan().1, ["good"]);
        let lost = "There is no file lost/s.py, which \"script\" names. Write it, or name another";
        assert_eq!(
            stage.problems(),
            [
                "bad/tool.toml, line 2: \"script\" must be text in quotes".to_owned(),
                format!("lost/tool.toml, line 1: {lost}"),
            ]
        );
        stage.write("lost/s.py", "");
        stage.tool("bad", "");
        assert_eq!(stage.scan(), (true, names(&["bad", "good", "lost"])));
        assert_eq!(stage.problems(), Vec::<String>::new());
    }

    #[test]
    fn the_second_tool_with_a_name_is_left_out() {
        let mut stage = Stage::new();
        stage.tool("a", "name = \"same\"\n");
        stage.tool("b", "name = \"same\"\n");
        assert_eq!(stage.scan().1, ["same"]);
        assert_eq!(
            stage.problems(),
            [
                "b/tool.toml, line 1: \"same\" is the name of the tool in a already. Give it another name"
            ]
        );
    }

    #[test]
    fn a_manifest_that_is_no_small_file_is_reported() {
        let mut stage = Stage::new();
        fs::create_dir_all(stage.folder.place.root.join("x/tool.toml")).unwrap();
        let large = "#".repeat(300 * 1024);
        stage.write("y/tool.toml", &large);
        stage.scan();
        let problems = stage.problems();
        assert_eq!(problems.len(), 2);
        assert!(
            problems
                .iter()
                .all(|it| it.contains("not a file of at most 256 KB"))
        );
    }

    #[test]
    fn whatever_could_run_changes_the_digest_and_links_have_none() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("t/__pycache__")).unwrap();
        fs::write(at("t/s.py"), "a").unwrap();
        let first = digest(folder.path()).unwrap();
        assert_eq!(first.len(), 64);
        fs::write(at("t/__pycache__/s.pyc"), "x").unwrap();
        assert_eq!(digest(folder.path()).unwrap(), first);
        fs::write(at("t/s.py"), "b").unwrap();
        let second = digest(folder.path()).unwrap();
        assert_ne!(second, first);
        fs::write(at("t/more"), "").unwrap();
        assert_ne!(digest(folder.path()).unwrap(), second);
        std::os::unix::fs::symlink("/etc", at("t/link")).unwrap();
        assert!(digest(folder.path()).is_err());
    }
}
