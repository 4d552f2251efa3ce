//! The leash: a process between the host and a command that runs without a sandbox.
//!
//! It adopts all descendants of the command, whatever they do to their environment, group, or
//! session. It ends them when the command ends or when the host is gone. The leash is a program
//! of its own, because a process can only make itself a subreaper: `flemma-leash`, or `flemma
//! --leash` if that is missing.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags, open};
use rustix::io::Errno;

use super::tree::started_by_us;
use crate::private::TemporaryPath;
use crate::{process, state_dir};

/// The first argument of a leash.
pub const LEASH: &str = "--leash";
/// Precedes the host's id in the arguments of a leash that waits for all processes of its command.
const FOR_ALL: &str = "all:";
/// How long the remaining processes of a command may take to end after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(1);
/// How long SIGKILL is repeated. Once is enough unless a process forks at the same time.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Interval between searches for processes.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Interval between two times at which orphans of a running command are reaped.
const REAP_EVERY: Duration = Duration::from_secs(1);
/// Interval between checks whether processes that the command left have ended.
const LEFT_EVERY: Duration = Duration::from_millis(200);
/// Interval between checks whether the command or the host has ended, where the system has no
/// descriptors of processes.
const CHECK_EVERY: Duration = Duration::from_millis(10);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Enables leashes for commands without a sandbox. `own` is the path of this program, which calls
/// [`hold_leash`] with the other arguments if the first one is [`LEASH`]. The small program beside
/// it does the same and starts in a third of the time.
pub fn leash_with(own: PathBuf) {
    // Without `/proc`, a leash could not find what it has to end.
    if !cfg!(target_os = "linux") {
        return;
    }
    let small = leash_beside(&own);
    let program = if small.is_file() { small } else { own };
    // A later call changes nothing, because running commands use the first program.
    let _ = PROGRAM.set(program);
}

/// The program that holds leashes, and sets up trial views. `None` if it is missing.
pub(crate) fn leash_program() -> Option<PathBuf> {
    PROGRAM.get().filter(|it| it.exists()).cloned()
}

/// This program, if it is `flemma`, which has more to do as a process of its own than hold leashes.
/// `None` in other programs.
pub(crate) fn own_program() -> Option<&'static Path> {
    // An update may have removed the file.
    PROGRAM.get().map(|_| Path::new("/proc/self/exe"))
}

/// Limits this process to this many bytes of memory and seconds of processor time, as far as the system
/// can.
pub(crate) fn limit_this_process(memory: u64, seconds: u64) {
    use rustix::process::{Resource, Rlimit, setrlimit};
    for (resource, most) in [
        (Resource::As, memory),
        (Resource::Cpu, seconds),
        (Resource::Core, 0),
    ] {
        let most = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        let _ = setrlimit(resource, most);
    }
}

/// The path of the small program beside this program, `own`. It may not exist.
pub fn leash_beside(own: &Path) -> PathBuf {
    own.with_file_name("flemma-leash")
}

/// The leash of one command, seen from the host.
#[derive(Debug)]
pub(super) struct Leash {
    /// The path of the file that the leash creates if its exit code can't express how the command
    /// ended.
    report: TemporaryPath,
}

/// How a command ended, according to its leash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Released {
    /// The exit status of the command itself.
    pub status: ExitStatus,
    /// The number of processes that it left running.
    pub left: usize,
}

impl Leash {
    /// Creates a leash. Returns it with the words that start it, which precede the command's
    /// program, or `None` if leashes are not enabled. With `waits_for_all`, it ends when all processes
    /// of the command have.
    pub(super) fn new(waits_for_all: bool) -> Option<(Self, [OsString; 4])> {
        let program = PROGRAM.get()?.as_path();
        // An update may have removed the program.
        let own = Path::new("/proc/self/exe");
        let program = if program.exists() { program } else { own };
        // Without a file for its report, there is no leash.
        let report = state_dir::temporary_path().ok()?;
        let own = std::process::id();
        let own = if waits_for_all {
            format!("{FOR_ALL}{own}")
        } else {
            own.to_string()
        };
        let words = [
            program.into(),
            LEASH.into(),
            own.into(),
            report.as_path().into(),
        ];
        Some((Self { report }, words))
    }

    /// How the command ended, after the leash ended with `status`.
    pub(super) fn released(&self, status: ExitStatus) -> io::Result<Released> {
        let report = match std::fs::read_to_string(self.report.as_path()) {
            // Without a report, nothing was left, and the leash exits with the command's code.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Released { status, left: 0 });
            }
            report => report?,
        };
        let numbers = report.split_whitespace().map(str::parse::<i32>);
        match numbers.collect::<Result<Vec<_>, _>>().as_deref() {
            Ok([raw, left]) => Ok(Released {
                status: ExitStatus::from_raw(*raw),
                left: usize::try_from(*left).unwrap_or_default(),
            }),
            // A single number is the error of the start.
            Ok([error]) => Err(io::Error::from_raw_os_error(*error)),
            // The disk is full.
            _ => Ok(Released { status, left: 0 }),
        }
    }
}

