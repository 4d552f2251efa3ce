//! Pinned tool definitions: what each MCP server said of its tools when the user met it or
//! last agreed to it. A file of our state.
//!
//! Models get the pinned definitions and nothing newer, and no server has to be
//! started to tell them. A server without a pin is met without a question, so no pin may
//! vanish by itself: none is evicted, and a store that can't be read leaves every server
//! to be reviewed.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tools::state_dir;

use crate::{Agreed, Definition, Spec};

const FILE: &str = "mcp.json";
const LOCK: &str = "mcp.lock";
/// Version of the file that is written.
const VERSION: u32 = 2;
/// Largest file that is read or written, in bytes.
const LARGEST: u64 = 256 * 1024 * 1024;

/// The store in one folder. It is read anew each time, so that all programs agree.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Store {
    version: u32,
    /// By the identity of the server.
    servers: BTreeMap<String, Pinned>,
    /// Whether pins were lost with an earlier file. A server without a pin is then not
    /// taken for a new one.
    #[serde(default)]
    lost: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Pinned {
    name: String,
    tools: Vec<Definition>,
}

impl Store {
    fn agreed(&self, spec: &Spec) -> Agreed {
        match self.servers.get(spec.identity.as_str()) {
            Some(pinned) => Agreed::To(pinned.tools.clone()),
            None if self.lost => Agreed::Lost,
            None => self.of_version_1(&spec.name),
        }
    }

    /// The pin of an earlier version, which recognized a server by other things: whichever
    /// server has the name is compared with it.
    fn of_version_1(&self, name: &str) -> Agreed {
        let old = |(key, pinned): &(&String, &Pinned)| key.starts_with(OLD) && pinned.name == name;
        match self.servers.iter().find(old) {
            Some((_, pinned)) => Agreed::To(pinned.tools.clone()),
            None => Agreed::Never,
        }
    }

    fn pin(&mut self, spec: &Spec, tools: Vec<Definition>) {
        let name = spec.name.clone();
        let pinned = Pinned { name, tools };
        self.servers
            .insert(spec.identity.as_str().to_owned(), pinned);
    }
}

/// What the keys of pins of version 1 begin with once they are in a later file.
const OLD: &str = "1:";

impl Pins {
    /// The store in this folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// What the user agreed to of a server's tools.
    pub fn agreed(&self, spec: &Spec) -> Agreed {
        match self.read() {
            Ok(store) => store.agreed(spec),
            Err(error) => {
                tracing::warn!(%error, "the pinned tools of MCP servers can't be read");
                Agreed::Lost
            }
        }
    }

    /// Pins what a server said when it was first met, unless it is pinned already: another
    /// program may have met it first. Returns what is agreed on then.
    ///
    /// # Errors
    ///
    /// The store can't be read or written.
    pub fn meet(&self, spec: &Spec, tools: Vec<Definition>) -> io::Result<Agreed> {
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        let mut store = self.read()?;
        match store.agreed(spec) {
            Agreed::Never => {
                store.pin(spec, tools.clone());
                self.write(store)?;
                Ok(Agreed::To(tools))
            }
            agreed => Ok(agreed),
        }
    }

    /// Pins what the user agreed to.
    ///
    /// # Errors
    ///
    /// The store can't be written, or one that can't be read can't be moved aside.
    pub fn agree(&self, spec: &Spec, tools: Vec<Definition>) -> io::Result<()> {
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        let mut store = match self.read() {
            Ok(store) => store,
            Err(error) => {
                tracing::warn!(%error, "the pinned tools of MCP servers can't be read");
                let path = self.folder.join(FILE);
                fs::rename(&path, path.with_extension("unreadable"))?;
                let lost = true;
                Store {
                    lost,
                    ..Store::default()
                }
            }
        };
        store.pin(spec, tools);
        self.write(store)
    }

    fn write(&self, mut store: Store) -> io::Result<()> {
        store.version = VERSION;
        let text = serde_json::to_vec(&store)?;
        if text.len() as u64 > LARGEST {
            return Err(too_large());
        }
        state_dir::replace(&self.folder.join(FILE), &text)
    }

    fn read(&self) -> io::Result<Store> {
        let path = self.folder.join(FILE);
        match fs::metadata(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Store::default()),
            Err(error) => return Err(error),
            Ok(metadata) if metadata.len() > LARGEST => return Err(too_large()),
            Ok(_) => {}
        }
        let mut store: Store = serde_json::from_slice(&fs::read(path)?)?;
        match store.version {
            VERSION => {}
            1 => {
                let old = std::mem::take(&mut store.servers).into_iter();
                store.servers = old.map(|(key, it)| (format!("{OLD}{key}"), it)).collect();
            }
            other => {
                return Err(io::Error::other(format!("its version {other} is unknown")));
            }
        }
        Ok(store)
    }
}

fn too_large() -> io::Error {
    io::Error::other("it is larger than 256 MB")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
