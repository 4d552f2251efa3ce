//! A configured server over its lifetime: started on demand, restarted a limited number of
//! times, and checked for changed tools.
//!
//! Models get the tool definitions that the user accepted. A changed tool is disabled until
//! the user accepts the change.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::client::{Called, Caller, Commands, Connection, Http, Login, PeerEvent};
use crate::definition::{Definition, DefinitionChanges};
use crate::resources::{ResourceContent, ResourceUri};
use crate::spec::ServerSpec;

/// Maximum starts within [`WITHIN`]; a server that ends sooner is not restarted.
const STARTS: usize = 4;
/// See [`STARTS`].
const WITHIN: Duration = Duration::from_secs(60);

/// An event that the user or the registry should know about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// The accepted definitions changed and must be saved.
    Agreed,
    /// The server's definitions differ from the accepted ones.
    Differs,
    /// The server could not be started; the reason.
    Failed(String),
    /// The user declined a question of the server; its summary.
    Declined(String),
}

/// Accepted tool definitions of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum PinnedTools {
    /// The server is new: its first definitions are accepted.
    #[default]
    Never,
    /// These definitions.
    To(Vec<Definition>),
    /// Accepted definitions that can't be read any more: every tool needs a review.
    Lost,
}

/// Connection state of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum State {
    /// Not started, or ended.
    #[default]
    Resting,
    /// Connecting.
    Starting,
    /// Connected.
    Running,
    /// The server can't be reached; the reason.
    Failed(String),
    /// The server refused the last request without a login, or with too few rights.
    NeedsLogin,
}

/// Status of a server, for display.
#[derive(Debug, Clone, Default)]
pub struct ServerStatus {
    /// Connection state.
    pub state: State,
    /// Accepted definitions; `None` for a new server.
    pub agreed: Option<Vec<Definition>>,
    /// True if the accepted definitions were lost and not replaced.
    pub is_lost: bool,
    /// Current definitions, if known.
    pub said: Option<Vec<Definition>>,
    /// Tools that can't be offered, one sentence each.
    pub left_out: Vec<String>,
    /// True if the server has resources, as it said when it was started last.
    pub has_resources: bool,
    /// Why the last login failed.
    pub login_problem: Option<String>,
    /// The commands that messages name.
    pub commands: Commands,
}

impl ServerStatus {
    /// Returns true if the server must be started to learn its tools.
    pub fn is_unmet(&self) -> bool {
        self.said.is_none() && (self.agreed.is_none() || self.is_lost)
    }

    fn agree(&mut self, agreed: PinnedTools) {
        self.is_lost = agreed == PinnedTools::Lost;
        self.agreed = match agreed {
            PinnedTools::Never => None,
            PinnedTools::To(tools) => Some(tools),
            // An empty list makes every tool count as added, so that it needs a review.
            PinnedTools::Lost => Some(Vec::new()),
        };
    }

    /// Returns the differences from the accepted definitions.
    pub fn changes(&self) -> DefinitionChanges {
        match (&self.agreed, &self.said) {
            (Some(agreed), Some(said)) => DefinitionChanges::between(agreed, said),
            _ => DefinitionChanges::default(),
        }
    }
}

/// A server configured by the user.
pub struct Server {
    /// How to connect to it.
    pub spec: ServerSpec,
    http: Http,
    /// `None` for a program, and for a server with a configured `Authorization`.
    login: Option<Arc<Login>>,
    news: Box<dyn Fn(ServerEvent) + Send + Sync>,
    status: Mutex<ServerStatus>,
    live: tokio::sync::Mutex<Live>,
    this: Weak<Self>,
}

#[derive(Default)]
struct Live {
    connection: Option<Arc<Connection>>,
    starts: VecDeque<Instant>,
}

impl Server {
    /// Creates a server without starting it. `agreed` holds the accepted definitions.
    pub fn new(
        spec: ServerSpec,
        agreed: PinnedTools,
        http: Http,
        news: impl Fn(ServerEvent) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut status = ServerStatus {
            commands: http.commands,
            ..ServerStatus::default()
        };
        status.agree(agreed);
        let login = Login::of(&spec, &http);
        Arc::new_cyclic(|this| Self {
            spec,
            login,
            http,
            news: Box::new(news),
            status: Mutex::new(status),
            live: tokio::sync::Mutex::default(),
            this: this.clone(),
        })
    }

