//! Process groups and sessions, and the leash, which only Linux has.

mod leash;
mod tree;

use std::ffi::{OsStr, OsString};
use std::io::{self, PipeReader, PipeWriter, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

pub(super) use process_wrap::tokio::{ChildWrapper, CommandWrap};
use process_wrap::tokio::{KillOnDrop, ProcessGroup, ProcessSession};
use rustix::process::{Signal, WaitOptions, wait};
use tokio::runtime::Handle;

use self::leash::Leash;
pub use self::leash::{LEASH, hold_leash, leash_beside, leash_with};
pub(crate) use self::leash::{leash_program, limit_this_process, own_program};
use self::tree::{Tree, is_leash, kill, pid, started_by_us};
use super::{Command, ProcessMark, check, child_environment, spawn};
use crate::sandbox::DIE_WITH_PARENT;

// The processes of one call, none of which outlives it.

/// A program and all of its descendants.
#[derive(Debug)]
pub(crate) struct HeldProcesses {
    /// The program, or its leash. A program ends at once when this is dropped, before `rest` is.
    child: Box<dyn ChildWrapper>,
    rest: Rest,
    /// True if it ends when all of its processes have.
    waits_for_all: bool,
}

/// Ends the other processes.
#[derive(Debug)]
struct Rest {
    tree: Tree,
    /// True if the processes have ended or are being stopped.
    is_stopped: bool,
    leash: Option<Leash>,
    /// The number of background processes that the leash has stopped.
    left: usize,
}

impl HeldProcesses {
    /// Starts a program in its own process group, without a terminal.
    ///
    /// Its environment must contain `mark`, by which processes that left the group are found. A
    /// sandboxed program can't reach abstract sockets either.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start(
        mut wrap: CommandWrap,
        mark: &ProcessMark,
        start: ProgramStart,
    ) -> io::Result<Self> {
        // If the call is dropped, the program itself ends at once, and `drop` below ends the
        // others. A leash must outlive them: if this process is killed meanwhile, only the leash
        // can end them.
        if start.leash.is_none() {
            wrap.wrap(KillOnDrop);
        }
        without_terminal(&mut wrap);
        let child = spawn(wrap, start.is_sandboxed)?;
        let mut held = Self::new(child, mark, start.leash, Instant::now())?;
        held.waits_for_all = start.waits_for_all;
        Ok(held)
    }

    /// Hands a command to the leash that was started for the next one. `shell` is the file of its shell.
    /// Returns the command's output and processes. `None` if no leash is ready, or it can't take this
    /// command, which is to be started then.
    pub(crate) fn hand_over(
        command: &Command<'_>,
        shell: &OsStr,
        mark: &ProcessMark,
    ) -> Option<(PipeReader, Self)> {
        // The leash is not restricted like those that start a sandbox.
        if !command.prefix.is_empty() || check(shell).is_err() {
            return None;
        }
        let request = leash::request(command, shell)?;
        let mut ready = ready_leash().take()?;
        // It may have been killed.
        if !matches!(ready.child.try_wait(), Ok(None)) {
            return None;
        }
        ready.request.write_all(&request).ok()?;
        let held = Self::new(ready.child, mark, Some(ready.leash), ready.since);
        let mut held = held.ok()?;
        held.waits_for_all = command.waits_for_all;
        Some((ready.output, held))
    }

    /// Starts a program in its own session, without a sandbox or a leash.
    ///
    /// # Errors
    ///
    /// It can't be started.
    pub(crate) fn start_session(mut wrap: CommandWrap, mark: &ProcessMark) -> io::Result<Self> {
        wrap.wrap(KillOnDrop).wrap(ProcessSession);
        Self::new(wrap.spawn()?, mark, None, Instant::now())
    }

    fn new(
        child: Box<dyn ChildWrapper>,
        mark: &ProcessMark,
        leash: Option<Leash>,
        since: Instant,
    ) -> io::Result<Self> {
        let leader = child
            .id()
            .ok_or_else(|| io::Error::other("the program has no process id"))?;
        Ok(Self {
            // The inner child, because the wrapper waits for the whole group.
            child: child.into_inner(),
            rest: Rest {
                tree: Tree::new(leader, mark, leash.is_some(), since),
                is_stopped: false,
                leash,
                left: 0,
            },
            waits_for_all: false,
        })
    }

    /// The program, for its standard streams.
    pub(crate) fn child(&mut self) -> &mut dyn ChildWrapper {
        self.child.as_mut()
    }

    /// Waits until the program itself has ended, or all of its processes have. Cancel-safe.
    ///
    /// # Errors
    ///
    /// The operating system reports an error, or the leash could not start the program.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        let status = self.child.wait().await?;
        // A leash ends after all others.
        if self.waits_for_all && self.rest.leash.is_none() {
            self.rest.tree.wait_for_all().await;
        }
        self.rest.released(status)
    }

    /// Waits until the process that was started has ended, whatever it was, so that no zombie is
    /// left.
    pub(crate) async fn reap(&mut self) {
        let _ = self.child.wait().await;
    }

    /// Asks the system if the program itself is still running. Reaps one that has ended.
    pub(crate) fn check_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The number of background processes that were stopped after the program had ended.
    pub(crate) fn left(&self) -> usize {
        self.rest.left
    }

    /// Sends SIGTERM to the program and its group, without searching for processes. Only valid
    /// before the program was waited for, because its id may be reused afterwards.
    pub(crate) fn ask_to_end(&self) {
        self.rest.tree.ask_to_end();
    }

    /// Looks for processes of the call after its program has ended. Returns true if certainly none is
    /// left, which is remembered.
    pub(crate) fn confirm_gone(&mut self) -> bool {
        self.rest.is_stopped |= self.rest.tree.is_surely_gone();
        self.rest.is_stopped
    }

    /// Ends all processes, including those that left the group, and returns how many there were.
    /// Continues if the future is dropped.
    pub(crate) async fn stop(&mut self) -> usize {
        self.rest.is_stopped = true;
        let tree = self.rest.tree.clone();
        let stopping = tokio::spawn(async move { tree.stop().await });
        stopping.await.unwrap_or_default()
    }

    /// Lets background processes of the program, which has ended, continue.
    pub(crate) fn leave(mut self) {
        self.rest.is_stopped = true;
        self.rest.tree.leave();
    }
}

