//! A thread whose children reach no abstract socket of another program.
//!
//! Abstract sockets have no path that could be hidden. Landlock (Linux 6.12) cuts them
//! off for a thread and for what it starts, so no helper program is needed.

use std::io;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};

type Job = Box<dyn FnOnce() + Send>;

/// The thread, started on first use; `None` where Landlock cannot do it.
static THREAD: OnceLock<Option<Sender<Job>>> = OnceLock::new();
/// Set when bubblewrap turned out not to start from such a thread.
static REFUSED: AtomicBool = AtomicBool::new(false);

/// Returns true when commands in the sandbox are cut off from abstract sockets whether or
/// not they have the network.
pub fn cuts_off_abstract_sockets() -> bool {
    is_available()
}

/// Returns true when what [`run`] starts is cut off from abstract sockets.
pub(super) fn is_available() -> bool {
    !REFUSED.load(Ordering::Relaxed) && thread().is_some()
}

/// Makes [`run`] run everything on the calling thread from now on.
pub(super) fn give_up() {
    REFUSED.store(true, Ordering::Relaxed);
}

/// Runs `work` on the thread, or on the calling one where there is no such thread.
///
/// The thread lives as long as the process: bubblewrap is told to end with the thread
/// that started it.
///
/// # Errors
///
/// `work` panicked.
pub(crate) fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let Some(thread) = thread().filter(|_| is_available()) else {
        return Ok(work());
    };
    let (sender, receiver) = channel();
    let job: Job = Box::new(move || {
        let _ = sender.send(work());
    });
    let gone = || io::Error::other("the thread that starts sandboxed programs is gone");
    thread.send(job).map_err(|_| gone())?;
    receiver.recv().map_err(|_| gone())
}

fn thread() -> Option<&'static Sender<Job>> {
    THREAD.get_or_init(start).as_ref()
}

fn start() -> Option<Sender<Job>> {
    let (jobs, queue) = channel::<Job>();
    let (ready, is_ready) = channel();
    let serve = move || {
        let restricted = restrict();
        let works = restricted.is_ok();
        if let Err(why) = restricted {
            tracing::info!(why, "abstract sockets stay reachable from the sandbox");
        }
        // The one who waits for it is there.
        let _ = ready.send(works);
        for job in queue.iter().take_while(|_| works) {
            // A panic in one job must not end the thread for all others.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(job)));
        }
    };
    let thread = std::thread::Builder::new().name("sandboxed".to_owned());
    thread.spawn(serve).ok()?;
    is_ready.recv().ok()?.then_some(jobs)
}

#[cfg(target_os = "linux")]
fn restrict() -> Result<(), String> {
    use landlock::{CompatLevel, Compatible, Ruleset, RulesetAttr, Scope};
    let ruleset = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let scoped = ruleset.scope(Scope::AbstractUnixSocket);
    let created = scoped.and_then(Ruleset::create);
    let restricted = created.and_then(landlock::RulesetCreated::restrict_self);
    restricted.map(drop).map_err(|error| error.to_string())
}

#[cfg(not(target_os = "linux"))]
fn restrict() -> Result<(), String> {
    Err("only Linux has Landlock".to_owned())
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