    /// Returns the status.
    pub fn status(&self) -> ServerStatus {
        let mut status = self.lock().clone();
        // A held lock means that a start or stop is in progress, whose state is already
        // set.
        let ended = self
            .live
            .try_lock()
            .is_ok_and(|live| live.connection.as_ref().is_some_and(|it| it.is_closed()));
        if ended && status.state == State::Running {
            status.state = State::Resting;
        }
        if self.needs_login() {
            status.state = State::NeedsLogin;
        }
        status
    }

    /// Returns true if the server refused the last request because of the login.
    pub(crate) fn needs_login(&self) -> bool {
        self.login.as_ref().is_some_and(|it| it.is_needed())
    }

    /// Logs in: `visit` gets the address that the user has to open. The next use connects anew,
    /// with the login.
    ///
    /// # Errors
    ///
    /// The login failed; a phrase.
    pub async fn log_in(&self, visit: &(dyn Fn(&str) + Send + Sync)) -> Result<(), String> {
        let done = self.login()?.log_in(visit).await;
        self.lock().login_problem = done.as_ref().err().cloned();
        done?;
        self.stop().await;
        Ok(())
    }

    /// Removes the stored login. Returns false if there is none.
    ///
    /// # Errors
    ///
    /// The store can't be changed; a phrase.
    pub async fn log_out(&self) -> Result<bool, String> {
        let had = self.login()?.forget().await?;
        self.stop().await;
        Ok(had)
    }

    fn login(&self) -> Result<&Arc<Login>, String> {
        self.login.as_ref().ok_or_else(|| {
            "only servers with a url and without an Authorization header have logins".to_owned()
        })
    }

    /// Starts the server unless it runs, and requests its tools.
    ///
    /// # Errors
    ///
    /// The server can't be reached; a phrase.
    pub async fn start(&self) -> Result<(), String> {
        self.connection().await.map(drop)
    }

    /// Stops the server. The next call restarts it.
    pub async fn stop(&self) {
        let mut live = self.live.lock().await;
        // Running calls hold the connection too. The program ends with the last of them.
        live.connection = None;
        // A stop by the user allows all restarts again.
        live.starts.clear();
        self.lock().state = State::Resting;
    }

    /// Accepts the current definitions on the user's behalf.
    pub fn accept(&self) {
        let mut status = self.lock();
        if let Some(said) = status.said.clone() {
            status.agree(PinnedTools::To(said));
        }
    }

    /// Replaces the accepted definitions after another process changed them.
    pub fn agreed_elsewhere(&self, agreed: PinnedTools) {
        self.lock().agree(agreed);
    }

