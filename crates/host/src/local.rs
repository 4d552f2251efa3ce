//! Servers on this machine: whether one answers, which model it has, and the one that
//! the host starts itself.

pub mod guide;
pub mod server;

use std::time::Duration;

use reqwest::Client;
use serde_json::Value;

use crate::endpoint::LOCAL_SERVERS;

/// A server on this machine answers at once or not at all.
const PATIENCE: Duration = Duration::from_millis(500);

/// The name and base URL of the first usual local server that serves a model.
pub async fn find_server(client: &Client) -> Option<(&'static str, &'static str)> {
    for (name, base_url) in LOCAL_SERVERS {
        if first_model(client, base_url).await.is_some() {
            return Some((name, base_url));
        }
    }
    None
}

/// The first model that a server lists at `/models`.
pub async fn first_model(client: &Client, base_url: &str) -> Option<String> {
    let url = format!("{}/models", base_url.trim_end_matches('/'));
    let response = client.get(url).timeout(PATIENCE).send().await.ok()?;
    let models: Value = response.json().await.ok()?;
    models.pointer("/data/0/id")?.as_str().map(str::to_owned)
}
