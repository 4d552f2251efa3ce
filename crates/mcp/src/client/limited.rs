//! A stream of lines in which none is without end, so that a server cannot fill our
//! memory with one.

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

/// Reads `inner` until a line is longer than `most`.
pub(super) struct Limited<R> {
    inner: R,
    most: usize,
    /// Bytes since the last end of a line.
    length: usize,
    trouble: Trouble,
}

impl<R> Limited<R> {
    pub(super) fn new(inner: R, most: usize, trouble: Trouble) -> Self {
        Self {
            inner,
            most,
            length: 0,
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
        if self.length > self.most {
            // A reader that fails has read nothing.
            buffer.set_filled(before);
            let most = self.most / (1024 * 1024);
            self.trouble.set(format!(
                "it sent a message of more than {most} MB, so it was ended"
            ));
            return Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        }
        Poll::Ready(Ok(()))
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
    async fn many_lines_pass_and_one_without_end_does_not() {
        let (passed, trouble) = read(&b"12345678\n".repeat(1000), 64).await;
        assert!(passed.is_ok_and(|it| it == 9000));
        assert_eq!(trouble, None);
        let (stopped, trouble) = read(&[b'x'; 9000], 64).await;
        assert!(stopped.is_err());
        assert!(trouble.is_some_and(|it| it.starts_with("it sent a message of more than")));
    }
}
