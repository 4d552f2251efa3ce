//! The part of HTTP/1.1 that the scripted provider needs: reads requests, and writes responses in one
//! piece or in chunks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::Instant;

use serde_json::Value as Json;

use crate::delivery::Outlet;

/// A received request.
#[derive(Debug, Clone, PartialEq)]
pub struct Recorded {
    /// The method, such as `POST`.
    pub method: String,
    /// The path and query.
    pub path: String,
    /// The headers in order, with names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body as JSON, or null if it is not JSON.
    pub body: Json,
    /// The bytes of the body.
    pub raw: Vec<u8>,
    /// The time at which its last byte was read.
    pub arrived: Instant,
}

impl Recorded {
    /// The value of the header with this lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|header| header.0 == name);
        found.map(|header| header.1.as_str())
    }
}

/// Reads the next request. Returns `None` if the connection is closed or the request is not HTTP.
pub(crate) fn read(reader: &mut BufReader<TcpStream>) -> Option<Recorded> {
    let first = read_line(reader)?;
    let mut words = first.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let line = read_line(reader)?;
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':')?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|header| header.0 == "content-length");
    let length = length.map_or(Some(0), |header| header.1.parse().ok())?;
    let mut raw = vec![0; length];
    reader.read_exact(&mut raw).ok()?;
    let arrived = Instant::now();
    let body = serde_json::from_slice(&raw).unwrap_or(Json::Null);
    Some(Recorded {
        method,
        path,
        headers,
        body,
        raw,
        arrived,
    })
}

/// Reads a line without its ending.
fn read_line(reader: &mut BufReader<TcpStream>) -> Option<String> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
    line.truncate(line.trim_end_matches(['\r', '\n']).len());
    Some(line)
}

/// Writes a response with a known length.
pub(crate) fn write_plain(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(String, String)],
    body: &[u8],
) -> std::io::Result<()> {
    let mut head = format!(
        "HTTP/1.1 {status} Scripted\r\ncontent-length: {}\r\n",
        body.len()
    );
    if !headers.iter().any(|header| header.0 == "content-type") {
        head.push_str("content-type: application/json\r\n");
    }
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    stream.write_all(&[head.as_bytes(), body].concat())
}

/// A response with a chunked body.
pub(crate) struct EventBody<'a> {
    stream: &'a mut TcpStream,
}

impl<'a> EventBody<'a> {
    /// Writes the head. `more` are further headers, each with its line ending.
    pub(crate) fn begin(stream: &'a mut TcpStream, more: &str) -> std::io::Result<Self> {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
                    cache-control: no-cache\r\ntransfer-encoding: chunked\r\n";
        stream.write_all(format!("{head}{more}\r\n").as_bytes())?;
        Ok(Self { stream })
    }

    /// Resets the connection.
    pub(crate) fn reset(&self) {
        let at_once = Some(std::time::Duration::ZERO);
        let _ = rustix::net::sockopt::set_socket_linger(&*self.stream, at_once);
    }

    /// Ends the body properly. Without this, the body is incomplete.
    pub(crate) fn end(self) -> std::io::Result<()> {
        self.stream.write_all(b"0\r\n\r\n")
    }
}

impl Outlet for EventBody<'_> {
    fn write(&mut self, bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            // An empty chunk would end the body.
            return true;
        }
        let size = format!("{:x}\r\n", bytes.len());
        let chunk = [size.as_bytes(), bytes, b"\r\n"].concat();
        self.stream.write_all(&chunk).is_ok()
    }

    fn is_gone(&mut self) -> bool {
        has_left(self.stream)
    }
}

/// Returns true if closing the connection resets it.
pub(crate) fn will_reset(stream: &TcpStream) -> bool {
    rustix::net::sockopt::socket_linger(stream).is_ok_and(|it| it.is_some())
}

/// Returns true if the client has closed its end. Never blocks.
pub(crate) fn has_left(stream: &TcpStream) -> bool {
    let _ = stream.set_nonblocking(true);
    let seen = stream.peek(&mut [0]);
    let _ = stream.set_nonblocking(false);
    match seen {
        Ok(bytes) => bytes == 0,
        Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
    }
}
