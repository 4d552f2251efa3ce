//! Our tools for other programs: what is offered, and the ways it is reached.
//!
//! What a call may do is decided by whoever implements [`Offer`].

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

/// What other programs can use.
#[async_trait]
pub trait Offer: Send + Sync + 'static {
    /// Looks whether the tools are still the same. Called before they are listed and
    /// before a call.
    async fn look(&self);

    /// The tools, sorted by name, as a model sees them.
    fn tools(&self) -> Vec<ToolDefinition>;

    /// Changes whenever the tools do.
    fn changes(&self) -> watch::Receiver<u64>;

    /// Carries out one call, or says why not. Ends soon after `call.cancel`.
    async fn call(&self, call: Call) -> ToolOutcome;
}

/// One call that another program makes.
#[derive(Debug)]
pub struct Call {
    /// The tool's name; it was offered when the call arrived.
    pub name: String,
    /// Its arguments, an object that nobody has checked.
    pub input: Value,
    /// Where live output goes.
    pub progress: Progress,
    /// Asks the call to stop.
    pub cancel: CancellationToken,
}
