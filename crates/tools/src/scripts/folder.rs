//! The tools in a folder of folders, found anew whenever something has changed.
//!
//! Looking is cheap: a list of names and one look at each `tool.toml`. Only what looks
//! different is read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::manifest::{self, Manifest};
use super::tool::{Script, ScriptRoot};
use crate::tool::Tool;

/// The file that makes a folder a tool.
const FILE: &str = "tool.toml";
/// Largest such file (256 KB).
const LARGEST: u64 = 256 * 1024;

/// What is wrong with a tool, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// What is wrong and what to do, without its full stop.
    pub what: String,
}

impl fmt::Display for ScriptProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = self.file.display();
        write!(f, "{file}, line {}: {}", self.line, self.what)
    }
}

/// A folder of tools, and what was found in it.
#[derive(Debug)]
pub struct ScriptFolder {
    place: Arc<ScriptRoot>,
    seen: BTreeMap<String, Seen>,
    /// Why it could not be read.
    unreadable: Option<String>,
}

/// A tool's folder as it was when it was read.
#[derive(Debug)]
struct Seen {
    stamp: Option<Stamp>,
    /// Whether its script was there.
    has_script: bool,
    found: Result<Script, ScriptProblem>,
}

/// Identifies a version of a file.
#[derive(Debug, PartialEq, Eq)]
struct Stamp {
    place: (u64, u64),
    size: u64,
    written: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self {
            place: (file.dev(), file.ino()),
            size: file.size(),
            written: (file.mtime(), file.mtime_nsec()),
            changed: (file.ctime(), file.ctime_nsec()),
        }
    }
}

impl Seen {
    fn has_script(&self) -> bool {
        let script = self.found.as_ref().map(Script::file);
        script.is_ok_and(|file| file.is_file())
    }

    /// What is to be said of it, if it cannot be used.
    fn problem(&self) -> Option<ScriptProblem> {
        match &self.found {
            Err(problem) => Some(problem.clone()),
            Ok(script) if !self.has_script => Some(script.without_file()),
            Ok(_) => None,
        }
    }
}

impl ScriptFolder {
    /// Nothing is looked at yet.
    pub fn new(place: ScriptRoot) -> Self {
        Self {
            place: Arc::new(place),
            seen: BTreeMap::new(),
            unreadable: None,
        }
    }

    /// What the tools of this folder have in common.
    pub fn place(&self) -> &ScriptRoot {
        &self.place
    }

    /// Looks whether anything has changed, and reads what has. A folder that does not
    /// exist is empty.
    pub fn look(&mut self) -> bool {
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
            changed |= self.look_at(name);
        }
        changed
    }

    fn look_at(&mut self, name: String) -> bool {
        let folder = self.place.root.join(&name);
        let stamp = fs::metadata(folder.join(FILE)).ok();
        let stamp = stamp.map(|file| Stamp::of(&file));
        if let Some(seen) = self.seen.get_mut(&name)
            && seen.stamp == stamp
        {
            let has_script = seen.has_script();
            return std::mem::replace(&mut seen.has_script, has_script) != has_script;
        }
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

    /// The tools that can be used, by the names of their folders.
    pub fn tools(&self) -> Vec<Arc<dyn Tool>> {
        let scripts = self.named().into_values();
        scripts
            .map(|it| Arc::new(it.clone()) as Arc<dyn Tool>)
            .collect()
    }

    /// What is wrong with the others.
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

/// The names of the folders in a folder, hidden ones left out.
fn folders(root: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root)? {
        let entry = entry?;
        // The type of a link's target needs a further call.
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
/// It cannot be read, or something in it is wrong.
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
    if !metadata.is_file() || metadata.len() > LARGEST {
        return Err(io::Error::other("it is no file of at most 256 KB"));
    }
    fs::read_to_string(file)
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;
