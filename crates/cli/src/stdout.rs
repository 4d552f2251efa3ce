//! Standard output of the command line. What cannot be written is an error, except where
//! its reader has gone: that one has seen enough.

use std::io::{self, ErrorKind, Write};

use crate::exit_code::Code;
use crate::terminal;

/// Writes all of a text now.
///
/// # Errors
///
/// It could not be written, for another reason than that no process reads it.
pub fn write(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

/// Prints what a command was asked for, with a line end behind it.
pub fn print(text: &str) -> Code {
    match write(&format!("{}\n", terminal::for_stdout(text))) {
        Ok(()) => Code::Ok,
        Err(error) => {
            terminal::tell(&lost(&error));
            Code::Error
        }
    }
}

/// Says on standard error what became of the output.
pub fn lost(error: &io::Error) -> String {
    format!("The output could not be written: {error}.")
}
