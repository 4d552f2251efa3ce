//! The `curl` requests of the script tools specification, word for word, to a server that
//! has its tools.

use serde_json::Value;

use crate::mcp_serve::{CURL, Http};
use crate::script_tools::with_examples;

/// "Via MCP Endpoint".
const EXECUTE: &str = r#"{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
      "name": "execute_tool",
      "arguments": {
        "name": "calculator",
        "arguments": {
          "operation": "multiply",
          "a": 7,
          "b": 8
        }
      }
    }
  }"#;

/// "Discovering Your Tool".
const SEARCH: &str = r#"{
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
      "name": "tool_search",
      "arguments": {
        "query": "calculator"
      }
    }
  }"#;

/// What a request is answered with.
fn answer(http: &Http, request: &str) -> Value {
    let request: Value = serde_json::from_str(request).unwrap();
    let (status, body) = http.post(&CURL, &request);
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(&body).unwrap()
}

#[test]
fn the_documented_requests_find_and_run_the_calculator() {
    let shell = with_examples();
    let http = Http::start(&shell, None);

    let ran = answer(&http, EXECUTE);
    assert_eq!(ran["result"]["content"][0]["text"], "56.0", "{ran}");
    assert_ne!(ran["result"]["isError"], true);

    let found = answer(&http, SEARCH);
    let text = found["result"]["content"][0]["text"].as_str().unwrap();
    let found: Value = serde_json::from_str(text).unwrap();
    assert_eq!(found[0]["name"], "calculator");
    assert_eq!(found[0]["score"], 1);
    let schema = &found[0]["inputSchema"];
    assert_eq!(
        schema["required"],
        serde_json::json!(["operation", "a", "b"])
    );
}
