//! Figures about processes and the machine, from Linux. Without `/proc`, all of them are zero.

use std::fs;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};

/// CPU time of all threads of a process, in milliseconds.
pub fn computed(pid: u32) -> f64 {
    let tasks = fs::read_dir(format!("/proc/{pid}/task"));
    let of = |task: fs::DirEntry| {
        let line = fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
        // "time on the processor, time in the queue, slices", in nanoseconds.
        let first = line.split(' ').next().unwrap_or_default();
        first.parse::<f64>().unwrap_or(0.0) / 1e6
    };
    tasks.into_iter().flatten().flatten().map(of).sum()
}

/// CPU time of this thread in milliseconds, exact to the microsecond. Figures of other processes are
/// only updated at each tick.
pub fn computed_here() -> f64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default().as_secs_f64() * 1e3
}

/// A process and its descendants.
pub fn family(pid: u32) -> Vec<u32> {
    let mut found = vec![pid];
    let mut at = 0;
    while let Some(&parent) = found.get(at) {
        at += 1;
        let list = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
        let list = list.unwrap_or_default();
        found.extend(
            list.split_whitespace()
                .filter_map(|pid| pid.parse::<u32>().ok()),
        );
    }
    found
}

/// Proportional set size of a process and its descendants, in MiB.
pub fn memory(pid: u32) -> f64 {
    let of = |pid: u32| {
        let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
        let line = rollup.lines().find(|line| line.starts_with("Pss:"));
        let number = line.and_then(|line| line.split_whitespace().nth(1));
        number
            .and_then(|kib| kib.parse::<f64>().ok())
            .unwrap_or(0.0)
            / 1024.0
    };
    family(pid).into_iter().map(of).sum()
}

/// The number of processors that other programs use, measured while this program is idle.
pub fn busy() -> f64 {
    let before = busy_time();
    let start = Instant::now();
    std::thread::sleep(Duration::from_millis(300));
    (busy_time() - before) / start.elapsed().as_secs_f64()
}

/// Seconds of CPU time that were used, or taken by other virtual machines.
fn busy_time() -> f64 {
    let stat = fs::read_to_string("/proc/stat").unwrap_or_default();
    let line = stat.lines().next().unwrap_or_default();
    let ticks: Vec<f64> = line
        .split_whitespace()
        .skip(1)
        .filter_map(|number| number.parse().ok())
        .collect();
    let at = |index: usize| ticks.get(index).copied().unwrap_or(0.0);
    // user, nice, system, (idle, iowait,) irq, softirq, steal; 100 ticks a second.
    (at(0) + at(1) + at(2) + at(5) + at(6) + at(7)) / 100.0
}

/// The processor and the kernel, on one line.
pub fn describe() -> String {
    let cpus = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let models: Vec<&str> = cpus
        .lines()
        .filter_map(|line| line.strip_prefix("model name"))
        .map(|rest| rest.trim_start_matches(['\t', ' ', ':']))
        .collect();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let model = models.first().copied().unwrap_or("unknown processor");
    format!("{} × {model}, Linux {}", models.len(), kernel.trim())
}
