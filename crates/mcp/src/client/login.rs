//! Logins (OAuth 2.1) at servers that are reached over HTTP: the flow in the user's browser, and the
//! tokens of requests, which are renewed when they expire.
//!
//! A flow starts only on the user's demand. Tokens are kept in a store that the caller supplies, and
//! are part of no message, error, or log.

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use reqwest::Url;
use rmcp::transport::AuthError;
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, AuthorizationMetadataResolution, AuthorizationRequest,
    AuthorizationSession, CredentialRefreshGuard, CredentialStore, OAuthClientConfig,
    OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture, OAuthHttpRequest,
    StoredCredentials, WWWAuthenticateParams,
};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tokio::net::TcpListener;
use tokio::time::timeout;

use super::Http;
use super::callback::{Expected, wait_for_answer};
use super::http::MendingClient;
use crate::definition::clean;
use crate::spec::{OauthClient, Reach, ServerSpec};

/// A directive of a log's filter: the SDK logs the code of a login, which is a secret, at the level
/// of debug.
pub const LOG_LIMIT: &str = "rmcp::transport::auth=info";

/// How long a login waits for the user.
const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum size of a response of an authorization server in bytes.
const RESPONSE: usize = 1024 * 1024;
/// Maximum bytes of a foreign text in a message.
const SAID: usize = 300;

/// The user's store of logins. Its methods block.
pub trait Logins: Send + Sync {
    /// Returns the login under a key.
    ///
    /// # Errors
    ///
    /// The store can't be read; a phrase.
    fn load(&self, key: &str) -> Result<Option<String>, String>;

    /// Stores a login, or removes the stored one.
    ///
    /// # Errors
    ///
    /// The store can't be changed; a phrase.
    fn store(&self, key: &str, login: Option<&str>) -> Result<(), String>;

    /// Waits until no other process renews a login. Dropping the result lets others continue.
    ///
    /// # Errors
    ///
    /// Another process takes too long; a phrase.
    fn lock(&self) -> Result<Box<dyn Send>, String>;
}

/// A store that has no logins and keeps none.
pub struct NoLogins;

impl Logins for NoLogins {
    fn load(&self, _key: &str) -> Result<Option<String>, String> {
        Ok(None)
    }

    fn store(&self, _key: &str, _login: Option<&str>) -> Result<(), String> {
        Err("there is no store for logins".to_owned())
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        Ok(Box::new(()))
    }
}

/// The user's login at one server.
pub(crate) struct Login {
    url: String,
    /// The key in the store: a digest of the server's identity and its actual URL, so that tokens go to
    /// no other server.
    key: String,
    client: OauthClient,
    http: Http,
    state: Mutex<LoginState>,
}

#[derive(Default)]
struct LoginState {
    /// True if the server refused the last request without a login, or with too few rights.
    is_needed: bool,
    /// The server's last `WWW-Authenticate`.
    challenge: Option<String>,
    /// The stored login, once it was read; `None` in it if there is none.
    known: Option<Option<StoredLogin>>,
    /// The secret of the client that is being registered.
    secret: Option<String>,
}

/// A login as it is stored.
#[derive(Clone, Serialize, Deserialize)]
struct StoredLogin {
    credentials: StoredCredentials,
    /// The secret that the authorization server gave the registered client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
}

impl Login {
    /// Returns the login of a server; `None` if it is a program, or if the user configured its
    /// `Authorization`.
    pub(crate) fn of(spec: &ServerSpec, http: &Http) -> Option<Arc<Self>> {
        let Reach::Http {
            url,
            headers,
            oauth,
        } = &spec.reach
        else {
            return None;
        };
        if headers
            .keys()
            .any(|name| name.eq_ignore_ascii_case("authorization"))
        {
            return None;
        }
        let digest = Sha256::digest(format!("{} {url}", spec.identity.as_str()));
        Some(Arc::new(Self {
            url: url.clone(),
            key: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            client: oauth.clone(),
            http: http.clone(),
            state: Mutex::default(),
        }))
    }

    /// Returns true if the server refused the last request because of the login.
    pub(crate) fn is_needed(&self) -> bool {
        self.lock().is_needed
    }

