//! The recorded streams, changed in the ways in which servers differ: whatever the shape,
//! text, calls, and usage stay, and no call is returned twice.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use provider::{Decoder, Protocol, StopReason, StreamEvent, Usage};
use serde_json::{Value, json};

/// A recorded stream: its protocol and its events.
#[derive(Debug, Clone)]
struct Recording {
    name: String,
    protocol: Protocol,
    events: Vec<Value>,
    ends_with_mark: bool,
}

/// Reads all recorded streams whose events are JSON.
fn recordings() -> Vec<Recording> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/streams");
    let mut found = Vec::new();
    for (folder, protocol) in [
        ("anthropic", Protocol::AnthropicMessages),
        ("chat_completions", Protocol::ChatCompletions),
        ("gemini", Protocol::Gemini),
        ("responses", Protocol::Responses),
    ] {
        let files = fs::read_dir(root.join(folder)).unwrap();
        let mut paths: Vec<PathBuf> = files.map(|it| it.unwrap().path()).collect();
        paths.sort();
        for path in paths {
            let text = String::from_utf8(fs::read(&path).unwrap()).unwrap();
            let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
            let events: Vec<Value> = data
                .clone()
                .filter_map(|it| serde_json::from_str(it).ok())
                .collect();
            found.push(Recording {
                name: path.file_name().unwrap().to_string_lossy().into_owned(),
                protocol,
                events,
                ends_with_mark: text.contains("[DONE]"),
            });
        }
    }
    found
}

/// What must survive a change of shape.
#[derive(Debug, Clone, PartialEq)]
struct Substance {
    text: String,
    thinking: String,
    /// Names and arguments of the calls, in order.
    calls: Vec<(String, String)>,
    usage: Usage,
    end: String,
}

fn substance(recording: &Recording, pieces: usize) -> (Substance, Vec<StreamEvent>) {
    let mut stream: String = recording
        .events
        .iter()
        .map(|it| format!("data: {it}\n\n"))
        .collect();
    if recording.ends_with_mark {
        stream.push_str("data: [DONE]\n\n");
    }
    let mut decoder = Decoder::new(recording.protocol);
    let chunks = stream
        .as_bytes()
        .chunks(stream.len().div_ceil(pieces).max(1));
    let mut events: Vec<StreamEvent> = chunks.flat_map(|it| decoder.push(it)).collect();
    events.extend(decoder.finish());
    let mut found = Substance {
        text: String::new(),
        thinking: String::new(),
        calls: Vec::new(),
        usage: Usage::default(),
        end: String::new(),
    };
    for event in &events {
        match event {
            StreamEvent::Text(text) => found.text.push_str(text),
            StreamEvent::Thinking(text) => found.thinking.push_str(text),
            StreamEvent::ToolUse(call) => {
                let input = serde_json::from_str::<Value>(&call.input);
                let input = input.map_or(call.input.clone(), |it| it.to_string());
                found.calls.push((call.name.clone(), input));
            }
            StreamEvent::Usage(usage) => found.usage.replace(*usage),
            StreamEvent::Stop(StopReason::EndTurn | StopReason::ToolUse) => {
                found.end = "good".to_owned()
            }
            StreamEvent::Stop(reason) => found.end = format!("{reason:?}"),
            StreamEvent::Error(_) => found.end = "error".to_owned(),
            _ => {}
        }
    }
    // An added zero says the same as no figure.
    let usage = &mut found.usage;
    for figure in [
        &mut usage.input,
        &mut usage.output,
        &mut usage.thoughts,
        &mut usage.cache_read,
        &mut usage.cache_creation,
    ] {
        *figure = figure.filter(|figure| *figure > 0);
    }
    (found, events)
}

