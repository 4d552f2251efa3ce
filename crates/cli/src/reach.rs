//! Whether a provider's server answers.

use std::time::{Duration, Instant};

use agent::transport;
use provider::Endpoint;

/// How long a server may take to answer.
pub const TIMEOUT: Duration = Duration::from_secs(3);

/// Requests the base URL, without a key. Any response, even an error, shows that a server is
/// there. Returns how long it took.
///
/// # Errors
///
/// There is none; a clause.
pub async fn reach(endpoint: &Endpoint) -> Result<Duration, String> {
    let (base_url, ca_file) = (&endpoint.base_url, endpoint.ca_file.as_deref());
    let client = transport::client(base_url, ca_file, TIMEOUT).map_err(|problem| problem.what)?;
    let begun = Instant::now();
    // Any answer will do, also an error: without a key, most servers refuse the request.
    match client.get(base_url).timeout(TIMEOUT).send().await {
        Ok(_) => Ok(begun.elapsed()),
        Err(error) if error.is_timeout() => Err("it does not answer".to_owned()),
        Err(_) => Err("there is no connection".to_owned()),
    }
}