impl Rest {
    /// The program's exit status, given that of the process that was started.
    fn released(&mut self, status: ExitStatus) -> io::Result<ExitStatus> {
        // A leash that was killed could not stop the other processes.
        let leash = self.leash.as_ref().filter(|_| status.code().is_some());
        let Some(leash) = leash else {
            return Ok(status);
        };
        self.is_stopped = true;
        let released = leash.released(status)?;
        self.left = released.left;
        Ok(released.status)
    }
}

impl Drop for Rest {
    /// Ends the processes of a call that was dropped or whose task panicked.
    fn drop(&mut self) {
        // Without a runtime the host is exiting, and ends all processes itself.
        if !self.is_stopped
            && let Ok(runtime) = Handle::try_current()
        {
            let tree = self.tree.clone();
            runtime.spawn(async move { tree.stop().await });
        }
    }
}

// A leash that is started before its command, because its start takes as long as many commands.

/// A leash without a command. It ends when this is dropped.
#[derive(Debug)]
struct ReadyLeash {
    child: Box<dyn ChildWrapper>,
    leash: Leash,
    /// Its standard input.
    request: PipeWriter,
    /// Its standard output and standard error.
    output: PipeReader,
    /// When it was started.
    since: Instant,
}

fn ready_leash() -> MutexGuard<'static, Option<ReadyLeash>> {
    static READY: Mutex<Option<ReadyLeash>> = Mutex::new(None);
    READY.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the leash of the next command, unless one is ready or leashes are not enabled. Call it in a
/// runtime.
pub(crate) fn prepare_leash() {
    let mut ready = ready_leash();
    if ready.is_none() {
        // Without one, the next command starts its own, and reports errors.
        *ready = ReadyLeash::start().ok().flatten();
    }
}

impl ReadyLeash {
    fn start() -> io::Result<Option<Self>> {
        let Some((leash, [program, words @ ..])) = Leash::new(false) else {
            return Ok(None);
        };
        let (stdin, request) = io::pipe()?;
        let (output, stdout) = io::pipe()?;
        let stderr = stdout.try_clone()?;
        // The request has the variables of the command.
        let variables = child_environment(crate::variables(), &[], &ProcessMark::new("leash"));
        let mut wrap = CommandWrap::with_new(program, |process| {
            process.arg0(LEASH_NAME).args(words).current_dir("/");
            process.env_clear().envs(variables);
            process.stdin(stdin).stdout(stdout).stderr(stderr);
        });
        without_terminal(&mut wrap);
        Ok(Some(Self {
            child: spawn(wrap, false)?,
            leash,
            request,
            output,
            since: Instant::now(),
        }))
    }
}

