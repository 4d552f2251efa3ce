//! Job objects, which hold a process and all of its descendants.
//!
//! Windows ends the processes of a job when the last handle of the job is closed, so nothing
//! outlives this process, and commands need no leash.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{ExitCode, ExitStatus};

pub(super) use process_wrap::tokio::{ChildWrapper, CommandWrap};
use process_wrap::tokio::{CreationFlags, JobObject, KillOnDrop};
use windows::Win32::System::Threading::CREATE_NO_WINDOW;

use super::{Command, ProcessMark, spawn};
use crate::private::TemporaryPath;
use crate::state_dir;

/// The first argument of a leash, which does not exist on Windows.
pub const LEASH: &str = "--leash";

/// Fails: there are no leashes.
pub fn hold_leash(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}

/// The first argument of a watcher that is started as the small program. Never used on this system.
pub const WATCH: &str = "--watch";

/// Fails: a job object ends what the host leaves running.
pub fn hold_watch(_words: &[OsString]) -> ExitCode {
    ExitCode::FAILURE
}

/// Does nothing: other processes of the user can read the memory of this one.
pub fn close_to_others() {}

/// Does nothing: there are no leashes.
pub fn leash_with(_own: PathBuf) {}

/// Does nothing, because Windows needs no leash.
pub(crate) fn prepare_leash() {}

/// Nothing: there are no leashes.
pub(crate) fn leash_program() -> Option<PathBuf> {
    None
}

/// Nothing: documents are read in this process.
pub(crate) fn own_program() -> Option<&'static Path> {
    None
}

/// Does nothing: documents are read in this process.
pub(crate) fn limit_this_process(_memory: u64, _seconds: u64) {}

/// The path that the small program of the leash would have.
pub fn leash_beside(own: &Path) -> PathBuf {
    own.with_file_name("flemma-leash.exe")
}

/// Does nothing: the jobs of all commands end with this process.
pub fn end_descendants() {}

/// Does nothing: orphans stay in the job of their command.
pub fn watched_by(_watcher: u32) {}

// The processes of one call, none of which outlives it.

/// A program and all of its descendants. Dropping it ends them.
#[derive(Debug)]
pub(crate) struct HeldProcesses {
    /// The job, whose inner child is the program itself.
    job: Box<dyn ChildWrapper>,
    /// True if the processes are being stopped.
    is_stopped: bool,
    /// True if it ends when all of its processes have.
    waits_for_all: bool,
}

impl HeldProcesses {
    /// Returns `None`, because Windows needs no leash.
    pub(crate) fn hand_over(
        _command: &Command<'_>,
        _shell: &OsStr,
        _mark: &ProcessMark,
    ) -> Option<(io::PipeReader, Self)> {
        None
    }

    /// Starts a program in a job of its own, with a hidden console of its own.
    ///
    /// # Errors
    ///
    /// It can't be started.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "as on Unix, where it consumes the leash"
    )]
    pub(crate) fn start(
        wrap: CommandWrap,
        _mark: &ProcessMark,
        start: ProgramStart,
    ) -> io::Result<Self> {
        let held = Self::in_job(wrap, start.is_sandboxed)?;
        Ok(Self {
            waits_for_all: start.waits_for_all,
            ..held
        })
    }

    /// The same as [`HeldProcesses::start`] on Windows.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start_session(wrap: CommandWrap, _mark: &ProcessMark) -> io::Result<Self> {
        Self::in_job(wrap, false)
    }

    fn in_job(mut wrap: CommandWrap, is_sandboxed: bool) -> io::Result<Self> {
        wrap.wrap(CreationFlags(CREATE_NO_WINDOW));
        // `KillOnDrop` makes the system end the job when its handle is closed.
        wrap.wrap(KillOnDrop).wrap(JobObject);
        Ok(Self {
            job: spawn(wrap, is_sandboxed)?,
            is_stopped: false,
            waits_for_all: false,
        })
    }

    /// The program, for its standard streams.
    pub(crate) fn child(&mut self) -> &mut dyn ChildWrapper {
        self.job.inner_mut()
    }

    /// Waits until the program itself has ended, or all of its processes have.
    ///
    /// # Errors
    ///
    /// The operating system reports an error.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        if self.waits_for_all {
            return self.job.wait().await;
        }
        // Not that of the job, which waits for background processes, too.
        self.job.inner_mut().wait().await
    }

    /// Waits until the program itself has ended.
    pub(crate) async fn reap(&mut self) {
        let _ = self.wait().await;
    }

    /// Asks the system if the program itself is still running.
    pub(crate) fn check_running(&mut self) -> bool {
        matches!(self.child().try_wait(), Ok(None))
    }

    /// Always 0: background processes can't be counted.
    pub(crate) fn left(&self) -> usize {
        0
    }

    /// Does nothing: processes without a window can't be asked to end.
    pub(crate) fn ask_to_end(&self) {}

    /// Returns true if the processes have been stopped. Otherwise, some may be left.
    pub(crate) fn confirm_gone(&mut self) -> bool {
        self.is_stopped
    }

    /// Ends all processes at once. Returns 0, because they can't be counted.
    pub(crate) async fn stop(&mut self) -> usize {
        self.is_stopped = true;
        // Fails if the job has no process left.
        let _ = self.job.start_kill();
        self.reap().await;
        0
    }

    /// Lets background processes of the program, which has ended, continue until this process ends.
    pub(crate) fn leave(self) {
        // Leaves the handle of the job open.
        drop(self.job.into_inner());
    }
}

