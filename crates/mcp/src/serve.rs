//! Serves our tools to other programs, over stdio or HTTP.
//!
//! The implementation of [`ToolServer`] decides what a call may do.

mod http;
mod messages;

use std::io;
use std::sync::Arc;

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome};
use chat::truncate::ceil_char_boundary;
use futures::StreamExt;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ErrorData,
    Implementation, JsonObject, ListToolsResult, PaginatedRequestParams, ProgressNotificationParam,
    ServerCapabilities, ServerConfig, SubscriptionFilter, Tool,
};
use rmcp::service::{
    NotificationContext, Peer, RequestContext, RoleServer, RxJsonRpcMessage, ServerInitializeError,
    SubscriptionContext, TxJsonRpcMessage, serve_server,
};
use rmcp::transport::Transport;
use rmcp::{ErrorData as McpError, ServerHandler};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio_util::codec::{AnyDelimiterCodec, FramedRead};
use tokio_util::sync::CancellationToken;
use tools::Progress;

pub use http::serve_http;
pub use http::{Guard, Token, check_address};

/// The tools offered to other programs.
#[async_trait]
pub trait ToolServer: Send + Sync + 'static {
    /// Updates the tools if they changed. Called before each list and each call.
    async fn look(&self);

    /// The tools, sorted by name, as a model sees them.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Returns a counter that increases whenever the tools change.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Runs a call or returns the reason of a refusal. Ends soon after `call.cancel`.
    async fn call(&self, call: ServedCall) -> ToolOutcome;
}

/// A call by another program.
#[derive(Debug)]
pub struct ServedCall {
    /// The tool's name, which was offered when the call arrived.
    pub name: String,
    /// The arguments, an object that is not validated yet.
    pub input: Value,
    /// Receives live output.
    pub progress: Progress,
    /// Asks the call to stop.
    pub cancel: CancellationToken,
}

/// Maximum line length in bytes.
const LONGEST: usize = 16 * 1024 * 1024;

/// Reads the client's lines and writes ours.
struct Lines<R> {
    lines: FramedRead<R, AnyDelimiterCodec>,
    out: mpsc::UnboundedSender<Out>,
}

/// A line to write, and the sender notified once it is written.
struct Out {
    line: Vec<u8>,
    written: Option<oneshot::Sender<io::Result<()>>>,
}

impl<R: AsyncRead + Unpin> Lines<R> {
    /// Returns the transport and its writer task, which ends after the last line once the
    /// transport is dropped.
    fn new<W>(reader: R, writer: W) -> (Self, JoinHandle<()>)
    where
        W: AsyncWrite + Send + Unpin + 'static,
    {
        let (out, waiting) = mpsc::unbounded_channel();
        let writing = tokio::spawn(write(writer, waiting));
        let codec = AnyDelimiterCodec::new_with_max_length(b"\n".into(), b"\n".into(), LONGEST);
        let lines = FramedRead::new(reader, codec);
        (Self { lines, out }, writing)
    }

    /// Parses a line. An invalid message is answered here.
    fn message(&self, line: &[u8]) -> Option<RxJsonRpcMessage<RoleServer>> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return None;
        }
        let answer = match messages::read(line) {
            Ok(message) => match serde_json::from_value(message.clone()) {
                Ok(message) => return Some(message),
                // Valid JSON-RPC of a kind that the SDK doesn't know.
                Err(_) => messages::unreadable(&message),
            },
            Err(answer) => Some(answer),
        };
        if let Some(answer) = answer {
            let line = answer.to_string().into_bytes();
            let written = None;
            // Fails only if the writer has ended, and then the client reads nothing any more.
            let _ = self.out.send(Out { line, written });
        }
        None
    }
}

async fn write<W: AsyncWrite + Unpin>(mut writer: W, mut waiting: mpsc::UnboundedReceiver<Out>) {
    while let Some(Out { mut line, written }) = waiting.recv().await {
        line.push(b'\n');
        let result = match writer.write_all(&line).await {
            Ok(()) => writer.flush().await,
            error => error,
        };
        if let Some(written) = written {
            // Fails if the SDK no longer waits for the line.
            let _ = written.send(result);
        }
    }
}

