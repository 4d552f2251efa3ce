//! The script tools in a root folder, scanned again when something has changed.
//!
//! A scan is cheap: it lists the folders and gets the metadata of each `tool.toml`. Only changed
//! files are read.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use platform::files::FileStatus;

use super::manifest::{self, Manifest};
use super::tool::{Script, ScriptRoot};
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
    /// What is wrong and what to do, without a final full stop.
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
    /// Whether its script existed.
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
        return Err(io::Error::other("it is no file of at most 256 KB"));
    }
    fs::read_to_string(file)
}

#[cfg(test)]
mod tests;
