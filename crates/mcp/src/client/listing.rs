//! The list of a server's tools.

use rmcp::model::{ClientRequest, ListToolsRequest, PaginatedRequestParams};
use serde_json::Value;
use tokio::time::timeout;

use super::{Connection, READY, value};
use crate::definition::{Definition, MOST_TOOLS, clean};

/// Maximum pages of a tool list.
const PAGES: usize = 100;

/// Tools of a server.
#[derive(Debug, Default)]
pub(crate) struct Offered {
    /// The tools, sorted by name.
    pub definitions: Vec<Definition>,
    /// Tools that can't be offered, one sentence each.
    pub left_out: Vec<String>,
}

impl Connection {
    /// Requests the list of tools.
    ///
    /// # Errors
    ///
    /// The list can't be read; a phrase.
    pub async fn definitions(&self) -> Result<Offered, String> {
        // One limit for all pages, because a server could stretch each of them.
        let listed = timeout(READY, self.list()).await;
        let tools =
            listed.unwrap_or_else(|_| Err("it did not list its tools in time".to_owned()))?;
        let mut offered = Offered::default();
        for tool in &tools {
            let name = tool["name"].as_str().unwrap_or_default();
            match definition(name, tool) {
                Ok(definition) => offered.definitions.push(definition),
                Err(why) => {
                    let name = clean(name, 100);
                    offered
                        .left_out
                        .push(format!("The tool \"{name}\" is left out: {why}."));
                }
            }
        }
        // Servers may list their tools in any order, and `Server::learn` compares lists.
        offered.definitions.sort_by(|a, b| a.name.cmp(&b.name));
        // The list is sorted, so duplicates are adjacent. The protocol requires unique
        // names.
        offered.definitions.dedup_by(|a, b| a.name == b.name);
        Ok(offered)
    }

    async fn list(&self) -> Result<Vec<Value>, String> {
        let mut tools = Vec::new();
        let mut cursor = None;
        // The limits on pages and tools end a list whose cursors run in circles.
        for _ in 0..PAGES {
            let params = PaginatedRequestParams::default().with_cursor(cursor);
            let request = ListToolsRequest::with_param(params);
            let request = ClientRequest::ListToolsRequest(request);
            let result = self.running.peer().send_request(request).await;
            let mut page = match value(result) {
                Ok(page) => page,
                Err(error) => return Err(self.explain(&error).await),
            };
            let Value::Array(listed) = page["tools"].take() else {
                return Err("its list of tools cannot be read".to_owned());
            };
            tools.extend(listed);
            // Checked on each page, so that a server can't fill the memory with all of them.
            if tools.len() > MOST_TOOLS {
                return Err(format!("it has more than {MOST_TOOLS} tools"));
            }
            // Some servers send an empty cursor with the last page.
            let next = page["nextCursor"].as_str().filter(|it| !it.is_empty());
            cursor = next.map(str::to_owned);
            if cursor.is_none() {
                return Ok(tools);
            }
        }
        Err(format!("its list of tools has more than {PAGES} pages"))
    }
}

fn definition(name: &str, tool: &Value) -> Result<Definition, String> {
    let schema = tool["inputSchema"].as_object().cloned();
    let schema = schema.ok_or_else(|| "it has no schema of its arguments".to_owned())?;
    Definition::new(
        name,
        // The description is optional in the protocol.
        tool["description"].as_str().unwrap_or_default(),
        schema,
    )
}