// The words that start a program.

/// The name of a leash in the list of processes.
const LEASH_NAME: &str = "flemma";

/// How a program is started: in the sandbox, on a leash, or by itself.
pub(crate) struct ProgramStart {
    program: OsString,
    before: Vec<OsString>,
    /// Its `argv[0]`, if that differs from its path.
    name: Option<OsString>,
    file: Option<OsString>,
    leash: Option<Leash>,
    /// True if the program runs in a sandbox.
    pub(crate) is_sandboxed: bool,
    waits_for_all: bool,
}

impl ProgramStart {
    /// Prepares the start of `file`, whose `argv[0]` is `name`. `prefix` are the words that put it
    /// in a sandbox. With `waits_for_all`, it ends when all of its processes have.
    ///
    /// # Errors
    ///
    /// It would run on a leash, but it can't be run.
    pub(crate) fn new(
        prefix: Vec<OsString>,
        name: &OsStr,
        file: OsString,
        waits_for_all: bool,
    ) -> io::Result<Self> {
        let is_sandboxed = !prefix.is_empty();
        // A sandbox ends all processes by itself, but it ends with the shell.
        let leash = if is_sandboxed && !waits_for_all {
            None
        } else {
            Leash::new(waits_for_all)
        };
        let Some((leash, [program, leashed @ ..])) = leash else {
            let mut words = prefix.into_iter();
            let sandbox = words.next();
            return Ok(Self {
                // Scripts see it as `$0`.
                name: sandbox.is_none().then(|| name.to_owned()),
                before: words.collect(),
                file: sandbox.is_some().then(|| file.clone()),
                program: sandbox.unwrap_or(file),
                leash: None,
                is_sandboxed,
                waits_for_all,
            });
        };
        // A leash would report the error only after it has started.
        super::check(&file)?;
        let sandbox = prefix.first().cloned();
        let before = leashed.into_iter();
        Ok(Self {
            program,
            before: match sandbox {
                None => before.chain([name.to_owned()]).collect(),
                Some(sandbox) => before
                    .chain([sandbox])
                    // The sandbox ends with the last of its processes, or the leash ends it.
                    .chain(prefix.into_iter().filter(|it| it != DIE_WITH_PARENT))
                    .collect(),
            },
            name: Some(LEASH_NAME.into()),
            file: Some(file),
            leash: Some(leash),
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
        if let Some(name) = &self.name {
            process.arg0(name);
        }
        process.args(self.before.iter().chain(&self.file));
    }
}

/// A script that a shell runs.
pub(crate) struct Script(String);

impl Script {
    /// Prepares a script for `shell`.
    ///
    /// # Errors
    ///
    /// Never; other systems need a file.
    pub(crate) fn new(_shell: &str, script: &str) -> io::Result<Self> {
        Ok(Self(script.to_owned()))
    }

    /// Adds the arguments of the shell.
    pub(crate) fn words(&self, process: &mut tokio::process::Command) {
        process.arg("-c").arg(&self.0);
    }
}

/// The program that starting a program by its name or path starts. The system searches `PATH`.
pub(crate) fn program_file(name: &str) -> OsString {
    name.into()
}

// Ends everything that this process started, before it ends itself.
//
// Besides descendants, these are processes with the mark of a call: a daemon is no longer a
// descendant, because its parent is the process that adopts orphans.

/// How long SIGKILL is repeated. Once is enough unless a process forks at the same time.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// How long a leash may take to end by itself.
const LEASH_GRACE: Duration = Duration::from_secs(1);
/// Interval between searches for processes.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Kills everything that this process started, and reaps its children. Blocks for at most 1.5
/// seconds, so it is only for a process that is about to end. Without `/proc`, these are the process groups of
/// the calls.
pub fn end_descendants() {
    drop(ready_leash().take());
    let begun = Instant::now();
    while begun.elapsed() < KILL_FOR {
        let mut left = started_by_us();
        // A search misses a process whose parent forks it and ends at that moment.
        if left.is_empty() && !has_children() {
            break;
        }
        // Without its leash, a command would live on if this process were killed now. The leash
        // ends by itself, after everything that it holds.
        if begun.elapsed() < LEASH_GRACE {
            left.retain(|id| !is_leash(*id));
        }
        signal(&left, &[Signal::KILL]);
        while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        std::thread::sleep(LOOK_EVERY);
    }
}

// The watcher: waits for the worker, and ends the processes that it leaves.

/// The first argument of a watcher that is started as the small program.
pub const WATCH: &str = "--watch";

/// Waits for a worker, then ends every process that it left. `words` are the arguments after [`WATCH`]: the
/// worker's process id, which must be that of a child. Returns the worker's exit code, or 128 plus the number
/// of the signal that killed it, as in a shell.
pub fn hold_watch(words: &[OsString]) -> ExitCode {
    let [id] = words else {
        return ExitCode::FAILURE;
    };
    // A host's watcher holds no secrets, but it does hold the channel to Neovim.
    close_to_others();
    let id = id.to_str().and_then(|id| id.parse().ok());
    id.map_or(ExitCode::FAILURE, watch)
}

/// Keeps other processes of the user from reading the memory and environment of this one,
/// which contain keys. Root can still read them.
pub fn close_to_others() {
    // The files of such a process in /proc belong to root, and only root can trace it.
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        if let Err(error) = set_dumpable_behavior(DumpableBehavior::NotDumpable) {
            tracing::warn!(%error, "other processes can read the memory of this one");
        }
    }
}

fn watch(worker: u32) -> ExitCode {
    let status = wait_for(worker);
    end_descendants();
    let signal = status
        .and_then(|it| it.signal())
        .map(|signal| match signal {
            // An interrupt that was passed on before the worker handled signals.
            it if it == Signal::USR1.as_raw() => 128 + Signal::INT.as_raw(),
            it => 128 + it,
        });
    let code = status.and_then(|it| it.code()).or(signal);
    let code = code.and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Waits for a child, and reaps orphans that end before it: the worker counts every other child of its
/// watcher as a running process. `None` if there is no such child.
fn wait_for(child: u32) -> Option<ExitStatus> {
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((id, status))) if id.as_raw_nonzero().get().cast_unsigned() == child => {
                return Some(ExitStatus::from_raw(status.as_raw()));
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => return None,
        }
    }
}