    /// Records that the server refused a request, with its challenge.
    pub(super) fn refused(&self, challenge: &str) {
        let mut state = self.lock();
        state.is_needed = true;
        state.challenge = Some(challenge.to_owned()).filter(|it| !it.is_empty());
    }

    /// Records that the server took a request.
    pub(super) fn accepted(&self) {
        self.lock().is_needed = false;
    }

    /// Returns a client that sends the tokens of the stored login, if there is one.
    ///
    /// # Errors
    ///
    /// The stored login can't be used now; a phrase.
    pub(super) async fn authorized(
        self: &Arc<Self>,
        client: MendingClient,
    ) -> Result<AuthClient<MendingClient>, String> {
        let unusable = |error: AuthError| format!("its login cannot be used: {}", explain(&error));
        let mut manager = self.manager().await.map_err(unusable)?;
        if self.usable().await.map_err(unusable)?.is_some()
            && manager.initialize_from_store().await.map_err(unusable)?
            && let Some(login) = self.usable().await.map_err(unusable)?
            && let Some(secret) = self.secret_of(&login)
        {
            let id = login.credentials.client_id;
            let config = OAuthClientConfig::new(id, &self.url).with_client_secret(secret);
            manager.configure_client(config).map_err(unusable)?;
        }
        Ok(AuthClient::new(client, manager))
    }

    /// Removes the stored login. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// The store can't be changed; a phrase.
    pub(crate) async fn forget(self: &Arc<Self>) -> Result<bool, String> {
        let had = self.load().await.map_err(|it| explain(&it))?.is_some();
        self.keep(None).await.map_err(|it| explain(&it))?;
        Ok(had)
    }

    /// Logs in: `visit` gets the address that the user has to open, and this waits for the answer.
    ///
    /// # Errors
    ///
    /// There is no login; a phrase.
    pub(crate) async fn log_in(
        self: &Arc<Self>,
        visit: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), String> {
        let done = timeout(PATIENCE, self.flow(visit)).await;
        done.unwrap_or_else(|_| {
            Err(format!(
                "nobody logged in within {} minutes",
                PATIENCE.as_secs() / 60
            ))
        })
    }

