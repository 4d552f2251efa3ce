//! The leash: a process between the host and a command that runs without a sandbox.
//!
//! It adopts all descendants of the command, whatever they do to their environment, group, or
//! session. It ends them when the command ends or when the host is gone. The leash is a program
//! of its own, because a process can only make itself a subreaper: `flemma-leash`, or `flemma
//! --leash` if that is missing.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempPath;

use super::tree::started_by_us;
use super::{orphans, watched};

/// The first argument of a leash.
pub const LEASH: &str = "--leash";
/// How long the remaining processes of a command may take to end after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(1);
/// How long SIGKILL is repeated. Once is enough unless a process forks at the same time.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Interval between searches for processes.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Interval between checks whether the host is alive. A signal on its death would need unsafe
/// code to handle.
const WATCH_EVERY: Duration = Duration::from_millis(50);

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

/// The path of the small program beside this program, `own`. It may not exist.
pub fn leash_beside(own: &Path) -> PathBuf {
    own.with_file_name("flemma-leash")
}

/// The leash of one command, seen from the host.
#[derive(Debug)]
pub(super) struct Leash {
    /// The file for how the command ended, if the exit code of the leash can't express it.
    report: TempPath,
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
    /// program, or `None` if leashes are not enabled.
    pub(super) fn new() -> Option<(Self, [OsString; 4])> {
        let program = PROGRAM.get()?.as_path();
        // An update may have removed the program.
        let own = Path::new("/proc/self/exe");
        let program = if program.exists() { program } else { own };
        let report = tempfile::Builder::new().prefix("flemma-").tempfile();
        // Without a file for its report, there is no leash.
        let report = report.ok()?.into_temp_path();
        let own = std::process::id().to_string();
        let words = [
            program.into(),
            LEASH.into(),
            own.into(),
            report.as_os_str().into(),
        ];
        Some((Self { report }, words))
    }

    /// How the command ended, after the leash ended with `status`.
    pub(super) fn released(&self, status: ExitStatus) -> io::Result<Released> {
        let report = std::fs::read_to_string(&self.report)?;
        let numbers = report.split_whitespace().map(str::parse::<i32>);
        match numbers.collect::<Result<Vec<_>, _>>().as_deref() {
            Ok([raw, left]) => Ok(Released {
                status: ExitStatus::from_raw(*raw),
                left: usize::try_from(*left).unwrap_or_default(),
            }),
            // A single number is the error of the start.
            Ok([error]) => Err(io::Error::from_raw_os_error(*error)),
            // Without a report, nothing was left, and the leash exits with the command's code.
            _ => Ok(Released { status, left: 0 }),
        }
    }
}

/// Runs as a leash: runs a command, then ends everything that it started. `words` are the
/// arguments after [`LEASH`].
pub fn hold_leash(words: &[OsString]) -> ExitCode {
    let [host, report, name, file, arguments @ ..] = words else {
        return ExitCode::FAILURE;
    };
    adopt();
    let mut command = Command::new(file);
    // In a group of its own, because a `kill 0` in the command must not end the leash.
    command.arg0(name).args(arguments).process_group(0);
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
    let host = host.to_str().and_then(|host| host.parse().ok());
    // After the start of the command, which need not wait for a thread.
    // 0 is the parent of no process here, so an invalid number ends the command at once.
    watch(host.unwrap_or_default());
    let status = wait_for(child.id());
    let left = end_rest();
    if left > 0 || status.code().is_none() {
        write_report(report.as_ref(), &format!("{} {left}", status.into_raw()));
    }
    // Without an exit code, the host reads the report.
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Starts a thread that ends everything once the host is gone.
fn watch(host: u32) {
    std::thread::spawn(move || {
        // When the host ends, this process gets another parent.
        while parent_id() == host {
            std::thread::sleep(WATCH_EVERY);
        }
        orphans::end_descendants();
        std::process::exit(1);
    });
}

fn adopt() {
    #[cfg(target_os = "linux")]
    // If this fails, the host finds processes that leave the command's tree by their mark.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Waits for the process `id`, and reaps orphans that end before it.
fn wait_for(id: u32) -> ExitStatus {
    use rustix::process::{WaitOptions, wait};
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_nonzero().get().cast_unsigned() == id => {
                return ExitStatus::from_raw(status.as_raw());
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Unreachable, because no other thread waits for it.
            Err(_) => return ExitStatus::from_raw(0),
        }
    }
}

/// Ends the processes that the command left running, and returns their number.
fn end_rest() -> usize {
    use rustix::process::Signal;
    let mut asked = HashSet::new();
    let begun = Instant::now();
    while orphans::has_children() && begun.elapsed() < TERM_GRACE + KILL_FOR {
        if begun.elapsed() >= TERM_GRACE {
            orphans::signal(&started_by_us(), &[Signal::KILL]);
        } else {
            // A search misses a process whose parent forks it and ends at that moment; it then
            // becomes our child. Other new processes get no SIGTERM: an older process started
            // them to clean up.
            let mut new = match asked.is_empty() {
                true => started_by_us(),
                false => watched::children(std::process::id()).unwrap_or_default(),
            };
            new.retain(|id| asked.insert(*id));
            orphans::signal(&new, &[Signal::TERM, Signal::CONT]);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    asked.len()
}

fn write_report(report: &Path, text: &str) {
    // If this fails, the host uses the exit code.
    let _ = std::fs::write(report, text);
}
