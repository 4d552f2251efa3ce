//! A scripted model on the loopback, so that the program shows something without a key:
//! it asks for the weather once, then says what it was told.
//!
//! No part of how an agent is built.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

use agent::{Problem, Provider, Value, json};

/// A provider that needs neither network nor key.
pub fn provider() -> Result<Provider, Problem> {
    let failed = |error: std::io::Error| Problem::new(format!("No loopback server: {error}."), "");
    let listener = TcpListener::bind("127.0.0.1:0").map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that leaves is none of our business.
            let _ = answer(stream);
        }
    });
    let provider = Provider::named("openai_compatible")?;
    Ok(provider
        .with_base_url(format!("http://{address}/v1"))
        .with_model("scripted"))
}

/// Answers one request, in the form of Chat Completions.
fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let header = line.trim_end().to_ascii_lowercase();
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or_default();
        }
        if header.is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let body = String::from_utf8_lossy(&body).into_owned();
    let request: Value = body.parse().unwrap_or_default();
    let last = request["messages"].as_array().and_then(|it| it.last());
    let (delta, reason) = match last {
        Some(message) if message["role"] == "tool" => {
            let told = message["content"].as_str().unwrap_or_default();
            (json!({"content": format!("I looked: {told}.")}), "stop")
        }
        _ => {
            let call = json!({"name": "get_weather", "arguments": "{\"city\":\"Oslo\"}"});
            let call = json!({"index": 0, "id": "call_1", "type": "function", "function": call});
            (json!({"tool_calls": [call]}), "tool_calls")
        }
    };
    let chunk = json!({"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {chunk}\n\ndata: [DONE]\n\n"
    )
}
