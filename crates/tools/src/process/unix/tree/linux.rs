//! Searches `/proc` for processes: `/proc/<pid>/stat` and `environ`, see proc(5).

use std::collections::HashSet;
use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::time::Instant;

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
    pub(super) fn new(leader: u32, mark: &ProcessMark, is_leash: bool) -> Self {
        Self {
            leader,
            mark: format!("{}={}", ProcessMark::NAME, mark.value()),
            since: Instant::now(),
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

    /// Whether the call's leash is alive.
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

/// Whether the process is a leash, by its arguments, which any process can imitate.
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

/// Whether the process was started with exactly this `NAME=value`.
fn has_variable(id: u32, variable: &str) -> bool {
    any_variable(id, |entry| entry == variable.as_bytes())
}

/// Whether it was started with a variable whose `NAME=value` begins like this.
fn has_variable_from(id: u32, start: &str) -> bool {
    any_variable(id, |entry| entry.starts_with(start.as_bytes()))
}

fn any_variable(id: u32, is_it: impl Fn(&[u8]) -> bool) -> bool {
    let environment = fs::read(format!("/proc/{id}/environ")).unwrap_or_default();
    environment.split(|&byte| byte == 0).any(is_it)
}
