//! Logins (OAuth 2.1) at servers that are reached over HTTP: the flow in the user's browser, and the
//! tokens of requests, which are renewed when they expire.
//!
//! A flow starts only on the user's demand. Tokens are kept in a store that the caller supplies, and
//! are part of no message, error, or log. They, and the secrets of clients, go only to the
//! authorization server that gave them: its issuer is stored with the login, and compared each time
//! when the metadata is read.

use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::StreamExt;
use http::header::CONTENT_TYPE;
use reqwest::{Method, Response, Url};
use rmcp::model::{ClientJsonRpcMessage, ClientRequest, PingRequest, RequestId};
use rmcp::transport::AuthError;
use rmcp::transport::auth::{
    AuthClient, AuthorizationManager, AuthorizationMetadata, AuthorizationMetadataResolution,
    AuthorizationRequest, AuthorizationSession, CredentialRefreshGuard, CredentialStore,
    OAuthClientConfig, OAuthHttpClient, OAuthHttpClientError, OAuthHttpClientFuture,
    OAuthHttpRequest, StoredCredentials, WWWAuthenticateParams,
};
use rmcp::transport::streamable_http_client::StreamableHttpClient;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use tokio::net::{TcpListener, lookup_host};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tools::is_this_machine;

use super::callback::{Expected, wait_for_answer};
use super::http::{EVENTS, MendingClient};
use super::reach::read_headers;
use super::{Http, READY};
use crate::definition::clean;
use crate::spec::{OauthClient, Reach, ServerSpec};

/// A directive of a log's filter: the SDK logs the code of a login, which is a secret, at the level
/// of debug.
pub const LOG_LIMIT: &str = "rmcp::transport::auth=warn";

/// How long a login waits for the user.
const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum size of a response of an authorization server in bytes.
const RESPONSE: usize = 1024 * 1024;
/// Maximum bytes of a foreign text in a message.
const SAID: usize = 300;

/// The user's store of logins. Its methods block. Errors are phrases.
pub trait Logins: Send + Sync {
    /// Returns the login under a key.
    ///
    /// # Errors
    ///
    /// The store can't be read.
    fn load(&self, key: &str) -> Result<Option<String>, String>;

    /// Stores a login, or removes the stored one.
    ///
    /// # Errors
    ///
    /// The store can't be changed.
    fn store(&self, key: &str, login: Option<&str>) -> Result<(), String>;

    /// Waits until no other process renews a login. Dropping the result lets others continue.
    ///
    /// # Errors
    ///
    /// Another process takes too long.
    fn lock(&self) -> Result<Box<dyn Send>, String>;
}

/// A store that keeps logins in memory.
#[derive(Debug, Default)]
pub struct MemoryLogins(Mutex<BTreeMap<String, String>>);

impl Logins for MemoryLogins {
    fn load(&self, key: &str) -> Result<Option<String>, String> {
        let logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(logins.get(key).cloned())
    }

    fn store(&self, key: &str, login: Option<&str>) -> Result<(), String> {
        let mut logins = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match login {
            Some(login) => logins.insert(key.to_owned(), login.to_owned()),
            None => logins.remove(key),
        };
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn Send>, String> {
        Ok(Box::new(()))
    }
}

/// The user's login at one server.
pub(crate) struct Login {
    /// The server's name.
    name: String,
    url: String,
    /// The key in the store: a digest of the server's identity and its actual URL, so that tokens go to
    /// no other server.
    key: String,
    /// The headers that the user configured.
    headers: BTreeMap<String, String>,
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
    /// The owner of the login with which the last connection began; `None` without a login.
    connected: Option<Owner>,
}

/// A login as it is stored.
#[derive(Clone, Serialize, Deserialize)]
struct StoredLogin {
    credentials: StoredCredentials,
    /// The secret that the authorization server gave the registered client.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
    /// The server's challenge at the time of the login, which may be all that names its metadata.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    challenge: Option<String>,
    /// The scopes that the server has missed since. The next login, perhaps of another process, asks
    /// for them.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    missing: BTreeSet<String>,
}

impl StoredLogin {
    fn owner(&self) -> Owner {
        Owner {
            issuer: self.credentials.issuer.clone(),
            client: self.credentials.client_id.clone(),
        }
    }
}

/// The parties that a login belongs to. Renewing it does not change them.
#[derive(PartialEq, Eq)]
struct Owner {
    /// The authorization server; `None` for a server without metadata, which is its own.
    issuer: Option<String>,
    /// The client's ID.
    client: String,
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
            name: spec.name.clone(),
            url: url.clone(),
            key: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            headers: headers.clone(),
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
    pub(super) async fn refused(&self, challenge: &str) {
        {
            let mut state = self.lock();
            state.is_needed = true;
            state.challenge = Some(challenge.to_owned()).filter(|it| !it.is_empty());
        }
        if let Err(error) = self
            .keep_missing(missing_scopes(&self.url, challenge))
            .await
        {
            let why = explain(&error);
            tracing::warn!(server = self.name, why, "missing scopes are not stored");
        }
    }

