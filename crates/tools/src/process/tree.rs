//! Finds and ends all processes of one call.
//!
//! With a leash, the processes of a call are the descendants of the leash. Otherwise they are those
//! in the shell's group or session, those with the call's mark in their environment, and the
//! descendants of all these. Without `/proc`, only the process group is known. No other module
//! searches `/proc` for processes.

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::time::{Instant, sleep};

use super::ProcessMark;

/// How long processes may take to end by themselves after SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(1000);
/// How long SIGKILL is repeated; more appear only while something forks.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Age up to which the processes of a call are searched among the newest process ids only. Ids
/// repeat after 32,768 processes, which don't start in this time. Checking every process of the
/// machine would take longer than most commands.
const YOUNG: Duration = Duration::from_secs(1);
/// Interval between two searches.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The processes of one call.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    leader: u32,
    mark: String,
    since: Instant,
    /// Whether the leader is a leash, which ends by itself when all others are gone.
    is_leash: bool,
}

/// A process, identified by its id and its start time, because ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Member {
    id: u32,
    started: u64,
}

impl Tree {
    pub(super) fn new(leader: u32, mark: &ProcessMark, is_leash: bool) -> Self {
        Self {
            leader,
            mark: format!("{}={}", ProcessMark::NAME, mark.value()),
            since: Instant::now(),
            is_leash,
        }
    }

    /// Whether certainly no process of the call is left after its shell has ended, because there
    /// are no orphans. Cheaper than [`Tree::stop`], which checks processes one by one.
    pub(super) fn is_surely_gone(&self) -> bool {
        super::watched::orphans().is_some_and(|orphans| orphans.is_empty())
    }

    /// Ends all processes with SIGTERM and, after a second, SIGKILL. Returns how many there were.
    pub(super) async fn stop(&self) -> usize {
        let mut known = HashSet::new();
        let mut found = self.living(&mut known).await;
        if found.is_empty() && !self.is_surely_gone() {
            // A search misses a process whose parent forks it and ends during the search.
            found = self.living(&mut known).await;
        }
        if found.is_empty() {
            return 0;
        }
        self.signal(&found, Signal::TERM);
        // A stopped process handles SIGTERM only when it continues.
        self.signal(&found, Signal::CONT);
        let gone = self.gone_within(TERM_GRACE, None, &mut known).await
            || self
                .gone_within(KILL_FOR, Some(Signal::KILL), &mut known)
                .await;
        if !gone {
            tracing::warn!(leader = self.leader, "processes survived SIGKILL");
        }
        found.len()
    }

    /// Waits until no process is left, sending `signal` to those that are.
    async fn gone_within(
        &self,
        patience: Duration,
        signal: Option<Signal>,
        known: &mut HashSet<Member>,
    ) -> bool {
        let deadline = Instant::now() + patience;
        loop {
            let left = self.living(known).await;
            if left.is_empty() {
                return true;
            }
            if Instant::now() >= deadline {
                return false;
            }
            if let Some(signal) = signal {
                self.signal(&left, signal);
            }
            sleep(LOOK_EVERY).await;
        }
    }

    /// Sends SIGTERM to the shell's group before its processes are searched. Does nothing unless
    /// orphans can be found: otherwise a process must be found before its parent ends.
    pub(super) fn ask_to_end(&self) {
        if super::watched::orphans().is_none() {
            return;
        }
        let held: Vec<u32> = match self.is_leash {
            // The leash stays, because it ends by itself and reports what is left.
            true => super::watched::children(self.leader).unwrap_or_default(),
            false => Vec::new(),
        };
        self.signal(&held, Signal::TERM);
        self.signal(&held, Signal::CONT);
    }

    /// Sends a signal. Ignores errors, which mean that the process has ended.
    fn signal(&self, members: &[u32], signal: Signal) {
        // A signal to the group also reaches processes that were started during the search.
        let leader = pid(self.leader).filter(|_| !self.is_leash);
        if let Some(leader) = leader {
            let _ = kill_process_group(leader, signal);
        }
        for member in members.iter().filter_map(|&member| pid(member)) {
            let _ = kill_process(member, signal);
        }
    }

    /// The ids of all living processes of the call. `known` are those found before: after its
    /// parent has ended, a process may be recognizable only by that.
    async fn living(&self, known: &mut HashSet<Member>) -> Vec<u32> {
        let tree = self.clone();
        let before = known.clone();
        // Blocking, because reading a process's environment can wait for that process.
        let looked = tokio::task::spawn_blocking(move || tree.look(&before)).await;
        let living = looked.unwrap_or_default();
        known.extend(&living);
        living.into_iter().map(|member| member.id).collect()
    }

    #[cfg(not(target_os = "linux"))]
    fn look(&self, _known: &HashSet<Member>) -> Vec<Member> {
        let group = pid(self.leader);
        let alive =
            group.is_some_and(|group| rustix::process::test_kill_process_group(group).is_ok());
        let leader = Member {
            id: self.leader,
            started: 0,
        };
        if alive { vec![leader] } else { Vec::new() }
    }

