//! A scripted answer: the steps of the model, and how the connection behaves. Independent of wire
//! formats and sockets.

use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::Gate;

/// An answer of the scripted model. Its methods add steps, which are played in order.
#[derive(Clone, Default)]
pub struct Answer {
    pub(crate) steps: Vec<Step>,
    /// The stop reason, if it differs from the one that the steps imply.
    pub(crate) stop: Option<String>,
    /// Input and output tokens.
    pub(crate) usage: (u64, u64),
    pub(crate) kind: Kind,
    pub(crate) pace: Pace,
    /// Number of the answer, so that its items have ids of their own. 0 if no service counts.
    pub(crate) serial: usize,
    /// `input_transformations` of the answer, if the request asks for them.
    pub(crate) transformations: Option<Json>,
    /// The signature of its text, if the request asks for a summary as Anthropic writes it.
    pub(crate) signature: Option<String>,
}

/// A part of an answer, or an event of the connection.
#[derive(Clone)]
pub(crate) enum Step {
    Text(String),
    /// The next text is another block.
    EndOfText,
    Thinking {
        text: String,
        signature: Option<String>,
    },
    RedactedThinking(String),
    ToolUse {
        id: String,
        name: String,
        arguments: String,
    },
    /// A call of a tool that the provider runs itself.
    ServerToolUse {
        id: String,
        name: String,
        input: Json,
    },
    /// Its result.
    ServerToolResult {
        id: String,
        name: String,
        content: Json,
    },
    /// A text with citations, as a block of its own.
    Cited {
        text: String,
        citations: Vec<Json>,
    },
    /// Raw bytes between events.
    Bytes(Vec<u8>),
    Gate(Gate),
    Stall,
}

/// The kind of an answer.
#[derive(Clone, Default)]
pub(crate) enum Kind {
    /// Status 200 and a stream of events.
    #[default]
    Stream,
    /// Any other status or body.
    Plain {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Bytes instead of an HTTP response.
    Wire(Vec<u8>),
}

/// How the body is sent.
#[derive(Clone, Default)]
pub(crate) struct Pace {
    /// Bytes per write. `None` for one event per write.
    pub(crate) piece: Option<usize>,
    /// Number of body bytes before the connection breaks.
    pub(crate) cut_after: Option<usize>,
    /// True if the connection is reset instead of closed.
    pub(crate) reset: bool,
    /// Number of body bytes before the connection stalls.
    pub(crate) stall_after: Option<usize>,
    /// Number of body bytes before the response ends as if it were complete.
    pub(crate) end_after: Option<usize>,
    /// The pause before each write.
    pub(crate) every: Option<Duration>,
    pub(crate) crlf: bool,
    pub(crate) byte_order_mark: bool,
    pub(crate) comments: bool,
    pub(crate) gzip: bool,
}

impl From<&str> for Answer {
    fn from(text: &str) -> Self {
        Self::says(text)
    }
}

impl Answer {
    /// An answer without content.
    pub fn new() -> Self {
        Self {
            usage: (25, 10),
            ..Self::default()
        }
    }

    /// An answer that consists of this text.
    pub fn says(text: &str) -> Self {
        Self::new().text(text)
    }

    /// A response with `status` and a body instead of a stream, such as an error.
    pub fn status(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self {
            kind: Kind::Plain {
                status,
                headers: Vec::new(),
                body: body.into(),
            },
            ..Self::new()
        }
    }

    /// Any bytes instead of a response. The connection closes afterwards.
    pub fn wire(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            kind: Kind::Wire(bytes.into()),
            ..Self::new()
        }
    }

