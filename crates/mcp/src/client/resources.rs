//! Reads, lists, and completes resources.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::{
    ArgumentInfo, ClientRequest, CompleteRequest, CompleteRequestParams, CompletionContext,
    ErrorCode, ListResourceTemplatesRequest, ListResourcesRequest, ReadResourceRequest,
    ReadResourceRequestParams, Reference,
};
use rmcp::service::{PeerRequestOptions, ServiceError};
use serde_json::Value;
use tokio::sync::{OnceCell, Semaphore};
use tokio::time::{Instant, timeout};

use super::{ALIVE, Connection, PagedList, READY, peer, value};
use crate::resources::{self, MOST_RESOURCES, ResourceContent, ResourceList, ResourceUri};

/// Time for which a list is used. Not every server says when its resources change.
const FRESH: Duration = Duration::from_secs(30);

/// Maximum number of resources that are read from a server at the same time.
const READS: usize = 4;

type ReadCell = OnceCell<Result<ResourceContent, String>>;

/// The resources that are being read.
pub(super) struct Reads {
    /// By URI. A reader that comes while another waits gets the same answer.
    running: Mutex<HashMap<String, Weak<ReadCell>>>,
    slots: Semaphore,
}

impl Default for Reads {
    fn default() -> Self {
        Self {
            running: Mutex::default(),
            slots: Semaphore::new(READS),
        }
    }
}

impl Reads {
    fn of(&self, uri: &str) -> Arc<ReadCell> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.retain(|_, it| it.strong_count() > 0);
        let known = running.get(uri).and_then(Weak::upgrade);
        known.unwrap_or_else(|| {
            let new = Arc::default();
            running.insert(uri.to_owned(), Arc::downgrade(&new));
            new
        })
    }
}

/// The last list of a server's resources.
#[derive(Default)]
pub(super) struct KnownResources(Mutex<Option<(Instant, Arc<ResourceList>)>>);

impl KnownResources {
    fn lock(&self) -> MutexGuard<'_, Option<(Instant, Arc<ResourceList>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    /// Reads a resource. If the server has none with this URI, tries the URI without
    /// percent-encoding: servers may use characters that end a reference.
    ///
    /// # Errors
    ///
    /// The resource can't be read or sent; a phrase.
    pub async fn read(&self, uri: &str) -> Result<ResourceContent, String> {
        let cell = self.reads.of(uri);
        let read = cell.get_or_init(|| async {
            // Fails only when it is closed, which it never is.
            let _slot = self.reads.slots.acquire().await;
            self.read_now(uri).await
        });
        read.await.clone()
    }

    async fn read_now(&self, uri: &str) -> Result<ResourceContent, String> {
        let error = match self.read_as_written(uri).await {
            Ok(result) => return content(result).await,
            Err(error) => error,
        };
        let decoded = chat::references::decoded(uri);
        if decoded != uri && matches!(error, ServiceError::McpError(_)) {
            // The first error is about what the user wrote.
            if let Ok(result) = self.read_as_written(&decoded).await {
                return content(result).await;
            }
        }
        Err(match &error {
            ServiceError::McpError(said) if said.code == ErrorCode::RESOURCE_NOT_FOUND => {
                "it has no such resource".to_owned()
            }
            error => self.explain(error).await,
        })
    }

    async fn read_as_written(&self, uri: &str) -> Result<Value, ServiceError> {
        let params = ReadResourceRequestParams::new(uri);
        let request = ReadResourceRequest::new(params);
        self.ask(ClientRequest::ReadResourceRequest(request)).await
    }

    /// Sends a request that the server must answer in time.
    async fn ask(&self, request: ClientRequest) -> Result<Value, ServiceError> {
        let server = self.running.peer();
        let answer = async {
            let options = PeerRequestOptions::with_timeout(READY);
            let handle = server.send_cancellable_request(request, options).await?;
            handle.await_response().await
        };
        // A server that no longer reads its input blocks the request, or its cancellation.
        let answer = timeout(READY + ALIVE, answer).await;
        value(answer.unwrap_or(Err(ServiceError::Timeout { timeout: READY })))
    }

    /// Returns the URIs that what was typed may become. A problem of the server means that there
    /// are none.
    pub async fn complete(&self, typed: &str) -> Vec<ResourceUri> {
        let Some(list) = self.resources().await else {
            return Vec::new();
        };
        let mut found = list.matching(typed);
        if let Some(open) = list
            .open_variable(typed)
            .filter(|_| self.abilities(|it| it.completions.is_some()))
        {
            let argument = ArgumentInfo::new(&open.name, &open.value);
            let context = CompletionContext::with_arguments(open.before.clone());
            let params =
                CompleteRequestParams::new(Reference::for_resource(&open.template), argument)
                    .with_context(context);
            let request = ClientRequest::CompleteRequest(CompleteRequest::new(params));
            let completed = self.ask(request).await.unwrap_or_default();
            let values = completed["completion"]["values"].as_array();
            found.extend(open.filled(values.map(Vec::as_slice).unwrap_or_default()));
        }
        found
    }

    async fn resources(&self) -> Option<Arc<ResourceList>> {
        if !self.has_resources() {
            return None;
        }
        let known = self.known.lock().clone();
        if let Some((_, list)) = known.filter(|(since, _)| since.elapsed() < FRESH) {
            return Some(list);
        }
        let resources = PagedList {
            key: "resources",
            what: "resources",
            most: MOST_RESOURCES,
            request: |page| {
                ClientRequest::ListResourcesRequest(ListResourcesRequest::with_param(page))
            },
        };
        let templates = PagedList {
            key: "resourceTemplates",
            what: "templates of resources",
            most: MOST_RESOURCES,
            request: |page| {
                let request = ListResourceTemplatesRequest::with_param(page);
                ClientRequest::ListResourceTemplatesRequest(request)
            },
        };
        let listed = async { tokio::join!(self.list(&resources), self.list(&templates)) };
        let (resources, templates) = timeout(READY, listed).await.ok()?;
        for why in [&resources, &templates]
            .into_iter()
            .filter_map(|it| it.as_ref().err())
        {
            // Many servers have no templates and refuse to list them.
            tracing::info!(server = self.peer.name(), why, "no list of resources");
        }
        let list = ResourceList::new(
            &resources.unwrap_or_default(),
            &templates.unwrap_or_default(),
        );
        let list = Arc::new(list);
        *self.known.lock() = Some((Instant::now(), list.clone()));
        Some(list)
    }

    /// Forgets the list of resources, because the server says that it changed.
    pub fn forget_resources(&self) {
        *self.known.lock() = None;
    }
}

/// Returns the content in a result.
async fn content(result: Value) -> Result<ResourceContent, String> {
    if result["resultType"] == "input_required" {
        let asked = peer::asked_for(&result["inputRequests"]);
        return Err(format!(
            "it asks for something first, which only calls can answer: {asked}"
        ));
    }
    // Decoding takes a while for a large resource.
    let read = tokio::task::spawn_blocking(move || resources::content(&result)).await;
    read.unwrap_or_else(|error| Err(format!("its content cannot be read: {error}")))
}
