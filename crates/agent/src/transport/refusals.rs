//! What servers refused, remembered until the program ends: features by address, parameters
//! by address and model.

use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use provider::{Endpoint, Feature, RefusedParameter, Without};

/// Maximum number of parameters that are left out for one model. A server that refuses more
/// refuses everything.
const MOST: usize = 6;

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

#[derive(Default)]
struct Known {
    features: HashMap<String, Without>,
    parameters: HashMap<(String, String), Vec<RefusedParameter>>,
}

fn with<T>(look: impl FnOnce(&mut Known) -> T) -> T {
    look(&mut KNOWN.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Returns the features that the server at this address refused.
pub(super) fn features(endpoint: &Endpoint) -> Without {
    with(|known| known.features.get(&endpoint.base_url).copied()).unwrap_or_default()
}

/// Remembers that the server at this address refused a feature.
pub(super) fn remember_feature(endpoint: &Endpoint, feature: Feature) {
    let address = endpoint.base_url.clone();
    with(|known| known.features.entry(address).or_default().add(feature));
}

/// Returns the parameters that the server refused for a model, in that order.
pub(super) fn parameters(endpoint: &Endpoint, model: &str) -> Vec<RefusedParameter> {
    let key = (endpoint.base_url.clone(), model.to_owned());
    with(|known| known.parameters.get(&key).cloned()).unwrap_or_default()
}

/// Remembers a refused parameter. Returns false if there are too many: then a request
/// without it would change nothing.
pub(super) fn remember_parameter(
    endpoint: &Endpoint,
    model: &str,
    refused: &RefusedParameter,
) -> bool {
    let key = (endpoint.base_url.clone(), model.to_owned());
    with(|known| {
        let of_model = known.parameters.entry(key).or_default();
        // Two requests at the same time may learn the same.
        if !of_model.contains(refused) && of_model.len() < MOST {
            of_model.push(refused.clone());
        }
        of_model.contains(refused)
    })
}