    /// Adds a header to a response made by [`Answer::status`].
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self.kind {
            Kind::Plain { headers, .. } => headers.push((name.to_owned(), value.to_owned())),
            Kind::Stream | Kind::Wire(_) => panic!("only an Answer::status has headers"),
        }
        self
    }

    /// Adds text as one event. Consecutive texts form one block.
    pub fn text(self, text: &str) -> Self {
        self.step(Step::Text(text.to_owned()))
    }

    /// Adds text as a block of its own, also directly after another text.
    pub fn text_block(self, text: &str) -> Self {
        self.step(Step::EndOfText).text(text)
    }

    /// Adds text in events of `size` characters.
    pub fn text_in_pieces(mut self, text: &str, size: usize) -> Self {
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size.max(1)) {
            self = self.text(&piece.iter().collect::<String>());
        }
        self
    }

    /// Adds a thinking block that a [`Strict`](crate::Strict) service signs.
    pub fn thinks(self, text: &str) -> Self {
        self.thinking(text, None)
    }

    /// Adds a thinking block with a signature.
    pub fn thinking(self, text: &str, signature: Option<&str>) -> Self {
        self.step(Step::Thinking {
            text: text.to_owned(),
            signature: signature.map(str::to_owned),
        })
    }

    /// Adds a thinking block that the provider has encrypted.
    pub fn redacted_thinking(self, content: &str) -> Self {
        self.step(Step::RedactedThinking(content.to_owned()))
    }

    /// Adds a tool call.
    pub fn tool_use(self, id: &str, name: &str, input: &Json) -> Self {
        self.tool_use_raw(id, name, &input.to_string())
    }

    /// Adds a tool call whose arguments may be invalid JSON.
    pub fn tool_use_raw(self, id: &str, name: &str, arguments: &str) -> Self {
        self.step(Step::ToolUse {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    /// Adds a search of the provider's own tool that finds pages, each a title and an address.
    pub fn searches(self, id: &str, query: &str, pages: &[(&str, &str)]) -> Self {
        let found = crate::strict::found(id, pages);
        self.server_tool_use(id, "web_search", json!({"query": query}))
            .server_tool_result(id, "web_search", found)
    }

    /// Adds a use of a server tool that fails with this code.
    pub fn fails_to(self, id: &str, name: &str, input: Json, code: &str) -> Self {
        let error = json!({"type": format!("{name}_tool_result_error"), "error_code": code});
        self.server_tool_use(id, name, input)
            .server_tool_result(id, name, error)
    }

    /// Adds a page that the provider's own tool reads.
    pub fn fetches(self, id: &str, title: &str, url: &str) -> Self {
        let source = json!({"type": "text", "media_type": "text/plain", "data": "The page."});
        let document = json!({"type": "document", "source": source, "title": title});
        let page = json!({"type": "web_fetch_result", "url": url, "content": document});
        self.server_tool_use(id, "web_fetch", json!({"url": url}))
            .server_tool_result(id, "web_fetch", page)
    }

    /// Adds a call of a server tool.
    pub fn server_tool_use(self, id: &str, name: &str, input: Json) -> Self {
        self.step(Step::ServerToolUse {
            id: id.to_owned(),
            name: name.to_owned(),
            input,
        })
    }

    /// Adds the result of a server tool.
    pub fn server_tool_result(self, id: &str, name: &str, content: Json) -> Self {
        self.step(Step::ServerToolResult {
            id: id.to_owned(),
            name: name.to_owned(),
            content,
        })
    }

    /// Adds a text that cites the page of a search, as a block of its own.
    pub fn cites(self, text: &str, title: &str, url: &str) -> Self {
        let citation = json!({
            "type": "web_search_result_location", "cited_text": text, "title": title, "url": url,
            "encrypted_index": format!("index-{url}=="),
        });
        self.step(Step::Cited {
            text: text.to_owned(),
            citations: vec![citation],
        })
    }

    /// Waits here until `gate` is opened.
    pub fn gate(self, gate: &Gate) -> Self {
        self.step(Step::Gate(gate.clone()))
    }

    /// Stalls from here on: sends nothing more and keeps the connection open.
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Adds raw bytes between events.
    pub fn bytes(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(Step::Bytes(bytes.into()))
    }

    /// Sets the stop reason, as spelled in the wire format.
    pub fn stop(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Sets the reported numbers of tokens.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = (input, output);
        self
    }

    /// Sends at most `bytes` per write.
    pub fn dribble(mut self, bytes: usize) -> Self {
        self.pace.piece = Some(bytes.max(1));
        self
    }

    /// Closes the connection after this many bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.pace.cut_after = Some(bytes);
        self
    }

    /// Resets the connection after this many bytes of the body. Bytes that the client has not read
    /// yet may be lost.
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.pace.reset = true;
        self.cut_after(bytes)
    }

    /// Stalls after this many bytes of the body.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.pace.stall_after = Some(bytes);
        self
    }

    /// Sends the body compressed and in one write.
    pub fn gzip(mut self) -> Self {
        self.pace.gzip = true;
        self
    }

    /// Ends the body properly after this many bytes, although the rest is missing.
    pub fn end_after(mut self, bytes: usize) -> Self {
        self.pace.end_after = Some(bytes);
        self
    }

    /// Pauses before each write. For benches only; tests use a [`Gate`].
    pub fn every(mut self, pause: Duration) -> Self {
        self.pace.every = Some(pause);
        self
    }

    /// Sends the stream with CRLF line endings.
    pub fn crlf(mut self) -> Self {
        self.pace.crlf = true;
        self
    }

    /// Sends a byte order mark before the stream.
    pub fn byte_order_mark(mut self) -> Self {
        self.pace.byte_order_mark = true;
        self
    }

    /// Sends a comment line before each event.
    pub fn comments(mut self) -> Self {
        self.pace.comments = true;
        self
    }

    /// The text as a whole.
    pub(crate) fn whole_text(&self) -> String {
        let texts = self.steps.iter().filter_map(|step| match step {
            Step::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    /// Returns true if a request for a summary gets one with this answer: it ends normally, with a text
    /// and without a call.
    pub(crate) fn is_summary(&self) -> bool {
        self.stop.is_none() && !self.calls_a_tool() && !self.whole_text().trim().is_empty()
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Returns the number of searches.
    pub(crate) fn searches_made(&self) -> usize {
        let is_search =
            |step: &&Step| matches!(step, Step::ServerToolUse { name, .. } if name == "web_search");
        self.steps.iter().filter(is_search).count()
    }

    /// Returns true if the answer calls a tool, which implies its stop reason.
    pub(crate) fn calls_a_tool(&self) -> bool {
        let is_call = |step: &Step| matches!(step, Step::ToolUse { .. });
        self.steps.iter().any(is_call)
    }
}
