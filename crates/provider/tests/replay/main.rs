//! Streams based on the providers' documentation, and their events.
//!
//! A stream is in `tests/streams/<protocol>/<name>.sse`, its events are in the test. Each
//! is replayed whole, split in two at every byte, and byte by byte.
#![allow(clippy::unwrap_used)]

mod anthropic;
mod chat_completions;
mod gemini;
mod responses;

use std::fs;

use base64::{Engine, engine::general_purpose::STANDARD};
use provider::{Decoder, Protocol, StopReason, StreamEvent, Usage};
use serde_json::{Value, json};

const ANTHROPIC: &str = "anthropic";
const CHAT_COMPLETIONS: &str = "chat_completions";
const GEMINI: &str = "gemini";
const RESPONSES: &str = "responses";

fn protocol(folder: &str) -> Protocol {
    match folder {
        ANTHROPIC => Protocol::AnthropicMessages,
        GEMINI => Protocol::Gemini,
        RESPONSES => Protocol::Responses,
        _ => Protocol::ChatCompletions,
    }
}

fn stream(folder: &str, name: &str) -> Vec<u8> {
    let path = format!(
        "{}/tests/streams/{folder}/{name}.sse",
        env!("CARGO_MANIFEST_DIR")
    );
    fs::read(path).unwrap()
}

fn decode<'a>(folder: &str, chunks: impl IntoIterator<Item = &'a [u8]>) -> Vec<StreamEvent> {
    let mut decoder = Decoder::new(protocol(folder));
    let mut events: Vec<StreamEvent> = chunks
        .into_iter()
        .flat_map(|chunk| decoder.push(chunk))
        .collect();
    events.extend(decoder.finish());
    events
}

/// Formats each event on one line.
fn show(events: &[StreamEvent]) -> Vec<String> {
    let line = |event| line(event).trim_end().to_owned();
    events.iter().map(line).collect()
}

fn line(event: &StreamEvent) -> String {
    match event {
        StreamEvent::Text(text) => format!("text {text:?}"),
        StreamEvent::TextEnd => "text ends".to_owned(),
        StreamEvent::Thinking(text) => format!("thinking {text:?}"),
        StreamEvent::ThinkingEnd { signature: None } => "thinking ends".to_owned(),
        StreamEvent::ThinkingEnd {
            signature: Some(signature),
        } => {
            format!("thinking ends, signed {signature}")
        }
        StreamEvent::RedactedThinking(text) => format!("redacted {text}"),
        StreamEvent::Summary(summary) => {
            format!(
                "summary {:?}, signed {}",
                summary.content, summary.signature
            )
        }
        StreamEvent::ToolUseStart { name } => format!("call begins: {name}"),
        StreamEvent::ToolUse(call) => format!("call {} {} {}", call.name, call.id, call.input),
        StreamEvent::ServerToolStart { name, asked } => {
            format!("server tool begins: {name} {asked:?}")
        }
        StreamEvent::ServerTool(used) => format!("server tool {} {:?}", used.name, used.text()),
        StreamEvent::Exact(blocks) => format!("exact: {} blocks", blocks.len()),
        StreamEvent::Paused => "paused".to_owned(),
        StreamEvent::TextWasThinking => "text was thinking".to_owned(),
        StreamEvent::Remark(text) => format!("remark {text:?}"),
        StreamEvent::ThinkingRefused => "thinking refused".to_owned(),
        StreamEvent::Usage(usage) => format!("usage{}", figures(usage)),
        StreamEvent::Stop(StopReason::Other(reason)) => format!("stop: other, {reason}"),
        StreamEvent::Stop(reason) => format!("stop: {reason:?}"),
        StreamEvent::Error(problem) => format!("error: {}", problem.what),
    }
}

fn figures(usage: &Usage) -> String {
    let named = [
        ("input", usage.input),
        ("output", usage.output),
        ("thoughts", usage.thoughts),
        ("cache_read", usage.cache_read),
        ("cache_creation", usage.cache_creation),
        ("searches", usage.searches),
    ];
    let known = named
        .iter()
        .filter_map(|(name, figure)| Some(format!(" {name}={}", (*figure)?)));
    known.collect()
}

/// Replays the stream in every way and compares its events.
#[track_caller]
fn check(folder: &str, name: &str, expected: &str) {
    let bytes = stream(folder, name);
    let whole = decode(folder, [bytes.as_slice()]);
    let expected: Vec<&str> = expected.trim().lines().map(str::trim).collect();
    assert_eq!(show(&whole), expected);

    assert_eq!(decode(folder, bytes.chunks(1)), whole, "byte by byte");
    for at in 0..bytes.len() {
        let split = decode(folder, [&bytes[..at], &bytes[at..]]);
        assert_eq!(split, whole, "split at byte {at}");
    }
}

/// Cuts the stream at every byte before its end is announced. The events must be a prefix
/// of the complete answer's, followed by an error, and contain only complete calls.
#[track_caller]
fn check_cuts(folder: &str, name: &str, end: &str) {
    let bytes = stream(folder, name);
    let whole = decode(folder, [bytes.as_slice()]);
    let announced = String::from_utf8(bytes.clone()).unwrap().find(end).unwrap();
    for at in 0..announced {
        let mut events = decode(folder, [&bytes[..at]]);
        let last = events.pop();

        assert!(
            matches!(last, Some(StreamEvent::Error(_))),
            "cut at byte {at}: {last:?}"
        );
        events.pop_if(|event| *event == StreamEvent::ThinkingEnd { signature: None });
        for event in events {
            assert!(whole.contains(&event), "cut at byte {at}: {event:?}");
        }
    }
}

/// Checks that calls are returned before the end of the answer is announced, because their
/// arguments are recognizably complete.
#[track_caller]
fn check_calls_before(folder: &str, name: &str, end: &str) {
    let bytes = stream(folder, name);
    let announced = String::from_utf8(bytes.clone()).unwrap().find(end).unwrap();
    let early = Decoder::new(protocol(folder)).push(&bytes[..announced]);
    let calls = |events: Vec<StreamEvent>| -> Vec<StreamEvent> {
        let is_call = |event: &StreamEvent| matches!(event, StreamEvent::ToolUse(_));
        events.into_iter().filter(is_call).collect()
    };
    let all = calls(decode(folder, [bytes.as_slice()]));
    assert!(!all.is_empty());
    assert_eq!(calls(early), all);
}
