//! A connection to a child process in both directions over its standard input.

use std::io;
use std::process::Stdio;

/// Our end of the connection, which is read and written asynchronously.
#[cfg(unix)]
pub use tokio::net::UnixStream as Stream;
/// Our end of the connection, which is read and written asynchronously.
#[cfg(windows)]
pub use tokio::net::windows::named_pipe::NamedPipeServer as Stream;

/// Creates a connection. Returns our end, and the standard input of the child process, which also
/// writes to it. No other process can connect.
///
/// # Errors
///
/// The limit of open files is reached.
pub fn pair() -> io::Result<(Stream, Stdio)> {
    #[cfg(unix)]
    {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        // Required by tokio, which would block its thread otherwise.
        ours.set_nonblocking(true)?;
        let theirs = std::os::fd::OwnedFd::from(theirs);
        Ok((Stream::from_std(ours)?, Stdio::from(theirs)))
    }
    #[cfg(windows)]
    {
        use std::hash::{BuildHasher, RandomState};
        use std::task::{Context, Poll, Waker};

        use tokio::net::windows::named_pipe::ServerOptions;

        let id = std::process::id();
        // The standard library seeds it randomly.
        let random = RandomState::new().hash_one(id);
        let name = format!(r"\\.\pipe\flemma-{id}-{random:016x}");
        // One instance: if another process connects first, opening the pipe below fails.
        let ours = ServerOptions::new()
            .first_pipe_instance(true)
            .max_instances(1)
            .reject_remote_clients(true)
            .create(&name)?;
        let theirs = std::fs::OpenOptions::new()
            .read(true)
            .write(true)
            .open(&name)?;
        // Required before the first write. Ends at once, because the other end is open.
        let mut connecting = Box::pin(ours.connect());
        match connecting
            .as_mut()
            .poll(&mut Context::from_waker(Waker::noop()))
        {
            Poll::Ready(connected) => connected?,
            Poll::Pending => return Err(io::ErrorKind::NotConnected.into()),
        }
        drop(connecting);
        Ok((ours, Stdio::from(theirs)))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs::File;
    use std::io::{BufRead, BufReader, Write};
    use std::process::Command;

    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    use super::*;

    /// An argument of the child process, which is the name of no test.
    const IS_CHILD: &str = "is-child";

    /// Answers a line on standard input, if the other test started this program.
    #[test]
    fn the_child() {
        if std::env::args().any(|it| it == IS_CHILD) {
            #[cfg(unix)]
            let input = std::os::fd::AsFd::as_fd(&io::stdin()).try_clone_to_owned();
            #[cfg(windows)]
            let input =
                std::os::windows::io::AsHandle::as_handle(&io::stdin()).try_clone_to_owned();
            let mut input = File::from(input.unwrap());
            let mut line = String::new();
            let mut reader = BufReader::new(input.try_clone().unwrap());
            reader.read_line(&mut line).unwrap();
            input.write_all(line.to_uppercase().as_bytes()).unwrap();
        }
    }

    #[tokio::test]
    async fn a_child_process_answers_on_its_standard_input() {
        let (mut ours, theirs) = pair().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "duplex::tests::the_child", IS_CHILD])
            .stdin(theirs)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        ours.write_all(b"a question\n").await.unwrap();
        let mut answer = [0; 11];
        ours.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"A QUESTION\n");
        assert!(child.wait().unwrap().success());
        // The end of the child is the end of the connection, with or without an error.
        assert_eq!(ours.read(&mut answer).await.unwrap_or_default(), 0);
    }
}
