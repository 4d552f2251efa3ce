//! Programs that the user configured, started without a shell: some print an answer and end, and
//! others serve until they are stopped.
//!
//! They get the user's environment without providers' keys, and no terminal. Commands of models
//! are never run here.

use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::time::timeout;

use super::system::CommandWrap;
use super::{HeldProcesses, ProcessMark, child_environment, system};

/// Bytes of each output that are kept (64 KiB).
const MOST: u64 = 64 * 1024;

/// A running program. Dropping it ends it and all of its descendants.
#[derive(Debug)]
pub struct Program {
    held: HeldProcesses,
    /// Its standard input, until it is taken; only after [`Program::converse`].
    pub stdin: Option<ChildStdin>,
    /// Its standard output, until it is taken.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, until it is taken.
    pub stderr: Option<ChildStderr>,
}

/// The exit status and the output of a program.
#[derive(Debug)]
pub struct ProgramOutput {
    /// How it ended.
    pub status: ExitStatus,
    /// The start of its standard output.
    pub stdout: Vec<u8>,
    /// The start of its standard error.
    pub stderr: Vec<u8>,
}

impl Program {
    /// Starts `argv`, a program and its arguments.
    ///
    /// # Errors
    ///
    /// There is no such program, it cannot be run, or `argv` is empty.
    pub fn start(argv: &[String]) -> io::Result<Self> {
        let (name, arguments) = named(argv)?;
        let mark = ProcessMark::new("program");
        let wrap = CommandWrap::with_new(name, |process| {
            process.args(arguments);
            process.env_clear();
            // The keys of providers are for their servers alone.
            process.envs(crate::variables().filter(|(name, _)| !crate::is_provider_key(name)));
            process.env(ProcessMark::NAME, mark.value());
            process.stdin(Stdio::null());
        });
        Self::spawn(wrap, &mark)
    }

    /// Starts `argv` with pipes for its standard input and output. It gets the environment of
    /// commands and `env`, and runs in `cwd` if that is given.
    ///
    /// # Errors
    ///
    /// There is no such program or folder, it cannot be run, or `argv` is empty.
    pub fn converse(
        argv: &[String],
        env: &[(String, String)],
        cwd: Option<&Path>,
    ) -> io::Result<Self> {
        let (name, arguments) = named(argv)?;
        let mark = ProcessMark::new("program");
        let wrap = CommandWrap::with_new(name, |process| {
            process.args(arguments);
            process.env_clear();
            process.envs(child_environment(crate::variables(), env, &mark));
            if let Some(cwd) = cwd {
                process.current_dir(cwd);
            }
            process.stdin(Stdio::piped());
        });
        Self::spawn(wrap, &mark)
    }

    fn spawn(mut wrap: CommandWrap, mark: &ProcessMark) -> io::Result<Self> {
        let command = wrap.command_mut();
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut held = HeldProcesses::start_session(wrap, mark)?;
        let child = held.child();
        Ok(Self {
            stdin: child.stdin().take(),
            stdout: child.stdout().take(),
            stderr: child.stderr().take(),
            held,
        })
    }

    /// Runs `argv` until it ends and returns its output.
    ///
    /// # Errors
    ///
    /// It can't be started, or it did not end within `patience` and was stopped.
    pub async fn ask(argv: &[String], patience: Duration) -> io::Result<ProgramOutput> {
        let mut program = Self::start(argv)?;
        let (stdout, stderr) = (program.stdout.take(), program.stderr.take());
        let done = timeout(patience, async {
            let (stdout, stderr) = tokio::join!(read(stdout), read(stderr));
            let status = program.wait().await?;
            Ok::<_, io::Error>(ProgramOutput {
                status,
                stdout,
                stderr,
            })
        });
        let said = done
            .await
            .unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))?;
        // A background process, such as an agent with a cache, may stay.
        program.held.leave();
        Ok(said)
    }

    /// Waits until it ends by itself. Its background processes continue.
    ///
    /// # Errors
    ///
    /// The operating system reports an error.
    pub async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.held.wait().await
    }

    /// Whether it is still running.
    pub fn is_running(&mut self) -> bool {
        self.held.is_running()
    }

    /// Ends it and all of its descendants, and waits for them.
    pub async fn stop(mut self) {
        self.held.stop().await;
    }
}

fn named(argv: &[String]) -> io::Result<(OsString, &[String])> {
    let nothing = || io::Error::new(io::ErrorKind::InvalidInput, "no program is named");
    let (name, arguments) = argv.split_first().ok_or_else(nothing)?;
    Ok((system::program_file(name), arguments))
}

async fn read(stream: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // On an error, the output up to there is used.
        let _ = stream.take(MOST).read_to_end(&mut bytes).await;
    }
    bytes
}
