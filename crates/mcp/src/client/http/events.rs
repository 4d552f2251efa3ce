//! Reads a server's event stream and repairs events that the SDK would skip.

use std::collections::VecDeque;
use std::fmt;

use futures::stream::unfold;
use futures::{Stream, StreamExt};
use hyper::body::Bytes;
use rmcp::model::{RequestId, ServerJsonRpcMessage};
use rmcp::transport::streamable_http_client::SseError;
use serde::Deserialize;
use serde::de::IgnoredAny;
use sse_stream::{Sse, SseStream};

use super::super::mend::{self, Line};
use super::{Events, Unanswered, answer_to, unreadable};

/// Returns the events of a response, each at most `most` bytes long. An unreadable event
/// becomes an error answer to the request `id`, or to all `unanswered` requests if `id` is
/// `None`.
pub(super) fn read(
    response: reqwest::Response,
    most: usize,
    unanswered: Unanswered,
    id: Option<RequestId>,
) -> Events {
    let bytes = response
        .bytes_stream()
        .map(|it| it.map_err(|error| Broken::Lost(error.into())));
    let reader = Reader {
        inner: parse(bytes, most),
        mender: Mender { unanswered, id },
        ready: VecDeque::new(),
        over: false,
    };
    unfold(reader, |mut reader| async {
        let event = reader.next().await?;
        Some((event, reader))
    })
    .boxed()
}

struct Reader {
    inner: Events,
    mender: Mender,
    ready: VecDeque<Sse>,
    over: bool,
}

impl Reader {
    async fn next(&mut self) -> Option<Result<Sse, SseError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            match self.inner.next().await? {
                Ok(event) => self.ready.extend(self.mender.mend(event)),
                // The rest of the stream can't be split into events, so answer what waits
                // and end.
                Err(SseError::Body(error)) if is_too_long(&error) => {
                    self.ready.extend(self.mender.fail(&error.to_string()));
                    self.over = true;
                }
                Err(error) => return Some(Err(error)),
            }
        }
    }
}

fn is_too_long(error: &AnyError) -> bool {
    matches!(error.downcast_ref(), Some(Broken::TooLong(_)))
}

/// Repairs events and tracks which requests they answer.
struct Mender {
    unanswered: Unanswered,
    id: Option<RequestId>,
}

/// The fields that distinguish answers from other messages.
#[derive(Deserialize)]
struct Head {
    id: Option<RequestId>,
    method: Option<IgnoredAny>,
    error: Option<IgnoredAny>,
}

/// Keep-alive events that servers send instead of comments.
const PINGS: [&str; 6] = [
    "ping",
    "pong",
    "keepalive",
    "keep-alive",
    "heartbeat",
    "[DONE]",
];

impl Mender {
    /// Returns the events that replace an event.
    fn mend(&self, mut event: Sse) -> Vec<Sse> {
        // In the SSE standard, an event without a type is a `message`. Other types carry no
        // JSON-RPC.
        let is_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        let Some(data) = event.data.as_mut().filter(|_| is_message) else {
            return vec![event];
        };
        let said = data.trim();
        if said.is_empty() || PINGS.iter().any(|it| said.eq_ignore_ascii_case(it)) {
            return vec![event];
        }
        match mend::line(said.as_bytes()) {
            Line::Whole => {}
            Line::Mended(text) => *data = text,
            Line::Unreadable(wrong) => return self.fail_at(event.id, &wrong),
            // The event answers no particular request, so skip it.
            Line::Foreign if self.id.is_none() => return vec![event],
            Line::Foreign => return self.fail_at(event.id, "that is not JSON"),
        }
        let Ok(head) = serde_json::from_str::<Head>(data) else {
            // JSON, but no message. On the stream of one request it must be its answer.
            return match self.id {
                Some(_) => self.fail_at(event.id, "that is not part of the protocol"),
                None => vec![event],
            };
        };
        self.settle(&head, data);
        vec![event]
    }

