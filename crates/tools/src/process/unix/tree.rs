//! Finds and ends all processes of one call.
//!
//! With a leash, the processes of a call are the descendants of the leash. Otherwise they are those
//! in the shell's group or session, those with the call's mark in their environment, and the
//! descendants of all these. Without `/proc`, only the process group is known. No other module
//! searches `/proc` for processes.

#[cfg(not(target_os = "linux"))]
mod elsewhere {
    //! Process groups are all that is known without `/proc`.

    use std::collections::{BTreeSet, HashSet};
    use std::sync::{Mutex, PoisonError};
    use std::time::Instant;

    use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

    use super::{Member, pid};
    use crate::process::ProcessMark;

    /// The groups of the calls that have not been ended.
    static GROUPS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

    /// How the processes of one call are found.
    #[derive(Debug, Clone)]
    pub(super) struct Search {
        leader: u32,
    }

    impl Search {
        pub(super) fn new(
            leader: u32,
            _mark: &ProcessMark,
            _is_leash: bool,
            _since: Instant,
        ) -> Self {
            let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
            groups.insert(leader);
            Self { leader }
        }

        /// The process ID of the group's leader, if the group has a living process.
        pub(super) fn look(&self, _known: &HashSet<Member>) -> Vec<Member> {
            let leader = Member {
                id: self.leader,
                started: 0,
            };
            Vec::from_iter(is_alive(self.leader).then_some(leader))
        }

        /// Forgets the group, whose id another one may get from now on.
        pub(super) fn end(&self) {
            let mut groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
            groups.remove(&self.leader);
        }
    }

    /// The leaders of all groups that are still alive.
    pub(in crate::process::unix) fn started_by_us() -> Vec<u32> {
        let groups = GROUPS.lock().unwrap_or_else(PoisonError::into_inner);
        groups.iter().copied().filter(|&it| is_alive(it)).collect()
    }

    /// Sends a signal to a group of [`started_by_us`].
    pub(in crate::process::unix) fn kill(leader: Pid, signal: Signal) {
        // Fails if it has ended.
        let _ = kill_process_group(leader, signal);
    }

    /// Always false: only Linux has leashes.
    pub(in crate::process::unix) fn is_leash(_id: u32) -> bool {
        false
    }

    fn is_alive(group: u32) -> bool {
        pid(group).is_some_and(|group| test_kill_process_group(group).is_ok())
    }
}
#[cfg(target_os = "linux")]
mod linux {
    //! Searches `/proc` for processes: `/proc/<pid>/stat` and `environ`, see proc(5).

    use std::collections::HashSet;
    use std::fs;
    use std::time::{Duration, Instant};

    use rustix::process::{Pid, Signal, kill_process};

    use super::Member;
    use crate::process::{LEASH, ProcessMark};

    /// Age up to which the processes of a call are searched among the newest process ids only. Ids
    /// repeat after 32,768 processes, which don't start in this time. Checking every process of the
    /// machine would take longer than most commands.
    const YOUNG: Duration = Duration::from_secs(1);

    /// How the processes of one call are found.
    #[derive(Debug, Clone)]
    pub(super) struct Search {
        leader: u32,
        mark: String,
        since: Instant,
        is_leash: bool,
    }

    impl Search {
        pub(super) fn new(leader: u32, mark: &ProcessMark, is_leash: bool, since: Instant) -> Self {
            Self {
                leader,
                mark: format!("{}={}", ProcessMark::NAME, mark.value()),
                since,
                is_leash,
            }
        }