    async fn flow(self: &Arc<Self>, visit: &(dyn Fn(&str) + Send + Sync)) -> Result<(), String> {
        let explained = |error: AuthError| explain(&error);
        let mut manager = self.manager().await.map_err(explained)?;
        let challenge = self.lock().challenge.clone();
        let found = manager.resolve_metadata_from_challenge(challenge.as_deref());
        let found = found.await.map_err(explained)?;
        self.check(&found)?;
        let issuer = found.metadata.issuer.clone();
        let takes_documents = found
            .metadata
            .additional_fields
            .get("client_id_metadata_document_supported")
            .is_some_and(|it| *it == true);
        manager.set_metadata(found.metadata);
        // Only programs of this machine can answer.
        let port = self.client.port.unwrap_or(0);
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await;
        let listener = listener.map_err(|error| format!("port {port} cannot be used: {error}"))?;
        let address = listener.local_addr().map_err(|error| error.to_string())?;
        let redirect = format!("http://{address}/callback");
        let scopes = match self.scopes(challenge.as_deref()).await {
            scopes if scopes.is_empty() => manager.select_initial_scopes(&[]).await,
            scopes => scopes,
        };
        let mut request = AuthorizationRequest::new(&redirect).with_scopes(scopes.clone());
        if scopes.is_empty() {
            request = request.with_initial_scope_selection();
        }
        self.lock().secret = None;
        let (id, secret) = match (&self.client.id, &self.client.metadata_url) {
            (Some(id), _) => (Some(id.clone()), self.client.secret.clone().map(|it| it.0)),
            (None, Some(_)) if takes_documents => (None, None),
            (None, _) => {
                let scopes: Vec<&str> = scopes.iter().map(String::as_str).collect();
                let registered = manager.register_client("Flemma", &redirect, &scopes).await;
                let registered = registered.map_err(|error| {
                    format!(
                        "Flemma cannot be registered there ({}); put client_id into its table `oauth`",
                        explain(&error)
                    )
                })?;
                self.lock().secret.clone_from(&registered.client_secret);
                (Some(registered.client_id), registered.client_secret)
            }
        };
        if let Some(id) = id {
            request = request.with_preregistered_client(id);
        }
        if let Some(secret) = secret {
            request = request.with_client_secret(secret);
        }
        if let Some(url) = &self.client.metadata_url {
            request = request.with_client_metadata_url(url);
        }
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| explain(&error))?;
        let expected = Expected::of(session.get_authorization_url(), redirect, issuer)?;
        let answer = async {
            visit(session.get_authorization_url());
            wait_for_answer(listener, expected).await
        };
        let done = session.handle_callback_url(&answer.await?).await;
        done.map_err(explained)?;
        let mut state = self.lock();
        state.is_needed = false;
        state.challenge = None;
        Ok(())
    }

    /// Checks what the SDK tolerates.
    fn check(&self, found: &AuthorizationMetadataResolution) -> Result<(), String> {
        let metadata = &found.metadata;
        // Required of clients since version 2025-11-25 of the protocol ("Authorization Code
        // Protection"). Servers without any metadata are older.
        if found.source.is_discovered() && metadata.code_challenge_methods_supported.is_none() {
            return Err(explain(&AuthError::PkceUnsupported));
        }
        for endpoint in [&metadata.authorization_endpoint, &metadata.token_endpoint] {
            let url = Url::parse(endpoint);
            if !url.is_ok_and(|url| self.is_safe(&url)) {
                return Err(not_safe(endpoint));
            }
        }
        Ok(())
    }

    /// Returns true if tokens may go to this address, and the user's browser: it is encrypted, or on
    /// this machine, or on the server's own host if the user configured that without encryption.
    fn is_safe(&self, url: &Url) -> bool {
        let is_own = || {
            let own = Url::parse(&self.url);
            own.is_ok_and(|own| own.scheme() == "http" && own.host_str() == url.host_str())
        };
        match url.scheme() {
            "https" => true,
            "http" => is_this_machine(url) || is_own(),
            _ => false,
        }
    }

    /// Returns the scopes to request; none if the server's metadata decides.
    async fn scopes(self: &Arc<Self>, challenge: Option<&str>) -> Vec<String> {
        let mut scopes = self.client.scopes.clone();
        let url = Url::parse(&self.url).ok();
        let challenge = challenge.zip(url);
        let challenge = challenge.map(|(it, url)| WWWAuthenticateParams::parse(it, &url));
        if let Some(challenge) = challenge.filter(WWWAuthenticateParams::is_insufficient_scope) {
            // The rights of the present login, and those that were missing.
            let login = self.usable().await.ok().flatten();
            scopes.extend(
                login
                    .into_iter()
                    .flat_map(|it| it.credentials.granted_scopes),
            );
            let more = challenge.scope.unwrap_or_default();
            scopes.extend(more.split_whitespace().map(str::to_owned));
        }
        let mut seen = std::collections::BTreeSet::new();
        scopes.retain(|it| seen.insert(it.clone()));
        scopes
    }

    async fn manager(self: &Arc<Self>) -> Result<AuthorizationManager, AuthError> {
        let http = Arc::new(OauthHttp(self.clone()));
        let url = self.url.as_str();
        let mut manager = AuthorizationManager::new_with_oauth_http_client(url, http).await?;
        manager.set_credential_store(Store(self.clone()));
        Ok(manager)
    }

    /// Returns the stored login, unless the user configured another client since.
    async fn usable(self: &Arc<Self>) -> Result<Option<StoredLogin>, AuthError> {
        let login = self.load().await?;
        let is_current = |it: &StoredLogin| {
            let id = self.client.id.as_ref();
            id.is_none_or(|id| *id == it.credentials.client_id)
        };
        Ok(login.filter(is_current))
    }

    fn secret_of(&self, login: &StoredLogin) -> Option<String> {
        match &self.client.secret {
            Some(secret) => Some(secret.0.clone()),
            None => login.client_secret.clone(),
        }
    }

    /// Returns the stored login.
    async fn load(self: &Arc<Self>) -> Result<Option<StoredLogin>, AuthError> {
        if let Some(known) = self.lock().known.clone() {
            return Ok(known);
        }
        let this = self.clone();
        let read = tokio::task::spawn_blocking(move || this.http.logins.load(&this.key)).await;
        let read = read.unwrap_or_else(|error| Err(error.to_string()));
        let text = read.map_err(AuthError::CredentialStoreError)?;
        // A login that cannot be read is none: the user logs in again.
        let login: Option<StoredLogin> = text.and_then(|it| serde_json::from_str(&it).ok());
        self.lock().known = Some(login.clone());
        Ok(login)
    }

    /// Stores the login, or removes it.
    async fn keep(self: &Arc<Self>, login: Option<StoredLogin>) -> Result<(), AuthError> {
        let failed = |error: String| AuthError::CredentialStoreError(error);
        let text = login.as_ref().map(serde_json::to_string).transpose();
        let text = text.map_err(|error| failed(error.to_string()))?;
        // Also if it cannot be stored: this process goes on with it.
        self.lock().known = Some(login);
        let this = self.clone();
        let stored =
            tokio::task::spawn_blocking(move || this.http.logins.store(&this.key, text.as_deref()));
        let stored = stored.await.unwrap_or_else(|error| Err(error.to_string()));
        stored.map_err(failed)
    }

    fn lock(&self) -> MutexGuard<'_, LoginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn not_safe(address: &str) -> String {
    let address = clean(address, SAID);
    format!("its authorization server has the address {address}, which is not encrypted")
}