// The words that start a program.

/// Shells that run a script in a file. The rules by which they split a command line into arguments
/// differ from those of other programs, so a script as an argument could change.
const SHELLS: [&str; 5] = ["bash", "dash", "ksh", "sh", "zsh"];

/// How a program is started.
pub(crate) struct ProgramStart {
    program: OsString,
    before: Vec<OsString>,
    /// True if the program runs in a sandbox, as given; Windows has none.
    pub(crate) is_sandboxed: bool,
    waits_for_all: bool,
}

impl ProgramStart {
    /// Prepares the start of `file` after the words `prefix`. With `waits_for_all`, it ends when all
    /// of its processes have.
    ///
    /// # Errors
    ///
    /// It can't be run.
    pub(crate) fn new(
        prefix: Vec<OsString>,
        _name: &OsStr,
        file: OsString,
        waits_for_all: bool,
    ) -> io::Result<Self> {
        let is_sandboxed = !prefix.is_empty();
        // The system's error does not say that the file is missing.
        super::check(&file)?;
        let mut words = prefix.into_iter().chain([file]);
        Ok(Self {
            program: words.next().unwrap_or_default(),
            before: words.collect(),
            is_sandboxed,
            waits_for_all,
        })
    }

    /// The program to start.
    pub(crate) fn program(&self) -> &OsStr {
        &self.program
    }

    /// Adds the words before the program's own arguments.
    pub(crate) fn words(&self, process: &mut tokio::process::Command) {
        process.args(&self.before);
    }
}

/// A script that a shell runs.
pub(crate) enum Script {
    /// A file, which is deleted when the shell has ended.
    File(TemporaryPath),
    /// An argument.
    Argument(String),
}

impl Script {
    /// Prepares a script for `shell`.
    ///
    /// # Errors
    ///
    /// The file can't be written.
    pub(crate) fn new(shell: &str, script: &str) -> io::Result<Self> {
        let stem = Path::new(shell).file_stem().unwrap_or_default();
        if !SHELLS.iter().any(|it| stem.eq_ignore_ascii_case(it)) {
            return Ok(Self::Argument(script.to_owned()));
        }
        let mut new = state_dir::temporary_file(".sh")?;
        new.file.write_all(script.as_bytes())?;
        // Closed, so that the shell can open it.
        Ok(Self::File(new.close()))
    }

    /// Adds the arguments of the shell.
    pub(crate) fn words(&self, process: &mut tokio::process::Command) {
        match self {
            // The shell takes a backslash for the start of an escape.
            Self::File(path) => process.arg(path.as_path().to_string_lossy().replace('\\', "/")),
            Self::Argument(script) => process.arg("-c").arg(script),
        };
    }
}

/// The program that starting a program by its name or path starts, which may lack its extension.
pub(crate) fn program_file(name: &str) -> OsString {
    let environment: Vec<_> = crate::variables().collect();
    super::find(name, &environment)
}
