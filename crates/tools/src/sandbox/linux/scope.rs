//! A thread that starts sandboxed commands under two restrictions that bubblewrap lacks.
//!
//! - Abstract sockets have no path that a mount could hide. Landlock (Linux 6.12) blocks them.
//! - Setuid and setgid bits outlive the sandbox. A seccomp filter keeps commands from setting
//!   them.
//!
//! A thread's children inherit both, so no helper program is needed.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

type Job = Box<dyn FnOnce() + Send>;

/// The thread, started on first use. `None` if the system supports neither restriction.
static THREAD: OnceLock<Option<Thread>> = OnceLock::new();
/// Set if bubblewrap does not start from such a thread.
static REFUSED: AtomicBool = AtomicBool::new(false);

struct Thread {
    jobs: Sender<Job>,
    restrictions: Restrictions,
}

/// The restrictions that are active on the thread.
#[derive(Debug, Clone, Copy)]
struct Restrictions {
    abstract_sockets: bool,
    modes: bool,
}

/// Returns true if sandboxed commands can't reach abstract sockets, even with network access.
pub fn cuts_off_abstract_sockets() -> bool {
    available().is_some_and(|thread| thread.restrictions.abstract_sockets)
}

/// Returns true if sandboxed commands can't set setuid and setgid bits.
pub fn keeps_from_setuid() -> bool {
    available().is_some_and(|thread| thread.restrictions.modes)
}

/// Returns true when what [`run`] starts is restricted.
pub(super) fn is_available() -> bool {
    available().is_some()
}

fn available() -> Option<&'static Thread> {
    thread().filter(|_| !REFUSED.load(Ordering::Relaxed))
}

/// Stops using the thread: from now on, [`run`] runs everything on the calling thread.
pub(super) fn give_up() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// Runs `work` on the thread, or on the calling thread if there is none.
///
/// The thread lives as long as the process, because bubblewrap ends with the thread that
/// started it.
///
/// # Errors
///
/// `work` panicked.
pub(crate) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let Some(thread) = available() else {
        return Ok(work());
    };
    let (sender, receiver) = channel();
    let job: Job = Box::new(move || {
        // The receiver waits below, so this cannot fail.
        let _ = sender.send(work());
    });
    let gone = || io::Error::other("the thread that starts sandboxed programs is gone");
    thread.jobs.send(job).map_err(|_| gone())?;
    receiver.recv().map_err(|_| gone())
}

fn thread() -> Option<&'static Thread> {
    THREAD.get_or_init(start).as_ref()
}

fn start() -> Option<Thread> {
    let (jobs, queue) = channel::<Job>();
    let (ready, is_ready) = channel();
    let serve = move || {
        let works = |result: Result<(), String>, effect| {
            if let Err(why) = &result {
                tracing::info!(why, effect, "the sandbox lacks a restriction");
            }
            result.is_ok()
        };
        let restrictions = Restrictions {
            abstract_sockets: works(restrict_sockets(), "abstract sockets stay reachable"),
            modes: works(restrict_modes(), "commands can set setuid bits"),
        };
        // The receiver waits in `start`, so this cannot fail.
        let _ = ready.send(restrictions);
        for job in queue {
            // A panic in one job must not end the thread, because all later commands would then
            // fail to start.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
        }
    };
    let thread = std::thread::Builder::new().name("sandboxed".to_owned());
    // Without a thread, commands run without the two restrictions.
    thread.spawn(serve).ok()?;
    let restrictions = is_ready.recv().ok()?;
    let restricts = restrictions.abstract_sockets || restrictions.modes;
    restricts.then_some(Thread { jobs, restrictions })
}

fn restrict_sockets() -> Result<(), String> {
    use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    // Without this, a kernel that lacks the restriction would silently apply none.
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let scoped = ruleset.scope(Scope::AbstractUnixSocket);
    let created = scoped.and_then(Ruleset::create);
    let restricted = created.and_then(landlock::RulesetCreated::restrict_self);
    restricted.map(drop).map_err(|error| error.to_string())
}

#[cfg(target_endian = "little")]
fn restrict_modes() -> Result<(), String> {
    super::modes::restrict()
}

#[cfg(target_endian = "big")]
fn restrict_modes() -> Result<(), String> {
    Err("there is no filter of system calls for this system".to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_job_that_panics_fails_alone() {
        if is_available() {
            assert!(run::<()>(|| panic!("no")).is_err());
        }
        assert_eq!(run(|| 7).unwrap(), 7);
    }
}
