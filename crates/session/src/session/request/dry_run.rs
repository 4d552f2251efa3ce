//! A dry run: reports what a key would send and run without doing either.

use chat::Problem;
use chat::cycle::CycleEvent;
use chat::prompt::Prompt;
use chat::tool::ToolOutcome;
use provider::{Endpoint, HeaderValue, Parameters};
use serde_json::Value;

use crate::editor::Editor;
use crate::endpoint::Destination;
use crate::frontend::{SessionEvent, WouldRun, WouldSend};
use crate::session::calls::ApprovedCall;
use crate::session::ctx::Ctx;

/// Reports that a call would run. Returns its end, without which the cycle would wait for its result.
pub(in crate::session) fn report_call(
    ctx: &Ctx,
    ApprovedCall { call, input, by }: ApprovedCall,
) -> CycleEvent {
    ctx.editor.emit(SessionEvent::WouldRun(WouldRun {
        call: call.clone(),
        input,
        by,
    }));
    let outcome = ToolOutcome::Cancelled("This was a dry run.".to_owned());
    CycleEvent::ToolsFinished(vec![(call, outcome)])
}

/// Reports what would be sent.
///
/// # Errors
///
/// Nothing could be sent.
pub(crate) fn report_request(
    editor: &Editor,
    destination: Result<Destination, Problem>,
    prompt: Result<Prompt, Problem>,
) -> Result<(), Problem> {
    let would = match (destination?, prompt?) {
        (Destination::Tutor, _) => WouldSend {
            // The tutor has no URL, headers, or body; the text takes the place of the URL.
            url: "nowhere: the tutor is built in".to_owned(),
            headers: Vec::new(),
            body: Value::Null,
        },
        (Destination::Server(endpoint, parameters), prompt) => {
            request(&prompt, &endpoint, &parameters)?
        }
    };
    editor.emit(SessionEvent::WouldSend(would));
    Ok(())
}

fn request(
    prompt: &Prompt,
    endpoint: &Endpoint,
    parameters: &Parameters,
) -> Result<WouldSend, Problem> {
    let request = provider::encode(prompt, endpoint, parameters)?;
    let headers = request.headers.iter().map(|(name, value)| {
        let shown = match value {
            HeaderValue::Plain(text) => text.clone(),
            // The report may be pasted into a bug report.
            HeaderValue::Secret(_) => "(a secret)".to_owned(),
        };
        (name.to_string(), shown)
    });
    Ok(WouldSend {
        headers: headers.collect(),
        // The encoder has just written this JSON, so it can be parsed.
        body: serde_json::from_slice(&request.body).unwrap_or_default(),
        url: request.url,
    })
}
