//! A client that reads answers as the documentation says and sends their content again as it came.

use std::io::{Read, Write};
use std::net::TcpStream;

use harness::Provider;
use serde_json::{Value as Json, json};

/// A conversation with a provider.
pub struct Client {
    pub provider: Provider,
    pub path: &'static str,
    pub betas: &'static str,
    pub body: Json,
}

/// The events of an answer, or the message of an error.
pub type Answered = Result<Vec<Json>, String>;

impl Client {
    /// Sends the request.
    pub fn send(&self) -> Answered {
        self.post(&self.body)
    }

    /// Sends the request as `change` makes it. The conversation stays as it is.
    pub fn send_changed(&self, change: impl FnOnce(&mut Json)) -> Answered {
        let mut body = self.body.clone();
        change(&mut body);
        self.post(&body)
    }

    /// Appends an item to a list of the request.
    pub fn push(&mut self, list: &str, item: Json) {
        self.body[list].as_array_mut().unwrap().push(item);
    }

    fn post(&self, body: &Json) -> Answered {
        let mut stream = TcpStream::connect(self.provider.address()).unwrap();
        let body = body.to_string();
        let betas = match self.betas {
            "" => String::new(),
            betas => format!("Anthropic-Beta: {betas}\r\n"),
        };
        write!(
            stream,
            "POST {} HTTP/1.1\r\n{betas}Connection: close\r\nContent-Length: {}\r\n\r\n{body}",
            self.path,
            body.len()
        )
        .unwrap();
        let mut wire = String::new();
        stream.read_to_string(&mut wire).unwrap();
        if wire.starts_with("HTTP/1.1 200") {
            let data = wire.lines().filter_map(|line| line.strip_prefix("data: "));
            return Ok(data
                .filter_map(|it| serde_json::from_str(it).ok())
                .collect());
        }
        let (_, body) = wire.split_once("\r\n\r\n").unwrap();
        let error: Json = serde_json::from_str(body).unwrap();
        Err(error["error"]["message"].as_str().unwrap().to_owned())
    }
}

/// Fails unless the request was refused with a message that contains `why`.
#[track_caller]
pub fn expect_refused(answered: &Answered, why: &str) {
    match answered {
        Ok(_) => panic!("accepted, although: {why}"),
        Err(message) => assert!(message.contains(why), "{message}\nis not: {why}"),
    }
}

/// The content of an answer of Anthropic.
pub fn blocks(events: &[Json]) -> Vec<Json> {
    let mut blocks: Vec<Json> = Vec::new();
    let mut arguments = String::new();
    for event in events {
        let delta = &event["delta"];
        match event["type"].as_str().unwrap() {
            "content_block_start" => blocks.push(event["content_block"].clone()),
            "content_block_delta" => {
                let block = blocks.last_mut().unwrap();
                for key in ["text", "thinking", "signature"] {
                    if let Some(piece) = delta[key].as_str() {
                        block[key] = json!(format!("{}{piece}", block[key].as_str().unwrap()));
                    }
                }
                if let Some(Json::Array(citations)) = block.get_mut("citations") {
                    citations.extend(delta.get("citation").cloned());
                }
                arguments.push_str(delta["partial_json"].as_str().unwrap_or_default());
            }
            "content_block_stop" if !arguments.is_empty() => {
                let input = serde_json::from_str(&std::mem::take(&mut arguments)).unwrap();
                blocks.last_mut().unwrap()["input"] = input;
            }
            _ => {}
        }
    }
    blocks
}
