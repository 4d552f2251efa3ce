//! Starts commands without a terminal, and ends all of their processes.
//!
//! This module refers to no tool and no model.

mod argv;

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use platform::{pipe, programs};
use system::{ChildWrapper, CommandWrap};
pub(crate) use system::{
    HeldProcesses, ProgramStart, Script, leash_program, limit_this_process, own_program,
};
pub use system::{
    LEASH, WATCH, close_to_others, end_descendants, hold_leash, hold_watch, leash_beside,
    leash_with, watched_by,
};
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::runtime::Handle;
use tokio::time::timeout;

pub use self::argv::{CommandOutput, run_argv};
use crate::sandbox::{self, Sandbox};
use crate::variables::passed;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

/// A shell command to start.
pub(crate) struct Command<'a> {
    /// Words before the shell that put it in the sandbox; empty without a sandbox.
    pub prefix: Vec<OsString>,
    /// The shell's name or path; it gets `-c` and the script.
    pub shell: &'a str,
    /// The script.
    pub script: &'a str,
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its complete environment.
    pub environment: Vec<(OsString, OsString)>,
    /// True if it ends when all of its processes have. Otherwise it ends with its shell, and the
    /// processes that the shell leaves are stopped.
    pub waits_for_all: bool,
}

/// A running shell.
pub(crate) struct Running {
    /// Standard output and standard error, in the order in which they are written.
    pub output: pipe::Receiver,
    /// The shell and its descendants.
    pub held: HeldProcesses,
    /// True if it runs in a sandbox, which ends with the shell and all of its processes.
    is_sandboxed: bool,
    /// The script, kept open until the shell that reads it has ended.
    _script: Script,
}

impl Running {
    /// Starts a command in its own process group, without a terminal and without input.
    ///
    /// Its environment must contain `mark`, by which processes that left the group are found.
    ///
    /// # Errors
    ///
    /// The shell can't be started.
    pub(crate) fn start(command: Command<'_>, mark: &ProcessMark) -> io::Result<Self> {
        let shell = find(command.shell, &command.environment);
        let script = Script::new(command.shell, command.script)?;
        if let Some((output, held)) = HeldProcesses::hand_over(&command, &shell, mark) {
            return Ok(Self {
                output: pipe::receiver(output)?,
                held,
                is_sandboxed: false,
                _script: script,
            });
        }
        let (reader, writer) = io::pipe()?;
        let start = ProgramStart::new(
            command.prefix,
            command.shell.as_ref(),
            shell,
            command.waits_for_all,
        )?;
        let is_sandboxed = start.is_sandboxed;
        let mut wrap = CommandWrap::with_new(start.program(), |process| {
            start.words(process);
            script.words(process);
            process.current_dir(command.cwd);
            process.env_clear().envs(command.environment);
            process.stdin(Stdio::null());
        });
        // One pipe for both, so that the order of their lines is kept.
        let same_pipe = writer.try_clone()?;
        wrap.command_mut().stdout(writer).stderr(same_pipe);
        let held = HeldProcesses::start(wrap, mark, start)?;
        Ok(Self {
            output: pipe::receiver(reader)?,
            held,
            is_sandboxed,
            _script: script,
        })
    }

    /// See [`HeldProcesses::stop`]. Returns 0 for a sandboxed command, whose processes can't be counted.
    pub(crate) async fn stop(&mut self) -> usize {
        let count = self.held.stop().await;
        // The count would include the sandbox itself, and miss processes that ended with it.
        if self.is_sandboxed { 0 } else { count }
    }
}

/// Prepares the start of the next command, which takes less time then. `sandbox` is that of its chat.
/// Call it in a runtime.
pub fn prepare_command(sandbox: Arc<Sandbox>) {
    // Blocking, because the first call looks for the program of the sandbox.
    tokio::task::spawn_blocking(move || {
        if sandbox.is_off() || sandbox.is_lacking() {
            system::prepare_leash();
        }
    });
}