/// Ways in which a server may send the same answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mutation {
    /// Content and thinking are lists of parts.
    Parts,
    /// Parts that nobody knows are added.
    UnknownParts,
    /// All calls have one index.
    OneIndex,
    /// All calls have one ID.
    OneId,
    /// Calls have no IDs.
    NoIds,
    /// Arguments that are complete come as an object.
    ObjectArguments,
    /// Each fragment repeats the call's name and ID.
    RepeatedNames,
    /// Usage is reported in another place.
    UsageElsewhere,
    /// Usage is reported again, as zeros.
    UsageErased,
    /// The final event or the finish reason has another name.
    OtherEnd,
    /// Keepalives and unknown events come between the others.
    Noise,
    /// Calls that are complete are sent twice.
    Resent,
}

const MUTATIONS: [Mutation; 12] = [
    Mutation::Parts,
    Mutation::UnknownParts,
    Mutation::OneIndex,
    Mutation::OneId,
    Mutation::NoIds,
    Mutation::ObjectArguments,
    Mutation::RepeatedNames,
    Mutation::UsageElsewhere,
    Mutation::UsageErased,
    Mutation::OtherEnd,
    Mutation::Noise,
    Mutation::Resent,
];

fn mutate(recording: &mut Recording, mutation: Mutation) {
    match mutation {
        Mutation::Noise => {
            let noise = json!({"type": "keepalive", "sequence": 1});
            recording.events = recording
                .events
                .drain(..)
                .flat_map(|it| [noise.clone(), it])
                .collect();
        }
        Mutation::UsageErased => erase_usage(recording),
        _ => match recording.protocol {
            Protocol::ChatCompletions => chat_completions(recording, mutation),
            Protocol::AnthropicMessages => anthropic(recording, mutation),
            Protocol::Gemini => gemini(recording, mutation),
            Protocol::Responses => responses(recording, mutation),
        },
    }
}

/// Adds zeros and `null`s where the protocol reports usage.
fn erase_usage(recording: &mut Recording) {
    let zeros = match recording.protocol {
        Protocol::ChatCompletions => {
            json!({"choices": [], "usage": {"prompt_tokens": 0, "completion_tokens": 0,
            "prompt_tokens_details": null, "completion_tokens_details": {"reasoning_tokens": 0}}})
        }
        Protocol::AnthropicMessages => {
            json!({"type": "message_delta", "delta": {}, "usage": {"input_tokens": 0,
            "cache_read_input_tokens": 0, "cache_creation_input_tokens": null, "output_tokens": 0}})
        }
        Protocol::Gemini => {
            json!({"usageMetadata": {"promptTokenCount": 0, "candidatesTokenCount": 0}})
        }
        Protocol::Responses => {
            json!({"type": "response.in_progress", "response": {"usage": {"input_tokens": 0,
            "output_tokens": 0, "input_tokens_details": {"cached_tokens": 0}}}})
        }
    };
    // Zeros count only if something was reported before; otherwise they are the usage.
    let reported = recording.events.iter().position(|event| {
        let text = event.to_string();
        text.contains("oken") && !text.contains("\"usage\":null")
    });
    if let Some(at) = reported {
        recording.events.insert(at + 1, zeros);
    }
}

