//! Pinned tool definitions of each MCP server, as of its first start or the user's last
//! consent. A file in the state folder.
//!
//! Models get only the pinned definitions, so no server has to be started to list its
//! tools. The first definitions of a server without a pin are accepted without a question.
//! Therefore no pin may vanish: none is evicted, and if the file can't be read, every
//! server needs a review.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use tools::state_dir;

use crate::{Definition, PinnedTools, ServerSpec};

const FILE: &str = "mcp.json";
const LOCK: &str = "mcp.lock";
/// Version that is written.
const VERSION: u32 = 2;
/// Maximum size of the file in bytes, read or written.
const LARGEST: u64 = 256 * 1024 * 1024;

/// The store in one folder. It is read each time, so that all processes agree.
#[derive(Debug, Clone)]
pub struct Pins {
    folder: PathBuf,
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct Store {
    version: u32,
    /// Pins by server identity.
    servers: BTreeMap<String, Pinned>,
    /// True if pins were lost with an earlier file. A server without a pin then counts as
    /// changed instead of new.
    #[serde(default)]
    lost: bool,
}

#[derive(Debug, Serialize, Deserialize)]
struct Pinned {
    name: String,
    tools: Vec<Definition>,
}

impl Store {
    fn agreed(&self, spec: &ServerSpec) -> PinnedTools {
        match self.servers.get(spec.identity.as_str()) {
            Some(pinned) => PinnedTools::To(pinned.tools.clone()),
            None if self.lost => PinnedTools::Lost,
            None => self.of_version_1(&spec.name),
        }
    }

    /// Returns the pin of version 1, which identified servers differently: it applies to
    /// any server of that name.
    fn of_version_1(&self, name: &str) -> PinnedTools {
        let old = |(key, pinned): &(&String, &Pinned)| key.starts_with(OLD) && pinned.name == name;
        match self.servers.iter().find(old) {
            Some((_, pinned)) => PinnedTools::To(pinned.tools.clone()),
            None => PinnedTools::Never,
        }
    }

    fn pin(&mut self, spec: &ServerSpec, tools: Vec<Definition>) {
        let name = spec.name.clone();
        let pinned = Pinned { name, tools };
        self.servers
            .insert(spec.identity.as_str().to_owned(), pinned);
    }
}

/// Prefix of version 1 keys in a later file.
const OLD: &str = "1:";

impl Pins {
    /// Opens the store in a folder, which need not exist.
    pub fn open(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    /// Returns the definitions that the user accepted.
    pub fn agreed(&self, spec: &ServerSpec) -> PinnedTools {
        match self.read() {
            Ok(store) => store.agreed(spec),
            Err(error) => {
                tracing::warn!(%error, "the pinned tools of MCP servers can't be read");
                PinnedTools::Lost
            }
        }
    }

    /// Pins a server's first definitions and returns the accepted ones. They differ if
    /// another process pinned the server first.
    ///
    /// # Errors
    ///
    /// The store can't be read or written.
    pub fn meet(&self, spec: &ServerSpec, tools: Vec<Definition>) -> io::Result<PinnedTools> {
        // Held while reading and writing, so that two processes agree on one pin.
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        let mut store = self.read()?;
        match store.agreed(spec) {
            PinnedTools::Never => {
                store.pin(spec, tools.clone());
                self.write(store)?;
                Ok(PinnedTools::To(tools))
            }
            // Another process was first, or the pins were lost.
            agreed => Ok(agreed),
        }
    }

    /// Pins the definitions that the user accepted.
    ///
    /// # Errors
    ///
    /// The store can't be written, or an unreadable one can't be moved aside.
    pub fn accept(&self, spec: &ServerSpec, tools: Vec<Definition>) -> io::Result<()> {
        let _lock = state_dir::lock(&self.folder, LOCK)?;
        let mut store = match self.read() {
            Ok(store) => store,
            Err(error) => {
                tracing::warn!(%error, "the pinned tools of MCP servers can't be read");
                // Keep the unreadable file, and remember the loss: other servers must not
                // count as new.
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
        // A larger file could not be read again.
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
                // The prefix separates the old keys from those of this version.
                let old = std::mem::take(&mut store.servers).into_iter();
                store.servers = old.map(|(key, it)| (format!("{OLD}{key}"), it)).collect();
            }
            // A later version may have pinned servers that would count as new here, so the
            // store counts as unreadable.
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