/// Spawns a program; a sandboxed one on a thread that is cut off from abstract sockets.
///
/// `wrap` is dropped afterwards because it contains the writing end of the output's pipe. The
/// output would not end otherwise.
fn spawn(mut wrap: CommandWrap, is_sandboxed: bool) -> io::Result<Box<dyn ChildWrapper>> {
    if !is_sandboxed {
        return wrap.spawn();
    }
    let runtime = Handle::current();
    sandbox::run_restricted(move || {
        let _context = runtime.enter();
        wrap.spawn()
    })?
}

/// An environment variable that marks all processes of one call, even if they leave its group.
#[derive(Debug, Clone)]
pub(crate) struct ProcessMark(String);

impl ProcessMark {
    /// The variable's name.
    pub(crate) const NAME: &str = "FLEMMA_CALL";

    /// A unique mark: the id of our process, `id`, and 64 random bits, because call ids repeat.
    pub(crate) fn new(id: &str) -> Self {
        use std::hash::{BuildHasher, RandomState};
        let safe: String = id
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .take(40)
            .collect();
        // The standard library seeds it randomly, so no crate for random numbers is needed.
        let random = RandomState::new().hash_one(id);
        Self(format!("{}{safe}-{random:016x}", Self::ours()))
    }

    /// The prefix of all marks of this process.
    fn ours() -> String {
        format!("{}-", std::process::id())
    }

    /// The variable's value.
    pub(crate) fn value(&self) -> &str {
        &self.0
    }
}

// The environment of commands that a model wrote.

/// Variables of every command, which prevent prompts and colors.
const QUIET: [(&str, &str); 2] = [("GIT_TERMINAL_PROMPT", "0"), ("NO_COLOR", "1")];
/// Variables that name a pager, the general one first. The others precede what a program's own
/// configuration names.
const PAGERS: [&str; 7] = [
    "PAGER",
    "GIT_PAGER",
    "MANPAGER",
    "SYSTEMD_PAGER",
    "GH_PAGER",
    "BAT_PAGER",
    "AWS_PAGER",
];
/// Variables that name an editor, like [`PAGERS`].
const EDITORS: [&str; 10] = [
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "HGEDITOR",
    "SVN_EDITOR",
    "JJ_EDITOR",
    "GH_EDITOR",
    "KUBE_EDITOR",
    "SYSTEMD_EDITOR",
];
/// An editor that fails at once, as one word list for programs that start it without a shell. A real
/// one would wait for keys that nobody can press.
const NO_EDITOR: &str = "sh -c 'echo \"There is no editor here. Give the text as an argument (git: -m, -F, -C, \
                         --no-edit), or set GIT_EDITOR=true to keep a text as it is.\" >&2; exit 1'";

/// The environment of a command: the `inherited` variables that are passed on, then those that
/// keep it from waiting and the call's mark, then the user's `extra`, which override the others.
pub(crate) fn child_environment(
    inherited: impl Iterator<Item = (OsString, OsString)>,
    extra: &[(String, String)],
    mark: &ProcessMark,
) -> Vec<(OsString, OsString)> {
    let mut environment: Vec<(OsString, OsString)> = passed(inherited).collect();
    let own = QUIET
        .into_iter()
        .chain(PAGERS.map(|name| (name, "cat")))
        .chain(EDITORS.map(|name| (name, NO_EDITOR)))
        .chain([(ProcessMark::NAME, mark.value())]);
    environment.extend(own.map(|(name, value)| (name.into(), value.into())));
    // Last, because of variables with the same name, the last one counts.
    environment.extend(
        extra
            .iter()
            .map(|(name, value)| (name.into(), value.into())),
    );
    environment
}

// Starts a program with arguments and a given input, and with separate pipes for its two outputs.

