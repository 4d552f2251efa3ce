//! The scripted provider sends the script's answers, as seen by a plain TCP client.

use std::io::{Read, Write};
use std::net::TcpStream;

use harness::{Answer, Gate, Provider};
use serde_json::{Value, json};

/// Sends a POST without reading its response.
fn post(provider: &Provider, body: &Value) -> TcpStream {
    let mut stream = TcpStream::connect(provider.address()).expect("connect");
    let body = body.to_string();
    write!(
        stream,
        "POST /v1/messages HTTP/1.1\r\nX-Api-Key: k\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
    .expect("send");
    stream
}

/// Sends a POST. Returns the head of the response, and the body without chunk framing.
fn answer(provider: &Provider) -> (String, String) {
    let mut wire = Vec::new();
    // A cut connection may end in an error after the bytes that were read.
    let _ = post(provider, &json!({"model": "m"})).read_to_end(&mut wire);
    split(&wire)
}

fn split(wire: &[u8]) -> (String, String) {
    let end = wire.windows(4).position(|four| four == b"\r\n\r\n");
    let (head, mut rest) = wire.split_at(end.expect("a head") + 4);
    let head = String::from_utf8_lossy(head).trim_end().to_owned();
    let mut body = Vec::new();
    if !head.contains("chunked") {
        return (head, String::from_utf8_lossy(rest).into_owned());
    }
    while let Some(end) = rest.windows(2).position(|pair| pair == b"\r\n") {
        let size = std::str::from_utf8(&rest[..end]).expect("a size");
        let size = usize::from_str_radix(size, 16).expect("a size");
        body.extend(&rest[end + 2..end + 2 + size]);
        rest = &rest[end + 2 + size + 2..];
    }
    (head, String::from_utf8_lossy(&body).into_owned())
}

/// Parses the events of a stream.
fn events(body: &str) -> Vec<Value> {
    body.lines()
        .filter_map(|line| line.strip_prefix("data: "))
        .map(|event| serde_json::from_str(event).unwrap_or_else(|_| json!(event)))
        .collect()
}

#[test]
fn messages_come_in_anthropics_event_grammar() {
    let provider = Provider::anthropic([Answer::new()
        .thinking("Hm.", Some("sig"))
        .text("I'll ")
        .text("look.")
        .tool_use("toolu_1", "bash", &json!({"command": "ls"}))]);
    let (head, body) = answer(&provider);
    assert!(head.contains("content-type: text/event-stream"));
    let kinds: Vec<String> = events(&body)
        .iter()
        .map(|event| {
            let part = [&event["content_block"], &event["delta"]];
            let part = part.iter().find_map(|part| part["type"].as_str());
            format!(
                "{} {}",
                event["type"].as_str().unwrap_or("?"),
                part.unwrap_or("")
            )
        })
        .collect();
    assert_eq!(
        kinds.join("\n"),
        "message_start \nping \n\
         content_block_start thinking\ncontent_block_delta thinking_delta\n\
         content_block_delta signature_delta\ncontent_block_stop \n\
         content_block_start text\ncontent_block_delta text_delta\n\
         content_block_delta text_delta\ncontent_block_stop \n\
         content_block_start tool_use\ncontent_block_delta input_json_delta\n\
         content_block_delta input_json_delta\ncontent_block_delta input_json_delta\n\
         content_block_stop \nmessage_delta \nmessage_stop "
    );
    let arguments: String = events(&body)
        .iter()
        .filter_map(|event| event["delta"]["partial_json"].as_str())
        .collect();
    assert_eq!(arguments, r#"{"command":"ls"}"#);
    assert!(body.contains(r#""stop_reason":"tool_use""#));
}

#[test]
fn completions_come_in_chunks_with_fragments_of_calls() {
    let call = json!({"path": "a file with a long name"});
    let provider = Provider::chat_completions([Answer::new()
        .text("Reading.")
        .tool_use("call_1", "read", &call)]);
    let (_, body) = answer(&provider);
    let events = events(&body);
    let calls = events
        .iter()
        .map(|event| &event["choices"][0]["delta"]["tool_calls"][0]);
    let arguments: String = calls
        .clone()
        .filter_map(|call| call["function"]["arguments"].as_str())
        .collect();
    assert_eq!(arguments, call.to_string());
    assert_eq!(calls.filter(|call| call["id"] == "call_1").count(), 1);
    let reasons = events
        .iter()
        .map(|event| &event["choices"][0]["finish_reason"]);
    assert_eq!(reasons.filter(|reason| **reason == "tool_calls").count(), 1);
    assert_eq!(events.last(), Some(&json!("[DONE]")));
}

#[test]
fn answers_are_taken_in_order_and_then_it_is_done() {
    let provider = Provider::anthropic(["one"]);
    provider.then("two");
    let bodies: Vec<String> = (0..3).map(|_| answer(&provider).1).collect();
    for (body, text) in bodies.iter().zip(["one", "two", "Done."]) {
        assert!(body.contains(&format!("\"text\":\"{text}\"")), "{body}");
    }
    let requests = provider.wait_requests(3);
    assert_eq!(requests[0].method, "POST");
    assert_eq!(requests[0].path, "/v1/messages");
    assert_eq!(requests[0].header("x-api-key"), Some("k"));
    assert_eq!(requests[0].body, json!({"model": "m"}));
}

#[test]
fn a_dribbled_stream_is_the_same_stream() {
    let provider = Provider::anthropic([
        Answer::says("Größe 日本"),
        Answer::says("Größe 日本").dribble(1),
    ]);
    let (whole, dribbled) = (answer(&provider).1, answer(&provider).1);
    assert_eq!(whole, dribbled);
    assert!(whole.contains("Größe 日本"));
}

#[test]
fn line_ends_comments_and_a_byte_order_mark_are_as_asked() {
    let provider = Provider::anthropic([Answer::says("hi").crlf().comments().byte_order_mark()]);
    let (_, body) = answer(&provider);
    assert!(body.starts_with("\u{feff}: keep-alive\r\n\r\nevent: message_start\r\ndata: {"));
    assert_eq!(body.matches('\n').count(), body.matches("\r\n").count());
}

#[test]
fn a_gate_holds_what_comes_after_it() {
    let gate = Gate::new();
    let provider = Provider::anthropic([Answer::new().text("before").gate(&gate).text("after")]);
    let mut stream = post(&provider, &json!({}));
    let mut wire = Vec::new();
    while !String::from_utf8_lossy(&wire).contains("before") {
        let mut piece = [0; 256];
        let read = stream.read(&mut piece).expect("read");
        wire.extend(&piece[..read]);
    }
    gate.wait_reached();
    assert!(!String::from_utf8_lossy(&wire).contains("after"));
    gate.open();
    stream.read_to_end(&mut wire).expect("the rest");
    assert!(split(&wire).1.contains("after"));
}

#[test]
fn a_cut_answer_lacks_its_end_and_an_ended_one_does_not() {
    let provider = Provider::anthropic([
        Answer::says("hello").cut_after(40),
        Answer::says("hello").end_after(40),
    ]);
    for ending in [false, true] {
        let mut wire = Vec::new();
        let _ = post(&provider, &json!({})).read_to_end(&mut wire);
        assert_eq!(wire.ends_with(b"0\r\n\r\n"), ending);
        assert_eq!(split(&wire).1.len(), 40);
    }
}

#[test]
fn a_client_that_leaves_a_stalled_answer_is_noticed() {
    let provider = Provider::anthropic([Answer::new().text("and then").stall()]);
    let stream = post(&provider, &json!({}));
    provider.wait_requests(1);
    drop(stream);
    provider.wait_hang_ups(1);
}

#[test]
fn errors_and_nonsense_can_be_answered() {
    let provider = Provider::anthropic([
        Answer::status(429, r#"{"error":"slow down"}"#).header("retry-after", "1"),
        Answer::wire("SSH-2.0-OpenSSH\r\n\r\n"),
    ]);
    let (head, body) = answer(&provider);
    assert!(head.starts_with("HTTP/1.1 429 "));
    assert!(head.contains("retry-after: 1"));
    assert_eq!(body, r#"{"error":"slow down"}"#);
    assert_eq!(answer(&provider).0, "SSH-2.0-OpenSSH");
}
