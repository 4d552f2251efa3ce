//! What a model can call that a tool has asked: two tools, by which it finds and runs
//! the others. Whether one may run is decided behind [`Nested`].

use chat::prompt::Part;
use chat::tool::{ToolDefinition, ToolOutcome, ToolUseId};
use provider::ToolUse;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tools::{Entry, Nested, search};

/// Most tools that a search finds for a model.
const MOST_FOUND: usize = 20;

/// The two tools by which a model finds the others: it is told of no more than it asks for.
pub(super) fn offer() -> Vec<ToolDefinition> {
    let tool = |name: &str, description: &str, properties: Value, required: Value| ToolDefinition {
        name: name.to_owned(),
        description: description.to_owned(),
        input_schema: json!({
            "type": "object", "properties": properties, "required": required, "additionalProperties": false,
        }),
        strict: false,
        keywords: Vec::new(),
    };
    vec![
        tool(
            "execute_tool",
            "Run a tool that tool_search found, and return its result.",
            json!({
                "name": {"type": "string", "description": "The tool's name."},
                "arguments": {"type": "object", "description": "What its schema asks for."},
            }),
            json!(["name", "arguments"]),
        ),
        tool(
            "tool_search",
            "Find tools by what they do. Returns their names, descriptions and schemas, the best first.",
            json!({"query": {"type": "string", "description": "A few words."}}),
            json!(["query"]),
        ),
    ]
}

/// The results of an answer's calls, one after another.
pub(super) async fn results(
    calls: &[ToolUse],
    nested: &dyn Nested,
    cancel: &CancellationToken,
) -> Vec<Part> {
    let mut results = Vec::new();
    for call in calls {
        let result = run(call, nested, cancel).await;
        results.push(Part::ToolResult {
            tool_use_id: ToolUseId::new(&call.id),
            name: call.name.clone(),
            is_error: result.is_err(),
            content: result.unwrap_or_else(|why| why),
        });
    }
    results
}

/// The result of a call of the model's.
async fn run(
    call: &ToolUse,
    nested: &dyn Nested,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let mut input = chat::json::parse_object(&call.input)
        .map_err(|why| format!("The arguments could not be read, so nothing was run: {why}."))?;
    let text = |name: &str| input.get(name).and_then(Value::as_str).map(str::to_owned);
    match (call.name.as_str(), text("query"), text("name")) {
        ("tool_search", Some(query), _) => Ok(found(&query, &nested.tools())),
        ("execute_tool", _, Some(name)) => {
            let arguments = input
                .get_mut("arguments")
                .map_or_else(|| json!({}), Value::take);
            match nested.call(&name, arguments, cancel).await {
                ToolOutcome::Done { content, .. } => Ok(content),
                ToolOutcome::Failed(why) | ToolOutcome::Cancelled(why) => Err(why),
            }
        }
        _ => Err(format!(
            "\"{}\" was not run. Call tool_search with a \"query\", or execute_tool with a \"name\" and \"arguments\".",
            call.name
        )),
    }
}

fn found(query: &str, tools: &[ToolDefinition]) -> String {
    let hits = search(query, tools.iter().map(Entry::from));
    let hits = hits.iter().take(MOST_FOUND).map(|hit| {
        let tool = &tools[hit.at];
        json!({
            "name": tool.name, "description": tool.description, "score": hit.score, "inputSchema": tool.input_schema,
        })
    });
    Value::Array(hits.collect()).to_string()
}
