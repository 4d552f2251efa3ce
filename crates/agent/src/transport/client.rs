//! HTTP clients with their certificates and proxies.
//!
//! Proxies come from the environment (`HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY`,
//! `NO_PROXY`), certificates from the system, `SSL_CERT_FILE`, or a file set by the user.
//! Knows no provider.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use chat::Problem;
use reqwest::{Certificate, Client, ClientBuilder, NoProxy, Proxy, Url};
use tools::is_this_machine;

/// Variables of the proxies for `http`, `https`, and both, and of the exceptions.
const PROXIES: [[&str; 2]; 4] = [
    ["HTTP_PROXY", "http_proxy"],
    ["HTTPS_PROXY", "https_proxy"],
    ["ALL_PROXY", "all_proxy"],
    ["NO_PROXY", "no_proxy"],
];

/// Connection settings that need a separate client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Way {
    /// Time limit for connecting.
    connect: Duration,
    /// Certificate authorities trusted in addition to the system's.
    ca_file: Option<CaFile>,
    /// True if proxies are bypassed, which cannot reach this machine for us.
    direct: bool,
    /// True if no connection is encrypted, so that the system's certificates need not be read.
    plain: bool,
}

/// A certificate file, identified by time and size too, so that a changed file is read
/// again.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct CaFile {
    path: PathBuf,
    written: Option<SystemTime>,
    bytes: u64,
}

impl CaFile {
    fn at(path: &Path) -> Self {
        let metadata = std::fs::metadata(path).ok();
        Self {
            path: path.to_owned(),
            written: metadata.as_ref().and_then(|it| it.modified().ok()),
            bytes: metadata.map_or(0, |it| it.len()),
        }
    }
}

/// Returns a client for `base_url` that connects within `connect` and also trusts the
/// authorities in `ca_file`. It is created on first use, because certificates cost memory and
/// milliseconds, and then reused.
///
/// # Errors
///
/// The file contains no certificates, or no client can be created on this machine.
pub fn client(
    base_url: &str,
    ca_file: Option<&Path>,
    connect: Duration,
) -> Result<Client, Problem> {
    static CLIENTS: OnceLock<Mutex<HashMap<Way, Client>>> = OnceLock::new();
    let direct = is_this_machine(base_url);
    let way = Way {
        connect,
        ca_file: ca_file.map(CaFile::at),
        direct,
        // A proxy may be reached by TLS.
        plain: direct && Url::parse(base_url).is_ok_and(|it| it.scheme() == "http"),
    };
    let clients = CLIENTS.get_or_init(Mutex::default);
    // Held while a client is created, so that concurrent requests do not create two.
    let mut clients = clients.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(client) = clients.get(&way) {
        return Ok(client.clone());
    }
    let client = make(&way)?;
    let path = |way: &Way| way.ca_file.as_ref().map(|file| file.path.clone());
    // Clients for an earlier version of the file are no longer used.
    clients.retain(|it, _| {
        it.ca_file.is_none() || it.ca_file == way.ca_file || path(it) != path(&way)
    });
    clients.insert(way, client.clone());
    Ok(client)
}

fn make(way: &Way) -> Result<Client, Problem> {
    // An error means that a provider is already installed, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut builder = Client::builder()
        .connect_timeout(way.connect)
        .user_agent(concat!("flemma/", env!("CARGO_PKG_VERSION")))
        // A redirect would send the key to another address.
        .redirect(reqwest::redirect::Policy::none());
    // A proxy could not reach servers of this machine.
    if way.direct {
        builder = builder.no_proxy();
    } else if PROXIES.iter().flatten().any(tools::is_added_variable) {
        builder = with_proxies(builder, &tools::variable);
    }
    if way.plain {
        builder = builder.tls_certs_only([]);
    }
    if let Some(file) = &way.ca_file {
        builder = trusting(builder, &file.path)?;
    }
    builder.build().map_err(|error| {
        Problem::new(
            format!("HTTP does not work on this machine: {error}."),
            "Look at $SSL_CERT_FILE and the proxy variables, if they are set.",
        )
    })
}

/// Adds the proxies named by `variable`, by the rules of `reqwest`. `reqwest` itself reads
/// only the process environment, which does not contain a proxy with a password (see
/// [`tools::variables`]).
fn with_proxies(
    builder: ClientBuilder,
    variable: &dyn Fn(&str) -> Option<String>,
) -> ClientBuilder {
    let first = |names: [&str; 2]| names.iter().find_map(|name| variable(name));
    let [http, https, all, none] = PROXIES.map(first);
    let none = none.unwrap_or_default();
    let proxy = |address: Option<String>, make: fn(String) -> reqwest::Result<Proxy>| {
        let address = address.filter(|address| !address.is_empty())?;
        let address = if address.contains("://") {
            address
        } else {
            format!("http://{address}")
        };
        // An invalid proxy is ignored, as `reqwest` does.
        let proxy = make(address).ok()?;
        Some(proxy.no_proxy(NoProxy::from_string(&none)))
    };
    let proxies = [
        proxy(http, Proxy::http),
        proxy(https, Proxy::https),
        proxy(all, Proxy::all),
    ];
    proxies
        .into_iter()
        .flatten()
        .fold(builder, ClientBuilder::proxy)
}

fn trusting(builder: ClientBuilder, file: &Path) -> Result<ClientBuilder, Problem> {
    let unusable = |why: String| {
        Problem::new(
            format!("{why}, so nothing was sent."),
            "Correct ca_file in parameters; it names a file of certificates in PEM.",
        )
    };
    let shown = file.display();
    let text = std::fs::read(file).map_err(|error| {
        unusable(format!(
            "The certificates in {shown} cannot be read ({error})"
        ))
    })?;
    let found = Certificate::from_pem_bundle(&text).unwrap_or_default();
    if found.is_empty() {
        return Err(unusable(format!("{shown} contains no certificate")));
    }
    Ok(builder.tls_certs_merge(found))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_changed_certificate_file_needs_another_client() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, "one").unwrap();
        let before = CaFile::at(&path);
        assert_eq!(CaFile::at(&path), before);
        std::fs::write(&path, "another").unwrap();
        assert_ne!(CaFile::at(&path), before);
    }
}