/// Returns true if an address names this machine.
fn is_this_machine(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|it| it.is_loopback())
}

/// Describes an error as a phrase.
fn explain(error: &AuthError) -> String {
    match error {
        AuthError::PkceUnsupported => {
            "its authorization server does not support PKCE with S256".to_owned()
        }
        AuthError::AuthorizationServerMismatch {
            expected_issuer,
            received_issuer,
        } => format!(
            "the issuer should be {}, but is {}",
            clean(expected_issuer, SAID),
            clean(received_issuer, SAID)
        ),
        AuthError::AuthorizationServerMissingIssuer { expected_issuer } => format!(
            "the issuer is missing, which should be {}",
            clean(expected_issuer, SAID)
        ),
        AuthError::CredentialStoreError(why) => format!("the store of logins failed: {why}"),
        error => clean(&error.to_string(), SAID),
    }
}

/// The login as the SDK's store.
struct Store(Arc<Login>);

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        Ok(self.0.usable().await?.map(|it| it.credentials))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let registered = self.0.lock().secret.take();
        let before = self.0.load().await?;
        let before = before.filter(|it| it.credentials.client_id == credentials.client_id);
        let client_secret = registered.or(before.and_then(|it| it.client_secret));
        let login = StoredLogin {
            credentials,
            client_secret,
        };
        self.0.keep(Some(login)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.0.keep(None).await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let this = self.0.clone();
        let guard = tokio::task::spawn_blocking(move || this.http.logins.lock()).await;
        let guard = guard.unwrap_or_else(|error| Err(error.to_string()));
        let guard = guard.map_err(AuthError::CredentialStoreError)?;
        // Another process may have used up the token that is known here.
        self.0.lock().known = None;
        Ok(Some(CredentialRefreshGuard::new(guard)))
    }
}

/// Sends requests to authorization servers.
struct OauthHttp(Arc<Login>);

impl OAuthHttpClient for OauthHttp {
    fn execute(&self, sent: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let mut request = reqwest::Request::try_from(sent.request)?;
            if !self.0.is_safe(request.url()) {
                return Err(not_safe(request.url().as_str()).into());
            }
            *request.timeout_mut() = sent.timeout;
            // The client follows no redirects, whatever the policy of the request is.
            let client = (self.0.http.client)(request.url().as_str())?;
            let response = client.execute(request).await?;
            let mut answer = http::Response::builder().status(response.status());
            for (name, value) in response.headers() {
                answer = answer.header(name, value);
            }
            let mut body = Vec::new();
            let mut chunks = response.bytes_stream();
            while let Some(chunk) = chunks.next().await {
                body.extend_from_slice(&chunk?);
                if body.len() > RESPONSE {
                    return Err("its response is larger than 1 MB".into());
                }
            }
            answer.body(body).map_err(OAuthHttpClientError::from)
        })
    }
}
