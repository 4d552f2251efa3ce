//! What becomes of one call: its answer, its placeholder, or that it runs.

use serde_json::Value;

use super::Options;
use crate::approval::CallKey;
use crate::document::{Document, ResultKind, Status, ToolUse};
use crate::json;
use crate::pairing::{Call, Turn};
use crate::prompt::aborted_call;

/// What the model is told about a call that a policy refused.
pub const DENIED: &str = "The tool was denied by a policy.";
/// What the model is told when the user refused without a reason.
pub const REJECTED: &str = "The user rejected this call.";

/// The identity of a call. Arguments that cannot be read stand for themselves.
pub fn key(document: &Document<'_>, call: &ToolUse) -> CallKey {
    read(document, call).0
}

/// The identity of a call and its arguments, which are read once for both.
pub(crate) fn read(document: &Document<'_>, call: &ToolUse) -> (CallKey, Option<Value>) {
    let input = document.input(call).ok();
    let key = CallKey {
        id: call.id.clone(),
        name: call.name.clone(),
        input: match &input {
            Some(value) => json::canonical(value),
            None => document.lossy(call.body.clone()).into_owned(),
        },
    };
    (key, input)
}

/// Whether this is the call of `key`. Its arguments are read only when the rest
/// fits: in a long chat that is the cost of a look.
pub(super) fn is(document: &Document<'_>, call: &ToolUse, key_of: &CallKey) -> bool {
    call.id == key_of.id && call.name == key_of.name && key(document, call) == *key_of
}

/// What a call's blocks say, without any policy.
#[derive(Debug, PartialEq)]
pub(super) enum Judgement {
    /// It has its result.
    Answered,
    /// It ends now, with this result.
    Ends {
        /// The result's text.
        content: String,
        /// Whether the model is told that it failed.
        is_error: bool,
        /// Whether this is text that the user wrote in its place.
        by_hand: bool,
    },
    /// It can run, and nothing stands for it yet.
    New(Value),
    /// It can run, and waits with this status.
    Waits(Status, Value),
}

/// Judges a call. Whatever cannot run ends here, so that nothing can loop on it.
pub(super) fn judge(
    document: &Document<'_>,
    turn: &Turn<'_>,
    call: &Call<'_>,
    options: &Options,
) -> Judgement {
    let written = call
        .result
        .map(|result| (result.kind, document.lossy(result.body.clone())));
    match &written {
        Some((ResultKind::Final { .. }, _)) => return Judgement::Answered,
        Some((ResultKind::Placeholder(status), text)) => {
            if let Some(end) = end_by_hand(*status, text) {
                return end;
            }
        }
        None => {}
    }
    let input = match runnable(document, turn, call, options) {
        Ok(input) => input,
        Err(content) => {
            return Judgement::Ends {
                content,
                is_error: true,
                by_hand: false,
            };
        }
    };
    match written {
        Some((ResultKind::Placeholder(status), _)) => Judgement::Waits(status, input),
        _ => Judgement::New(input),
    }
}

/// What the user made of a placeholder by writing in it or by its status.
fn end_by_hand(status: Status, text: &str) -> Option<Judgement> {
    let blank = text.trim().is_empty();
    let error = |content: String| {
        Some(Judgement::Ends {
            content,
            is_error: true,
            by_hand: false,
        })
    };
    match status {
        Status::Pending | Status::Approved if blank => None,
        Status::Pending | Status::Approved => Some(Judgement::Ends {
            content: text.to_owned(),
            is_error: false,
            by_hand: true,
        }),
        Status::Rejected if blank => error(REJECTED.to_owned()),
        Status::Rejected => error(text.to_owned()),
        Status::Denied if blank => error(DENIED.to_owned()),
        Status::Denied => error(format!("{DENIED}\n\n{text}")),
    }
}

/// The arguments, when the call can run at all; else what the model is told.
fn runnable(
    document: &Document<'_>,
    turn: &Turn<'_>,
    call: &Call<'_>,
    options: &Options,
) -> Result<Value, String> {
    let tool_use = call.tool_use;
    if let Some(reason) = turn.aborted {
        return Err(aborted_call(reason));
    }
    if call.duplicate {
        return Err(format!(
            "Two calls of one answer had the id \"{}\", so neither was run. Make the call again with an id of its own.",
            tool_use.id
        ));
    }
    let Some(tool) = options.tools.get(&tool_use.name) else {
        let known: Vec<&str> = options.tools.keys().map(String::as_str).collect();
        return Err(format!(
            "There is no tool named \"{}\". Tools: {}.",
            tool_use.name,
            known.join(", ")
        ));
    };
    let input = document.input(tool_use).map_err(|error| {
        format!("The arguments could not be read, so the call was not run: {error}.")
    })?;
    let fits = options
        .checks
        .check(&tool_use.name, &tool.input_schema, &input);
    fits.map_err(|error| {
        format!(
            "The arguments do not fit the schema of \"{}\", so the call was not run: {error}.",
            tool_use.name
        )
    })?;
    Ok(input)
}
