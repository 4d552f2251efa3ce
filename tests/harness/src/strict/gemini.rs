//! Checks requests of Gemini's API, and signs its calls.
//!
//! Sources: "Thought signatures", "Function calling", and "Thinking" (ai.google.dev), and messages of
//! the API in public reports. Since Gemini 3, the first call of each step of the current turn must
//! carry the signature with which it came. The turn begins at the user's last message that is not a
//! result.

use serde_json::{Value as Json, json};

use super::token::{Token, digest};
use super::{Checked, Issued, Strict, list, refuse, schemas, text};
use crate::answer::{Answer, Step};
use crate::gemini::server_part;
use crate::http::Recorded;

/// Signatures for calls of other models, which skip the check.
const SKIPS: &[&str] = &[
    "skip_thought_signature_validator",
    "context_engineering_is_the_way_to_go",
];
const LEVELS: &[&str] = &["MINIMAL", "LOW", "MEDIUM", "HIGH", "XHIGH"];

/// Checks a request.
pub(super) fn check(strict: &Strict, recorded: &Recorded) -> Checked {
    let body = &recorded.body;
    schemas::gemini(&body["tools"])?;
    thinking(&model(recorded), body)?;
    let contents = list(&body["contents"]);
    turns(contents)?;
    server_tools(strict, body, contents)?;
    for content in contents {
        for part in parts(content, "functionResponse") {
            response_files(&model(recorded), &part["functionResponse"])?;
        }
    }
    if must_sign(&model(recorded)) {
        signatures(strict, contents)
    } else {
        Ok(())
    }
}

/// The model, which is in the path.
fn model(recorded: &Recorded) -> String {
    let after = recorded.path.split("models/").nth(1).unwrap_or_default();
    let end = after.find([':', '?']).unwrap_or(after.len());
    after[..end].to_owned()
}

fn must_sign(model: &str) -> bool {
    !["gemini-1", "gemini-2"]
        .iter()
        .any(|it| model.starts_with(it))
}

fn thinking(model: &str, body: &Json) -> Checked {
    let config = &body["generationConfig"]["thinkingConfig"];
    let (level, budget) = (text(&config["thinkingLevel"]), &config["thinkingBudget"]);
    if !level.is_empty() && !budget.is_null() {
        return refuse("You can only set only one of thinking budget and thinking level.");
    }
    if !level.is_empty() && !must_sign(model) {
        return refuse("Thinking level is not supported for this model.");
    }
    let known = LEVELS.iter().any(|it| it.eq_ignore_ascii_case(level));
    if level.is_empty() || known {
        return Ok(());
    }
    refuse(format!(
        "Invalid value at 'generation_config.thinking_config.thinking_level': \"{level}\""
    ))
}

/// The parts of `content` that have `key`.
fn parts<'a>(content: &'a Json, key: &str) -> Vec<&'a Json> {
    let parts = list(&content["parts"]).iter();
    parts.filter(|it| it.get(key).is_some()).collect()
}

fn turns(contents: &[Json]) -> Checked {
    if contents.is_empty() {
        return refuse("contents is not specified");
    }
    for (at, content) in contents.iter().enumerate() {
        if !["user", "model"].contains(&text(&content["role"])) {
            return refuse("Please use a valid role: user, model.");
        }
        if list(&content["parts"]).is_empty() {
            return refuse(format!("contents[{at}].parts must not be empty."));
        }
        if at > 0 && contents[at - 1]["role"] == content["role"] {
            return refuse(
                "Please ensure that multiturn requests alternate between user and model.",
            );
        }
        let calls = parts(content, "functionCall");
        let next = contents.get(at + 1);
        let results = next.map_or_else(Vec::new, |it| parts(it, "functionResponse"));
        if !calls.is_empty() {
            same_calls(&calls, &results)?;
        }
        let before = at
            .checked_sub(1)
            .map(|it| parts(&contents[it], "functionCall"));
        let answers = !parts(content, "functionResponse").is_empty();
        if answers && before.is_none_or(|it| it.is_empty()) {
            return refuse(
                "Please ensure that function response turn comes immediately after a function call turn.",
            );
        }
    }
    if contents[0]["role"] == "user" {
        Ok(())
    } else {
        refuse(
            "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
        )
    }
}

/// Checks that the uses of Google's own tools are whole and as they were issued, and that the request
/// shows them. ("Combine built-in tools and function calling", ai.google.dev.)
fn server_tools(strict: &Strict, body: &Json, contents: &[Json]) -> Checked {
    let shows = body["toolConfig"]["includeServerSideToolInvocations"] == true;
    let has_own = list(&body["tools"])
        .iter()
        .any(|it| it.get("googleSearch").is_some());
    let has_functions = list(&body["tools"])
        .iter()
        .any(|it| it.get("functionDeclarations").is_some());
    if has_own && has_functions && !shows {
        return refuse(
            "Built-in tools and function calling cannot be combined in the same request.",
        );
    }
    let mut open: Vec<&Json> = Vec::new();
    for part in contents.iter().flat_map(|it| list(&it["parts"])) {
        let (call, response) = (&part["toolCall"]["id"], &part["toolResponse"]["id"]);
        if call.is_null() && response.is_null() {
            continue;
        }
        let is_issued = strict.issued.iter().any(|it| it.content.contains(part));
        if !shows || !is_issued {
            return refuse("Corrupted server-side tool invocation.");
        }
        if !call.is_null() {
            open.push(call);
        } else if let Some(at) = open.iter().position(|it| *it == response) {
            open.remove(at);
        } else {
            return refuse("There is no tool call for the tool response.");
        }
    }
    Ok(())
}

