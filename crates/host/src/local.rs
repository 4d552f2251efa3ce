//! Servers on this machine: whether one answers, which model it has, and the one that
//! the host starts itself.

pub mod guide;
pub mod server;

use std::time::Duration;

use agent::transport::first_model;
use reqwest::Client;

use crate::endpoint::LOCAL_SERVERS;

/// The name and base URL of the first usual local server that serves a model.
pub async fn find_server(client: &Client) -> Option<(&'static str, &'static str)> {
    for (name, base_url) in LOCAL_SERVERS {
        if first_model(client, base_url, None, Duration::ZERO)
            .await
            .is_some()
        {
            return Some((name, base_url));
        }
    }
    None
}
