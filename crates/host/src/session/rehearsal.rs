//! A rehearsal: what a key would send and run, told and not done.

use chat::Problem;
use chat::approval::CallKey;
use chat::cycle::Event;
use chat::prompt::Prompt;
use chat::tool::ToolOutcome;
use provider::{Endpoint, HeaderValue, Parameters};
use serde_json::{Map, Value, json};

use super::Session;
use crate::editor::Editor;
use crate::endpoint::Destination;

impl Session {
    /// Says that a call would run; it ends without having run.
    pub(super) fn rehearse_call(&mut self, call: CallKey, input: &Value, by: &str) {
        let id = call.id.as_str();
        let would = json!({"id": id, "name": call.name, "input": input, "by": by});
        self.editor.tell_here("would_run", &would);
        let outcome = ToolOutcome::Cancelled("This was a rehearsal.".to_owned());
        let ended = Event::ToolsFinished(vec![(call, outcome)]);
        self.waiting.push_back(ended);
    }
}

/// Says what would be sent.
///
/// # Errors
///
/// Nothing could be sent.
pub(super) fn rehearse_request(
    editor: &Editor,
    destination: Result<Destination, Problem>,
    prompt: Result<Prompt, Problem>,
) -> Result<(), Problem> {
    let would = match (destination?, prompt?) {
        (Destination::Tutor, _) => {
            json!({"url": "nowhere: the tutor is built in", "headers": {}, "body": null})
        }
        (Destination::Server(endpoint, parameters), prompt) => {
            request(&prompt, &endpoint, &parameters)?
        }
    };
    editor.tell_here("would_send", &would);
    Ok(())
}

fn request(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<Value, Problem> {
    let request = provider::encode(prompt, endpoint, parameters)?;
    let headers: Map<String, Value> = request
        .headers
        .iter()
        .map(|(name, value)| {
            let shown = match value {
                HeaderValue::Plain(text) => text.clone(),
                HeaderValue::Secret(_) => "(a secret)".to_owned(),
            };
            (name.to_string(), Value::String(shown))
        })
        .collect();
    let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
    Ok(json!({"url": request.url, "headers": headers, "body": body}))
}
