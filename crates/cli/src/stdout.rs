//! Standard output of the command line. Failing to write is an error, unless the reader has
//! closed the pipe, as `head` does.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::exit_code::Code;
use crate::terminal;

/// Writes and flushes a text.
///
/// # Errors
///
/// Writing failed for another reason than a closed pipe.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Prints a text and a line end.
pub fn print(text: &str) -> Code {
    match write(&format!("{}\n", terminal::for_stdout(text))) {
        Ok(()) => Code::Ok,
        Err(error) => {
            terminal::report(&problem(&error));
            Code::Error
        }
    }
}

/// Prints a generated page with exactly one line end.
pub fn print_page(page: &[u8]) -> ExitCode {
    let page = String::from_utf8_lossy(page);
    print(page.trim_end_matches('\n')).into()
}

/// Returns the message for output that could not be written.
pub fn problem(error: &io::Error) -> String {
    format!("The output could not be written: {error}.")
}
