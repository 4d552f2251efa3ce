//! Systems on which the variables stay in the environment block.

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
