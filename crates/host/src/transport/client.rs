//! The HTTP client: what it trusts, and whom it asks on the way.
//!
//! Proxies come from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`,
//! `NO_PROXY`), certificates from the system or `SSL_CERT_FILE`. Knows no provider.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Duration;

use chat::Problem;
use reqwest::Client;

/// The client whose connections may take `connect` to come about. It is made when
/// it is first needed, because its certificates cost memory, and kept.
///
/// # Errors
///
/// No client can be made on this machine.
pub fn client(connect: Duration) -> Result<Client, Problem> {
    static CLIENTS: OnceLock<Mutex<HashMap<Duration, Client>>> = OnceLock::new();
    let clients = CLIENTS.get_or_init(Mutex::default);
    let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = clients.get(&connect) {
        return Ok(client.clone());
    }
    let client = make(connect)?;
    clients.insert(connect, client.clone());
    Ok(client)
}

fn make(connect: Duration) -> Result<Client, Problem> {
    // A provider that was installed before is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let made = Client::builder()
        .connect_timeout(connect)
        .user_agent(concat!("flemma/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .build();
    made.map_err(|error| {
        Problem::new(
            format!("HTTP does not work on this machine: {error}."),
            "Look at $SSL_CERT_FILE and the proxy variables, if they are set.",
        )
    })
}