    /// Stores scopes that the login lacks.
    async fn keep_missing(&self, scopes: BTreeSet<String>) -> Result<(), AuthError> {
        if scopes.is_empty() {
            return Ok(());
        }
        // A renewal in another process would store the login without them.
        let _lock = self.lock_store().await?;
        let Some(mut login) = self.usable().await? else {
            return Ok(());
        };
        if login.missing.is_superset(&scopes) {
            return Ok(());
        }
        login.missing.extend(scopes);
        self.keep(Some(&login)).await
    }

    /// Records that the server took a request.
    pub(super) fn accepted(&self) {
        self.lock().is_needed = false;
    }

    /// Returns true if the last connection began with the login that is stored now. Another process
    /// may have logged in or out since.
    pub(crate) async fn is_current(&self) -> bool {
        // Without a readable store, a running connection is better than none.
        let Ok(login) = self.usable().await else {
            return true;
        };
        login.as_ref().map(StoredLogin::owner) == self.lock().connected
    }

    /// Returns the command that logs in, in backticks.
    pub(super) fn command(&self) -> String {
        self.http.commands.named("login", &self.name)
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
        let unusable = |why: String| format!("its login cannot be used: {why}");
        let explained = |error: AuthError| unusable(explain(&error));
        let mut manager = self.manager().await.map_err(explained)?;
        let login = self.usable().await.map_err(explained)?;
        self.lock().connected = login.as_ref().map(StoredLogin::owner);
        if let Some(login) = login {
            let found = self.metadata(&manager, login.challenge.as_deref()).await;
            let metadata = found.map_err(unusable)?;
            let issuer = metadata.issuer.clone();
            // The server could lead the refresh token, or the client's secret, elsewhere.
            if issuer != login.credentials.issuer {
                self.lock().is_needed = true;
                return Err(unusable(format!(
                    "its authorization server is now {}, but the login is from {}; {} logs in there",
                    shown(issuer.as_deref()),
                    shown(login.credentials.issuer.as_deref()),
                    self.command()
                )));
            }
            manager.set_metadata(metadata);
            let mut config = OAuthClientConfig::new(&login.credentials.client_id, &self.url);
            if let Some(secret) = self.secret_of(&login) {
                config = config.with_client_secret(secret);
            }
            manager.configure_client(config).map_err(explained)?;
            manager.set_credential_store(self.store(issuer, None));
        }
        Ok(AuthClient::new(client, manager))
    }

    /// Removes the stored login. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// The store can't be changed; a phrase.
    pub(crate) async fn forget(&self) -> Result<bool, String> {
        let removed = async {
            // A renewal in another process would store the login again.
            let _lock = self.lock_store().await?;
            let had = self.load().await?.is_some();
            self.keep(None).await?;
            Ok(had)
        };
        removed.await.map_err(|it: AuthError| explain(&it))
    }

    /// Logs in: `visit` gets the address that the user has to open, and this waits for the answer.
    ///
    /// # Errors
    ///
    /// The login failed; a phrase.
    pub(crate) async fn log_in(
        self: &Arc<Self>,
        visit: &(dyn Fn(&str) + Send + Sync),
    ) -> Result<(), String> {
        let done = timeout(PATIENCE, self.flow(visit)).await;
        done.unwrap_or_else(|_| {
            Err(format!(
                "no answer came from the browser within {} minutes",
                PATIENCE.as_secs() / 60
            ))
        })
    }

