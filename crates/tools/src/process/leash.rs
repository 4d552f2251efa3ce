//! A process between this one and a command that no sandbox holds.
//!
//! It collects what the command leaves behind and ends it with the command; and it ends
//! all of it when this process is gone. So what belongs to a command is what descends
//! from its leash, whatever the command does to its environment, group or session. The
//! leash is a program of its own, because only a process can ask for this for itself:
//! `flemma-leash`, or `flemma` started again where that is missing.

use std::collections::HashSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt, parent_id};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, ExitStatus};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempPath;

use super::{orphans, watched};

/// The first argument of a leash.
pub const LEASH: &str = "--leash";
/// How long what a command left behind may take to end by itself after SIGTERM.
const TERM_GRACE: Duration = Duration::from_secs(1);
/// How long SIGKILL is repeated; more appear only while something forks.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Between two looks at the processes.
const LOOK_EVERY: Duration = Duration::from_millis(5);
/// Between two looks at the host. It is looked at because a signal of its death could not
/// be handled without unsafe code.
const WATCH_EVERY: Duration = Duration::from_millis(50);

static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Starts commands that no sandbox holds on a leash from now on. `own` is this program: it
/// calls [`hold_leash`] with what follows when its first argument is [`LEASH`]. So does the
/// small program beside it, which starts in a third of the time.
pub fn leash_with(own: PathBuf) {
    let small = leash_beside(&own);
    let program = if small.is_file() { small } else { own };
    // Only the first one counts: commands that run were started with it.
    let _ = PROGRAM.set(program);
}

/// Where the program for leashes belongs when `own` is this program. It need not be there.
pub fn leash_beside(own: &Path) -> PathBuf {
    own.with_file_name("flemma-leash")
}

/// The leash of one command, seen from the host.
#[derive(Debug)]
pub(super) struct Leash {
    /// Where it says how the command ended, when its exit code cannot.
    report: TempPath,
}

/// How a command ended, by its leash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Released {
    /// Of the command itself.
    pub status: ExitStatus,
    /// Processes that it had left behind.
    pub left: usize,
}

impl Leash {
    /// A leash and the words that start it, before the program's file; none where commands
    /// are not leashed.
    pub(super) fn new() -> Option<(Self, [OsString; 4])> {
        let program = PROGRAM.get()?.as_path();
        // An update removes the file that this process was started from.
        let own = Path::new("/proc/self/exe");
        let program = if program.exists() { program } else { own };
        let report = tempfile::Builder::new().prefix("flemma-").tempfile();
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

    /// How the command ended, now that the leash has ended with `status`.
    pub(super) fn released(&self, status: ExitStatus) -> io::Result<Released> {
        let report = std::fs::read_to_string(&self.report)?;
        let numbers = report.split_whitespace().map(str::parse::<i32>);
        match numbers.collect::<Result<Vec<_>, _>>().as_deref() {
            Ok([raw, left]) => Ok(Released {
                status: ExitStatus::from_raw(*raw),
                left: usize::try_from(*left).unwrap_or_default(),
            }),
            Ok([error]) => Err(io::Error::from_raw_os_error(*error)),
            _ => Ok(Released { status, left: 0 }),
        }
    }
}

/// What a leash does: runs a command to its end and everything that it started. `words`
/// follow [`LEASH`].
pub fn hold_leash(words: &[OsString]) -> ExitCode {
    let [host, report, name, file, arguments @ ..] = words else {
        return ExitCode::FAILURE;
    };
    let host = host.to_str().and_then(|host| host.parse().ok());
    watch(host.unwrap_or_default());
    adopt();
    let mut command = Command::new(file);
    command.arg0(name).args(arguments).process_group(0);
    let child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            say(
                report.as_ref(),
                &error.raw_os_error().unwrap_or_default().to_string(),
            );
            return ExitCode::FAILURE;
        }
    };
    let status = wait_for(child.id());
    let left = end_rest();
    if left > 0 || status.code().is_none() {
        say(report.as_ref(), &format!("{} {left}", status.into_raw()));
    }
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Ends everything once the host is gone.
fn watch(host: u32) {
    std::thread::spawn(move || {
        while parent_id() == host {
            std::thread::sleep(WATCH_EVERY);
        }
        orphans::end_descendants();
        std::process::exit(1);
    });
}

fn adopt() {
    #[cfg(target_os = "linux")]
    // Where it cannot be done, what leaves the command's tree is the host's to find.
    let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
}

/// Waits for the process `id`, and for orphans on the way.
fn wait_for(id: u32) -> ExitStatus {
    use rustix::process::{WaitOptions, wait};
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((ended, status))) if ended.as_raw_nonzero().get().cast_unsigned() == id => {
                return ExitStatus::from_raw(status.as_raw());
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // No other thread waits for it, so this does not happen.
            Err(_) => return ExitStatus::from_raw(0),
        }
    }
}

/// Ends what the command left behind; returns how many processes that were.
fn end_rest() -> usize {
    use rustix::process::Signal;
    let mut asked = HashSet::new();
    let begun = Instant::now();
    while orphans::has_children() && begun.elapsed() < TERM_GRACE + KILL_FOR {
        if begun.elapsed() >= TERM_GRACE {
            orphans::signal(&orphans::descendants(), &[Signal::KILL]);
        } else {
            // A look at the processes misses one that is forked meanwhile by a parent that
            // ends. It shows up as our child. Other new processes are left alone: they are
            // how an older one ends itself.
            let mut new = match asked.is_empty() {
                true => orphans::descendants(),
                false => watched::children(std::process::id()).unwrap_or_default(),
            };
            new.retain(|id| asked.insert(*id));
            orphans::signal(&new, &[Signal::TERM, Signal::CONT]);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    asked.len()
}

fn say(report: &Path, text: &str) {
    // Without it the host goes by the exit code.
    let _ = std::fs::write(report, text);
}
