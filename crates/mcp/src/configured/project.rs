//! The servers in a project's `.mcp.json`. They start programs, so they are used only if
//! the user agreed to the file's exact text.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::Consent;
use crate::{Reach, ServerSpec};

const FILE: &str = ".mcp.json";
/// Largest file that is read (1 MB).
const LARGEST: u64 = 1024 * 1024;

/// A `.mcp.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Project {
    /// Path of the file.
    pub path: PathBuf,
    text: String,
    /// The servers.
    pub specs: Vec<ServerSpec>,
    /// The file's problems, one sentence each.
    pub problems: Vec<String>,
}

impl Project {
    /// Returns the file of the project that contains a folder: in the folder or the nearest
    /// parent, up to the one with `.git`.
    pub fn around(folder: &Path) -> Option<Self> {
        for folder in folder.ancestors() {
            let path = folder.join(FILE);
            if path.is_file() {
                return Some(Self::read(path));
            }
            // In a worktree, `.git` is a file.
            if folder.join(".git").exists() {
                return None;
            }
        }
        None
    }

    fn read(path: PathBuf) -> Self {
        let mut text = String::new();
        let read = File::open(&path)
            // One byte more shows whether the file is larger than the limit.
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
                let problem = format!("{shown} cannot be read: {why}. Its servers are not used.");
                (Vec::new(), vec![problem])
            }
        };
        let folder = path.parent().unwrap_or(Path::new("/"));
        for spec in &mut specs {
            if let Reach::Program { cwd, .. } = &mut spec.reach {
                // Relative folders start at the file's folder.
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

    /// Returns true if the user agreed to the current text.
    pub fn is_trusted(&self, consent: &dyn Consent) -> bool {
        // The text from which `specs` was read, because the file may have changed since.
        consent.is_trusted(&self.path, &self.text)
    }

    /// Saves the user's consent to the current text.
    ///
    /// # Errors
    ///
    /// The consent can't be saved.
    pub fn trust(&self, consent: &dyn Consent) -> std::io::Result<()> {
        consent.trust(&self.path, &self.text)
    }

    /// Lists the programs and addresses that the user would agree to.
    pub fn would(&self) -> String {
        let servers = self.specs.iter();
        let servers = servers.map(|it| format!("{} ({})", it.name, it.shown()));
        servers.collect::<Vec<_>>().join(", ")
    }
}

/// Returns a variable that a project may use: keys of models are only for their providers.
fn variable(name: &str) -> Option<String> {
    // Otherwise a server of the project could get a key by naming its variable.
    let is_key = tools::is_provider_key(name.as_ref());
    (!is_key).then(|| tools::variable(name)).flatten()
}
