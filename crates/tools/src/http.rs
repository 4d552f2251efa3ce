//! The `http_get` tool: fetches the text at an address.
//!
//! `fetch` sends the request to addresses that `address` allows; `page` formats the response.

mod charset;
mod fetch;
mod page;

use std::time::Duration;

use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use tokio::time::timeout;
use url::Url;

use crate::builtin::{BuiltIn, TypedTool};
use crate::context::ToolContext;
use crate::describe;
use crate::error::ToolError;
use crate::schema::count;
use crate::tool::{CallResult, ToolResult};

/// Default and maximum number of bytes fetched: 1 MB and 10 MB.
const SIZE: (usize, usize) = (1024 * 1024, 10 * 1024 * 1024);

/// Fetches a page.
pub(crate) struct HttpGet;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Arguments {
    /// What the page is for, in a few words. The user reads it before allowing the call.
    #[serde(default)]
    label: String,
    /// The address, with http:// or https://.
    url: String,
    /// Most bytes to fetch, up to 10485760. Null for 1048576.
    max_size: Option<f64>,
}

/// The row of `http_get`.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn::new("http_get", |_| Box::new(HttpGet));

impl TypedTool for HttpGet {
    type Arguments = Arguments;

    const NAME: &'static str = "http_get";
    const LABEL: &'static str = "Fetch";
    const DESCRIPTION: &'static str = "Fetch the text of a web address with GET and follow redirects. HTML comes as it is. Of long \
        text only the start is returned (2000 lines or 50 KB), with the path of a file that has \
        what was fetched. What only this machine can reach is refused.";
    const SLACK: Duration = Duration::from_secs(5);

    fn summary(&self, asked: &Arguments) -> Option<String> {
        Some(format!("{}{}", asked.url, describe::label(&asked.label)))
    }

    async fn call(&self, arguments: Arguments, id: &ToolUseId, ctx: ToolContext) -> CallResult {
        let url = Url::parse(arguments.url.trim()).map_err(|error| {
            ToolError::InvalidInput(format!(
                "\"{}\" is no address: {error}. Nothing was fetched.",
                arguments.url
            ))
        })?;
        fetch::check(&url)?;
        let most = count(arguments.max_size, SIZE.0, SIZE.1);
        let fetched = tokio::select! {
            fetched = timeout(ctx.timeout, fetch::fetch(url, &ctx.http, most)) => fetched,
            () = ctx.cancel.cancelled() => return Err(ToolError::Cancelled),
        };
        let fetched = fetched.map_err(|_| {
            let seconds = ctx.timeout.as_secs_f64();
            ToolError::Failed(format!(
                "Nothing was fetched: it took longer than {seconds} seconds."
            ))
        })??;
        let page = page::page(&fetched, most, id, &ctx.output_dir);
        // A redirect that was not followed is a result that the model can act on; an error page
        // is an error.
        if fetched.is_success || fetched.leads.is_some() {
            return Ok(ToolResult::text(page));
        }
        Err(ToolError::Failed(page))
    }
}