    async fn flow(self: &Arc<Self>, visit: &(dyn Fn(&str) + Send + Sync)) -> Result<(), String> {
        let explained = |error: AuthError| explain(&error);
        let mut manager = self.manager().await.map_err(explained)?;
        let challenge = match self.ask().await {
            Some(challenge) => Some(challenge),
            // Some servers require a login only for some calls.
            None => self.lock().challenge.clone(),
        };
        let metadata = self.metadata(&manager, challenge.as_deref()).await?;
        let issuer = metadata.issuer.clone();
        let takes_documents = metadata
            .additional_fields
            .get("client_id_metadata_document_supported")
            .is_some_and(|it| *it == true);
        manager.set_metadata(metadata);
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
        let mut given = None;
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
                given.clone_from(&registered.client_secret);
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
        let begun = NewLogin {
            client_secret: given,
            challenge,
        };
        manager.set_credential_store(self.store(issuer.clone(), Some(begun)));
        let session = AuthorizationSession::new(manager, request).await;
        let session = session.map_err(|(_, error)| explain(&error))?;
        let expected = Expected::of(session.get_authorization_url(), redirect, issuer)?;
        let answer = async {
            visit(session.get_authorization_url());
            wait_for_answer(listener, expected).await
        };
        let answer = answer.await?;
        // A renewal of the earlier login in another process would replace this one.
        let _lock = self.lock_store().await.map_err(explained)?;
        let done = session.handle_callback_url(&answer).await;
        done.map_err(explained)?;
        let mut state = self.lock();
        state.is_needed = false;
        state.challenge = None;
        Ok(())
    }

    /// Returns the server's challenge to a message without a login. Many servers name their metadata
    /// only there.
    async fn ask(&self) -> Option<String> {
        let client = MendingClient::new((self.http.client)(&self.url).ok()?, None);
        let headers = read_headers(&self.headers).ok()?;
        let ping = ClientRequest::PingRequest(PingRequest::default());
        let ping = ClientJsonRpcMessage::request(ping, RequestId::Number(0));
        let sent = client.post_message(self.url.as_str().into(), ping, None, None, headers);
        let error = timeout(READY, sent).await.ok()?.err()?;
        let challenge = error.auth_challenge().filter(|it| !it.is_empty());
        challenge.map(str::to_owned)
    }

    /// Returns the metadata of the server's authorization server.
    async fn metadata(
        &self,
        manager: &AuthorizationManager,
        challenge: Option<&str>,
    ) -> Result<AuthorizationMetadata, String> {
        let found = manager.resolve_metadata_from_challenge(challenge).await;
        let found = found.map_err(|it| explain(&it))?;
        self.check(&found).await?;
        Ok(found.metadata)
    }

    /// Checks what the SDK tolerates.
    async fn check(&self, found: &AuthorizationMetadataResolution) -> Result<(), String> {
        let metadata = &found.metadata;
        // Required of clients since version 2025-11-25 of the protocol ("Authorization Code
        // Protection"). Servers without any metadata are older.
        if found.source.is_discovered() && metadata.code_challenge_methods_supported.is_none() {
            return Err(explain(&AuthError::PkceUnsupported));
        }
        let endpoints = [&metadata.authorization_endpoint, &metadata.token_endpoint];
        for endpoint in endpoints.into_iter().chain(&metadata.registration_endpoint) {
            let url = Url::parse(endpoint);
            let url = url.map_err(|_| not_safe(endpoint, "is not a URL"))?;
            self.check_address(&url).await?;
        }
        Ok(())
    }

    /// Checks that requests, and the user's browser, may be sent to an address that the server
    /// names: with encryption to a public host, or to the server's own. A server of this machine may
    /// also name others of this machine, and a server of a private network others of such a network.
    /// The SDK reads no metadata at an IP address of a private network, so that it must be named there
    /// by host names.
    async fn check_address(&self, url: &Url) -> Result<(), String> {
        let own = Url::parse(&self.url).ok();
        let own = own.filter(|own| own.host_str() == url.host_str());
        let is_here = is_this_machine(&self.url) && is_this_machine(url.as_str());
        let may_be_plain = is_here || own.as_ref().is_some_and(|own| own.scheme() == "http");
        if url.scheme() != "https" && !(url.scheme() == "http" && may_be_plain) {
            return Err(not_safe(url.as_str(), "is not encrypted"));
        }
        if is_here || own.is_some() || self.leads_to(&addresses(url).await).await {
            return Ok(());
        }
        Err(not_safe(
            url.as_str(),
            "is not public, but of this machine or its network",
        ))
    }

