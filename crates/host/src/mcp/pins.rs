//! What servers said of their tools when the user met them or agreed last: a file of
//! our state. Models are told this and nothing newer, and no server has to be started
//! to tell them.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use mcp::{Definition, Spec};
use serde::{Deserialize, Serialize};

use crate::private;

const FILE: &str = "mcp.json";
const LOCK: &str = "mcp.lock";
/// Most servers that are remembered.
const MOST: usize = 200;
/// Largest file that is read (32 MB); a larger one is not ours.
const LARGEST: u64 = 32 * 1024 * 1024;

/// The file in one folder. It is read anew each time, so that all programs agree.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Store {
    version: u32,
    /// By the digest of what runs or whom it asks.
    servers: BTreeMap<String, Pinned>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Pinned {
    name: String,
    tools: Vec<Definition>,
}

impl Pins {
    /// The file in this folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// What is agreed on with a server; nothing before it was met.
    pub fn agreed(&self, spec: &Spec) -> Option<Vec<Definition>> {
        let store = self.read().inspect_err(|error| {
            tracing::warn!(%error, "what servers said of their tools cannot be read");
        });
        let pinned = store.ok()?.servers.remove(&spec.digest())?;
        Some(pinned.tools)
    }

    /// Remembers what is agreed on with a server. What was agreed on with one of its
    /// name that ran differently is forgotten.
    ///
    /// # Errors
    ///
    /// The file cannot be written.
    pub fn agree(&self, spec: &Spec, tools: Vec<Definition>) -> io::Result<()> {
        let _lock = private::lock(&self.folder, LOCK)?;
        let mut store = self.read().unwrap_or_default();
        store.version = 1;
        store.servers.retain(|_, it| it.name != spec.name);
        if store.servers.len() >= MOST {
            store.servers.pop_first();
        }
        let name = spec.name.clone();
        store.servers.insert(spec.digest(), Pinned { name, tools });
        let text = serde_json::to_vec(&store)?;
        private::replace(&self.folder.join(FILE), &text)
    }

    fn read(&self) -> io::Result<Store> {
        let path = self.folder.join(FILE);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Store::default()),
            Err(error) => return Err(error),
            Ok(metadata) if metadata.len() > LARGEST => {
                return Err(io::Error::other("it is larger than 32 MB"));
            }
            Ok(_) => {}
        }
        Ok(serde_json::from_slice(&fs::read(path)?)?)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use mcp::Reach;
    use serde_json::Map;

    fn spec(argument: &str) -> Spec {
        Spec {
            name: "docs".to_owned(),
            reach: Reach::Program {
                argv: vec!["docs".to_owned(), argument.to_owned()],
                env: BTreeMap::new(),
                cwd: None,
            },
            timeout: None,
        }
    }

    #[test]
    fn what_was_agreed_on_holds_for_what_ran_then() {
        let folder = tempfile::tempdir().unwrap();
        let pins = Pins::open(folder.path());
        assert_eq!(pins.agreed(&spec("a")), None);
        let tools = vec![Definition::new("search", "Searches.", Map::new()).unwrap()];
        pins.agree(&spec("a"), tools.clone()).unwrap();
        assert_eq!(pins.agreed(&spec("a")), Some(tools));
        assert_eq!(pins.agreed(&spec("b")), None);
        pins.agree(&spec("b"), Vec::new()).unwrap();
        assert_eq!(pins.agreed(&spec("a")), None);
    }
}
