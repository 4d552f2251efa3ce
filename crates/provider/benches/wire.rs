//! Benchmarks of decoding a stream (20,000 deltas in each protocol) and of encoding large
//! requests (5 MB of text, 1,000 tools), without network. The budgets are 200 MB/s, 20 ms, and
//! 3 ms. Run with `cargo bench -p flemma-provider`.
#![allow(missing_docs)]

use std::fmt::Write;
use std::hint::black_box;

use chat::prompt::{Part, Prompt, PromptMessage, PromptRole};
use chat::tool::ToolDefinition;
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use provider::{Decoder, Endpoint, Parameters, Protocol, encode};
use serde_json::json;

/// Deltas of a long answer.
const DELTAS: usize = 20_000;
/// Bytes of a long conversation's text.
const CONVERSATION: usize = 5 * 1024 * 1024;
/// Tools of a request with many.
const TOOLS: usize = 1_000;
/// Bytes read from a socket at once.
const READ: usize = 16 * 1024;

const PROTOCOLS: [(&str, Protocol); 4] = [
    ("messages", Protocol::AnthropicMessages),
    ("chat_completions", Protocol::ChatCompletions),
    ("gemini", Protocol::Gemini),
    ("responses", Protocol::Responses),
];

/// Returns a delta as the provider sends it.
fn delta(protocol: Protocol, at: usize) -> String {
    let text = format!(" word {at},");
    match protocol {
        Protocol::AnthropicMessages => format!(
            "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"text_delta\",\"text\":\"{text}\"}}}}\n\n"
        ),
        Protocol::ChatCompletions => format!(
            "data: {{\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{text}\"}},\"finish_reason\":null}}]}}\n\n"
        ),
        Protocol::Gemini => format!(
            "data: {{\"candidates\": [{{\"content\": {{\"parts\": [{{\"text\": \"{text}\"}}],\"role\": \"model\"}},\"index\": 0}}],\"usageMetadata\": {{\"promptTokenCount\": 12,\"candidatesTokenCount\": {at},\"totalTokenCount\": {at}}},\"modelVersion\": \"m\",\"responseId\": \"rY0faJ_QB8-t1dkP\"}}\n\n"
        ),
        Protocol::Responses => format!(
            "event: response.output_text.delta\ndata: {{\"type\":\"response.output_text.delta\",\"sequence_number\":{at},\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"{text}\"}}\n\n"
        ),
    }
}

fn stream(protocol: Protocol) -> Vec<u8> {
    let mut stream = String::new();
    if protocol == Protocol::AnthropicMessages {
        stream.push_str("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n");
    }
    for at in 0..DELTAS {
        let _ = stream.write_str(&delta(protocol, at));
    }
    stream.into_bytes()
}

fn decoding(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("20,000 deltas decoded");
    for (name, protocol) in PROTOCOLS {
        let stream = stream(protocol);
        group.throughput(Throughput::Bytes(stream.len() as u64));
        group.bench_with_input(
            BenchmarkId::from_parameter(name),
            &stream,
            |bencher, stream| {
                bencher.iter(|| {
                    let mut decoder = Decoder::new(protocol);
                    let events = stream
                        .chunks(READ)
                        .map(|chunk| decoder.push(black_box(chunk)).len());
                    events.sum::<usize>()
                });
            },
        );
    }
    group.finish();
}

/// Returns turns of a few kilobytes, with characters that JSON must escape.
fn conversation() -> Prompt {
    let line = "A line of \"prose\" with\ta tab, an ä and a \\ in it.\n";
    let text = line.repeat(4096 / line.len());
    let turn = |at: usize| PromptMessage {
        role: [PromptRole::User, PromptRole::Assistant][at % 2],
        parts: vec![Part::Text(text.clone())],
        exact: None,
    };
    Prompt {
        system: Some("Be brief.".to_owned()),
        // The conversation ends with the user.
        messages: (0..CONVERSATION / text.len() / 2 * 2 + 1)
            .map(turn)
            .collect(),
        tools: Vec::new(),
    }
}

/// Returns a question with many tools.
fn many_tools() -> Prompt {
    let tool = |index: usize| ToolDefinition {
        name: format!("tool_{index}"),
        description: "Says it".to_owned(),
        input_schema: json!({ "type": "object", "properties": { "word": { "type": "string" } } }),
        strict: false,
        keywords: Vec::new(),
    };
    Prompt {
        tools: (0..TOOLS).map(tool).collect(),
        messages: vec![PromptMessage {
            role: PromptRole::User,
            parts: vec![Part::Text("Go on.".to_owned())],
            exact: None,
        }],
        system: None,
    }
}

fn encoding(criterion: &mut Criterion) {
    let parameters = Parameters {
        model: "m".to_owned(),
        ..Parameters::default()
    };
    for (what, prompt) in [
        ("a body of 5 MB", conversation()),
        ("1,000 tools", many_tools()),
    ] {
        let mut group = criterion.benchmark_group(format!("{what} encoded"));
        for (name, protocol) in PROTOCOLS {
            let endpoint = Endpoint {
                provider: name.to_owned(),
                protocol,
                base_url: "http://127.0.0.1:1".to_owned(),
                api_key: None,
                key_source: String::new(),
                ca_file: None,
            };
            group.bench_function(name, |bencher| {
                bencher.iter(|| {
                    encode(black_box(&prompt), &endpoint, &parameters).map(|it| it.body.len())
                });
            });
        }
        group.finish();
    }
}

criterion_group!(benches, decoding, encoding);
criterion_main!(benches);