        /// The living processes of the call. `known` are those found before.
        pub(super) fn look(&self, known: &HashSet<Member>) -> Vec<Member> {
            let all = if self.since.elapsed() < YOUNG {
                processes_since(self.leader)
            } else {
                processes()
            };
            let is_held = |process: &&Process| {
                let id = process.member.id;
                let shells = process.group == self.leader || process.session == self.leader;
                shells || known.contains(&process.member) || has_variable(id, &self.mark)
            };
            // With a leash, descent decides, even if a process left the group and cleared its
            // environment.
            let mut belongs: HashSet<u32> = if self.has_leash(&all) {
                HashSet::from([self.leader])
            } else {
                all.iter().filter(is_held).map(|it| it.member.id).collect()
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

        /// Returns true if the call's leash is alive.
        fn has_leash(&self, all: &[Process]) -> bool {
            let mut leashes = all.iter().filter(|it| it.member.id == self.leader);
            self.is_leash && leashes.any(|it| it.is_alive)
        }

        /// Does nothing: nothing is registered.
        pub(super) fn end(&self) {}
    }

    /// Sends a signal to one of [`started_by_us`].
    pub(in crate::process::unix) fn kill(process: Pid, signal: Signal) {
        // Fails if it has ended.
        let _ = kill_process(process, signal);
    }

    /// Adds all descendants.
    fn add_descendants(all: &[Process], belongs: &mut HashSet<u32>) {
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
    pub(in crate::process::unix) fn started_by_us() -> Vec<u32> {
        let us = std::process::id();
        let mark = format!("{}={}", ProcessMark::NAME, ProcessMark::ours());
        let all = processes();
        let marked = all
            .iter()
            .map(|process| process.member.id)
            .filter(|&id| has_variable_from(id, &mark));
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

    /// Returns true if the process is a leash, by its arguments, which any process can imitate.
    pub(in crate::process::unix) fn is_leash(id: u32) -> bool {
        let words = fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        words.split(|&byte| byte == 0).nth(1) == Some(LEASH.as_bytes())
    }

    struct Process {
        member: Member,
        parent: u32,
        group: u32,
        session: u32,
        is_alive: bool,
    }

    fn processes() -> Vec<Process> {
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
    fn processes_since(first: u32) -> Vec<Process> {
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

    /// Returns true if the process was started with exactly this `NAME=value`.
    fn has_variable(id: u32, variable: &str) -> bool {
        any_variable(id, |entry| entry == variable.as_bytes())
    }

    /// Returns true if it was started with a variable whose `NAME=value` begins like this.
    fn has_variable_from(id: u32, start: &str) -> bool {
        any_variable(id, |entry| entry.starts_with(start.as_bytes()))
    }

    fn any_variable(id: u32, is_it: impl Fn(&[u8]) -> bool) -> bool {
        let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(is_it)
    }
}

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use system::Search;
pub(super) use system::{is_leash, kill, started_by_us};
use tokio::time::sleep;

use crate::process::ProcessMark;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

/// How long processes may take to end by themselves after SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(1000);
/// How long SIGKILL is repeated; more appear only while something forks.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Interval between two searches.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// The same while a command may run for hours.
const WAIT_EVERY: Duration = Duration::from_millis(200);

/// The processes of one call.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    leader: u32,
    search: Search,
    /// True if the leader is a leash, which ends by itself when all others are gone.
    is_leash: bool,
}

/// A process, identified by its id and its start time, because ids are reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Member {
    id: u32,
    started: u64,
}

impl Tree {
    /// `leader` was started at `since`.
    pub(super) fn new(leader: u32, mark: &ProcessMark, is_leash: bool, since: Instant) -> Self {
        Self {
            leader,
            search: Search::new(leader, mark, is_leash, since),
            is_leash,
        }
    }

    /// Returns true if certainly no process of the call is left after its shell has ended, because there
    /// are not orphans. Cheaper than [`Tree::stop`], which checks processes one by one.
    pub(super) fn is_surely_gone(&self) -> bool {
        super::orphans().is_some_and(|orphans| orphans.is_empty())
    }

    /// Ends all processes with SIGTERM and, after a second, SIGKILL. Returns how many there were.
    pub(super) async fn stop(&self) -> usize {
        let count = self.end_all().await;
        self.leave();
        count
    }

    /// Waits until all processes have ended by themselves.
    pub(super) async fn wait_for_all(&self) {
        let mut known = HashSet::new();
        loop {
            // First, because the caller may begin anew for each piece of output.
            sleep(WAIT_EVERY).await;
            if self.living(&mut known).await.is_empty() {
                return;
            }
        }
    }

    /// Leaves the processes that still run alone from now on.
    pub(super) fn leave(&self) {
        self.search.end();
    }

    async fn end_all(&self) -> usize {
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
        if super::orphans().is_none() {
            return;
        }
        let held: Vec<u32> = if self.is_leash {
            // The leash stays, because it ends by itself and reports what is left.
            super::children(self.leader).unwrap_or_default()
        } else {
            Vec::new()
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
        let search = self.search.clone();
        let before = known.clone();
        // Blocking, because reading a process's environment can wait for that process.
        let looked = tokio::task::spawn_blocking(move || search.look(&before)).await;
        let living = looked.unwrap_or_default();
        known.extend(&living);
        living.into_iter().map(|member| member.id).collect()
    }
}

pub(super) fn pid(id: u32) -> Option<Pid> {
    // As targets of signals, 0 and 1 mean groups of processes or init.
    i32::try_from(id)
        .ok()
        .filter(|&id| id > 1)
        .and_then(Pid::from_raw)
}
