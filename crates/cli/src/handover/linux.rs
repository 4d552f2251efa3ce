//! Variables in a file in memory, which is sent over a socket.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut, Read, Seek, Write};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::cmsg_space;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::stdio::{dup2_stdin, stdin};

use super::FLAG;

/// Variables that were removed from the environment block, in a file in memory.
#[derive(Debug)]
pub struct Variables(File);

/// Replaces this process by the same program with [`FLAG`] and `words` as arguments, and
/// without variables that may be secret. Returns if there are none.
///
/// # Errors
///
/// The system refused; the process is unchanged.
pub fn start_without_secrets(words: &[OsString]) -> io::Result<()> {
    let secrets = tools::secret_variables();
    if secrets.is_empty() {
        return Ok(());
    }
    let mut file = File::from(memfd_create("flemma-variables", MemfdFlags::CLOEXEC)?);
    file.write_all(&tools::encode_variables(&secrets))?;
    let mut command = Command::new(std::env::current_exe()?);
    // The name under which the user started the program stays in the list of processes.
    if let Some(name) = std::env::args_os().next() {
        command.arg0(name);
    }
    for (name, _) in secrets {
        command.env_remove(name);
    }
    Variables(file).hand_to(&mut command)?;
    // Returns only if the program could not be replaced.
    Err(command.args(words).exec())
}

impl Variables {
    /// Receives the file from the socket at standard input, and the real standard input,
    /// which replaces the socket.
    ///
    /// # Errors
    ///
    /// Standard input is not such a socket.
    pub fn receive() -> io::Result<Self> {
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
        let mut files = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        recvmsg(
            stdin(),
            &mut [IoSliceMut::new(&mut byte)],
            &mut files,
            // The message was sent before the program started. Waiting could only block for
            // ever.
            RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
        )?;
        let files = files.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => Some(files),
            _ => None,
        });
        let files: Vec<OwnedFd> = files.flatten().collect();
        // Anything else was not sent by our own program.
        let Ok([true_stdin, file]) = <[OwnedFd; 2]>::try_from(files) else {
            return Err(io::Error::other("standard input holds no variables"));
        };
        // Before anything reads standard input, which is the socket until here.
        dup2_stdin(true_stdin)?;
        Ok(Self(File::from(file)))
    }

    /// Adds the variables to those of this process, see [`tools::variable`].
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn add(mut self) -> io::Result<()> {
        let mut bytes = Vec::new();
        self.0.rewind()?;
        self.0.read_to_end(&mut bytes)?;
        tools::add_variables(&bytes);
        Ok(())
    }

    /// Sends the file and our standard input to `command`, and adds [`FLAG`] to its
    /// arguments.
    ///
    /// # Errors
    ///
    /// The system refused.
    pub fn hand_to(&self, command: &mut Command) -> io::Result<()> {
        // Messages keep their bounds, so the program receives the byte and both files at
        // once.
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        let files = [stdin(), self.0.as_fd()];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
        let mut message = SendAncillaryBuffer::new(&mut space);
        message.push(SendAncillaryMessage::ScmRights(&files));
        // A message with files needs at least one byte.
        sendmsg(
            ours,
            &[IoSlice::new(&[0])],
            &mut message,
            SendFlags::NOSIGNAL,
        )?;
        // `ours` is closed here. The message waits in `theirs` until the program reads it.
        command.arg(FLAG).stdin(theirs);
        Ok(())
    }
}