fn chat_completions(recording: &mut Recording, mutation: Mutation) {
    // IDs and names by index, as the first fragments have them.
    let mut known: HashMap<u64, (Value, Value)> = HashMap::new();
    // One ID or index must not join fragments of calls that are mixed.
    let indexes = recording
        .events
        .iter()
        .flat_map(|event| calls_of(event).iter().map(|it| it["index"].as_u64()));
    let indexes: Vec<Option<u64>> = indexes.collect();
    let is_mixed = !indexes.is_sorted();
    for event in &mut recording.events {
        let usage = event.get_mut("usage").map_or(Value::Null, Value::take);
        match (mutation, &usage) {
            (Mutation::UsageElsewhere, Value::Object(_)) if event["choices"][0].is_object() => {
                event["choices"][0]["usage"] = usage;
            }
            (Mutation::UsageElsewhere, Value::Object(_)) => {
                event["x_groq"] = json!({"usage": usage})
            }
            (_, Value::Null) => {}
            _ => event["usage"] = usage,
        }
        let Some(choice) = event.get_mut("choices").and_then(|it| it.get_mut(0)) else {
            continue;
        };
        if mutation == Mutation::OtherEnd {
            let other = match choice["finish_reason"].as_str() {
                Some("stop") => Some("end_turn"),
                Some("tool_calls") => Some("tool_use"),
                Some("length") => Some("max_tokens"),
                _ => None,
            };
            if let Some(other) = other {
                choice["finish_reason"] = json!(other);
            }
        }
        let delta = &mut choice["delta"];
        if mutation == Mutation::Parts {
            if let Some(text) = delta["content"].as_str().filter(|it| !it.is_empty()) {
                delta["content"] = json!([{"type": "text", "text": text}]);
            }
            if let Some(text) = delta["reasoning_content"]
                .as_str()
                .filter(|it| !it.is_empty())
            {
                let part =
                    json!({"type": "thinking", "thinking": [{"type": "text", "text": text}]});
                delta["content"] = json!([part]);
                delta.as_object_mut().unwrap().remove("reasoning_content");
            }
        }
        if mutation == Mutation::UnknownParts && delta["content"].is_string() {
            let part = json!({"type": "text", "text": delta["content"]});
            delta["content"] =
                json!([{"type": "reference", "ids": [1]}, part, {"type": "novelty"}]);
        }
        for call in delta["tool_calls"].as_array_mut().into_iter().flatten() {
            let index = call["index"].as_u64().unwrap_or(99);
            let named = known.entry(index).or_default();
            if call["id"].is_string() {
                named.0 = call["id"].clone();
            }
            if call["function"]["name"].is_string() {
                named.1 = call["function"]["name"].clone();
            }
            match mutation {
                Mutation::OneIndex if !is_mixed && call["index"].is_u64() => {
                    call["index"] = json!(0)
                }
                Mutation::OneId if call["id"].is_string() => call["id"] = json!("same"),
                Mutation::NoIds if call["index"].is_u64() => {
                    drop(call.as_object_mut().unwrap().remove("id"))
                }
                Mutation::RepeatedNames if call["index"].is_u64() && !named.1.is_null() => {
                    call["id"] = named.0.clone();
                    call["function"]["name"] = named.1.clone();
                }
                Mutation::ObjectArguments => {
                    let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                    if let Ok(object @ Value::Object(_)) = serde_json::from_str(arguments) {
                        call["function"]["arguments"] = object;
                    }
                }
                _ => {}
            }
        }
    }
    if mutation == Mutation::Resent {
        resend(recording, |event| {
            let calls = calls_of(event);
            let is_whole = |call: &Value| {
                let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
                let object =
                    serde_json::from_str::<Value>(arguments).is_ok_and(|it| it.is_object());
                call["id"].is_string() && object
            };
            !calls.is_empty() && calls.iter().all(is_whole)
        });
    }
}

fn calls_of(event: &Value) -> &[Value] {
    let calls = event["choices"][0]["delta"]["tool_calls"].as_array();
    calls.map(Vec::as_slice).unwrap_or_default()
}

/// Sends each event twice that contains only complete calls.
fn resend(recording: &mut Recording, is_call: impl Fn(&Value) -> bool) {
    let events = recording.events.drain(..);
    let twice = events.flat_map(|event| {
        if is_call(&event) {
            vec![event.clone(), event]
        } else {
            vec![event]
        }
    });
    recording.events = twice.collect();
}