impl<R: AsyncRead + Send + Unpin + 'static> Transport<RoleServer> for Lines<R> {
    type Error = io::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let (done, written) = oneshot::channel();
        let sent = serde_json::to_vec(&item)
            .map_err(io::Error::from)
            .map(|line| {
                let written = Some(done);
                // If the writer has ended, `written` reports it.
                let _ = self.out.send(Out { line, written });
            });
        async move {
            sent?;
            let ended = |_| Err(io::ErrorKind::NotConnected.into());
            written.await.unwrap_or_else(ended)
        }
    }

    /// Cancel-safe: a partly read line stays in `lines`.
    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        loop {
            match self.lines.next().await? {
                Ok(line) => {
                    if let Some(message) = self.message(&line) {
                        return Some(message);
                    }
                }
                Err(error) => {
                    // This may be a line that is too long. Its request has no known ID, so
                    // there is no answer to it.
                    tracing::warn!(%error, "the program's input ended");
                    return None;
                }
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Maximum queued pieces of live output. More are dropped, because only the newest matter.
const WAITING: usize = 32;
/// Maximum size of a piece of live output in bytes.
const PIECE: usize = 2000;

/// Serves one program over two streams, one message per line, until it closes `reader`.
///
/// Running calls then have a few seconds to finish before they are cancelled.
///
/// # Errors
///
/// The program does not speak the protocol.
pub async fn serve_streams<R, W>(offer: Arc<dyn ToolServer>, reader: R, writer: W) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (lines, writing) = Lines::new(reader, writer);
    let served = match serve_server(Handler(offer), lines).await {
        Ok(service) => service.waiting().await.map(drop).map_err(io::Error::other),
        // Disconnecting without a request is not an error.
        Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(io::Error::other(error)),
    };
    // The last answers are still being written. A failed writer was reported by `send`.
    let _ = writing.await;
    served
}

/// The SDK's handler for an offer.
#[derive(Clone)]
struct Handler(Arc<dyn ToolServer>);

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("flemma", env!("CARGO_PKG_VERSION")))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        let tools = self.0.tools();
        tools.into_iter().find(|it| it.name == name).map(described)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        self.0.look().await;
        let tools = self.0.tools().into_iter().map(described).collect();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        self.0.look().await;
        // An unknown tool is an error of the protocol. Failures of known tools are results.
        if !self.0.tools().iter().any(|it| it.name == request.name) {
            let message = format!("There is no tool \"{}\".", request.name);
            return Err(ErrorData::invalid_params(message, None));
        }
        let (progress, pieces) = progress(&context);
        let call = ServedCall {
            name: request.name.into_owned(),
            input: Value::Object(request.arguments.unwrap_or_default()),
            progress,
            cancel: context.ct.clone(),
        };
        let outcome = follow(self.0.call(call), pieces, &context).await;
        Ok(result(outcome).into())
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        tokio::spawn(notify_of_changes(self.0.clone(), context.peer));
    }

    fn accepted_subscription_filter(
        &self,
        _requested: &SubscriptionFilter,
    ) -> Option<SubscriptionFilter> {
        // The list of tools is the only thing that changes here.
        Some(SubscriptionFilter::builder().tools_list_changed().build())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), McpError> {
        let mut changes = self.0.changes();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                changed = changes.changed() => {
                    let notified = context.sink().notify_tool_list_changed().await;
                    // The client or the tools are gone.
                    if changed.is_err() || notified.is_err() {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// Notifies a session of changed tools until it ends.
async fn notify_of_changes(offer: Arc<dyn ToolServer>, peer: Peer<RoleServer>) {
    let mut changes = offer.changes();
    while changes.changed().await.is_ok() {
        if peer.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

fn described(tool: ToolDefinition) -> Tool {
    let schema = match tool.input_schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    };
    Tool::new(tool.name, tool.description, schema)
}

/// Returns the receiver of live output: the client, if it asked for progress.
fn progress(context: &RequestContext<RoleServer>) -> (Progress, mpsc::Receiver<String>) {
    let (sender, pieces) = mpsc::channel(WAITING);
    let progress = if context.meta.get_progress_token().is_some() {
        Progress::new(move |text| drop(sender.try_send(tail(text).to_owned())))
    } else {
        Progress::default()
    };
    (progress, pieces)
}

/// Returns the end of a text, cut at a character boundary.
fn tail(text: &str) -> &str {
    &text[ceil_char_boundary(text, text.len().saturating_sub(PIECE))..]
}

/// Waits for a call and forwards its live output. Nothing is forwarded after the call's
/// result.
async fn follow(
    call: impl Future<Output = ToolOutcome>,
    mut pieces: mpsc::Receiver<String>,
    context: &RequestContext<RoleServer>,
) -> ToolOutcome {
    tokio::pin!(call);
    // The protocol requires a value that increases with each notification.
    let mut count = 0.0;
    loop {
        let piece = tokio::select! {
            biased;
            // The protocol forbids progress after the result, so send what is queued first.
            outcome = &mut call => {
                while let Ok(piece) = pieces.try_recv() {
                    count += 1.0;
                    send_progress(piece, count, context).await;
                }
                return outcome;
            }
            Some(piece) = pieces.recv() => piece,
        };
        count += 1.0;
        send_progress(piece, count, context).await;
    }
}

async fn send_progress(piece: String, count: f64, context: &RequestContext<RoleServer>) {
    let Some(token) = context.meta.get_progress_token() else {
        return;
    };
    let progress = ProgressNotificationParam::new(token, count).with_message(piece);
    // Progress may get lost. The result of the call is sent separately.
    if let Err(error) = context.peer.notify_progress(progress).await {
        tracing::debug!(%error, "progress was not sent");
    }
}

fn result(outcome: ToolOutcome) -> CallToolResult {
    match outcome {
        ToolOutcome::Done { content, .. } => {
            CallToolResult::success(vec![ContentBlock::text(content)])
        }
        // Not as an error of the protocol, which clients don't show to their models.
        ToolOutcome::Failed(text) | ToolOutcome::Cancelled(text) => {
            CallToolResult::error(vec![ContentBlock::text(text)])
        }
    }
}
