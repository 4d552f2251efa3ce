//! A server over time: started when it is needed, agreed with on its tools, started
//! again when it ended, though not for ever.
//!
//! What it said of its tools when the user first met it is what models are told. When
//! it says something else, a tool does nothing until the user agrees.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use serde_json::{Map, Value};
use tokio::time::Instant;

use crate::client::{Called, Caller, Connection, Event, Http};
use crate::definition::{Changes, Definition};
use crate::spec::Spec;

/// Most starts in [`WITHIN`]; a server that ends sooner is left alone.
const STARTS: usize = 4;
/// See [`STARTS`].
const WITHIN: Duration = Duration::from_secs(60);

/// What the user or the registry should know of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerEvent {
    /// What models are told of its tools has changed; to be kept.
    Agreed,
    /// It says something else than was agreed.
    Differs,
    /// It could not be started; why.
    Failed(String),
    /// It asked the user for something and got no for an answer; what.
    Declined(String),
}

/// What the user agreed to of a server's tools, as far as that is known.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Agreed {
    /// The server was never met: what it says first is agreed to.
    #[default]
    Never,
    /// These tools.
    To(Vec<Definition>),
    /// Something that can't be read any more: every tool waits for a review.
    Lost,
}

/// Where a server is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum State {
    /// Not started, or ended by itself.
    #[default]
    Resting,
    /// Being reached.
    Starting,
    /// It answers.
    Running,
    /// It could not be reached; why.
    Failed(String),
}

/// How a server is, for people.
#[derive(Debug, Clone, Default)]
pub struct Status {
    /// Where it is.
    pub state: State,
    /// What is agreed on; none before it was met.
    pub agreed: Option<Vec<Definition>>,
    /// Whether what was agreed on is lost, and nothing was agreed on since.
    pub is_lost: bool,
    /// What it says now, when that is known.
    pub said: Option<Vec<Definition>>,
    /// Tools that are left out, a sentence each.
    pub left_out: Vec<String>,
}

impl Status {
    /// Whether it has to be started to know what it says of its tools.
    pub fn is_unmet(&self) -> bool {
        self.said.is_none() && (self.agreed.is_none() || self.is_lost)
    }

    fn agree(&mut self, agreed: Agreed) {
        self.is_lost = agreed == Agreed::Lost;
        self.agreed = match agreed {
            Agreed::Never => None,
            Agreed::To(tools) => Some(tools),
            Agreed::Lost => Some(Vec::new()),
        };
    }

    /// What it says now that is not agreed on.
    pub fn changes(&self) -> Changes {
        match (&self.agreed, &self.said) {
            (Some(agreed), Some(said)) => Changes::between(agreed, said),
            _ => Changes::default(),
        }
    }
}

/// A server that the user named.
pub struct Server {
    /// How it is reached.
    pub spec: Spec,
    http: Http,
    news: Box<dyn Fn(ServerEvent) + Send + Sync>,
    status: Mutex<Status>,
    live: tokio::sync::Mutex<Live>,
    this: Weak<Self>,
}

#[derive(Default)]
struct Live {
    connection: Option<Arc<Connection>>,
    starts: VecDeque<Instant>,
}

impl Server {
    /// A server that was not started yet. `agreed` is what the user agreed to.
    pub fn new(
        spec: Spec,
        agreed: Agreed,
        http: Http,
        news: impl Fn(ServerEvent) + Send + Sync + 'static,
    ) -> Arc<Self> {
        let mut status = Status::default();
        status.agree(agreed);
        Arc::new_cyclic(|this| Self {
            spec,
            http,
            news: Box::new(news),
            status: Mutex::new(status),
            live: tokio::sync::Mutex::default(),
            this: this.clone(),
        })
    }

    /// How it is.
    pub fn status(&self) -> Status {
        let mut status = self.lock().clone();
        let ended = self
            .live
            .try_lock()
            .is_ok_and(|live| live.connection.as_ref().is_some_and(|it| it.is_closed()));
        if ended && status.state == State::Running {
            status.state = State::Resting;
        }
        status
    }

    /// Starts it if it does not run, and asks for its tools.
    ///
    /// # Errors
    ///
    /// It cannot be reached; a part of a sentence.
    pub async fn start(&self) -> Result<(), String> {
        self.connection().await.map(drop)
    }

    /// Ends it. The next call starts it again.
    pub async fn stop(&self) {
        let mut live = self.live.lock().await;
        live.connection = None;
        live.starts.clear();
        self.lock().state = State::Resting;
    }

    /// Takes what it says now as agreed on, because the user does.
    pub fn accept(&self) {
        let mut status = self.lock();
        if let Some(said) = status.said.clone() {
            status.agree(Agreed::To(said));
        }
    }

    /// Replaces what is agreed on, because another program met the server meanwhile.
    pub fn agreed_elsewhere(&self, agreed: Agreed) {
        self.lock().agree(agreed);
    }

    /// Calls a tool, and starts the server for it when it does not run.
    pub async fn call(&self, tool: &str, arguments: Map<String, Value>, caller: &Caller) -> Called {
        let connection = tokio::select! {
            () = caller.cancel.cancelled() => return Called::Cancelled,
            connection = self.connection() => match connection {
                Ok(connection) => connection,
                Err(why) => return Called::Failed(why),
            },
        };
        if let Err(why) = self.is_agreed(tool) {
            return Called::Failed(why);
        }
        connection.call(tool, arguments, caller).await
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
                "it describes the tool differently than when you agreed to it, and it was not \
                 called"
                    .to_owned(),
            ),
        }
    }

    async fn connection(&self) -> Result<Arc<Connection>, String> {
        let mut live = self.live.lock().await;
        if let Some(connection) = live.connection.as_ref().filter(|it| !it.is_closed()) {
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
        live.starts.push_back(Instant::now());
        self.lock().state = State::Starting;
        let opened = self.open().await;
        let state = match &opened {
            Ok(_) => State::Running,
            Err(why) => State::Failed(why.clone()),
        };
        self.lock().state = state;
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
        let heard = move |event| {
            if let Some(server) = this.upgrade() {
                server.hear(event);
            }
        };
        let connection = Arc::new(Connection::open(&self.spec, &self.http, heard).await?);
        self.learn(&connection).await?;
        Ok(connection)
    }

    fn hear(self: Arc<Self>, event: Event) {
        match event {
            Event::Declined(asked) => (self.news)(ServerEvent::Declined(asked)),
            Event::ToolsChanged => drop(tokio::spawn(async move {
                let connection = self.live.lock().await.connection.clone();
                if let Some(connection) = connection
                    && let Err(why) = self.learn(&connection).await
                {
                    tracing::warn!(server = self.spec.name, why, "no list after a change");
                }
            })),
        }
    }

    /// Asks for the tools and compares them with what was agreed on.
    async fn learn(&self, connection: &Connection) -> Result<(), String> {
        let offered = connection.definitions().await?;
        let news = {
            let mut status = self.lock();
            let is_new = status.said.as_ref() != Some(&offered.definitions);
            status.left_out = offered.left_out;
            status.said = Some(offered.definitions);
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

    fn lock(&self) -> std::sync::MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