fn anthropic(recording: &mut Recording, mutation: Mutation) {
    for event in &mut recording.events {
        let block = &mut event["content_block"];
        match mutation {
            Mutation::OneId if block["type"] == "tool_use" => block["id"] = json!("same"),
            Mutation::NoIds if block["type"] == "tool_use" => block["id"] = json!(""),
            Mutation::UsageElsewhere if event["usage"].is_object() => {
                let usage = event["usage"].take();
                event["delta"]["usage"] = usage;
            }
            Mutation::OtherEnd => {
                if event["type"] == "message_stop" {
                    event["type"] = json!("message_end");
                }
                let reason = &mut event["delta"]["stop_reason"];
                if *reason == "end_turn" {
                    *reason = json!("stop");
                }
            }
            Mutation::ObjectArguments => {
                let piece = event["delta"]["partial_json"].as_str().unwrap_or_default();
                if let Ok(object @ Value::Object(_)) = serde_json::from_str(piece) {
                    event["delta"]["partial_json"] = object;
                }
            }
            Mutation::Parts if event["delta"]["text"].is_string() => {
                let text = event["delta"]["text"].take();
                event["delta"]["text"] = json!([{"type": "text", "text": text}]);
            }
            _ => {}
        }
    }
    match mutation {
        // Only blocks that do not overlap can be told apart without their index.
        Mutation::OneIndex => {
            let open = recording.events.iter().map(|it| match it["type"].as_str() {
                Some("content_block_start") => 1,
                Some("content_block_stop") => -1,
                _ => 0,
            });
            let mut depth = 0;
            let overlaps = open.into_iter().any(|step| {
                depth += step;
                depth > 1
            });
            for event in recording
                .events
                .iter_mut()
                .filter(|it| it["index"].is_u64() && !overlaps)
            {
                event["index"] = json!(0);
            }
        }
        Mutation::UnknownParts => {
            let start = json!({"type": "content_block_start", "index": 77, "content_block": {"type": "novelty"}});
            let stop = json!({"type": "content_block_stop", "index": 77});
            let at = recording.events.len().min(1);
            recording.events.splice(at..at, [start, stop]);
        }
        _ => {}
    }
}

fn gemini(recording: &mut Recording, mutation: Mutation) {
    for event in &mut recording.events {
        if mutation == Mutation::UsageElsewhere && event["usageMetadata"].is_object() {
            let usage = event["usageMetadata"].take();
            if event["candidates"][0].is_object() {
                event["candidates"][0]["usageMetadata"] = usage;
            } else {
                event["usage_metadata"] = usage;
            }
        }
        let Some(candidate) = event.get_mut("candidates").and_then(|it| it.get_mut(0)) else {
            continue;
        };
        if mutation == Mutation::OtherEnd {
            match candidate["finishReason"].as_str() {
                Some("STOP") => candidate["finishReason"] = json!("stop"),
                Some("MAX_TOKENS") => candidate["finishReason"] = json!("max_tokens"),
                _ => {}
            }
        }
        let Some(parts) = candidate["content"]["parts"].as_array_mut() else {
            continue;
        };
        for part in parts.iter_mut().filter(|it| it["functionCall"].is_object()) {
            match mutation {
                Mutation::OneId => part["functionCall"]["id"] = json!("same"),
                Mutation::NoIds => drop(part["functionCall"].as_object_mut().unwrap().remove("id")),
                Mutation::Parts => {
                    let call = part["functionCall"].take();
                    let part = part.as_object_mut().unwrap();
                    part.remove("functionCall");
                    part.insert("function_call".to_owned(), call);
                }
                _ => {}
            }
        }
        if mutation == Mutation::UnknownParts {
            parts.push(json!({"executableCode": {"code": "1"}}));
        }
        if mutation == Mutation::Resent {
            let is_same = |it: &&Value| it["functionCall"]["id"].is_string();
            let again: Vec<Value> = parts.iter().filter(is_same).cloned().collect();
            parts.extend(again);
        }
    }
}

