//! Keeps variables that may be secret out of the environment block of this process, which
//! other programs can read as `/proc/PID/environ`.
//!
//! The block of a running process cannot be changed. So the watcher starts itself again,
//! in the same process, without them, and hands them to the process that works; both get
//! them in a file in memory. It comes with the true standard input in a message on a
//! socket, which is the standard input until it is read: an open file can be taken
//! from a message without unsafe code, and nothing else can open it meanwhile.
//!
//! Only on Linux: elsewhere there are no such files.

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{Variables, start_without_secrets};
#[cfg(target_os = "linux")]
pub use linux::{Variables, start_without_secrets};

/// The first argument of a process that finds a message at its standard input.
pub const FLAG: &str = "--variables-on-stdin";

#[cfg(target_os = "linux")]
mod linux {
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

    /// Variables that the environment block lacks, in a file in memory.
    #[derive(Debug)]
    pub struct Variables(File);

    /// Starts this program again in this process, with the same arguments after [`FLAG`]
    /// and without variables that may be secret; `words` are those arguments. Returns
    /// when there are none.
    ///
    /// # Errors
    ///
    /// It cannot be done on this machine; the process is as it was.
    pub fn start_without_secrets(words: &[OsString]) -> io::Result<()> {
        let secrets = tools::secret_variables();
        if secrets.is_empty() {
            return Ok(());
        }
        let mut file = File::from(memfd_create("flemma-variables", MemfdFlags::CLOEXEC)?);
        file.write_all(&tools::encode_variables(&secrets))?;
        let mut command = Command::new(std::env::current_exe()?);
        if let Some(name) = std::env::args_os().next() {
            command.arg0(name);
        }
        for (name, _) in secrets {
            command.env_remove(name);
        }
        Variables(file).hand_to(&mut command)?;
        Err(command.args(words).exec())
    }

    impl Variables {
        /// Takes the file from the message at standard input, and has standard input be
        /// what the message says.
        ///
        /// # Errors
        ///
        /// There is no such message.
        pub fn receive() -> io::Result<Self> {
            let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(2))];
            let mut files = RecvAncillaryBuffer::new(&mut space);
            let mut byte = [0];
            recvmsg(
                stdin(),
                &mut [IoSliceMut::new(&mut byte)],
                &mut files,
                RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT,
            )?;
            let files = files.drain().flat_map(|message| match message {
                RecvAncillaryMessage::ScmRights(files) => Some(files),
                _ => None,
            });
            let files: Vec<OwnedFd> = files.flatten().collect();
            let Ok([true_stdin, file]) = <[OwnedFd; 2]>::try_from(files) else {
                return Err(io::Error::other("standard input holds no variables"));
            };
            dup2_stdin(true_stdin)?;
            Ok(Self(File::from(file)))
        }

        /// Makes them variables of this process.
        ///
        /// # Errors
        ///
        /// They cannot be read.
        pub fn add(mut self) -> io::Result<()> {
            let mut bytes = Vec::new();
            self.0.rewind()?;
            self.0.read_to_end(&mut bytes)?;
            tools::add_variables(&bytes);
            Ok(())
        }

        /// Hands them to `command`, together with our standard input. [`FLAG`] becomes
        /// its next argument.
        ///
        /// # Errors
        ///
        /// They cannot be sent.
        pub fn hand_to(&self, command: &mut Command) -> io::Result<()> {
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
            // Files travel with at least one byte.
            sendmsg(
                ours,
                &[IoSlice::new(&[0])],
                &mut message,
                SendFlags::NOSIGNAL,
            )?;
            command.arg(FLAG).stdin(theirs);
            Ok(())
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    use std::ffi::OsString;
    use std::io;
    use std::process::Command;

    /// There are none on this system.
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