/// Runs as a leash: runs a command, then ends everything that it started, or waits for it. `words`
/// are the arguments after [`LEASH`]. Without a command, it waits for that of a [`request`].
pub fn hold_leash(words: &[OsString]) -> ExitCode {
    let [host, report, words @ ..] = words else {
        return ExitCode::FAILURE;
    };
    adopt();
    let host = host.to_str().unwrap_or_default();
    let (host, waits_for_all) = match host.strip_prefix(FOR_ALL) {
        Some(host) => (host, true),
        None => (host, false),
    };
    let (mut command, waits_for_all) = match words {
        [] => match requested() {
            Ok(Some(requested)) => requested,
            // The host has ended, or needs no leash.
            Ok(None) => return ExitCode::SUCCESS,
            Err(error) => {
                write_report(report.as_ref(), &error.raw_os_error().to_string());
                return ExitCode::FAILURE;
            }
        },
        [name, file, arguments @ ..] => {
            let mut command = Command::new(file);
            command.arg0(name).args(arguments);
            (command, waits_for_all)
        }
        [_] => return ExitCode::FAILURE,
    };
    // In a group of its own, because a `kill 0` in the command must not end the leash.
    command.process_group(0);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            write_report(
                report.as_ref(),
                &error.raw_os_error().unwrap_or_default().to_string(),
            );
            return ExitCode::FAILURE;
        }
    };
    let host = host.parse().ok();
    // 0 is the parent of no process here, so an invalid number ends the command at once.
    let host = host.unwrap_or_default();
    let Some(status) = wait_for(child.id(), host) else {
        super::end_descendants();
        return ExitCode::FAILURE;
    };
    if waits_for_all && !wait_for_rest(host) {
        super::end_descendants();
        return ExitCode::FAILURE;
    }
    let left = end_rest(host);
    if left > 0 || status.code().is_none() {
        write_report(report.as_ref(), &format!("{} {left}", status.into_raw()));
    }
    // Without an exit code, the host reads the report.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Longest request, in bytes, which a pipe takes without waiting for its reader.
const MAX_REQUEST: usize = 32 * 1024;

/// The command as a leash reads it that was started before: its number of bytes, 8 of them, and words
/// that end with a NUL. `file` is the file of the shell. `None` if it is too long for a request, or no
/// program could get it.
pub(super) fn request(command: &process::Command<'_>, file: &OsStr) -> Option<Vec<u8>> {
    let variables = command.environment.iter();
    let count = command.environment.len().to_string();
    let for_all = if command.waits_for_all { FOR_ALL } else { "" };
    let words = [for_all.as_ref(), command.cwd.as_os_str(), count.as_ref()]
        .into_iter()
        .chain(variables.flat_map(|(name, value)| [name.as_os_str(), value]))
        .chain([
            command.shell.as_ref(),
            file,
            "-c".as_ref(),
            command.script.as_ref(),
        ]);
    let mut bytes = vec![0; SIZE];
    for word in words {
        if word.as_bytes().contains(&0) || bytes.len() + word.len() >= MAX_REQUEST {
            return None;
        }
        bytes.extend_from_slice(word.as_bytes());
        bytes.push(0);
    }
    let size = (bytes.len() - SIZE) as u64;
    bytes[..SIZE].copy_from_slice(&size.to_le_bytes());
    Some(bytes)
}

/// Bytes of the number at the start of a request.
const SIZE: usize = size_of::<u64>();

/// Waits for a [`request`] on standard input. `None` if the host ends before, or sends none.
///
/// # Errors
///
/// The request is damaged, or that of another version.
fn requested() -> Result<Option<(Command, bool)>, Errno> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().read_to_end(&mut bytes);
    if read.is_ok() && bytes.is_empty() {
        return Ok(None);
    }
    parse(&bytes).map(Some).ok_or(Errno::INVAL)
}

/// Returns the command of a [`request`], and whether the leash waits for all of its processes. `None` if
/// it is not whole.
fn parse(request: &[u8]) -> Option<(Command, bool)> {
    let (size, words) = request.split_first_chunk()?;
    // Half of a command must not run.
    if u64::from_le_bytes(*size) != words.len() as u64 {
        return None;
    }
    let words = words.strip_suffix(&[0])?.split(|byte| *byte == 0);
    let mut words = words.map(OsStr::from_bytes);
    let (for_all, cwd) = (words.next()?, words.next()?);
    let count = words.next()?.to_str()?.parse().ok()?;
    let variables: Option<Vec<_>> = (0..count)
        .map(|_| Some((words.next()?, words.next()?)))
        .collect();
    let (name, file) = (words.next()?, words.next()?);
    let mut command = Command::new(file);
    command.arg0(name).args(words).current_dir(cwd);
    command.env_clear().envs(variables?).stdin(Stdio::null());
    Some((command, !for_all.is_empty()))
}