fn responses(recording: &mut Recording, mutation: Mutation) {
    let has_item_ids = recording.events.iter().all(|event| {
        let kind = event["type"].as_str().unwrap_or_default();
        !kind.contains("function_call_arguments") || event["item_id"].is_string()
    });
    for event in &mut recording.events {
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        match mutation {
            Mutation::OtherEnd if kind == "response.completed" => {
                event["type"] = json!("response.done")
            }
            Mutation::OneIndex if has_item_ids && event["output_index"].is_u64() => {
                event["output_index"] = json!(0);
            }
            Mutation::UsageElsewhere if event["response"]["usage"].is_object() => {
                let usage = event["response"]["usage"].take();
                event["usage"] = usage;
            }
            Mutation::ObjectArguments if event["item"]["arguments"].is_string() => {
                let arguments = event["item"]["arguments"].as_str().unwrap_or_default();
                if let Ok(object @ Value::Object(_)) = serde_json::from_str(arguments) {
                    event["item"]["arguments"] = object;
                }
            }
            Mutation::Parts if kind == "response.output_text.delta" => {
                let text = event["delta"].take();
                event["delta"] = json!([{"type": "output_text", "text": text}]);
            }
            _ => {}
        }
    }
    match mutation {
        Mutation::UnknownParts => {
            let item = json!({"type": "response.output_item.done", "output_index": 77, "item": {"id": "n", "type": "novelty"}});
            let at = recording.events.len().min(1);
            recording.events.insert(at, item);
        }
        Mutation::Resent => resend(recording, |event| {
            let item = &event["item"];
            event["type"] == "response.output_item.done"
                && item["type"] == "function_call"
                && item["arguments"]
                    .as_str()
                    .is_some_and(|it| it.starts_with('{') && it.ends_with('}'))
        }),
        _ => {}
    }
}

fn check(
    recording: &Recording,
    mutations: &[Mutation],
    pieces: usize,
) -> Result<(), TestCaseError> {
    // A call that is sent twice is recognized by its ID.
    if recording.name == "several_calls_with_one_id.sse" && mutations.contains(&Mutation::NoIds) {
        return Ok(());
    }
    let (before, _) = substance(recording, 1);
    let mut changed = recording.clone();
    mutations.iter().for_each(|it| mutate(&mut changed, *it));
    let (after, events) = substance(&changed, pieces);
    prop_assert_eq!(
        &after,
        &before,
        "{} {:?}: {:#?}",
        recording.name,
        mutations,
        changed.events
    );
    let mut ids: Vec<&str> = events
        .iter()
        .filter_map(|event| match event {
            StreamEvent::ToolUse(call) => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    ids.sort_unstable();
    prop_assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", ids);
    // An unknown part is never dropped in silence.
    let sent = Value::from(changed.events.clone()).to_string();
    let is_known = !["novelty", "executableCode"]
        .iter()
        .any(|it| sent.contains(it));
    let has_remark = events.iter().any(|it| matches!(it, StreamEvent::Remark(_)));
    let has_text = !before.text.is_empty() && before.end == "good";
    prop_assert!(
        is_known || has_remark || !has_text,
        "{} {:?}",
        recording.name,
        events
    );
    Ok(())
}

#[test]
fn each_change_of_shape_keeps_the_substance_of_every_recording() {
    for recording in recordings() {
        for mutation in MUTATIONS {
            if let Err(error) = check(&recording, &[mutation], 1) {
                panic!("{error}");
            }
        }
    }
}

proptest! {
    #[test]
    fn several_changes_at_once_keep_the_substance(
        at in any::<prop::sample::Index>(),
        mutations in prop::collection::vec(prop::sample::select(MUTATIONS.to_vec()), 1..4),
        pieces in 1..40_usize,
    ) {
        // Calls that all have the same ID or index, and are sent twice or in pieces, cannot be
        // told apart by any rule.
        let joins = [Mutation::OneId, Mutation::NoIds, Mutation::OneIndex, Mutation::Resent, Mutation::RepeatedNames];
        let joining = mutations.iter().filter(|it| joins.contains(it)).count();
        prop_assume!(joining < 2);
        let recordings = recordings();
        check(&recordings[at.index(recordings.len())], &mutations, pieces)?;
    }
}