    /// Marks the request that a message answers as answered. An error without an ID
    /// becomes the answer to this stream's request.
    fn settle(&self, head: &Head, data: &mut String) {
        match (head, &self.id) {
            // A server that could not parse the request doesn't know its ID.
            (
                Head {
                    id: None,
                    method: None,
                    error: Some(_),
                },
                Some(id),
            ) => {
                // A second error without an ID answers nothing.
                if let Ok(message) = serde_json::from_str(data)
                    && self.unanswered.remove(id)
                    && let Ok(answer) = serde_json::to_string(&answer_to(id.clone(), message))
                {
                    *data = answer;
                }
            }
            (
                Head {
                    id: Some(id),
                    method: None,
                    ..
                },
                _,
            ) => {
                self.unanswered.remove(id);
            }
            _ => {}
        }
    }

    /// Like [`Mender::fail`], keeping the event ID for resumption.
    fn fail_at(&self, id: Option<String>, wrong: &str) -> Vec<Sse> {
        let mut failed = self.fail(wrong);
        if let Some(first) = failed.first_mut() {
            first.id = id;
        }
        failed
    }

    /// Returns error answers to the requests that wait for an unreadable message.
    fn fail(&self, wrong: &str) -> Vec<Sse> {
        let ids = match &self.id {
            Some(id) if self.unanswered.remove(id) => vec![id.clone()],
            // It has its answer, and a second one would belong to no request.
            Some(_) => Vec::new(),
            // The server's own stream may carry any answer. An error for a request that would
            // still have succeeded is better than a request that is never answered.
            None => self.unanswered.remove_all(),
        };
        let answers = ids.into_iter().map(|id| unreadable(id, wrong));
        answers.filter_map(|answer| as_event(&answer)).collect()
    }
}

fn as_event(message: &ServerJsonRpcMessage) -> Option<Sse> {
    let data = serde_json::to_string(message).ok()?;
    Some(Sse::default().data(data))
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

/// Why a stream of bytes ended.
#[derive(Debug)]
enum Broken {
    /// The connection broke.
    Lost(AnyError),
    /// An event is longer than that many bytes.
    TooLong(usize),
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost(error) => write!(f, "{error}"),
            Self::TooLong(most) => write!(f, "of more than {} MB", most / (1024 * 1024)),
        }
    }
}

impl std::error::Error for Broken {}

/// Parses events. Invalid UTF-8 becomes U+FFFD.
fn parse(bytes: impl Stream<Item = Result<Bytes, Broken>> + Send + 'static, most: usize) -> Events {
    let (mut text, mut length) = (Text::default(), Length::new(most));
    let text = bytes.map(move |chunk| {
        let chunk = chunk?;
        // Counted before parsing, because the parser holds an event in memory until its end.
        length.count(&chunk)?;
        Ok::<_, Broken>(Bytes::from(text.mend(&chunk)))
    });
    SseStream::from_bytes_stream(text).boxed()
}

/// Decodes UTF-8 that arrives in pieces.
#[derive(Default)]
struct Text {
    /// Incomplete character at the end of the last chunk.
    begun: Vec<u8>,
}

impl Text {
    fn mend(&mut self, chunk: &[u8]) -> String {
        let mut bytes = std::mem::take(&mut self.begun);
        bytes.extend_from_slice(chunk);
        let mut mended = String::with_capacity(bytes.len());
        let mut rest = bytes.utf8_chunks().peekable();
        while let Some(chunk) = rest.next() {
            mended.push_str(chunk.valid());
            let odd = chunk.invalid();
            let error = std::str::from_utf8(odd).err();
            let may_go_on = error.is_some_and(|it| it.error_len().is_none());
            // The last bytes of a chunk may be the beginning of a character.
            if may_go_on && rest.peek().is_none() {
                self.begun = odd.to_vec();
            } else if !odd.is_empty() {
                mended.push(char::REPLACEMENT_CHARACTER);
            }
        }
        mended
    }
}

