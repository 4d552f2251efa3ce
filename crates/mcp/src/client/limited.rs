//! A stream of lines of JSON in which none is without end, so that a server cannot fill
//! our memory with one, and none is nested deeper than is read: it would be passed over,
//! and whoever waits for it would wait in vain.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, ReadBuf};
use tokio::sync::watch;
use tokio::time::timeout;

/// How long the reason of an end may take that is told elsewhere.
const PATIENCE: Duration = Duration::from_millis(300);
/// Longest line, in bytes.
pub(super) const LONGEST: usize = 16 * 1024 * 1024;

/// How deep values may be nested: `serde_json` reads no deeper.
const DEEPEST: usize = 127;

/// Why a connection ended, when that is known better than the SDK knows it.
#[derive(Debug, Clone)]
pub(super) struct Trouble(watch::Sender<Option<String>>);

impl Trouble {
    pub(super) fn new() -> Self {
        Self(watch::Sender::new(None))
    }

    /// Says why; the first reason stays.
    pub(super) fn set(&self, why: String) {
        self.0.send_if_modified(|trouble| {
            let is_first = trouble.is_none();
            trouble.get_or_insert(why);
            is_first
        });
    }

    /// The reason, which may be told a moment after the end; `otherwise` when none is.
    pub(super) async fn known(&self, otherwise: &str) -> String {
        let mut told = self.0.subscribe();
        let known = timeout(PATIENCE, told.wait_for(Option::is_some)).await;
        match known {
            Ok(Ok(why)) => why.clone().unwrap_or_else(|| otherwise.to_owned()),
            _ => otherwise.to_owned(),
        }
    }
}

/// Reads `inner` until a line is longer than `most`, or nested too deep.
pub(super) struct Limited<R> {
    inner: R,
    most: usize,
    /// Bytes since the last end of a line.
    length: usize,
    nesting: Nesting,
    trouble: Trouble,
}

impl<R> Limited<R> {
    pub(super) fn new(inner: R, most: usize, trouble: Trouble) -> Self {
        Self {
            inner,
            most,
            length: 0,
            nesting: Nesting::default(),
            trouble,
        }
    }
}

impl<R: AsyncRead + Unpin> AsyncRead for Limited<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, buffer))?;
        let new = &buffer.filled()[before..];
        self.length = match new.iter().rposition(|&byte| byte == b'\n') {
            Some(at) => new.len() - at - 1,
            None => self.length + new.len(),
        };
        let wrong = if self.length > self.most {
            format!("of more than {} MB", self.most / (1024 * 1024))
        } else if self.nesting.is_too_deep(new) {
            format!("nested more than {DEEPEST} deep")
        } else {
            return Poll::Ready(Ok(()));
        };
        // A reader that fails has read nothing.
        buffer.set_filled(before);
        self.trouble
            .set(format!("it sent a message {wrong}, so it was ended"));
        Poll::Ready(Err(io::ErrorKind::InvalidData.into()))
    }
}

/// How deep in a line of JSON we are.
#[derive(Debug, Default)]
struct Nesting {
    depth: usize,
    in_text: bool,
    /// Whether the last byte was a backslash in a text.
    escaped: bool,
}

impl Nesting {
    /// Takes more of the lines; whether any went too deep.
    fn is_too_deep(&mut self, bytes: &[u8]) -> bool {
        bytes.iter().any(|&byte| {
            match byte {
                b'\n' => *self = Self::default(),
                _ if std::mem::take(&mut self.escaped) => {}
                b'\\' => self.escaped = self.in_text,
                b'"' => self.in_text = !self.in_text,
                _ if self.in_text => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            self.depth > DEEPEST
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::AsyncReadExt;

    async fn read(text: &[u8], most: usize) -> (io::Result<usize>, Option<String>) {
        let trouble = Trouble::new();
        let mut all = Vec::new();
        let mut limited = Limited::new(text, most, trouble.clone());
        let read = limited.read_to_end(&mut all).await;
        (read, trouble.0.borrow().clone())
    }

    #[tokio::test]
    async fn what_is_nested_too_deep_ends_it_and_brackets_in_texts_do_not() {
        let nested = |depth| [vec![b'['; depth], vec![b']'; depth], vec![b'\n']].concat();
        let (passed, trouble) = read(&nested(DEEPEST).repeat(3), 4096).await;
        assert!(passed.is_ok(), "{trouble:?}");
        let text = format!("\"{}\\\"{0}\"\n", "[{".repeat(500)).repeat(2);
        let (passed, trouble) = read(text.as_bytes(), 4096).await;
        assert!(passed.is_ok(), "{trouble:?}");
        let (stopped, trouble) = read(&nested(DEEPEST + 1), 4096).await;
        assert!(stopped.is_err());
        assert_eq!(
            trouble.as_deref(),
            Some("it sent a message nested more than 127 deep, so it was ended")
        );
        let read = |depth| serde_json::from_slice::<serde_json::Value>(&nested(depth)).is_ok();
        assert!(read(DEEPEST) && !read(DEEPEST + 1));
    }

    #[tokio::test]
    async fn many_lines_pass_and_one_without_end_does_not() {
        let (passed, trouble) = read(&b"12345678\n".repeat(1000), 64).await;
        assert!(passed.is_ok_and(|it| it == 9000));
        assert_eq!(trouble, None);
        let (stopped, trouble) = read(&[b'x'; 9000], 64).await;
        assert!(stopped.is_err());
        assert!(trouble.is_some_and(|it| it.starts_with("it sent a message of more than")));
    }
}