fn adopt() {
    #[cfg(target_os = "linux")]
    // If this fails, the host finds processes that leave the command's tree by their mark.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Waits for the process `command`, and reaps orphans that end before it. `None` once the process
/// `host` is gone.
///
/// This process has no other thread, because starting and ending one would take longer than
/// many commands.
fn wait_for(command: u32, host: u32) -> Option<ExitStatus> {
    let ends: Vec<OwnedFd> = [command, host].into_iter().filter_map(end_of).collect();
    let pause = match ends.len() {
        2 => REAP_EVERY,
        _ => CHECK_EVERY,
    };
    loop {
        if let Some(status) = reap(command) {
            return Some(status);
        }
        // When the host ends, this process gets another parent.
        if parent_id() != host {
            return None;
        }
        wait_for_any(&ends, pause);
    }
}

/// Reaps all children that have ended. Returns the exit status of the child `id` if it is one of
/// them.
fn reap(id: u32) -> Option<ExitStatus> {
    use rustix::process::{WaitOptions, wait};
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some((ended, status))) if ended.as_raw_nonzero().get().cast_unsigned() == id => {
                return Some(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            // No other child has ended.
            Ok(None) | Err(_) => return None,
        }
    }
}

/// A descriptor that becomes readable when a process ends. `None` if the system has none, such as
/// Linux before 5.3, or if the process has been reaped.
fn end_of(id: u32) -> Option<OwnedFd> {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{PidfdFlags, pidfd_open};
        pidfd_open(super::tree::pid(id)?, PidfdFlags::empty()).ok()
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = id;
        None
    }
}

/// Waits until one of these descriptors is readable, for at most `pause`.
fn wait_for_any(ends: &[OwnedFd], pause: Duration) {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let mut ends: Vec<PollFd<'_>> = ends
        .iter()
        .map(|it| PollFd::new(it, PollFlags::IN))
        .collect();
    // The caller looks again after an error as well.
    let _ = poll(&mut ends, Timespec::try_from(pause).ok().as_ref());
}

/// Waits for the processes that the command left running. Returns false once the process `host` is
/// gone.
fn wait_for_rest(host: u32) -> bool {
    let end: Vec<OwnedFd> = end_of(host).into_iter().collect();
    while super::has_children() {
        if parent_id() != host {
            return false;
        }
        wait_for_any(&end, LEFT_EVERY);
    }
    true
}

/// Ends the processes that the command left running, and returns their number.
fn end_rest(host: u32) -> usize {
    use rustix::process::Signal;
    let mut asked = HashSet::new();
    let begun = Instant::now();
    while super::has_children() && begun.elapsed() < TERM_GRACE + KILL_FOR {
        // Without the host, nothing waits for the processes to clean up.
        if begun.elapsed() >= TERM_GRACE || parent_id() != host {
            super::signal(&started_by_us(), &[Signal::KILL]);
        } else {
            // A search misses a process whose parent forks it and ends at that moment; it then
            // becomes our child. Other new processes get no SIGTERM: an older process started
            // them to clean up.
            let mut new = if asked.is_empty() {
                started_by_us()
            } else {
                super::children(std::process::id()).unwrap_or_default()
            };
            new.retain(|id| asked.insert(*id));
            super::signal(&new, &[Signal::TERM, Signal::CONT]);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    asked.len()
}

fn write_report(report: &Path, text: &str) {
    // Neither another file nor the target of a link is written.
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let opened = open(report, flags, Mode::RUSR | Mode::WUSR).map(File::from);
    // If this fails, the host uses the exit code.
    let _ = opened.map(|mut file| file.write_all(text.as_bytes()));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn command<'a>(script: &'a str, cwd: &'a Path) -> process::Command<'a> {
        let odd = OsString::from(OsStr::from_bytes(b"\xff=\n"));
        process::Command {
            prefix: Vec::new(),
            shell: "bash",
            script,
            cwd,
            environment: vec![("A".into(), odd), ("EMPTY".into(), OsString::new())],
            waits_for_all: true,
        }
    }

    #[test]
    fn a_request_contains_the_whole_command() {
        let asked = command("echo '\n'\n# ü", Path::new("/a folder"));
        let request = request(&asked, OsStr::new("/bin/bash")).unwrap();
        let (command, waits_for_all) = parse(&request).unwrap();
        assert!(waits_for_all);
        assert_eq!(command.get_program(), "/bin/bash");
        let arguments: Vec<_> = command.get_args().collect();
        assert_eq!(arguments, ["-c", "echo '\n'\n# ü"]);
        assert_eq!(command.get_current_dir(), Some(Path::new("/a folder")));
        let variables = command.get_envs();
        let variables = variables.map(|(name, value)| (name.into(), value.unwrap().into()));
        assert_eq!(Vec::from_iter(variables), asked.environment);
    }

    #[test]
    fn a_part_of_a_request_runs_nothing() {
        let asked = command("rm -r build", Path::new("/"));
        let request = request(&asked, OsStr::new("/bin/bash")).unwrap();
        for end in 0..request.len() {
            assert!(parse(&request[..end]).is_none(), "{end}");
        }
    }

    #[test]
    fn a_command_that_no_program_could_get_is_not_requested() {
        let long = "a".repeat(MAX_REQUEST);
        for script in ["a\0b", &long] {
            assert!(request(&command(script, Path::new("/")), OsStr::new("bash")).is_none());
        }
    }
}
