//! Keeps variables that may be secret out of the environment block of this process, which
//! other programs can read in `/proc/PID/environ`.
//!
//! The block of a running process cannot be changed. So the watcher replaces itself by the
//! same program without these variables. It receives them in a file in memory and passes
//! that on to the worker. The file and the real standard input are sent over a socket, which
//! is the standard input until they are received: this needs no unsafe code, and no other
//! process can open the file.
//!
//! Only on Linux, because other systems have no such files.

#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

pub use system::{Variables, start_without_secrets};

/// The first argument of a process that receives variables from its standard input.
pub const FLAG: &str = "--variables-on-stdin";

/// Systems on which the variables stay in the environment block.
#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::ffi::OsString;
    use std::io;
    use std::process::Command;

    /// Never exists on this system.
    #[derive(Debug)]
    pub enum Variables {}

    pub fn start_without_secrets(_words: &[OsString]) -> io::Result<()> {
        Ok(())
    }

    impl Variables {
        pub fn receive() -> io::Result<Self> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn add(self) -> io::Result<()> {
            match self {}
        }

        pub fn hand_to(&self, _command: &mut Command) -> io::Result<()> {
            match *self {}
        }
    }
}