/// Counts the bytes of the current event.
struct Length {
    most: usize,
    event: usize,
    line: usize,
    after_return: bool,
}

impl Length {
    fn new(most: usize) -> Self {
        Self {
            most,
            event: 0,
            line: 0,
            after_return: false,
        }
    }

    fn count(&mut self, chunk: &[u8]) -> Result<(), Broken> {
        for &byte in chunk {
            // CRLF ends one line, not two.
            let ends_return = self.after_return && byte == b'\n';
            self.after_return = byte == b'\r';
            match byte {
                _ if ends_return => {}
                // An empty line ends an event.
                b'\r' | b'\n' if self.line == 0 => self.event = 0,
                b'\r' | b'\n' => self.line = 0,
                _ => {
                    self.line += 1;
                    self.event += 1;
                }
            }
            if self.event > self.most {
                return Err(Broken::TooLong(self.most));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// Parses `bytes`, which arrive in chunks of `size`.
    async fn events(bytes: &[u8], size: usize, most: usize) -> Vec<Result<Option<String>, String>> {
        let chunks: Vec<_> = bytes
            .chunks(size)
            .map(|it| Ok::<_, Broken>(Bytes::copy_from_slice(it)))
            .collect();
        let events = parse(futures::stream::iter(chunks), most);
        let said = |event: Result<Sse, SseError>| match event {
            Ok(event) => Ok(event.data),
            Err(SseError::Body(error)) => Err(error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        events.map(said).take(10).collect().await
    }

    #[tokio::test]
    async fn invalid_utf_8_is_replaced_in_chunks_of_any_size() {
        let bytes = [
            "data: aä😀".as_bytes(),
            b"\xff\xf0\x9f\ndata: \xc3\n\n: \xff\n\ndata: b\n\n",
        ]
        .concat();
        for size in 1..=bytes.len() {
            let expected =
                ["aä😀\u{fffd}\u{fffd}\n\u{fffd}", "b"].map(|it| Ok(Some(it.to_owned())));
            assert_eq!(events(&bytes, size, 64).await, expected, "{size}");
        }
    }

    #[test]
    fn an_unreadable_answer_without_an_id_fails_all_open_requests() {
        let unanswered = Unanswered::default();
        let number = |it: i64| serde_json::from_value::<RequestId>(it.into()).unwrap();
        for id in [1, 2, 3] {
            unanswered.add(number(id));
        }
        let mender = Mender {
            unanswered,
            id: None,
        };
        let whole = Sse::default().data(r#"{"jsonrpc":"2.0","id":2,"result":{}}"#);
        assert_eq!(mender.mend(whole.clone()), [whole]);
        let foreign = Sse::default().data("connected");
        assert_eq!(mender.mend(foreign.clone()), [foreign]);
        let broken = Sse::default()
            .data(r#"{"jsonrpc":"2.0","id":1,"res"#)
            .id("7");
        let answers = mender.mend(broken.clone());
        let said = |event: &Sse| event.data.clone().unwrap_or_default();
        assert!(said(&answers[0]).contains(r#""id":1"#) && said(&answers[1]).contains(r#""id":3"#));
        assert_eq!((answers.len(), answers[0].id.as_deref()), (2, Some("7")));
        assert_eq!(mender.mend(broken), []);
    }

    #[tokio::test]
    async fn the_length_of_an_event_is_limited_and_of_a_stream_is_not() {
        let many = "data: 12345678\r\n\r\n".repeat(9);
        assert!(
            events(many.as_bytes(), 7, 16)
                .await
                .iter()
                .all(Result::is_ok)
        );
        let long = "data: 1234\r\ndata: 5678\r\n\r\n";
        let read = events(long.as_bytes(), 7, 16).await;
        assert_eq!(read[0], Err("of more than 0 MB".to_owned()));
    }
}