/// Types of files in a response, by "Function calling" (ai.google.dev).
const IN_RESPONSES: &[&str] = &[
    "image/png",
    "image/jpeg",
    "image/webp",
    "application/pdf",
    "text/plain",
];

/// Checks the files of a response, which only have bytes and a type.
fn response_files(model: &str, response: &Json) -> Checked {
    let files = list(&response["parts"]);
    // Models before Gemini 3 take none.
    if !files.is_empty() && !must_sign(model) {
        return refuse("Multimodal function responses are not supported for this model.");
    }
    for file in files {
        let data = &file["inlineData"];
        if !IN_RESPONSES.contains(&text(&data["mimeType"])) || text(&data["data"]).is_empty() {
            return refuse(format!(
                "Unsupported MIME type in a function response: {}",
                data["mimeType"]
            ));
        }
    }
    Ok(())
}

fn same_calls(calls: &[&Json], results: &[&Json]) -> Checked {
    if calls.len() != results.len() {
        return refuse(
            "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.",
        );
    }
    let name = |part: &Json, key: &str| part[key]["name"].clone();
    let mut called: Vec<Json> = calls.iter().map(|it| name(it, "functionCall")).collect();
    for result in results {
        let wanted = name(result, "functionResponse");
        let Some(at) = called.iter().position(|it| *it == wanted) else {
            return refuse(format!(
                "There is no function call for the function response {wanted}."
            ));
        };
        called.remove(at);
    }
    Ok(())
}

/// Checks the signatures of the current turn.
fn signatures(strict: &Strict, contents: &[Json]) -> Checked {
    let is_question = |it: &Json| {
        it["role"] == "user" && parts(it, "functionResponse").len() < list(&it["parts"]).len()
    };
    let begins = contents.iter().rposition(is_question).unwrap_or(0);
    for (position, content) in contents.iter().enumerate().skip(begins) {
        for (at, part) in parts(content, "functionCall").into_iter().enumerate() {
            let sent = text(&part["thoughtSignature"]);
            let issued = signatures_of(strict, &part["functionCall"]);
            // A call of another model, or one that the user wrote.
            let is_foreign = issued.is_empty() && (at > 0 || SKIPS.contains(&sent));
            let is_right = is_foreign || issued.contains(&sent);
            if is_right {
                continue;
            }
            if sent.is_empty() {
                return refuse(format!(
                    "Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call `default_api:{}` , position {position}. Please refer to https://ai.google.dev/gemini-api/docs/thought-signatures for more details.",
                    text(&part["functionCall"]["name"])
                ));
            }
            return refuse("Corrupted thought signature.");
        }
    }
    Ok(())
}

/// The signatures with which a call was issued, each empty if it had none. The service does not know
/// the client's ids.
fn signatures_of<'a>(strict: &'a Strict, call: &Json) -> Vec<&'a str> {
    let issued = strict.issued.iter().flat_map(|it| &it.content);
    let same = issued.filter(|it| it["name"] == call["name"] && it["args"] == call["args"]);
    same.map(|it| text(&it["signature"])).collect()
}

/// Signs an answer: its first call always, other parts where the script says so.
pub(super) fn issue(strict: &Strict, recorded: &Recorded, answer: &mut Answer) -> Issued {
    let model = model(recorded);
    sign_first_call(&model, answer);
    let mut content = Vec::new();
    let mut next = None;
    for (at, step) in answer.steps.iter_mut().enumerate() {
        match step {
            Step::Thinking {
                text,
                signature: Some(signature),
            } => {
                let token = Token {
                    account: strict.account.clone(),
                    model: model.clone(),
                    prefix: 0,
                    text: digest(text),
                    serial: format!("{}.{at}", answer.serial),
                };
                *signature = token.spell();
                next = Some(signature.clone());
            }
            Step::Thinking {
                signature: None, ..
            } => next = None,
            Step::ToolUse {
                id,
                name,
                arguments,
            } => {
                let args: Json = serde_json::from_str(arguments).unwrap_or_default();
                content
                    .push(json!({"id": id, "name": name, "args": args, "signature": next.take()}));
            }
            Step::Text(_) => next = None,
            step @ (Step::ServerToolUse { .. } | Step::ServerToolResult { .. }) => {
                content.extend(server_part(step));
            }
            Step::EndOfText
            | Step::Cited { .. }
            | Step::RedactedThinking(_)
            | Step::Bytes(_)
            | Step::Gate(_)
            | Step::Stall => {}
        }
    }
    Issued {
        model,
        content,
        paused: false,
    }
}

fn sign_first_call(model: &str, answer: &mut Answer) {
    let is_call = |step: &Step| matches!(step, Step::ToolUse { .. });
    let Some(first) = answer.steps.iter().position(is_call) else {
        return;
    };
    if !must_sign(model) {
        return;
    }
    let label = || Some("signature".to_owned());
    match first.checked_sub(1).map(|it| &mut answer.steps[it]) {
        Some(Step::Thinking { signature, .. }) => *signature = label(),
        _ => {
            let thought = Step::Thinking {
                text: String::new(),
                signature: label(),
            };
            answer.steps.insert(first, thought);
        }
    }
}
