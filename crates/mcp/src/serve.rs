//! Serves our tools to other programs, over stdio or HTTP.
//!
//! The implementation of [`ToolServer`] decides what a call may do.

mod admission;
mod connections;
mod handler;
mod http;
mod messages;
mod stdio;

use async_trait::async_trait;
use chat::tool::{ToolDefinition, ToolOutcome};
use serde_json::Value;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tools::Progress;

pub use admission::{Guard, Token, check_address};
pub use handler::serve_streams;
pub use http::serve_http;

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
