//! Finds and ends all processes of one call.
//!
//! With a leash, the processes of a call are the descendants of the leash. Otherwise they are those
//! in the shell's group or session, those with the call's mark in their environment, and the
//! descendants of all these. Without `/proc`, only the process group is known. No other module
//! searches `/proc` for processes.

#[cfg(not(target_os = "linux"))]
mod elsewhere;
#[cfg(target_os = "linux")]
mod linux;

#[cfg(not(target_os = "linux"))]
use elsewhere as system;
#[cfg(target_os = "linux")]
use linux as system;

use std::collections::HashSet;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use tokio::time::{Instant, sleep};

use super::watched;
use crate::process::ProcessMark;
use system::Search;
pub(super) use system::{is_leash, kill, started_by_us};

/// How long processes may take to end by themselves after SIGTERM.
const TERM_GRACE: Duration = Duration::from_millis(1000);
/// How long SIGKILL is repeated; more appear only while something forks.
const KILL_FOR: Duration = Duration::from_millis(1500);
/// Interval between two searches.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The processes of one call.
#[derive(Debug, Clone)]
pub(super) struct Tree {
    leader: u32,
    search: Search,
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
            search: Search::new(leader, mark, is_leash),
            is_leash,
        }
    }

    /// Whether certainly no process of the call is left after its shell has ended, because there
    /// are no orphans. Cheaper than [`Tree::stop`], which checks processes one by one.
    pub(super) fn is_surely_gone(&self) -> bool {
        watched::orphans().is_some_and(|orphans| orphans.is_empty())
    }

    /// Ends all processes with SIGTERM and, after a second, SIGKILL. Returns how many there were.
    pub(super) async fn stop(&self) -> usize {
        let count = self.end_all().await;
        self.leave();
        count
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
        if watched::orphans().is_none() {
            return;
        }
        let held: Vec<u32> = if self.is_leash {
            // The leash stays, because it ends by itself and reports what is left.
            watched::children(self.leader).unwrap_or_default()
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