    #[cfg(target_os = "linux")]
    fn look(&self, known: &HashSet<Member>) -> Vec<Member> {
        let all = if self.since.elapsed() < YOUNG {
            linux::processes_since(self.leader)
        } else {
            linux::processes()
        };
        let is_held = |process: &&linux::Process| {
            let id = process.member.id;
            let shells = process.group == self.leader || process.session == self.leader;
            shells || known.contains(&process.member) || linux::has_variable(id, &self.mark)
        };
        // With a leash, descent decides, even if a process left the group and cleared its
        // environment.
        let mut belongs: HashSet<u32> = match self.has_leash(&all) {
            true => HashSet::from([self.leader]),
            false => all.iter().filter(is_held).map(|it| it.member.id).collect(),
        };
        add_descendants(&all, &mut belongs);
        let members = all
            .iter()
            .filter(|process| belongs.contains(&process.member.id));
        members
            .filter(|process| process.is_alive)
            .map(|process| process.member)
            .filter(|member| !(self.is_leash && member.id == self.leader))
            .collect()
    }

    /// Whether the call's leash is alive.
    #[cfg(target_os = "linux")]
    fn has_leash(&self, all: &[linux::Process]) -> bool {
        let mut leashes = all.iter().filter(|it| it.member.id == self.leader);
        self.is_leash && leashes.any(|it| it.is_alive)
    }
}

/// Adds all descendants.
#[cfg(target_os = "linux")]
fn add_descendants(all: &[linux::Process], belongs: &mut HashSet<u32>) {
    // Children may be listed before their parents, so repeat until nothing is added.
    loop {
        let count = belongs.len();
        let children: Vec<u32> = all
            .iter()
            .filter(|process| belongs.contains(&process.parent))
            .map(|process| process.member.id)
            .collect();
        belongs.extend(children);
        if belongs.len() == count {
            break;
        }
    }
}

/// Ids of all living descendants of this process, and of processes with the mark of one of our
/// calls.
#[cfg(target_os = "linux")]
pub(super) fn started_by_us() -> Vec<u32> {
    let us = std::process::id();
    let mark = format!("{}={}", ProcessMark::NAME, ProcessMark::ours());
    let all = linux::processes();
    let marked = all
        .iter()
        .map(|process| process.member.id)
        .filter(|&id| linux::has_variable_from(id, &mark));
    let mut belongs: HashSet<u32> = marked.chain([us]).collect();
    add_descendants(&all, &mut belongs);
    let living = all
        .iter()
        .filter(|process| process.is_alive && process.member.id != us);
    living
        .map(|process| process.member.id)
        .filter(|id| belongs.contains(id))
        .collect()
}

pub(super) fn pid(id: u32) -> Option<Pid> {
    // As targets of signals, 0 and 1 mean groups of processes or init.
    i32::try_from(id)
        .ok()
        .filter(|&id| id > 1)
        .and_then(Pid::from_raw)
}

#[cfg(target_os = "linux")]
mod linux {
    //! `/proc/<pid>/stat` and `environ`, see proc(5).

    use std::fs;

    use super::Member;

    pub(super) struct Process {
        pub member: Member,
        pub parent: u32,
        pub group: u32,
        pub session: u32,
        pub is_alive: bool,
    }

    pub(super) fn processes() -> Vec<Process> {
        let Ok(entries) = fs::read_dir("/proc") else {
            return Vec::new();
        };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        names
            .filter_map(|name| process(name.parse().ok()?))
            .collect()
    }

    /// The processes with an id from `first` to the newest; all if the newest is unknown.
    // Ids are given out in increasing order, so descendants of `first` have larger ones.
    pub(super) fn processes_since(first: u32) -> Vec<Process> {
        match newest_id() {
            Some(newest) if newest >= first => (first..=newest).filter_map(process).collect(),
            _ => processes(),
        }
    }

    /// The last field of `/proc/loadavg`.
    fn newest_id() -> Option<u32> {
        let load = fs::read_to_string("/proc/loadavg").ok()?;
        load.split_whitespace().next_back()?.parse().ok()
    }

    fn process(id: u32) -> Option<Process> {
        // Bytes, as the program's name inside may be anything, even ") 1 2".
        let stat = fs::read(format!("/proc/{id}/stat")).ok()?;
        let after_name = stat.iter().rposition(|&byte| byte == b')')? + 1;
        let fields = String::from_utf8_lossy(&stat[after_name..]).into_owned();
        let mut fields = fields.split_whitespace();
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let session = fields.next()?.parse().ok()?;
        // Field 22 of the line, 16 after the session, in clock ticks since boot.
        let started = fields.nth(15)?.parse().ok()?;
        Some(Process {
            member: Member { id, started },
            parent,
            group,
            session,
            is_alive: !matches!(state, "Z" | "X" | "x"),
        })
    }

    /// Whether the process was started with exactly this `NAME=value`.
    pub(super) fn has_variable(id: u32, variable: &str) -> bool {
        any_variable(id, |entry| entry == variable.as_bytes())
    }

    /// Whether it was started with a variable whose `NAME=value` begins like this.
    pub(super) fn has_variable_from(id: u32, start: &str) -> bool {
        any_variable(id, |entry| entry.starts_with(start.as_bytes()))
    }

    fn any_variable(id: u32, is_it: impl Fn(&[u8]) -> bool) -> bool {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(is_it)
    }
}