    /// Returns true if the server may name a host with these addresses.
    async fn leads_to(&self, found: &[IpAddr]) -> bool {
        if found.iter().all(|ip| tools::is_public(*ip)) {
            return true;
        }
        let Ok(own) = Url::parse(&self.url) else {
            return false;
        };
        let own = addresses(&own).await;
        let is_private = !own.is_empty() && own.iter().all(|ip| tools::is_private(*ip));
        let mut found = found.iter();
        is_private && found.all(|ip| tools::is_public(*ip) || tools::is_private(*ip))
    }

    /// Returns the scopes to request; none if the server's metadata decides.
    async fn scopes(&self, challenge: Option<&str>) -> Vec<String> {
        let mut scopes = self.client.scopes.clone();
        let mut missing = challenge.map_or_else(BTreeSet::new, |it| missing_scopes(&self.url, it));
        let login = self.usable().await.ok().flatten();
        let granted = login.map(|login| {
            missing.extend(login.missing);
            login.credentials.granted_scopes
        });
        if !missing.is_empty() {
            // The rights of the present login, and those that were missing.
            scopes.extend(granted.into_iter().flatten());
            scopes.extend(missing);
        }
        let mut seen = BTreeSet::new();
        scopes.retain(|it| seen.insert(it.clone()));
        scopes
    }

    async fn manager(self: &Arc<Self>) -> Result<AuthorizationManager, AuthError> {
        let http = Arc::new(OauthHttp(self.clone()));
        AuthorizationManager::new_with_oauth_http_client(self.url.as_str(), http).await
    }

    fn store(self: &Arc<Self>, issuer: Option<String>, begun: Option<NewLogin>) -> Store {
        Store {
            login: self.clone(),
            issuer,
            begun,
        }
    }

    /// Returns the stored login, unless the user configured another client since.
    async fn usable(&self) -> Result<Option<StoredLogin>, AuthError> {
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

    /// Returns the stored login. It is read each time, because another process may have changed it.
    async fn load(&self) -> Result<Option<StoredLogin>, AuthError> {
        let key = self.key.clone();
        let text = self.in_store(move |it| it.load(&key)).await?;
        // A login that cannot be read is none: the user logs in again.
        Ok(text.and_then(|it| serde_json::from_str(&it).ok()))
    }

    /// Stores the login, or removes it.
    async fn keep(&self, login: Option<&StoredLogin>) -> Result<(), AuthError> {
        let text = login.map(serde_json::to_string).transpose();
        let text = text.map_err(|error| AuthError::CredentialStoreError(error.to_string()))?;
        let key = self.key.clone();
        self.in_store(move |it| it.store(&key, text.as_deref()))
            .await
    }

    /// Waits until no other process changes logins.
    async fn lock_store(&self) -> Result<Box<dyn Send>, AuthError> {
        self.in_store(|it| it.lock()).await
    }

    async fn in_store<T: Send + 'static>(
        &self,
        run: impl FnOnce(&dyn Logins) -> Result<T, String> + Send + 'static,
    ) -> Result<T, AuthError> {
        let logins = self.http.logins.clone();
        let done = spawn_blocking(move || run(&*logins)).await;
        let done = done.unwrap_or_else(|error| Err(error.to_string()));
        done.map_err(AuthError::CredentialStoreError)
    }