/// A program to start.
pub(crate) struct Launch<'a> {
    /// Words before it that put it in the sandbox; empty without a sandbox.
    pub prefix: Vec<OsString>,
    /// The program's name or path.
    pub program: &'a str,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its working directory.
    pub cwd: &'a Path,
    /// Its complete environment, which contains the call's mark.
    pub environment: Vec<(OsString, OsString)>,
    /// Its standard input.
    pub stdin: Stdio,
}

/// A running program.
pub(crate) struct Piped {
    /// Its standard output, until it is taken.
    pub stdout: Option<pipe::Receiver>,
    /// Its standard error, until it is taken.
    pub stderr: Option<pipe::Receiver>,
    /// The program and its descendants.
    pub held: HeldProcesses,
}

impl Piped {
    /// Starts a program in its own process group, without a terminal.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start(launch: Launch<'_>, mark: &ProcessMark) -> io::Result<Self> {
        let (stdout, stdout_writer) = io::pipe()?;
        let (stderr, stderr_writer) = io::pipe()?;
        let file = find(launch.program, &launch.environment);
        let start = ProgramStart::new(launch.prefix, launch.program.as_ref(), file, false)?;
        let mut wrap = CommandWrap::with_new(start.program(), |process| {
            start.words(process);
            process.args(launch.arguments);
            process.current_dir(launch.cwd);
            process.env_clear().envs(launch.environment);
            process.stdin(launch.stdin);
        });
        // Both are dropped with `wrap` once the program runs. The pipes would not end
        // otherwise.
        wrap.command_mut().stdout(stdout_writer);
        wrap.command_mut().stderr(stderr_writer);
        let held = HeldProcesses::start(wrap, mark, start)?;
        Ok(Self {
            stdout: Some(pipe::receiver(stdout)?),
            stderr: Some(pipe::receiver(stderr)?),
            held,
        })
    }

    /// See [`HeldProcesses::wait`].
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        self.held.wait().await
    }
}

// Finds the file of a program by its name.

/// The file of the program `name` in the `PATH` of `environment`. Returns the name itself if there
/// is none, so that starting it fails with the system's error.
///
/// Starting a program by its name would search `PATH` as well, but only after a slow fork of this
/// process.
fn find(name: &str, environment: &[(OsString, OsString)]) -> OsString {
    let found = programs::locate(name, environment);
    found.map_or_else(|| name.into(), OsString::from)
}

/// Fails as starting `file` would if the program is missing or not executable.
fn check(file: &OsStr) -> io::Result<()> {
    let path = Path::new(file);
    // A bare name is what `find` returns if no folder has the program.
    if path.parent() == Some(Path::new("")) {
        return Err(io::ErrorKind::NotFound.into());
    }
    programs::check(path)
}

// Programs that the user configured, started without a shell: some print an answer and end, and
// others serve until they are stopped.
//
// They get the user's environment without providers' keys, and no terminal. Commands of models
// are never run here.

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

    /// Asks the system if it is still running. Reaps one that has ended.
    pub fn check_running(&mut self) -> bool {
        self.held.check_running()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_own_variables_come_last() {
        let extra = [("PAGER".to_owned(), "less".to_owned())];

        let environment = child_environment(std::iter::empty(), &extra, &ProcessMark::new("t"));

        assert_eq!(environment.last(), Some(&("PAGER".into(), "less".into())));
    }

    fn environment(path: &str) -> Vec<(OsString, OsString)> {
        vec![("PATH".into(), path.into())]
    }

    #[test]
    fn a_name_is_the_first_executable_file_of_the_path() {
        let found = find("sh", &environment("/nowhere:/dev:relative:/bin:/usr/bin"));
        assert_eq!(found, "/bin/sh");
    }

    #[test]
    fn a_path_and_a_name_that_nothing_has_stay_as_they_are() {
        assert_eq!(find("/bin/sh", &environment("/usr/bin")), "/bin/sh");
        assert_eq!(find("./sh", &environment("/bin")), "./sh");
        assert_eq!(find("no-such-shell", &environment("/bin")), "no-such-shell");
        assert_eq!(find("sh", &[]), "sh");
    }
}