    /// Calls a tool, starting the server if necessary.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>, caller: &Caller) -> Called {
        let connection = tokio::select! {
            () = caller.cancel.cancelled() => return Called::Cancelled,
            connection = self.connection() => match connection {
                Ok(connection) => connection,
                Err(why) => return Called::Failed(why),
            },
        };
        // The connection may have learned new definitions just now.
        if let Err(why) = self.is_agreed(tool) {
            return Called::Failed(why);
        }
        connection.call(tool, arguments, caller).await
    }

    /// Reads a resource, starting the server if necessary.
    ///
    /// # Errors
    ///
    /// The server can't be reached, its tools need a review, or the resource can't be read; a
    /// phrase.
    pub async fn read(&self, uri: &str) -> Result<ResourceContent, String> {
        let connection = self.connection().await?;
        self.is_reviewed()?;
        connection.read(uri).await
    }

    /// Returns the URIs of resources that what was typed may become, starting the server if
    /// necessary.
    pub async fn complete_uri(&self, typed: &str) -> Vec<ResourceUri> {
        match self.connection().await {
            Ok(connection) if self.is_reviewed().is_ok() => connection.complete(typed).await,
            // The reference itself says why when it is sent.
            Ok(_) | Err(_) => Vec::new(),
        }
    }

    /// A server that changed may be another program than the one that the user accepted, so
    /// its text goes to no model before a review.
    fn is_reviewed(&self) -> Result<(), String> {
        if self.lock().changes().need_review() {
            let command = self.http.commands.describing(&self.spec.name);
            return Err(format!(
                "it describes its tools differently than when you accepted them; see {command}"
            ));
        }
        Ok(())
    }

    fn is_agreed(&self, tool: &str) -> Result<(), String> {
        let status = self.lock();
        let find = |list: &Option<Vec<Definition>>| {
            let list = list.as_deref().unwrap_or_default();
            list.iter().find(|it| it.name == tool).cloned()
        };
        match (find(&status.agreed), find(&status.said)) {
            (_, None) => Err("it has no such tool any more".to_owned()),
            (Some(agreed), Some(said)) if agreed == said => Ok(()),
            _ => Err(
                "it describes the tool differently than when you accepted it, so it was not \
                 called"
                    .to_owned(),
            ),
        }
    }

    /// Returns false if another process has logged in or out since the last connection began.
    pub(crate) async fn has_current_login(&self) -> bool {
        match &self.login {
            Some(login) => login.is_current().await,
            None => true,
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        // Held until the start has ended, so that calls at the same time share one start.
        let mut live = self.live.lock().await;
        if !self.has_current_login().await {
            // The user logged in or out, which allows all restarts again.
            live.starts.clear();
        } else if let Some(connection) = live.connection.as_ref().filter(|it| !it.is_closed()) {
            return Ok(connection.clone());
        }
        live.connection = None;
        live.starts.retain(|start| start.elapsed() < WITHIN);
        if live.starts.len() >= STARTS {
            let within = WITHIN.as_secs();
            return Err(format!(
                "it was started {STARTS} times within {within} seconds and ended each time"
            ));
        }
        let begun = Instant::now();
        let start = Start::begin(self);
        let opened = self.open().await;
        // Counted even if it failed, but not if the caller gave up, which is not a crash.
        live.starts.push_back(begun);
        start.end(match &opened {
            Ok(_) => State::Running,
            Err(why) => State::Failed(why.clone()),
        });
        match opened {
            Ok(connection) => {
                live.connection = Some(connection.clone());
                Ok(connection)
            }
            Err(why) => {
                (self.news)(ServerEvent::Failed(why.clone()));
                Err(why)
            }
        }
    }

    async fn open(&self) -> Result<Arc<Connection>, String> {
        let this = self.this.clone();
        // Weak, because the server holds the connection, which holds this closure.
        let heard = move |event| {
            if let Some(server) = this.upgrade() {
                server.hear(event);
            }
        };
        let connection =
            Arc::new(Connection::open(&self.spec, &self.http, self.login.as_ref(), heard).await?);
        self.learn(&connection).await?;
        Ok(connection)
    }

    fn hear(self: Arc<Self>, event: PeerEvent) {
        match event {
            PeerEvent::Declined(asked) => (self.news)(ServerEvent::Declined(asked)),
            PeerEvent::ResourcesChanged => drop(tokio::spawn(async move {
                if let Some(connection) = &self.live.lock().await.connection {
                    connection.forget_resources();
                }
            })),
            PeerEvent::ToolsChanged => drop(tokio::spawn(async move {
                // Waits for a start in progress, whose list may be older than this event.
                let connection = self.live.lock().await.connection.clone();
                if let Some(connection) = connection
                    && let Err(why) = self.learn(&connection).await
                {
                    // The server runs and its known tools remain usable.
                    tracing::warn!(server = self.spec.name, why, "no list after a change");
                }
            })),
        }
    }

    /// Requests the tools and compares them with the accepted ones.
    async fn learn(&self, connection: &Connection) -> Result<(), String> {
        let offered = connection.definitions().await?;
        // `news` may ask for the status, so the lock is released before it is called.
        let news = {
            let mut status = self.lock();
            // A server that was restarted and still differs was reported before.
            let is_new = status.said.as_ref() != Some(&offered.definitions);
            status.left_out = offered.left_out;
            status.has_resources = connection.has_resources();
            status.said = Some(offered.definitions);
            // The user hasn't seen this server's tools before, so there is nothing to
            // compare with.
            if status.agreed.is_none() {
                status.agreed = status.said.clone();
                Some(ServerEvent::Agreed)
            } else {
                (is_new && status.changes().need_review()).then_some(ServerEvent::Differs)
            }
        };
        if let Some(news) = news {
            (self.news)(news);
        }
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, ServerStatus> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A start in progress. Dropped before its end if the call that caused it was cancelled.
struct Start<'a> {
    server: &'a Server,
    has_ended: bool,
}

impl<'a> Start<'a> {
    fn begin(server: &'a Server) -> Self {
        server.lock().state = State::Starting;
        Self {
            server,
            has_ended: false,
        }
    }

    fn end(mut self, state: State) {
        self.has_ended = true;
        self.server.lock().state = state;
    }
}

impl Drop for Start<'_> {
    fn drop(&mut self) {
        if !self.has_ended {
            self.server.lock().state = State::Resting;
        }
    }
}
