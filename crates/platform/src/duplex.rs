//! A connection to a child process in both directions over its standard input.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

use std::io;
use std::process::Stdio;

/// Our end of the connection, which is read and written asynchronously.
pub use system::Stream;

/// Creates a connection. Returns our end, and the standard input of the child process, which also
/// writes to it. No other process can connect.
///
/// # Errors
///
/// The limit of open files is reached.
pub fn pair() -> io::Result<(Stream, Stdio)> {
    system::pair()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader, Write};
    use std::process::Command;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// An argument of the child process, which is the name of no test.
    const IS_CHILD: &str = "is-child";

    /// Answers a line on standard input, if the other test started this program.
    #[test]
    fn the_child() {
        if std::env::args().any(|it| it == IS_CHILD) {
            let mut input = system::standard_input().unwrap();
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
