//! Servers on this machine: finds out whether one answers and which model it has, and
//! starts the host's own server.

pub mod server;

use std::time::Duration;

use agent::transport::first_model;
use reqwest::Client;

use crate::endpoint::local_addresses;

/// Returns the base URL of the first usual local server that serves a model.
pub async fn find_server(client: &Client) -> Option<&'static str> {
    for base_url in local_addresses() {
        // No time limit is needed: a server on this machine has a short one anyway.
        if first_model(client, base_url, None, Duration::ZERO)
            .await
            .is_some()
        {
            return Some(base_url);
        }
    }
    None
}
