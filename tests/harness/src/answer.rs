//! One scripted answer: what the model says, step by step, and how the connection
//! behaves while it says so. It knows neither wire format nor sockets.

use std::time::Duration;

use serde_json::Value as Json;

use crate::Gate;

/// An answer of the scripted model. Steps are played in the order of the calls.
#[derive(Clone, Default)]
pub struct Answer {
    pub(crate) steps: Vec<Step>,
    /// Replaces the stop reason that follows from the steps.
    pub(crate) stop: Option<String>,
    /// Tokens read and written.
    pub(crate) usage: (u64, u64),
    pub(crate) kind: Kind,
    pub(crate) pace: Pace,
}

/// A thing that the model says, or that happens to the stream there.
#[derive(Clone)]
pub(crate) enum Step {
    Text(String),
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
    /// Bytes among the events, as they are.
    Bytes(Vec<u8>),
    Gate(Gate),
    Stall,
}

/// What kind of answer it is.
#[derive(Clone, Default)]
pub(crate) enum Kind {
    /// 200 and a stream of events.
    #[default]
    Stream,
    /// Another status, or another body.
    Plain {
        status: u16,
        headers: Vec<(String, String)>,
        body: Vec<u8>,
    },
    /// Bytes in place of an HTTP answer.
    Wire(Vec<u8>),
}

/// How the bytes of the body travel.
#[derive(Clone, Default)]
pub(crate) struct Pace {
    /// Bytes per write, or what belongs together when none.
    pub(crate) piece: Option<usize>,
    /// Body bytes after which the connection breaks.
    pub(crate) cut_after: Option<usize>,
    /// Whether a cut resets the connection instead of closing it.
    pub(crate) reset: bool,
    /// Body bytes after which nothing more is said.
    pub(crate) stall_after: Option<usize>,
    /// Body bytes after which the answer ends as if it were complete.
    pub(crate) end_after: Option<usize>,
    /// Pause before each write.
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

    /// An answer of one piece of text.
    pub fn says(text: &str) -> Self {
        Self::new().text(text)
    }

    /// An answer that is no stream: `status` and a body, as of an error.
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

    /// Bytes that may be no HTTP at all, after which the connection closes.
    pub fn wire(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            kind: Kind::Wire(bytes.into()),
            ..Self::new()
        }
    }

    /// Adds a header to an answer made with [`Answer::status`].
    pub fn header(mut self, name: &str, value: &str) -> Self {
        match &mut self.kind {
            Kind::Plain { headers, .. } => headers.push((name.to_owned(), value.to_owned())),
            Kind::Stream | Kind::Wire(_) => panic!("only an Answer::status has headers"),
        }
        self
    }

    /// Says `text`, as one event. Several in a row are one text of several events.
    pub fn text(self, text: &str) -> Self {
        self.step(Step::Text(text.to_owned()))
    }

    /// Says `text` in events of `size` characters.
    pub fn text_in_pieces(mut self, text: &str, size: usize) -> Self {
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(size.max(1)) {
            self = self.text(&piece.iter().collect::<String>());
        }
        self
    }

    /// A block of thinking, with the signature that comes at its end.
    pub fn thinking(self, text: &str, signature: Option<&str>) -> Self {
        self.step(Step::Thinking {
            text: text.to_owned(),
            signature: signature.map(str::to_owned),
        })
    }

    /// A block of thinking that the provider has encrypted.
    pub fn redacted_thinking(self, content: &str) -> Self {
        self.step(Step::RedactedThinking(content.to_owned()))
    }

    /// Calls a tool.
    pub fn tool_use(self, id: &str, name: &str, input: Json) -> Self {
        self.tool_use_raw(id, name, &input.to_string())
    }

    /// Calls a tool with arguments that may be no JSON.
    pub fn tool_use_raw(self, id: &str, name: &str, arguments: &str) -> Self {
        self.step(Step::ToolUse {
            id: id.to_owned(),
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        })
    }

    /// Stops here until `gate` is opened.
    pub fn gate(self, gate: &Gate) -> Self {
        self.step(Step::Gate(gate.clone()))
    }

    /// Says nothing more from here on, and keeps the connection open.
    pub fn stall(self) -> Self {
        self.step(Step::Stall)
    }

    /// Puts bytes among the events.
    pub fn bytes(self, bytes: impl Into<Vec<u8>>) -> Self {
        self.step(Step::Bytes(bytes.into()))
    }

    /// Ends with this reason, in the words of the wire format, in place of the usual.
    pub fn stop(mut self, reason: &str) -> Self {
        self.stop = Some(reason.to_owned());
        self
    }

    /// Reports these numbers of tokens.
    pub fn usage(mut self, input: u64, output: u64) -> Self {
        self.usage = (input, output);
        self
    }

    /// Sends at most `bytes` at a time: with 1, every byte on its own.
    pub fn dribble(mut self, bytes: usize) -> Self {
        self.pace.piece = Some(bytes.max(1));
        self
    }

    /// Breaks the connection after so many bytes of the body.
    pub fn cut_after(mut self, bytes: usize) -> Self {
        self.pace.cut_after = Some(bytes);
        self
    }

    /// Like [`Answer::cut_after`], with a reset in place of a close: what was not
    /// read yet may be lost.
    pub fn reset_after(mut self, bytes: usize) -> Self {
        self.pace.reset = true;
        self.cut_after(bytes)
    }

    /// Says nothing more after so many bytes of the body, and keeps the connection.
    pub fn stall_after(mut self, bytes: usize) -> Self {
        self.pace.stall_after = Some(bytes);
        self
    }

    /// Sends the body compressed, all of it at once.
    pub fn gzip(mut self) -> Self {
        self.pace.gzip = true;
        self
    }

    /// Ends the body properly after so many bytes, whatever is missing.
    pub fn end_after(mut self, bytes: usize) -> Self {
        self.pace.end_after = Some(bytes);
        self
    }

    /// Pauses before every write. For benches: a test uses a [`Gate`].
    pub fn every(mut self, pause: Duration) -> Self {
        self.pace.every = Some(pause);
        self
    }

    /// Ends the lines of the stream with CRLF.
    pub fn crlf(mut self) -> Self {
        self.pace.crlf = true;
        self
    }

    /// Begins the stream with a byte order mark.
    pub fn byte_order_mark(mut self) -> Self {
        self.pace.byte_order_mark = true;
        self
    }

    /// Puts a comment line before every event.
    pub fn comments(mut self) -> Self {
        self.pace.comments = true;
        self
    }

    fn step(mut self, step: Step) -> Self {
        self.steps.push(step);
        self
    }

    /// Whether the model calls a tool, which decides its usual stop reason.
    pub(crate) fn calls_a_tool(&self) -> bool {
        let is_call = |step: &Step| matches!(step, Step::ToolUse { .. });
        self.steps.iter().any(is_call)
    }
}
