//! The providers' own lists of models: fetched in the background when a request is sent, and
//! kept for a day.
//!
//! No request waits for a list, and none is fetched from a server to which no chat is sent.
//! A list that cannot be fetched is tried again a day later; until then the catalogue counts.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use agent::transport;
use policy::sha256;
use provider::model_list::{self, ModelList};
use provider::{Endpoint, Patience};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tools::state_dir;

/// The folder of the lists in the state folder.
const FOLDER: &str = "models";
/// Time for which a list is not fetched again.
const AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// The lists of this process, with their files.
#[derive(Debug)]
pub struct ModelLists {
    folder: PathBuf,
    by_address: Mutex<HashMap<String, StoredList>>,
}

/// A list as it is stored.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
struct StoredList {
    /// When it was last asked for, in seconds since 1970.
    asked: u64,
    models: ModelList,
}

impl ModelLists {
    /// Returns the lists in a state folder.
    pub fn new(state: &Path) -> Self {
        Self {
            folder: state.join(FOLDER),
            by_address: Mutex::default(),
        }
    }

    /// Returns what the list of a server says about a model; nothing if it was not fetched.
    pub fn facts(&self, endpoint: &Endpoint, model: &str) -> Map<String, Value> {
        self.with(endpoint, |list| {
            list.models.get(model).cloned().unwrap_or_default()
        })
    }

    /// Fetches the list of a server, unless that was tried within a day.
    pub async fn refresh(&self, endpoint: &Endpoint, patience: &Patience) {
        let Ok(Some(request)) = model_list::request(endpoint) else {
            return;
        };
        if !self.is_due(endpoint) {
            return;
        }
        let Some(answer) = transport::get_list(&request, endpoint, patience).await else {
            return;
        };
        let models = model_list::read(endpoint.protocol, &answer);
        self.with(endpoint, |list| list.models = models);
        self.store(endpoint);
    }

    /// Returns true once a day for each server.
    fn is_due(&self, endpoint: &Endpoint) -> bool {
        let now = now();
        let is_due = self.with(endpoint, |list| {
            // A clock that was set back must not keep a list for years.
            let is_due = now.abs_diff(list.asked) >= AGE.as_secs();
            if is_due {
                list.asked = now;
            }
            is_due
        });
        if is_due {
            // Stored before the request, so that other processes do not send it as well.
            self.store(endpoint);
        }
        is_due
    }

    /// Calls a function with the list of a server, which is read from its file if necessary.
    fn with<T>(&self, endpoint: &Endpoint, look: impl FnOnce(&mut StoredList) -> T) -> T {
        let name = file_name(endpoint);
        let mut lists = self
            .by_address
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let path = self.folder.join(&name);
        look(lists.entry(name).or_insert_with(|| read(&path)))
    }

    fn store(&self, endpoint: &Endpoint) {
        let text = self.with(endpoint, |list| serde_json::to_vec(list));
        let name = file_name(endpoint);
        let stored = text.map_err(io::Error::from).and_then(|text| {
            state_dir::make_folder(&self.folder)?;
            let _lock = state_dir::lock(&self.folder, "lock")?;
            state_dir::replace_unsynced(&self.folder.join(name), &text)
        });
        // The list is used in this process nevertheless.
        if let Err(error) = stored {
            tracing::warn!(%error, "the list of models was not stored");
        }
    }
}

/// Reads a stored list. Anything else in its place does not count.
fn read(path: &Path) -> StoredList {
    let text = std::fs::read(path).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}

/// Returns the name of a server's file, which does not tell its address.
fn file_name(endpoint: &Endpoint) -> String {
    let address = format!("{} {}", endpoint.provider, endpoint.base_url);
    format!("{}.json", sha256(address.as_bytes()))
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |it| it.as_secs())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use provider::Protocol;
    use serde_json::json;

    use super::*;

    fn endpoint(base_url: &str) -> Endpoint {
        Endpoint {
            provider: "openrouter".to_owned(),
            protocol: Protocol::ChatCompletions,
            base_url: base_url.to_owned(),
            api_key: None,
            key_source: String::new(),
            ca_file: None,
        }
    }

    #[test]
    fn a_list_is_due_once_a_day_for_each_server_also_in_other_processes() {
        let state = tempfile::tempdir().unwrap();
        let (here, there) = (endpoint("https://here/v1"), endpoint("https://there/v1"));
        let lists = ModelLists::new(state.path());
        assert!(lists.is_due(&here));
        assert!(!lists.is_due(&here));
        assert!(lists.is_due(&there));
        let other = ModelLists::new(state.path());
        assert!(!other.is_due(&here));
        for asked in [now() - AGE.as_secs(), now() + AGE.as_secs()] {
            other.with(&here, |list| list.asked = asked);
            assert!(other.is_due(&here), "{asked}");
        }
    }

    #[test]
    fn a_stored_list_is_read_and_a_damaged_one_is_none() {
        let state = tempfile::tempdir().unwrap();
        let here = endpoint("https://here/v1");
        let path = state.path().join(FOLDER).join(file_name(&here));
        let facts = || {
            let lists = ModelLists::new(state.path());
            Value::Object(lists.facts(&here, "m"))
        };
        let lists = ModelLists::new(state.path());
        let listed = json!({"m": {"context": 5}});
        lists.with(&here, |list| {
            list.models = serde_json::from_value(listed).unwrap();
        });
        lists.store(&here);
        assert_eq!(facts(), json!({"context": 5}));
        for damaged in ["", "{", "[]", "{\"models\": {\"m\": 5}}"] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(facts(), json!({}), "{damaged}");
        }
    }
}
