//! The servers that a project names in its `.mcp.json`. It starts programs, so it
//! counts once the user has agreed to its very text.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Consent;
use crate::{Reach, Spec};

const FILE: &str = ".mcp.json";
/// Largest file that is read (1 MB).
const LARGEST: u64 = 1024 * 1024;

/// A `.mcp.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Where it is.
    pub path: PathBuf,
    text: String,
    /// Its servers.
    pub specs: Vec<Spec>,
    /// What is wrong with it, a sentence each.
    pub problems: Vec<String>,
}

impl Project {
    /// That of the project a folder is in: in the folder, or above it up to where
    /// there is a `.git`.
    pub fn around(folder: &Path) -> Option<Self> {
        for folder in folder.ancestors() {
            let path = folder.join(FILE);
            if path.is_file() {
                return Some(Self::read(path));
            }
            if folder.join(".git").exists() {
                return None;
            }
        }
        None
    }

    fn read(path: PathBuf) -> Self {
        let mut text = String::new();
        let read = File::open(&path)
            .and_then(|file| file.take(LARGEST + 1).read_to_string(&mut text))
            .map_err(|error| error.to_string());
        let table = match read {
            Ok(size) if size as u64 > LARGEST => Err("it is larger than 1 MB".to_owned()),
            Ok(_) => crate::project_table(&text),
            Err(error) => Err(error),
        };
        let (mut specs, problems) = match table {
            Ok(table) => crate::read_specs(&table, &path.to_string_lossy(), &variable),
            Err(why) => {
                let shown = path.display();
                let problem = format!("{shown} cannot be read: {why}. Its servers are left out.");
                (Vec::new(), vec![problem])
            }
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        for spec in &mut specs {
            if let Reach::Program { cwd, .. } = &mut spec.reach {
                // A folder that it names is meant from where it stands.
                *cwd = Some(folder.join(cwd.take().unwrap_or_default()));
            }
        }
        Self {
            path,
            text,
            specs,
            problems,
        }
    }

    /// Returns true if the user agreed to its present text.
    pub fn is_trusted(&self, consent: &dyn Consent) -> bool {
        consent.is_trusted(&self.path, &self.text)
    }

    /// Remembers that the user agrees to its present text.
    ///
    /// # Errors
    ///
    /// It cannot be remembered.
    pub fn trust(&self, consent: &dyn Consent) -> std::io::Result<()> {
        consent.trust(&self.path, &self.text)
    }

    /// What it would run or ask, for the user to agree to.
    pub fn would(&self) -> String {
        let servers = self.specs.iter();
        let servers = servers.map(|it| format!("{} ({})", it.name, it.shown()));
        servers.collect::<Vec<_>>().join(", ")
    }
}

/// Variables that a project may name: the keys of models are for their providers alone.
fn variable(name: &str) -> Option<String> {
    let is_key = tools::is_provider_key(name.as_ref());
    (!is_key).then(|| tools::variable(name)).flatten()
}
