//! The `http_get` tool: the text behind an address.
//!
//! `fetch` sends the request to what `address` lets it reach; `page` formats the answer.

mod charset;
mod fetch;
mod page;

use std::time::Duration;

use async_trait::async_trait;
use chat::tool::ToolUseId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;
use tokio::time::timeout;
use url::Url;

use crate::builtin::BuiltIn;
use crate::context::ToolContext;
use crate::error::ToolError;
use crate::tool::{Tool, ToolResult};
use crate::{describe, schema};

/// Bytes of a body that are fetched unless a call says how many, and the most it can
/// say: 1 MB and 10 MB in the agent specification.
const SIZE: (usize, usize) = (1024 * 1024, 10 * 1024 * 1024);
/// On top of the time limit before anybody else gives the call up.
const SLACK: Duration = Duration::from_secs(5);

/// Fetches a page.
pub(crate) struct HttpGet;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// What the page is for, in a few words. The user reads it before allowing the call.
    #[serde(default, rename = "label")]
    _label: String,
    /// The address, with http:// or https://.
    url: String,
    /// Most bytes to fetch, up to 10485760. Null for 1048576.
    max_size: Option<f64>,
}

/// Its row.
pub(crate) const BUILT_IN: BuiltIn = BuiltIn::new("http_get", |_| Box::new(HttpGet));

#[async_trait]
impl Tool for HttpGet {
    fn name(&self) -> &str {
        "http_get"
    }

    fn label(&self) -> &str {
        "Fetch"
    }

    fn description(&self) -> &str {
        "Fetch the text of a web address with GET and follow redirects. HTML comes as it is. Of long \
         text only the start is returned (2000 lines or 50 KB), with the path of a file that has \
         what was fetched. What only this machine can reach is refused."
    }

    fn input_schema(&self) -> Value {
        schema::strict::<Arguments>()
    }

    fn strict(&self) -> bool {
        true
    }

    fn enabled(&self) -> bool {
        false
    }

    fn deadline(&self, _input: &Value, default: Duration) -> Duration {
        default + SLACK
    }

    fn describe(&self, input: &Value) -> Option<String> {
        let input = input.as_object()?;
        let url = describe::text(input, "url")?;
        Some(format!("{url}{}", describe::label(input)?))
    }

    async fn execute(
        &self,
        id: &ToolUseId,
        input: Value,
        ctx: ToolContext,
    ) -> Result<ToolResult, ToolError> {
        let arguments: Arguments = schema::arguments(self.name(), input)?;
        let url = Url::parse(arguments.url.trim()).map_err(|error| {
            ToolError::InvalidInput(format!(
                "\"{}\" is no address: {error}. Nothing was fetched.",
                arguments.url
            ))
        })?;
        fetch::check(&url)?;
        let most = size(arguments.max_size);
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
        // Where a redirect leads is an answer to go on from; an error page is none.
        if fetched.is_success || fetched.leads.is_some() {
            return Ok(ToolResult::text(page));
        }
        Err(ToolError::Failed(page))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the cast saturates, which is what is wanted"
)]
fn size(asked: Option<f64>) -> usize {
    asked.map_or(SIZE.0, |it| it as usize).clamp(1, SIZE.1)
}
