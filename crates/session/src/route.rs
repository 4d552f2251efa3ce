//! Finds the destination of a request: options and environment, keys from key stores, and
//! servers on this machine.
//!
//! `endpoint` decides what follows from options and environment alone.

use agent::transport;
use chat::Problem;
use policy::settings::Settings;

use crate::credentials::{FoundKey, Keys};
use crate::endpoint::{self, Destination, GetVariable};
use crate::local::{self, LocalServer};

/// API keys and the local server, which requests find or start while the program runs. Cheap to
/// clone.
#[derive(Clone, Default)]
pub struct Route {
    /// Keys of key stores.
    pub keys: Keys,
    server: LocalServer,
}

impl Route {
    /// Returns where a request goes; `auto` takes the provider that is available. Calls `note`
    /// with what the user waits for.
    ///
    /// # Errors
    ///
    /// The provider is unknown, or its address or key is not found.
    pub async fn find(
        &self,
        mut settings: Settings,
        note: &(dyn Fn(String) + Sync),
    ) -> Result<Destination, Problem> {
        let variables = |name: &str| tools::variable(name);
        // The address of Flemma's own server is known only once it runs.
        if settings.provider == endpoint::LOCAL {
            let base_url = self.server.base_url(&settings, note).await?;
            let at = |name: &str| (name == endpoint::LOCAL).then(|| base_url.clone());
            return endpoint::destination(&settings, &at);
        }
        if settings.provider != "auto" {
            return self.with_key(&settings, note).await;
        }
        if let Some(name) = endpoint::from_environment(&variables) {
            settings.provider = name.to_owned();
            return self.with_key(&settings, note).await;
        }
        let connect = endpoint::patience("openai_compatible", &settings).connect;
        // All local servers share one client, because none of them needs a proxy.
        let any = endpoint::local_addresses().next().unwrap_or_default();
        let client = transport::client(any, None, connect)?;
        match local::find_server(&client).await {
            Some(base_url) => {
                settings.provider = "openai_compatible".to_owned();
                let at = |name: &str| {
                    if name == "OPENAI_COMPATIBLE_BASE_URL" {
                        Some(base_url.to_owned())
                    } else {
                        variables(name)
                    }
                };
                // Decided as if the variable were set, so that all checks are in one place.
                endpoint::destination(&settings, &at)
            }
            // A new user has no provider yet, and the tutor explains how to get one.
            None => Ok(Destination::Tutor),
        }
    }

    /// Returns the destination; looks for its key if that is not known yet.
    async fn with_key(
        &self,
        settings: &Settings,
        note: &(dyn Fn(String) + Sync),
    ) -> Result<Destination, Problem> {
        let variables = |name: &str| tools::variable(name);
        let Some(wanted) = endpoint::wanted_key(settings, &variables) else {
            return endpoint::destination(settings, &variables);
        };
        let FoundKey { key, source } = self.keys.find(&wanted, note).await?;
        let at = |name: &str| {
            if name == wanted.variable {
                Some(key.expose().to_owned())
            } else {
                variables(name)
            }
        };
        // Decided as if the variable contained the key, so that all checks are in one place.
        let mut destination = endpoint::destination(settings, &at as GetVariable<'_>)?;
        if let Destination::Server(endpoint, _) = &mut destination {
            endpoint.key_source = source;
        }
        Ok(destination)
    }
}

/// Returns the label of a destination: the provider's name, then the model.
pub fn label(destination: &Destination) -> String {
    match destination {
        Destination::Tutor => "tutor (built in, no model)".to_owned(),
        Destination::Server(endpoint, parameters) if parameters.model.is_empty() => {
            format!("{} {}", endpoint.provider, endpoint.shown_base())
        }
        Destination::Server(endpoint, parameters) => {
            format!("{} {}", endpoint.provider, parameters.model)
        }
    }
}