    fn lock(&self) -> MutexGuard<'_, LoginState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns the scopes that a server misses according to its challenge.
fn missing_scopes(server: &str, challenge: &str) -> BTreeSet<String> {
    let url = Url::parse(server).ok();
    let challenge = url.map(|url| WWWAuthenticateParams::parse(challenge, &url));
    let challenge = challenge.filter(WWWAuthenticateParams::is_insufficient_scope);
    let missing = challenge.and_then(|it| it.scope).unwrap_or_default();
    missing.split_whitespace().map(str::to_owned).collect()
}

fn not_safe(address: &str, why: &str) -> String {
    let address = clean(address, SAID);
    format!("its authorization server has the address {address}, which {why}")
}

/// Describes an authorization server.
fn shown(issuer: Option<&str>) -> String {
    issuer.map_or_else(|| "the server itself".to_owned(), |it| clean(it, SAID))
}

/// Returns the addresses of a host. None if its name is not known here; perhaps a proxy knows it, and
/// without one, the request fails.
async fn addresses(url: &Url) -> Vec<IpAddr> {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let port = url.port_or_known_default().unwrap_or_default();
    let found = lookup_host((host, port)).await;
    found.map_or_else(|_| Vec::new(), |it| it.map(|it| it.ip()).collect())
}

/// Checks that metadata of an authorization server is of the issuer at whose address it is. The SDK
/// checks that only at the standard addresses, but a server may name any.
fn check_issuer(url: &Url, body: &[u8]) -> Result<(), String> {
    let Ok(found) = serde_json::from_slice::<Value>(body) else {
        return Ok(());
    };
    if !found["token_endpoint"].is_string() {
        return Ok(());
    }
    let issuer = found["issuer"].as_str().unwrap_or_default();
    if Url::parse(issuer).is_ok_and(|it| it.origin() == url.origin()) {
        return Ok(());
    }
    Err(format!(
        "the metadata at {} is of the issuer \"{}\"",
        clean(url.as_str(), SAID),
        clean(issuer, SAID)
    ))
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
        AuthError::CredentialStoreError(why) => why.clone(),
        // The text of the error names only the address.
        AuthError::DiscoveryRequestFailed { url, source } => {
            let (url, why) = (clean(url.as_str(), SAID), clean(&source.to_string(), SAID));
            format!("the metadata at {url} cannot be read: {why}")
        }
        error => clean(&error.to_string(), SAID),
    }
}

/// The login as the SDK's store, for one authorization server: the SDK sends what it loads to that
/// server, whatever another process has stored meanwhile.
struct Store {
    login: Arc<Login>,
    issuer: Option<String>,
    /// The login that is being made; `None` if one is renewed.
    begun: Option<NewLogin>,
}

/// What a new login keeps besides its tokens.
struct NewLogin {
    /// The secret of a client that was just registered.
    client_secret: Option<String>,
    /// The server's challenge.
    challenge: Option<String>,
}

#[async_trait]
impl CredentialStore for Store {
    async fn load(&self) -> Result<Option<StoredCredentials>, AuthError> {
        let login = self.login.usable().await?;
        let credentials = login.map(|it| it.credentials);
        Ok(credentials.filter(|it| it.issuer == self.issuer))
    }

    async fn save(&self, credentials: StoredCredentials) -> Result<(), AuthError> {
        let mut login = StoredLogin {
            credentials,
            client_secret: None,
            challenge: None,
            missing: BTreeSet::new(),
        };
        let before = self.login.load().await?;
        if let Some(before) = before.filter(|it| it.owner() == login.owner()) {
            login = StoredLogin {
                credentials: login.credentials,
                ..before
            };
        }
        if let Some(begun) = &self.begun {
            let secret = begun.client_secret.clone();
            login.client_secret = secret.or(login.client_secret);
            login.challenge.clone_from(&begun.challenge);
            // This login has asked for them.
            login.missing.clear();
        }
        self.login.keep(Some(&login)).await
    }

    async fn clear(&self) -> Result<(), AuthError> {
        self.login.keep(None).await
    }

    async fn acquire_refresh_guard(&self) -> Result<Option<CredentialRefreshGuard>, AuthError> {
        let lock = self.login.lock_store().await?;
        Ok(Some(CredentialRefreshGuard::new(lock)))
    }
}

/// Sends requests to authorization servers.
struct OauthHttp(Arc<Login>);

impl OAuthHttpClient for OauthHttp {
    fn execute(&self, sent: OAuthHttpRequest) -> OAuthHttpClientFuture<'_> {
        Box::pin(async move {
            let limit = sent.timeout.unwrap_or(READY);
            let answered = timeout(limit, self.answer(sent)).await;
            answered.unwrap_or_else(|_| {
                Err(format!("no answer came within {} seconds", limit.as_secs()).into())
            })
        })
    }
}

impl OauthHttp {
    async fn answer(
        &self,
        sent: OAuthHttpRequest,
    ) -> Result<http::Response<Vec<u8>>, OAuthHttpClientError> {
        let request = reqwest::Request::try_from(sent.request)?;
        let (url, is_read) = (request.url().clone(), request.method() == Method::GET);
        self.0.check_address(&url).await?;
        // The client follows no redirects, whatever the policy of the request is.
        let client = (self.0.http.client)(url.as_str())?;
        let response = client.execute(request).await?;
        let mut answer = http::Response::builder().status(response.status());
        for (name, value) in response.headers() {
            answer = answer.header(name, value);
        }
        let body = body(response).await?;
        if is_read {
            check_issuer(&url, &body)?;
        }
        answer.body(body).map_err(OAuthHttpClientError::from)
    }
}