/// Sends `signals` to these processes. Those that have ended are skipped.
fn signal(ids: &[u32], signals: &[Signal]) {
    for pid in ids.iter().filter_map(|&id| pid(id)) {
        for signal in signals {
            kill(pid, *signal);
        }
    }
}

/// Reaps the children that have ended. Returns true if there are others.
fn has_children() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            // A signal may have interrupted the call.
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            // ECHILD: there are no children.
            Err(_) => return false,
        }
    }
}

// Optimizations for a host with a watcher: commands need no session of their own, and background
// processes that they leave are found at once.

/// The process that watches this one.
static WATCHER: OnceLock<u32> = OnceLock::new();

/// Declares that the process `watcher` only watches this one: it adopts and reaps all orphans of
/// this process. Detaches this process from the terminal, which only commands could use.
///
/// Call it once, before anything is started. If it fails, as in a process that leads a group,
/// commands get sessions of their own.
pub fn watched_by(watcher: u32) {
    match rustix::process::setsid() {
        // This is the only place that sets it.
        Ok(_) => drop(WATCHER.set(watcher).ok()),
        Err(error) => tracing::warn!(%error, "the terminal cannot be left"),
    }
}

/// Has a program start in a group of its own, without a terminal.
fn without_terminal(wrap: &mut CommandWrap) {
    if WATCHER.get().is_some() {
        // This process has no terminal either. A session would need a fork, and copying a process
        // with as much memory as ours takes longer than most commands.
        wrap.wrap(ProcessGroup::leader());
    } else {
        wrap.wrap(ProcessSession);
    }
}

/// Ids of the orphans of this process, running or zombies; `None` if they are unknown.
#[cfg(target_os = "linux")]
fn orphans() -> Option<Vec<u32>> {
    let us = std::process::id();
    let ids = children(*WATCHER.get()?)?;
    Some(ids.into_iter().filter(|id| *id != us).collect())
}

/// Ids of the children of a process with one thread, running or zombies.
fn children(parent: u32) -> Option<Vec<u32>> {
    // proc(5); the kernel's CONFIG_PROC_CHILDREN, which distributions set.
    let children = std::fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let ids = children.ok()?;
    let ids = ids.split_ascii_whitespace();
    Some(ids.filter_map(|id| id.parse().ok()).collect())
}

/// Ids of the orphans of this process, running or zombies; `None` if they are unknown.
#[cfg(not(target_os = "linux"))]
fn orphans() -> Option<Vec<u32>> {
    None
}
