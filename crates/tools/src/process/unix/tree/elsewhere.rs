//! Process groups are all that is known without `/proc`.

use std::collections::{BTreeSet, HashSet};
use std::sync::{Mutex, PoisonError};

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
    pub(super) fn new(leader: u32, _mark: &ProcessMark, _is_leash: bool) -> Self {
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