/// Reads the body of an answer.
async fn body(response: Response) -> Result<Vec<u8>, OAuthHttpClientError> {
    let kind = response.headers().get(CONTENT_TYPE);
    // The SDK reads the server's own address for a challenge, and many servers answer with their
    // stream of events, which does not end.
    if kind.is_some_and(|it| it.as_bytes().starts_with(EVENTS.as_bytes())) {
        return Ok(Vec::new());
    }
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        body.extend_from_slice(&chunk?);
        if body.len() > RESPONSE {
            return Err("the answer is larger than 1 MB".into());
        }
    }
    Ok(body)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn login_at(url: &str) -> Arc<Login> {
        let reach = Reach::Http {
            url: url.to_owned(),
            headers: BTreeMap::new(),
            oauth: OauthClient::default(),
        };
        let http = Http::new(|_| Err("no requests".to_owned()));
        Login::of(&ServerSpec::new("test", "docs", reach), &http).unwrap()
    }

    #[tokio::test]
    async fn metadata_leads_to_public_hosts_or_the_servers_own() {
        for (server, named, is_safe) in [
            ("https://mcp.example/mcp", "https://1.1.1.1/token", true),
            ("https://mcp.example/mcp", "https://mcp.example/token", true),
            ("https://mcp.example/mcp", "http://1.1.1.1/token", false),
            ("https://mcp.example/mcp", "http://mcp.example/token", false),
            ("https://mcp.example/mcp", "https://127.0.0.1/token", false),
            ("https://mcp.example/mcp", "http://127.0.0.1/token", false),
            ("https://mcp.example/mcp", "http://[::1]/token", false),
            ("https://mcp.example/mcp", "https://localhost/token", false),
            ("https://mcp.example/mcp", "https://10.0.0.1/token", false),
            ("https://mcp.example/mcp", "https://[fd00::1]/token", false),
            (
                "https://mcp.example/mcp",
                "https://169.254.169.254/token",
                false,
            ),
            ("https://mcp.example/mcp", "file:///etc/passwd", false),
            ("http://10.0.0.1/mcp", "http://10.0.0.1:81/token", true),
            ("http://10.0.0.1/mcp", "https://10.0.0.2/token", true),
            ("https://10.0.0.1/mcp", "https://[fd00::1]/token", true),
            ("https://10.0.0.1/mcp", "https://1.1.1.1/token", true),
            ("https://10.0.0.1/mcp", "https://127.0.0.1/token", false),
            (
                "https://10.0.0.1/mcp",
                "https://169.254.169.254/token",
                false,
            ),
            ("https://1.1.1.1/mcp", "https://10.0.0.1/token", false),
            ("http://127.0.0.1:1/mcp", "http://localhost:2/token", true),
            ("http://127.0.0.1:1/mcp", "https://1.1.1.1/token", true),
            ("http://127.0.0.1:1/mcp", "http://1.1.1.1/token", false),
            ("http://127.0.0.1:1/mcp", "https://10.0.0.1/token", false),
        ] {
            let url = Url::parse(named).unwrap();
            let checked = login_at(server).check_address(&url).await;
            assert_eq!(checked.is_ok(), is_safe, "{server} {named} {checked:?}");
        }
    }

    #[test]
    fn metadata_is_of_the_issuer_at_whose_address_it_is() {
        let url = Url::parse("https://as.example/x/.well-known/other").unwrap();
        for (found, is_valid) in [
            (
                r#"{"token_endpoint":"x","issuer":"https://as.example"}"#,
                true,
            ),
            (
                r#"{"token_endpoint":"x","issuer":"https://as.example/x"}"#,
                true,
            ),
            (
                r#"{"token_endpoint":"x","issuer":"https://bank.example"}"#,
                false,
            ),
            (r#"{"token_endpoint":"x"}"#, false),
            (r#"{"resource":"https://mcp.example"}"#, true),
            ("<html>", true),
        ] {
            assert_eq!(
                check_issuer(&url, found.as_bytes()).is_ok(),
                is_valid,
                "{found}"
            );
        }
    }
}
